// What statements ask of a text is a column, so that nothing in `meta` looks like it; and people can read the columns.
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { createOutbox, type OutboxOptions, type Transaction } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { describe, expect, test } from "vitest";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import { useMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";

interface Opened {
	store: OutboxStore;
	/** Runs a statement beside the outbox. */
	rows: (sql: string) => Promise<unknown>;
	transaction: (act: (tx: Transaction) => Promise<unknown>) => Promise<void>;
}

const { openPool } = usePostgres(import.meta.url);
const { openPool: openMariadb } = useMysql("MariaDB");

const databases: [name: string, open: () => Promise<Opened>][] = [
	[
		"PostgreSQL",
		async () => {
			const pool = await openPool();
			return {
				store: postgresStore(pool),
				rows: async (sql) => (await pool.query(sql)).rows,
				async transaction(act) {
					const tx = await pool.connect();
					await tx.query("begin");
					await act(tx);
					await tx.query("commit");
					tx.release();
				},
			};
		},
	],
	[
		"MariaDB",
		async () => {
			const pool = await openMariadb();
			return {
				store: mysqlStore(pool),
				rows: async (sql) => (await pool.query(sql))[0],
				async transaction(act) {
					const tx = await pool.getConnection();
					await tx.beginTransaction();
					await act(tx);
					await tx.commit();
					tx.release();
				},
			};
		},
	],
	[
		"SQLite",
		async () => {
			const db = new Libsql(newFile());
			return {
				store: sqliteStore(db),
				rows: async (sql) => db.prepare(sql).all(),
				async transaction(act) {
					db.exec("begin");
					await act(db);
					db.exec("commit");
				},
			};
		},
	],
];

describe.each(databases)("on %s", (_, open) => {
	async function opened(options: Partial<OutboxOptions> = {}, fetchOf = (real: typeof fetch): typeof fetch => real) {
		const database = await open();
		const sandbox = createSandbox();
		const agency = sandbox.agency();
		const anna = agency.contact("+447700900101");
		anna.writes("Hello");
		const client = createClient({ ...sandbox.connection, fetch: fetchOf(sandbox.fetch) });
		const outbox = createOutbox({ client, store: database.store, now: sandbox.clock.now, ...options });
		await outbox.migrate();
		const note = { agencyId: agency.id, to: anna.phoneNumber, body: "See you at 14:00." };
		return { ...database, sandbox, anna, outbox, note };
	}

	// Each of these was to be found in the JSON of the text.
	test.each([
		{ restored: { from: 1, to: 2 } },
		{ nested: [{ restored: {}, attempts: 1, failures: 0 }] },
		'"restored":{',
	])("a text is cancelled in a transaction, whatever its meta says: %j", async (meta) => {
		const { outbox, note, transaction } = await opened();
		for (const id of ["a", "b"]) await outbox.enqueue({ ...note, id, meta });
		await transaction((tx) => outbox.cancel("a", { tx }));
		await transaction((tx) => outbox.enqueue({ ...note, id: "c", supersedes: "b" }, { tx }));
		expect(await outbox.status("a")).toMatchObject({ state: "cancelled", reason: "requested", meta });
		expect(await outbox.status("b")).toMatchObject({ state: "cancelled", reason: "superseded", meta });
	});

	test("a text that is cancelled in a transaction says who did it, until it is erased", async () => {
		const { outbox, note, transaction, rows } = await opened();
		for (const id of ["a", "b"]) await outbox.enqueue({ ...note, id });
		await transaction((tx) => outbox.cancel("a", { tx, by: "Ann" }));
		await transaction((tx) => outbox.cancel("b", { tx }));
		const steps = async (id: string) => JSON.stringify((await outbox.explain(id))?.steps);
		expect(await steps("a")).toContain("Cancelled in your transaction, as Ann said.");
		expect(await steps("b")).not.toContain("said");
		expect(await outbox.list({ to: note.to })).toMatchObject([{ id: "b" }, { id: "a", state: "cancelled" }]);
		await outbox.erase({ to: note.to, agencyId: note.agencyId });
		expect(await outbox.list({ to: note.to })).toEqual([]);
		expect(JSON.stringify(await rows("select * from outbox_texts"))).not.toContain("Ann");
	});

	test.each([undefined, { failures: 0 }, [{ failures: 0, more: 1 }]])(
		"a text whose check has failed is due, whatever its meta says: %j",
		async (meta) => {
			const beforeSend = () => {
				throw new Error("The CRM is down.");
			};
			const { outbox, note } = await opened({ beforeSend });
			await outbox.enqueue({ ...note, id: "a", meta });
			await outbox.runOnce();
			expect(await outbox.health()).toMatchObject({ due: 1, texts: { waiting: 1 } });
		},
	);

	test.each([undefined, { attempts: 1, more: 1 }, { text: { attempts: 1, failures: 0 } }])(
		"a text that is sent again is due, whatever its meta says: %j",
		async (meta) => {
			let posts = 0;
			const { outbox, note, sandbox } = await opened({}, (real) => async (url, init) => {
				const isSend = new Request(url, init).url.endsWith("/messages") && init?.method === "POST";
				if (!isSend) return real(url, init);
				posts++;
				throw new TypeError("fetch failed");
			});
			await outbox.enqueue({ ...note, id: "a", meta });
			while (posts < 2) {
				await outbox.runOnce();
				sandbox.clock.advance({ ms: 20_000 });
			}
			expect(await outbox.status("a")).toMatchObject({ state: "sending", attempts: 2 });
			expect(await outbox.health()).toMatchObject({ due: 1, texts: { sending: 1 } });
		},
	);

	test("the columns that people read say what a text is for, when it was sent and when it ended", async () => {
		const { outbox, note, rows, sandbox, transaction } = await opened();
		const now = sandbox.clock.now().getTime();
		await outbox.enqueue({ ...note, id: "a", purpose: "reply", priority: -1_000_000 });
		await outbox.enqueue({ ...note, id: "b", purpose: "marketing", priority: 7, notBefore: now + 60_000 });
		await outbox.enqueue({ ...note, id: "c", notBefore: now + 60_000 });
		await outbox.runOnce();
		await transaction((tx) => outbox.cancel("b", { tx }));
		const found = await rows("select id, purpose, priority, state, sent_at, ended_at from outbox_texts order by id");
		const since = (at: unknown) => (at === null ? null : Number(at) - now);
		const plain = (found as Record<string, unknown>[]).map(({ id, purpose, priority, state, sent_at, ended_at }) => {
			return [id, purpose, Number(priority), state, since(sent_at), since(ended_at)];
		});
		expect(plain).toEqual([
			["a", "reply", -1_000_000, "sent", expect.any(Number), expect.any(Number)],
			["b", "marketing", 7, "cancelled", null, expect.any(Number)],
			["c", "notice", 0, "waiting", null, null],
		]);
		const { sentAt, endedAt } = (await outbox.status("a")) ?? {};
		expect([sentAt, endedAt].map((at) => since(at?.getTime()))).toEqual(plain[0]?.slice(4));
	});
});
