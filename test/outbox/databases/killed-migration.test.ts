// A process that migrates is killed by SIGKILL, at several of its statements. The next `migrate` ends what it began, nobody uses half a
// table, and two at once do it once.
import { once } from "node:events";
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import type { RowDataPacket } from "mysql2";
import { describe, expect, test } from "vitest";
import type { Migration } from "../../../src/outbox/stores/migration.ts";
import { isLong } from "../../length.ts";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import type { MigratingTask } from "./migrating.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";
import { useProgram } from "./start-worker.ts";

interface Place extends Pick<MigratingTask, "database" | "url"> {
	store: OutboxStore;
	run: (sql: string) => Promise<Record<string, unknown>[]>;
	/** What tables and indexes are made of. */
	shape: string;
}

const later: Migration[] = [
	{
		version: "1.1.0",
		tables: { outbox_later: "create table if not exists outbox_later (id bigint primary key)" },
		changes: [
			"alter table outbox_texts add column later_note bigint",
			"alter table outbox_queues add column later_note bigint",
		],
	},
	{ version: "2.0.0", ends: ["work"], changes: ["alter table outbox_texts add column later_hold bigint"] },
];

const postgres = usePostgres(import.meta.url);
const mysqls = mysqlKinds.map((kind) => ({ kind, ...useMysql(kind) }));
const start = useProgram<MigratingTask>("migrating");

const onSqlite = async (): Promise<Place> => {
	const url = newFile();
	const db = new Libsql(url);
	db.exec("pragma journal_mode = wal; pragma busy_timeout = 5000");
	return {
		database: "libsql",
		url,
		store: sqliteStore(db),
		run: async (sql) => {
			if (sql.startsWith("select")) return db.prepare(sql).all() as Record<string, unknown>[];
			db.exec(sql);
			return [];
		},
		shape: "select name || ' ' || coalesce(sql, '') as name from sqlite_master where name not like 'sqlite%'",
	};
};

const onPostgres = async (): Promise<Place> => {
	const url = await postgres.create();
	const pool = await postgres.openPool(url);
	return {
		database: "postgres",
		url,
		store: postgresStore(pool),
		run: async (sql) => (await pool.query(sql)).rows,
		shape: `select table_name || '.' || column_name || ' ' || data_type as name from information_schema.columns where table_name like 'outbox%'
			union all select indexrelid::regclass || ' ' || indisvalid from pg_index where indrelid::regclass::text like 'outbox%'`,
	};
};

const onMysql =
	({ create, openPool }: (typeof mysqls)[number]) =>
	async (): Promise<Place> => {
		const url = await create();
		const pool = await openPool(url);
		return {
			database: "mysql",
			url,
			store: mysqlStore(pool),
			run: async (sql) => {
				const [rows] = await pool.query<RowDataPacket[]>(sql);
				return Array.isArray(rows) ? rows : [];
			},
			shape: `select concat(table_name, '.', column_name, ' ', column_type) as name from information_schema.columns where table_schema = database()
				union all select concat(table_name, '.', index_name, ' ', seq_in_index, ' ', column_name) from information_schema.statistics where table_schema = database()`,
		};
	};

const shapeOf = async ({ run, shape }: Place): Promise<string[]> =>
	(await run(shape)).map(({ name }) => String(name)).sort();

/** Starts a process that migrates. Returns whether it was killed. */
async function migrateAndDie({ database, url }: Place, dieAt: number, more: Migration[]): Promise<boolean> {
	const child = await start({ database, url, dieAt, afterMs: dieAt % 3 === 0 ? 0 : dieAt % 5, later: more });
	if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
	return child.signalCode === "SIGKILL";
}

/** An office with one contact, who has written. */
function createOffice({ store }: Place) {
	const sandbox = createSandbox({ now: new Date() });
	const agency = sandbox.agency();
	const anna = agency.contact("+447700900101");
	anna.writes("Hello");
	const outbox = createOutbox({ client: createClient({ ...sandbox.connection }), store, now: sandbox.clock.now });
	const enqueue = (id: string) => outbox.enqueue({ id, agencyId: agency.id, to: anna.phoneNumber, body: id });
	return { outbox, enqueue, arrived: () => anna.inbox().map(({ body }) => body) };
}

