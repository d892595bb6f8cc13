// Several processes follow one outbox, and are killed and stopped between the function and its acknowledgement. Each text is handled,
// and none of them again and again.
import { once } from "node:events";
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import type { RowDataPacket } from "mysql2";
import { describe, expect, test } from "vitest";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import type { FollowerTask } from "./follower.ts";
import { useMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";
import { useProgram } from "./start-worker.ts";

const postgres = usePostgres(import.meta.url);
const mariadb = useMysql("MariaDB");
const start = useProgram<FollowerTask>("follower");

interface Place {
	url: string;
	store: OutboxStore;
	run: (sql: string) => Promise<{ id: string; name: string }[]>;
}

const table = "create table handled (id varchar(64) not null, name varchar(64) not null)";

const places: Record<FollowerTask["database"], () => Promise<Place>> = {
	async libsql() {
		const url = newFile();
		const db = new Libsql(url);
		db.exec("pragma journal_mode = wal; pragma busy_timeout = 20000");
		db.exec(table);
		const run = async (sql: string) => db.prepare(sql).all() as { id: string; name: string }[];
		return { url, store: sqliteStore(db), run };
	},
	async postgres() {
		const url = await postgres.create();
		const pool = await postgres.openPool(url);
		await pool.query(table);
		return { url, store: postgresStore(pool), run: async (sql) => (await pool.query(sql)).rows };
	},
	async mysql() {
		const url = await mariadb.create();
		const pool = await mariadb.openPool(url);
		await pool.query(table);
		const run = async (sql: string) =>
			(await pool.query<RowDataPacket[]>(sql))[0].map(({ id, name }) => ({ id: String(id), name: String(name) }));
		return { url, store: mysqlStore(pool), run };
	},
};

const numbered = (from: number, to: number): string[] =>
	Array.from({ length: to - from }, (_, at) => String(from + at).padStart(3, "0"));

describe.each(["postgres", "mysql", "libsql"] as const)("%s", (database) => {
	test("a follower that is killed, and one that is stopped, lose no text and repeat one each", async () => {
		const { url, store, run } = await places[database]();
		const sandbox = createSandbox();
		const outbox = createOutbox({ client: createClient({ ...sandbox.connection }), store });
		await outbox.migrate();
		/** Stores texts that have ended, without a request. */
		async function end(ids: readonly string[]): Promise<void> {
			for (const id of ids) {
				await outbox.enqueue({ id, agencyId: "agy_1", to: "+447700900101", body: "Hello" });
				await outbox.cancel(id);
			}
		}
		const handled = () => run("select id, name from handled");
		const names = async () => (await handled()).map(({ name }) => name);
		await end(numbered(0, 20));

		const killed = await start({ database, url, name: "killed", dies: { at: 8, signal: "SIGKILL" } });
		if (killed.exitCode === null) await once(killed, "exit");
		expect(await names()).toEqual(Array(8).fill("killed"));

		const stopped = await start({ database, url, name: "stopped", dies: { at: 5, signal: "SIGSTOP" } });
		await expect.poll(async () => (await names()).filter((name) => name === "stopped").length).toBe(5);
		// Two others wait for its lease to end. One of them takes it.
		const others = await Promise.all(["one", "two"].map((name) => start({ database, url, name })));
		await expect.poll(async () => new Set((await handled()).map(({ id }) => id)).size).toBe(20);
		await expect.poll(() => outbox.settled()).toEqual([]);
		// It goes on as if no time had passed.
		stopped.kill("SIGCONT");
		await end(numbered(20, 60));
		await expect.poll(() => outbox.settled()).toEqual([]);

		const all = await handled();
		const timesOf = (id: string) => all.filter((each) => each.id === id).length;
		const repeated = numbered(0, 60).filter((id) => timesOf(id) !== 1);
		// The text that the killed one had, and the one that the stopped one had.
		expect(repeated.map((id) => [id, timesOf(id)])).toEqual([
			["007", 2],
			["011", 2],
		]);
		const leaders = new Set(all.filter(({ id }) => Number(id) >= 20).map(({ name }) => name));
		expect([...leaders].filter((name) => name === "killed" || name === "stopped")).toEqual([]);
		expect(leaders.size).toBe(1);
		for (const child of [stopped, ...others]) {
			const ended = once(child, "exit");
			child.kill("SIGTERM");
			expect((await ended)[0]).toBe(0);
		}
	});
});
