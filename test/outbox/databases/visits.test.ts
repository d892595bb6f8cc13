// Visits that several processes move at once, and visits that move in a synchronous transaction.
import { createClient as createLibsql } from "@libsql/client";
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { createOutbox, type EnqueuedText, type Transaction } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import mysql from "mysql2/promise";
import type pg from "pg";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { isLong } from "../../length.ts";
import { longestWaitMs } from "../../patience.ts";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import { movesAVisit } from "./moves-a-visit.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";

function outboxOn(store: OutboxStore) {
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	const anna = agency.contact("+447700900101");
	anna.writes("Hello");
	const outbox = createOutbox({ client: createClient({ ...sandbox.connection }), store, now: sandbox.clock.now });
	const note = { id: "a", agencyId: agency.id, to: anna.phoneNumber, body: "See you." };
	const texts = (to: string) =>
		agency
			.contact(to)
			.inbox()
			.map(({ body }) => body);
	return { sandbox, agency, outbox, store, note, texts };
}

/** A database on which several transactions are open at once. */
interface Several {
	store: OutboxStore;
	begin: () => Promise<{ tx: Transaction; end: (how: "commit" | "rollback") => Promise<void> }>;
	/** How many statements wait for a row of another transaction. */
	waiting: () => Promise<number>;
}

async function onPool(pool: pg.Pool): Promise<Several> {
	return {
		store: postgresStore(pool),
		async waiting() {
			const sql = "select count(*) from pg_locks where not granted and database is null";
			return Number((await pool.query(sql)).rows[0].count);
		},
		async begin() {
			const tx = await pool.connect();
			await tx.query("begin");
			// Its snapshot, if it has one, is from before the others begin.
			await tx.query("select 1");
			const end = async (how: "commit" | "rollback"): Promise<void> => {
				await tx.query(how);
				tx.release();
			};
			return { tx, end };
		},
	};
}

const { openPool } = usePostgres(import.meta.url);
const databases: [name: string, open: () => Promise<Several>][] = [
	["PostgreSQL", async () => onPool(await openPool())],
	[
		"PostgreSQL, repeatable read",
		async () => onPool(await openPool(undefined, "-c default_transaction_isolation=repeatable\\ read")),
	],
	...mysqlKinds.map((kind): (typeof databases)[number] => {
		const { create } = useMysql(kind);
		const pools: mysql.Pool[] = [];
		afterAll(async () => {
			for (const pool of pools) await pool.end();
		});
		return [
			kind,
			async () => {
				const pool = mysql.createPool({ uri: await create(), connectionLimit: 8 });
				pools.push(pool);
				return {
					store: mysqlStore(pool),
					async waiting() {
						const sql = "select count(*) as count from information_schema.innodb_trx where trx_state = 'LOCK WAIT'";
						const [rows] = await pool.query(sql);
						return Number(Reflect.get(Object(Array.isArray(rows) ? rows[0] : undefined), "count"));
					},
					async begin() {
						const tx = await pool.getConnection();
						await tx.beginTransaction();
						const end = async (how: "commit" | "rollback"): Promise<void> => {
							await tx[how]();
							tx.release();
						};
						return { tx, end };
					},
				};
			},
		];
	}),
];

/** The code of an error of the database, or the field of one of the outbox. */
const codeOf = (error: unknown): unknown => Reflect.get(Object(error), "code") ?? Reflect.get(Object(error), "field");