/** Half a minute later the turn of a process that died has passed. */
const passTurn = ({ run }: Place): Promise<unknown> =>
	run("update outbox_meta set migrating_at = 1 where migrating_at is not null").catch(() => {});

describe.each<[string, () => Promise<Place>]>([
	["SQLite", onSqlite],
	["PostgreSQL", onPostgres],
	...mysqls.map((server): [string, () => Promise<Place>] => [server.kind, onMysql(server)]),
])("on %s", (_, create) => {
	const points = Array.from({ length: isLong ? 40 : 5 }, (_, at) => (isLong ? at + 1 : 3 + 5 * at));

	test("on an empty database nothing is half used, and the next two migrate calls end it", async () => {
		const whole = await create();
		await whole.store.migrate();
		const shape = await shapeOf(whole);
		let kills = 0;
		for (const dieAt of points) {
			const place = await create();
			if (await migrateAndDie(place, dieAt, [])) kills++;
			const { outbox, enqueue, arrived } = createOffice(place);
			// A text is stored in whole tables, or refused. A worker says what to call, or works.
			const isStored = await enqueue("before").then(
				() => true,
				() => false,
			);
			const isWorking = await outbox.runOnce().then(
				() => true,
				(error: unknown) => {
					expect(String(Object(error).message)).toContain("outbox.migrate()");
					return false;
				},
			);
			expect(arrived()).toEqual(isStored && isWorking ? ["before"] : []);
			await passTurn(place);
			await Promise.all([outbox.migrate(), createOffice(place).outbox.migrate()]);
			expect(await shapeOf(place), `killed at statement ${dieAt}`).toEqual(shape);
			await enqueue("after");
			await outbox.runOnce();
			expect(arrived()).toEqual(isStored ? ["before", "after"] : ["after"]);
		}
		expect(kills).toBeGreaterThan(1);
	});

	test("while a worker of before runs, each text goes out once or waits for a worker of after", async () => {
		const whole = await create();
		await whole.store.migrate(later);
		const shape = await shapeOf(whole);
		let kills = 0;
		for (const dieAt of points) {
			const place = await create();
			await place.store.migrate();
			const { outbox, enqueue, arrived } = createOffice(place);
			const stop = new AbortController();
			let refusal: unknown;
			const working = outbox.work({ signal: stop.signal }).catch((error: unknown) => {
				refusal = error;
			});
			await enqueue("1");
			await expect.poll(arrived).toEqual(["1"]);
			if (await migrateAndDie(place, dieAt, later)) kills++;
			// An enqueue of before goes on.
			await enqueue("2");
			const [meta] = await place.run("select least_work from outbox_meta");
			const hasEnded = Number(meta?.least_work) > 1;
			if (hasEnded) await working;
			else await expect.poll(arrived).toEqual(["1", "2"]);
			const after = arrived();
			await passTurn(place);
			await Promise.all([place.store.migrate(later), place.store.migrate(later)]);
			await working;
			stop.abort();
			expect(refusal).toMatchObject({ _tag: "PartnerConfigurationError", field: "store" });
			expect(await shapeOf(place), `killed at statement ${dieAt}`).toEqual(shape);
			await expect(outbox.runOnce()).rejects.toMatchObject({ _tag: "PartnerConfigurationError" });
			expect(arrived()).toEqual(after);
			expect((await outbox.status("2"))?.state).toMatch(hasEnded ? /waiting|sent/ : /sent|delivered|read/);
		}
		expect(kills).toBeGreaterThan(1);
	});

	test("a turn to migrate that lies in the future keeps nobody from it", async () => {
		const place = await create();
		await place.store.migrate();
		const inYear = Date.now() + 365 * 86_400_000;
		await place.run(`update outbox_meta set migrating_at = ${inYear}`);
		await place.store.migrate(later);
		if (place.database === "postgres") await place.run("drop index outbox_texts_health");
		await place.run(`update outbox_meta set migrating_at = ${inYear}`);
		await place.store.migrate(later);
		const [meta] = await place.run("select schema_version from outbox_meta");
		expect(Number(meta?.schema_version)).toBe(3);
		if (place.database === "postgres") expect((await shapeOf(place)).join()).toContain("outbox_texts_health true");
	});
});
