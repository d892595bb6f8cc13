// Migrations of a later version beside processes of this one, on each database: one that only adds refuses nobody, one that ends
// their work stops their workers before the next claim, and one that ends their `enqueue`s too refuses these with a sentence. What a
// later version would do is done by the migrations themselves, with one more in the list.
import { createClient as createLibsqlClient } from "@libsql/client";
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { createOutbox, type OutboxOptions, type Transaction } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import type mysql from "mysql2/promise";
import type pg from "pg";
import { describe, expect, test } from "vitest";
import type { Migration } from "../../../src/outbox/stores/migration.ts";
import { isLong } from "../../length.ts";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import { newText } from "../store-suite.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";

const adds: Migration = {
	version: "1.1.0",
	tables: { outbox_later: "create table if not exists outbox_later (id bigint primary key)" },
	changes: [
		"alter table outbox_texts add column later_note bigint",
		"alter table outbox_queues add column later_note bigint",
	],
};
const endsWork: Migration = {
	version: "2.0.0",
	ends: ["work"],
	changes: [
		"alter table outbox_texts add column later_hold bigint",
		"alter table outbox_agencies add column later_hold bigint",
	],
};
const endsBoth: Migration = {
	version: "3.0.0",
	ends: ["work", "enqueue"],
	changes: ["alter table outbox_texts add column later_kind bigint"],
};

/** A transaction that is open. */
interface Open {
	tx: Transaction;
	query: (sql: string) => Promise<unknown>;
	end: (how: "commit" | "rollback") => Promise<unknown>;
}

/** A database that is empty at first. */
interface Place {
	/** The store of a process of its own. After `left` statements it is killed. */
	open: (left?: () => boolean) => OutboxStore;
	run: (sql: string) => Promise<Record<string, unknown>[]>;
	begin: () => Promise<Open>;
	/** What its tables and indexes are made of. */
	shape: () => Promise<unknown>;
}

class Killed extends Error {}

/** Calls a function of a library, unless the process was killed. */
const unless =
	<Values extends unknown[], Result>(isAlive: () => boolean, act: (...values: Values) => Result) =>
	(...values: Values): Result => {
		if (!isAlive()) throw new Killed("killed");
		return act(...values);
	};

const names = (rows: readonly Record<string, unknown>[]): string[] => rows.map((row) => String(row.name)).sort();

function postgresPlace(pool: pg.Pool): Place {
	const run = async (sql: string) => (await pool.query(sql)).rows;
	return {
		open: (isAlive = () => true) =>
			postgresStore({
				query: unless(isAlive, async (sql: string, values: unknown[]) => pool.query(sql, values)),
				connect: pool.connect.bind(pool),
			} as never),
		run,
		async begin() {
			const client = await pool.connect();
			await client.query("begin");
			return {
				tx: client,
				query: (sql) => client.query(sql),
				end: async (how) => {
					await client.query(how);
					client.release();
				},
			};
		},
		shape: async () => [
			names(
				await run(
					"select table_name || '.' || column_name || ' ' || data_type as name from information_schema.columns where table_name like 'outbox%'",
				),
			),
			names(
				await run(
					"select indexrelid::regclass || ' ' || indisvalid as name from pg_index where indrelid::regclass::text like 'outbox%'",
				),
			),
		],
	};
}

function mysqlPlace(pool: mysql.Pool): Place {
	const run = async (sql: string) => (await pool.query(sql))[0] as Record<string, unknown>[];
	return {
		open: (isAlive = () => true) =>
			mysqlStore({
				escape: pool.escape,
				query: unless(isAlive, async (options: { sql: string }) => pool.query(options)),
			} as never),
		run,
		async begin() {
			const connection = await pool.getConnection();
			await connection.beginTransaction();
			return {
				tx: connection,
				query: (sql) => connection.query(sql),
				end: async (how) => {
					await connection.query(how);
					connection.release();
				},
			};
		},
		shape: async () => [
			names(
				await run(
					"select concat(table_name, '.', column_name, ' ', column_type, ' ', coalesce(collation_name, '')) as name from information_schema.columns where table_schema = database()",
				),
			),
			names(
				await run(
					"select concat(table_name, '.', index_name, ' ', seq_in_index, ' ', column_name) as name from information_schema.statistics where table_schema = database()",
				),
			),
		],
	};
}