describe.each(databases)("visits that move at once on %s", (name, open) => {
	async function create() {
		const { store, begin, waiting } = await open();
		const all = outboxOn(store);
		await all.outbox.migrate();
		const states = async (...ids: string[]) =>
			(await Promise.all(ids.map((id) => store.find(id)))).map((row) => row && (row.reason ?? row.state));
		/**
		 * Waits until the second transaction waits for the first one. Whoever asks MariaDB more than ten times a second gets the answer
		 * of before, for ever.
		 */
		const untilLocked = () => expect.poll(waiting, { interval: 300 }).toBe(1);
		return { ...all, begin, states, untilLocked };
	}

	test("two processes move one visit: both succeed one after the other, and the newest time alone goes out", async () => {
		const { outbox, note, begin, states, sandbox, texts, untilLocked } = await create();
		await outbox.enqueue({ ...note, id: "v0", body: "at 10" });
		const [first, second] = [await begin(), await begin()];
		await outbox.enqueue({ ...note, id: "v1", body: "at 14", supersedes: "v0" }, { tx: first.tx });
		const waiting = outbox
			.enqueue({ ...note, id: "v2", body: "at 15", supersedes: "v0" }, { tx: second.tx })
			.then(() => "stored", codeOf);
		await untilLocked();
		await first.end("commit");
		// In a snapshot the row has changed, and PostgreSQL says so with a code of its own.
		const isSnapshot = name.includes("repeatable");
		expect(await waiting).toBe(isSnapshot ? "40001" : "stored");
		await second.end(isSnapshot ? "rollback" : "commit");
		expect(await states("v0", "v1", "v2")).toEqual(["superseded", "waiting", isSnapshot ? undefined : "waiting"]);
		await outbox.runOnce();
		expect(texts(note.to)).toEqual([isSnapshot ? "at 14" : "at 15"]);
		expect(sandbox.violations()).toEqual([]);
	});

	test("a double click on a move is one move", async () => {
		const { outbox, note, begin, states, untilLocked } = await create();
		await outbox.enqueue({ ...note, id: "v0" });
		const [first, second] = [await begin(), await begin()];
		const moved = { ...note, id: "v1", supersedes: "v0" };
		await outbox.enqueue(moved, { tx: first.tx });
		const waiting = outbox.enqueue(moved, { tx: second.tx }).then(({ state }) => state, codeOf);
		await untilLocked();
		await first.end("commit");
		expect(await waiting).toBe(name.includes("repeatable") ? "40001" : "waiting");
		await second.end("rollback");
		expect(await states("v0", "v1")).toEqual(["superseded", "waiting"]);
	});

	test("a move that is rolled back lets the other one take the place", async () => {
		const { outbox, note, begin, states, untilLocked } = await create();
		await outbox.enqueue({ ...note, id: "v0" });
		const [first, second] = [await begin(), await begin()];
		await outbox.enqueue({ ...note, id: "v1", supersedes: "v0" }, { tx: first.tx });
		const waiting = outbox.enqueue({ ...note, id: "v2", supersedes: "v0" }, { tx: second.tx });
		await untilLocked();
		await first.end("rollback");
		expect((await waiting).state).toBe("waiting");
		await second.end("commit");
		expect(await states("v0", "v1", "v2")).toEqual(["superseded", undefined, "waiting"]);
	});

	test("moves that name each other's texts never wait for each other", async () => {
		const { outbox, note, begin } = await create();
		const found: unknown[] = [];
		const ids = ["a", "b", "c"];
		/** Moves a visit between three times, as often as others do the same. */
		async function mover(at: number): Promise<void> {
			for (let turn = 0; turn < (isLong ? 200 : 25); turn++) {
				const [id = "", supersedes = ""] = [ids[(at + turn) % 3], ids[(at + turn * 2 + 1) % 3]];
				if (id === supersedes) continue;
				const { tx, end } = await begin();
				const name = (each: string): string => `${each} ${turn}`;
				const text: EnqueuedText = { ...note, id: name(id), supersedes: name(supersedes) };
				const code = await outbox.enqueue(text, { tx }).then(() => "stored", codeOf);
				await end(code === "stored" ? "commit" : "rollback").catch((error: unknown) => found.push(error));
				found.push(code);
			}
		}
		await Promise.all([0, 1, 2, 3].map(mover));
		expect(found.length).toBeGreaterThan(20);
		// One that has ended, and in a snapshot one that has changed. Never a deadlock.
		const known = name.includes("repeatable") ? ["stored", "id", "40001"] : ["stored", "id"];
		expect(found.filter((code) => !known.includes(String(code)))).toEqual([]);
	});
});

test("on PostgreSQL moves don't wait for each other, although the earlier text is stored while one of them looks for it", async () => {
	const pool = await openPool();
	const { outbox, note, store } = outboxOn(postgresStore(pool));
	await outbox.migrate();
	const later: EnqueuedText = { ...note, id: "later", body: "See you later.", supersedes: "first" };
	/** A transaction that enqueues, and comes to a stop before the statement that stores. */
	async function mover() {
		const tx = await pool.connect();
		onTestFinished(() => tx.release(true));
		await tx.query("begin");
		const { pid } = (await tx.query("select pg_backend_pid() as pid")).rows[0];
		let goOn = (): void => {};
		const going = new Promise<void>((resolve) => {
			goOn = resolve;
		});
		const query: (...given: unknown[]) => Promise<unknown> = tx.query.bind(tx);
		const stopped = new Promise<void>((resolve) => {
			Reflect.set(tx, "query", async (...given: unknown[]) => {
				if (JSON.stringify(given[0]).includes("insert into")) {
					resolve();
					await going;
				}
				return query(...given);
			});
		});
		const done = outbox.enqueue(later, { tx }).then(
			async () => void (await tx.query("commit")),
			(error: unknown) => codeOf(error),
		);
		return { pid, stopped, goOn, done };
	}
	const first = await pool.connect();
	onTestFinished(() => first.release(true));
	await first.query("begin");
	await outbox.enqueue({ ...note, id: "first" }, { tx: first });
	const one = await mover();
	await one.stopped; // it has found no earlier text
	await first.query("commit");
	const other = await mover();
	await other.stopped; // it has locked the earlier text
	one.goOn();
	const isWaiting = "select 1 from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'";
	await vi.waitFor(async () => expect((await pool.query(isWaiting, [one.pid])).rows).toHaveLength(1), longestWaitMs);
	other.goOn();
	expect(await Promise.all([one.done, other.done])).toEqual([undefined, undefined]);
	expect([(await store.find("first"))?.reason, (await store.find("later"))?.state]).toEqual(["superseded", "waiting"]);
});

