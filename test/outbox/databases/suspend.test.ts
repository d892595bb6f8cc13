// A person stops the sends in the middle of a backlog, on real databases: two workers obey, and so does a text of an open transaction.
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { describe, expect, test } from "vitest";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";

const { openPool } = usePostgres(import.meta.url);
const contacts = 40;

/** A transaction that is open, and what ends it. */
interface Open {
	tx: never;
	commit: () => Promise<unknown>;
}

async function stopInTheMiddle(store: OutboxStore, begin: () => Promise<Open>): Promise<void> {
	const sandbox = createSandbox({ now: new Date() });
	const agency = sandbox.agency();
	const people = Array.from({ length: contacts }, (_, at) => agency.contact(`+4477009002${10 + at}`));
	for (const person of people) person.writes("Hello");
	let sends = 0;
	const fetch: typeof globalThis.fetch = async (url, init) => {
		if (init?.method === "POST") sends++;
		await new Promise((resolve) => setTimeout(resolve, 20));
		return sandbox.fetch(url, init);
	};
	const client = createClient({ ...sandbox.connection, fetch });
	const open = () => createOutbox({ client, store, now: sandbox.clock.now, concurrency: 4 });
	const [one, other] = [open(), open()];
	await one.migrate();
	const enqueue = (at: number, part: string, tx?: never) =>
		one.enqueue(
			{ id: `${at} ${part}`, agencyId: agency.id, to: people[at]?.phoneNumber ?? "", body: part },
			tx === undefined ? {} : { tx },
		);
	for (let at = 0; at < contacts; at++) for (const part of ["1", "2"]) await enqueue(at, part);
	const stop = new AbortController();
	const working = Promise.all([one, other].map((outbox) => outbox.work({ signal: stop.signal })));
	await expect.poll(() => sends, { interval: 1 }).toBeGreaterThan(6);
	await other.suspend({ agencyId: agency.id, reason: "Stop", by: "Ann" });
	// A request that has begun ends by itself.
	await expect.poll(async () => (await one.health()).texts.sending).toBe(0);
	const before = sends;
	expect(before).toBeLessThan(2 * contacts);
	const { tx, commit } = await begin();
	await enqueue(0, "3", tx);
	await commit();
	await new Promise((resolve) => setTimeout(resolve, 1_500));
	expect(sends).toBe(before);
	expect((await one.status("0 3"))?.waitsFor?.kind).toBe("suspended");
	expect((await one.health()).workers.filter(({ isAlive }) => isAlive)).toHaveLength(2);
	expect(await one.resume({ agencyId: agency.id })).toBe(true);
	await expect.poll(() => people.flatMap((person) => person.inbox()).length).toBe(2 * contacts + 1);
	stop.abort();
	await working;
	const bodies = people.map((person) => person.inbox().map(({ body }) => body));
	expect(bodies).toEqual(people.map((_, at) => (at === 0 ? ["1", "2", "3"] : ["1", "2"])));
	expect(sandbox.violations()).toEqual([]);
}

test("SQLite", async () => {
	const db = new Libsql(newFile());
	db.exec("pragma journal_mode = wal; pragma synchronous = normal");
	await stopInTheMiddle(sqliteStore(db), async () => {
		db.exec("begin");
		return { tx: db as never, commit: async () => db.exec("commit") };
	});
});

test("PostgreSQL", async () => {
	const pool = await openPool();
	await stopInTheMiddle(postgresStore(pool), async () => {
		const connection = await pool.connect();
		await connection.query("begin");
		const commit = () => connection.query("commit").finally(() => connection.release());
		return { tx: connection as never, commit };
	});
});

describe.each(mysqlKinds)("%s", (kind) => {
	const { openPool } = useMysql(kind);
	test("as on the other databases", async () => {
		const pool = await openPool();
		await stopInTheMiddle(mysqlStore(pool), async () => {
			const connection = await pool.getConnection();
			await connection.beginTransaction();
			return { tx: connection as never, commit: () => connection.commit().finally(() => connection.release()) };
		});
	});
});