const sqliteShape = async (run: Place["run"]) =>
	names(await run("select name || ' ' || coalesce(sql, '') as name from sqlite_master where name not like 'sqlite%'"));

function sqlitePlace(): Place {
	const file = newFile();
	const db = new Libsql(file);
	db.exec("pragma journal_mode = wal; pragma synchronous = off");
	const run: Place["run"] = async (sql) => {
		if (/^(select|pragma)/.test(sql)) return db.prepare(sql).all() as Record<string, unknown>[];
		db.exec(sql);
		return [];
	};
	return {
		open(isAlive = () => true) {
			const own = new Libsql(file);
			let isClosed = false;
			const isOpen = () => {
				if (!isClosed && !isAlive()) {
					isClosed = true;
					// As the end of a process does. A closed connection keeps its lock until it is collected.
					if (own.inTransaction) own.exec("rollback");
					own.close();
				}
				return !isClosed;
			};
			return sqliteStore({
				prepare: unless(isOpen, (sql: string) => {
					const statement = own.prepare(sql);
					const { all, run } = statement;
					return { all: unless(isOpen, all.bind(statement)), run: unless(isOpen, run.bind(statement)) };
				}),
				get inTransaction() {
					return !isClosed && own.inTransaction;
				},
			} as never);
		},
		run,
		async begin() {
			db.exec("begin");
			return { tx: db as never, query: async (sql) => db.exec(sql), end: async (how) => db.exec(how) };
		},
		shape: () => sqliteShape(run),
	};
}

function libsqlClientPlace(): Place {
	const url = `file:${newFile()}`;
	const client = createLibsqlClient({ url });
	const run: Place["run"] = async (sql) => (await client.execute(sql)).rows as never;
	return {
		open(isAlive = () => true) {
			const own = createLibsqlClient({ url });
			return sqliteStore({
				protocol: own.protocol,
				execute: unless(isAlive, own.execute.bind(own)),
				transaction: own.transaction.bind(own),
			} as never);
		},
		run,
		async begin() {
			const tx = await client.transaction("write");
			return { tx: tx as never, query: (sql) => tx.execute(sql), end: (how) => tx[how]() };
		},
		shape: () => sqliteShape(run),
	};
}

/** An office whose contact has just written. */
function createOffice(store: OutboxStore, options: Partial<OutboxOptions> = {}, onSend = async () => {}) {
	const sandbox = createSandbox({ now: new Date() });
	const agency = sandbox.agency();
	const anna = agency.contact("+447700900101");
	anna.writes("Hello");
	let sends = 0;
	const fetch: typeof globalThis.fetch = async (url, init) => {
		if (init?.method === "POST") {
			sends++;
			await onSend();
		}
		return sandbox.fetch(url, init);
	};
	const client = createClient({ ...sandbox.connection, fetch });
	const outbox = createOutbox({ client, store, now: sandbox.clock.now, ...options });
	const text = (id: string) => ({ id, agencyId: agency.id, to: anna.phoneNumber, body: `Text ${id}` });
	return {
		outbox,
		text,
		enqueue: async (id: string, tx?: Transaction) => outbox.enqueue(text(id), { tx }),
		arrived: () => anna.inbox().map(({ body }) => String(body).slice(5)),
		sends: () => sends,
		anna,
		agency,
	};
}

/** The refusal of a worker, or of an `enqueue`. */
const refusal = (version: string) => ({
	_tag: "PartnerConfigurationError",
	field: "store",
	message: expect.stringContaining(`Install messaging-conversations ${version} or later`),
});

/** Runs an act of which the error comes at once with a synchronous library. */
const later = async (act: () => unknown): Promise<unknown> => await act();

const postgres = usePostgres(import.meta.url);
const mysqls = mysqlKinds.map((kind) => ({ kind, ...useMysql(kind) }));