const libsqlClient = async () => {
	const db = createLibsql({ url: `file:${newFile()}` });
	const transaction = async (act: (tx: Transaction) => Promise<void>): Promise<void> => {
		const tx = await db.transaction("write");
		try {
			await act(tx);
			await tx.commit();
		} finally {
			tx.close();
		}
	};
	return { store: sqliteStore(db), transaction };
};

/** A synchronous library, whose transactions are awaited here like all others. */
const libsql = async () => {
	const db = new Libsql(newFile());
	const transaction = async (act: (tx: Transaction) => Promise<void>): Promise<void> => {
		db.exec("begin");
		try {
			await act(db);
			db.exec("commit");
		} catch (error) {
			db.exec("rollback");
			throw error;
		}
	};
	return { store: sqliteStore(db), transaction };
};

test.each([
	["@libsql/client", libsqlClient],
	["libsql", libsql],
])(
	"texts are cancelled, replaced and stored by the hundred with the transaction, or not at all, on %s",
	async (_, open) => {
		const { store, transaction } = await open();
		const { outbox, note } = outboxOn(store);
		await outbox.migrate();
		await movesAVisit({ outbox, store, note, transaction });
	},
);

describe("in a synchronous transaction", () => {
	/** A CRM on libsql, which stores the time of a visit in the transaction of its text. */
	async function crm() {
		const db = new Libsql(newFile());
		db.exec("create table visit (at text)");
		db.exec("insert into visit values ('10')");
		const all = outboxOn(sqliteStore(db));
		const { outbox, note } = all;
		await outbox.migrate();
		const move = (at: string, text: Partial<EnqueuedText>) =>
			db.transaction(() => {
				db.prepare("update visit set at = ?").run(at);
				return { text: outbox.enqueue({ ...note, ...text }, { tx: db }) };
			})();
		const time = (): unknown => Reflect.get(Object(db.prepare("select at from visit").get()), "at");
		return { ...all, db, move, time };
	}

	test("a move is committed with the visit", async () => {
		const { outbox, note, move, time, store } = await crm();
		await outbox.enqueue({ ...note, id: "v0" });
		expect(await move("14", { id: "v1", supersedes: "v0" }).text).toMatchObject({ state: "waiting", ignored: [] });
		expect([time(), (await store.find("v0"))?.reason]).toEqual(["14", "superseded"]);
	});

	test.each<[why: string, text: Partial<EnqueuedText>, field: string]>([
		["the earlier text is of another agency", { id: "v1", supersedes: "other" }, "supersedes"],
		["its id has ended", { id: "ended", supersedes: "v0" }, "id"],
		["its id is that of another text", { id: "ended", body: "Another" }, "id"],
		["its number is none", { id: "v1", supersedes: "v0", to: "+44" }, "to"],
		["it supersedes itself", { id: "v1", supersedes: "v1" }, "supersedes"],
	])("a move that is refused is rolled back with the visit: %s", async (_, text, field) => {
		const { outbox, note, move, time, store } = await crm();
		for (const id of ["v0", "ended"]) await outbox.enqueue({ ...note, id });
		await outbox.enqueue({ ...note, id: "other", agencyId: "agy_other" });
		await outbox.cancel("ended");
		expect(() => move("14", text)).toThrow(expect.objectContaining({ _tag: "PartnerInvalidInput", field }));
		expect(time()).toBe("10");
		expect(await store.find("v1")).toBeUndefined();
		expect((await store.find("v0"))?.state).toBe("waiting");
	});

	test("a list that is refused is rolled back with the visit", async () => {
		const { outbox, note, db, time, store } = await crm();
		await outbox.enqueue(note);
		const notes = [
			{ ...note, id: "b" },
			{ ...note, body: "Another" },
		];
		const act = db.transaction(() => {
			db.exec("update visit set at = '14'");
			void outbox.enqueueMany(notes, { tx: db });
		});
		expect(act).toThrow(expect.objectContaining({ field: "texts[1].id" }));
		expect([time(), await store.find("b")]).toEqual(["10", undefined]);
	});
});