describe.each<[name: string, create: () => Promise<Place>]>([
	["PostgreSQL", async () => postgresPlace(await postgres.openPool())],
	...mysqls.map(({ kind, openPool }): [string, () => Promise<Place>] => [
		kind,
		async () => mysqlPlace(await openPool()),
	]),
	["SQLite", async () => sqlitePlace()],
	["SQLite by @libsql/client", async () => libsqlClientPlace()],
])("#53 on %s", (name, create) => {
	async function open(options: Partial<OutboxOptions> = {}, onSend?: (place: Place) => Promise<void>) {
		const place = await create();
		const store = place.open();
		const office = createOffice(store, options, () => onSend?.(place) ?? Promise.resolve());
		await office.outbox.migrate();
		const stored = async () => names(await place.run("select id as name from outbox_texts"));
		return { ...place, ...office, store, stored };
	}

	test("a migration that only adds refuses nobody, and what works goes on", async () => {
		const { outbox, enqueue, text, arrived, open: openStore, begin, shape } = await open();
		const stop = new AbortController();
		const working = outbox.work({ signal: stop.signal });
		await enqueue("a");
		await expect.poll(arrived).toEqual(["a"]);
		// Its first statement was prepared before, and gives the columns of before.
		const { tx, query, end } = await begin();
		await enqueue("b", tx);
		await end("commit");
		await query("select 1").catch(() => {});
		await openStore().migrate([adds]);
		await enqueue("c");
		const second = await begin();
		await enqueue("d", second.tx);
		await second.end("commit");
		await outbox.enqueueMany([text("e")]);
		await expect.poll(arrived).toEqual(["a", "b", "c", "d", "e"]);
		expect((await outbox.status("e"))?.state).toBe("sent");
		expect(await outbox.suspend({ reason: "Stop" })).toBeUndefined();
		expect(await outbox.resume()).toBe(true);
		stop.abort();
		await working;
		const before = await shape();
		await outbox.migrate();
		expect(await shape()).toEqual(before);
		await enqueue("f");
		await outbox.runOnce();
		expect(arrived()).toEqual(["a", "b", "c", "d", "e", "f"]);
	});

	test("a migration that ends the work of earlier versions stops their workers, and their enqueues go on", async () => {
		const { outbox, store, enqueue, text, arrived, sends, open: openStore, begin, stored } = await open();
		const working = outbox.work();
		working.catch(() => {});
		await enqueue("a");
		await expect.poll(arrived).toEqual(["a"]);
		await openStore().migrate([adds, endsWork]);
		await enqueue("b");
		const { tx, end } = await begin();
		await enqueue("c", tx);
		await end("commit");
		await outbox.enqueueMany([text("d")]);
		await expect(working).rejects.toMatchObject(refusal("2.0.0"));
		await expect(outbox.work()).rejects.toMatchObject(refusal("2.0.0"));
		await expect(outbox.runOnce()).rejects.toMatchObject(refusal("2.0.0"));
		expect([arrived(), sends()]).toEqual([["a"], 1]);
		expect(await stored()).toEqual(["a", "b", "c", "d"]);
		// Everything is still read, and what an application does beside its enqueues goes on.
		expect((await outbox.status("b"))?.state).toBe("waiting");
		expect((await outbox.explain("b"))?.status.state).toBe("waiting");
		expect((await outbox.health()).texts.waiting).toBe(3);
		expect(await outbox.cancel("d")).toBe(true);
		await outbox.migrate();
		// The store itself gives no queue away.
		const options = { now: Date.now(), limit: 1, each: 1, leaseMs: 1_000, isReading: false };
		expect(await store.claim(options).catch(() => [])).toEqual([]);
	});

	test("a migration that ends both refuses each enqueue with a sentence, and nothing is stored", async () => {
		const { outbox, enqueue, text, anna, agency, open: openStore, begin, stored, run } = await open();
		await run("create table note (id bigint)");
		await enqueue("a");
		await openStore().migrate([endsBoth]);
		const sentence = refusal("3.0.0");
		await expect(later(() => enqueue("b"))).rejects.toMatchObject(sentence);
		await expect(later(() => outbox.enqueueMany([text("b"), text("c")]))).rejects.toMatchObject(sentence);
		const calls: ((tx: Transaction) => unknown)[] = [
			(tx) => outbox.enqueue(text("b"), { tx }),
			(tx) => outbox.enqueueMany([text("b"), text("c")], { tx }),
			(tx) => outbox.enqueue({ ...text("b"), supersedes: "a" }, { tx }),
			(tx) => outbox.cancel("a", { tx }),
			(tx) => outbox.acknowledge([{ id: "a", revision: 1 }], { tx }),
		];
		for (const [at, call] of calls.entries()) {
			const { tx, query, end } = await begin();
			await query(`insert into note (id) values (${at})`);
			await expect(later(() => call(tx))).rejects.toMatchObject(sentence);
			// Also for a caller that forgets to roll back.
			await end(at === 0 ? "rollback" : "commit");
		}
		expect(await run("select id from note where id = 0")).toEqual([]);
		const changes: (() => unknown)[] = [
			() => outbox.optOut({ to: anna.phoneNumber }),
			() => outbox.cancel("a"),
			() => outbox.cancelAll({ to: anna.phoneNumber }),
			() => outbox.erase({ to: anna.phoneNumber, everyAgency: true }),
			() => outbox.suspend({ agencyId: agency.id, reason: "Stop" }),
			() => outbox.purge({ before: new Date() }),
			() => outbox.acknowledge([{ id: "a", revision: 1 }]),
			() => outbox.migrate(),
			() => outbox.runOnce(),
		];
		for (const change of changes) await expect(later(change)).rejects.toMatchObject(sentence);
		expect(await stored()).toEqual(["a"]);
		expect(await outbox.status("a")).toMatchObject({ state: "waiting", cancelRequested: false });
	});

	test("a text that an earlier worker has in hand when its work ends is not sent by it", async () => {
		let openStore: Place["open"] | undefined;
		let asked = 0;
		const beforeSend = async () => {
			asked++;
			await openStore?.().migrate([endsWork]);
			return "send" as const;
		};
		const { outbox, enqueue, sends, open: opener } = await open({ beforeSend });
		openStore = opener;
		const working = outbox.work();
		working.catch(() => {});
		await enqueue("a");
		await expect(working).rejects.toMatchObject(refusal("2.0.0"));
		expect([asked > 0, sends()]).toEqual([true, 0]);
		expect(await outbox.status("a")).toMatchObject({ state: "waiting", attempts: 0 });
	});

	test("the answer to a request that has begun is stored, and its worker ends", async () => {
		let openStore: Place["open"] | undefined;
		const {
			outbox,
			enqueue,
			sends,
			arrived,
			open: opener,
		} = await open({}, async () => {
			await openStore?.().migrate([endsBoth]);
		});
		openStore = opener;
		await enqueue("a");
		await enqueue("b");
		await expect(outbox.work()).rejects.toMatchObject(refusal("3.0.0"));
		expect([arrived(), sends()]).toEqual([["a"], 1]);
		expect((await outbox.status("a"))?.state).toBe("sent");
		expect((await outbox.status("b"))?.state).toBe("waiting");
	});

	test.each([
		["on an empty database", []],
		["on tables that are there", [undefined]],
	])(
		"a migration that was cut off after any statement ends by the next one, and holds nobody up: %s",
		async (_, before) => {
			const whole = await create();
			await whole.open().migrate([adds, endsWork]);
			const shape = await whole.shape();
			let isEnded = false;
			for (let count = 0; !isEnded; count += isLong ? 1 : before.length > 0 ? 2 : 10) {
				const place = await create();
				for (const _ of before) await place.open().migrate();
				let left = count;
				const killed = await place
					.open(() => left-- > 0)
					.migrate([adds, endsWork])
					.then(
						() => undefined,
						(error: unknown) => error,
					);
				isEnded = killed === undefined;
				const { outbox, enqueue, sends } = createOffice(place.open());
				if (before.length > 0) {
					expect((await enqueue("a")).state).toBe("waiting");
					// From its first change on no earlier version works.
					const isBegun = JSON.stringify(await place.shape()).includes("later_hold");
					if (isBegun) await expect(outbox.runOnce()).rejects.toMatchObject(refusal("2.0.0"));
					if (isBegun) expect(sends()).toBe(0);
				}
				// Its turn has passed, as half a minute later.
				await place.run("update outbox_meta set migrating_at = null").catch(() => {});
				await Promise.all([place.open().migrate([adds, endsWork]), place.open().migrate([adds, endsWork])]);
				expect(await place.shape(), `cut off after ${count} statements`).toEqual(shape);
				const [meta] = await place.run("select * from outbox_meta");
				expect([meta?.schema_version, meta?.least_work, meta?.least_enqueue].map(Number)).toEqual([3, 3, 0]);
				expect((await enqueue("b")).state).toBe("waiting");
			}
		},
	);

	// On SQLite one connection writes at a time.
	if (!name.startsWith("SQLite"))
		test("an enqueue waits for no migration that waits for an open transaction", async () => {
			const { enqueue, open: openStore, begin, run } = await open();
			const first = await begin();
			await enqueue("a", first.tx);
			let isMigrated = false;
			const migrating = openStore()
				.migrate([adds, endsWork])
				.then(() => {
					isMigrated = true;
				});
			const holds = async () => Number((await run("select schema_version from outbox_meta"))[0]?.schema_version);
			for (let at = 0; at < 20; at++) {
				const { tx, end } = await begin();
				await enqueue(`tx ${at}`, tx);
				await end("commit");
				await enqueue(`alone ${at}`);
				await new Promise((resolve) => setTimeout(resolve, 100));
			}
			expect([isMigrated, await holds()]).toEqual([false, 1]);
			await first.end("commit");
			await migrating;
			expect(await holds()).toBe(3);
		});

	test("processes of two versions that migrate at once make every table once", async () => {
		const whole = await create();
		await whole.open().migrate([adds, endsWork]);
		for (let round = 0; round < 3; round++) {
			const place = await create();
			const stores = Array.from({ length: 4 }, () => place.open());
			await Promise.all(stores.map((store, at) => store.migrate(at === 0 ? [] : [adds, endsWork])));
			expect(await place.shape()).toEqual(await whole.shape());
			const rows = await place.run("select schema_version from outbox_meta");
			expect(rows.map(({ schema_version }) => Number(schema_version))).toEqual([3]);
		}
	});

	test("an earlier version makes nothing again that a later one has dropped", async () => {
		const { outbox, open: openStore, shape, run } = await open();
		const drop =
			name === "PostgreSQL" || name.startsWith("SQLite")
				? "drop index outbox_texts_health"
				: "alter table outbox_texts drop key health";
		await openStore().migrate([{ version: "1.1.0", changes: ["drop table outbox_workers"] }]);
		// It has another list of indexes.
		await run(drop);
		const before = await shape();
		await outbox.migrate();
		expect(await shape()).toEqual(before);
	});

	test("a worker of a later version waits for its migration, and says what to call", async () => {
		const { outbox, run, enqueue, sends } = await open();
		await run("update outbox_meta set schema_version = 0");
		await enqueue("a");
		await expect(outbox.runOnce()).rejects.toMatchObject({
			_tag: "PartnerConfigurationError",
			message: expect.stringContaining("call outbox.migrate() first"),
		});
		expect(sends()).toBe(0);
		await outbox.migrate();
		await outbox.runOnce();
		expect(sends()).toBe(1);
	});

	test("a derived table that was dropped is created again", async () => {
		const { outbox, run, shape, enqueue, arrived } = await open();
		const before = await shape();
		await run("drop table outbox_queues");
		await run("drop table outbox_workers");
		await outbox.migrate();
		expect(await shape()).toEqual(before);
		await enqueue("a");
		await outbox.runOnce();
		expect(arrived()).toEqual(["a"]);
	});

	test.each(["texts", "contacts"])("a dropped table of %s is not created empty", async (end) => {
		const { outbox, run, shape } = await open();
		await run(`drop table outbox_${end}`);
		const before = await shape();
		await expect(outbox.migrate()).rejects.toMatchObject({
			_tag: "PartnerConfigurationError",
			field: "store",
			message: expect.stringContaining(`has lost its table outbox_${end}, which migrate created`),
		});
		expect(await shape()).toEqual(before);
	});

	test("a claim that finds what another worker has is not taken for one of an earlier version", async () => {
		const { store } = await open();
		await store.insert({ ...newText, id: "a" }, undefined);
		const options = { now: Date.now(), limit: 1, each: 1, leaseMs: 60_000, isReading: false };
		expect(await store.claim(options)).toHaveLength(1);
		expect(await store.claim(options)).toEqual([]);
	});
});
