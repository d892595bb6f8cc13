// Thirty agencies among processes that join, are killed and are stopped: each process has its share, and one that was stopped for longer
// than its lease stores nothing.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import Libsql from "libsql";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import type { RowDataPacket } from "mysql2";
import { describe, expect, onTestFinished, test } from "vitest";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import { useMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";
import { useProgram } from "./start-worker.ts";
import type { WatcherLine, WatcherTask } from "./watcher.ts";

const postgres = usePostgres(import.meta.url);
const mariadb = useMysql("MariaDB");
const start = useProgram<WatcherTask>("watcher");

type Row = Record<string, unknown>;
interface Place {
	url: string;
	store: OutboxStore;
	run: (sql: string) => Promise<Row[]>;
}

const table =
	"create table feed (id varchar(64) not null primary key, checkpoint text not null, writer varchar(64) not null)";

const places: Record<WatcherTask["database"], () => Promise<Place>> = {
	async libsql() {
		const url = newFile();
		const db = new Libsql(url);
		db.exec("pragma journal_mode = wal; pragma busy_timeout = 20000");
		db.exec(table);
		return { url, store: sqliteStore(db), run: async (sql) => db.prepare(sql).all() as Row[] };
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
		return { url, store: mysqlStore(pool), run: async (sql) => (await pool.query<RowDataPacket[]>(sql))[0] };
	},
};

/** Processes that follow the agencies of one service, and what they tell. */
async function openFleet(database: WatcherTask["database"], count: number) {
	const { url, store, run } = await places[database]();
	await store.migrate();
	const sandbox = createSandbox({ now: new Date() });
	const agencies = [sandbox.agency().id];
	for (let at = 1; at < count; at++) agencies.push(sandbox.link({ name: `Agency ${at}` }).id);
	const { baseUrl, apiKey, close } = await serve(sandbox);
	onTestFinished(() => close());
	/** Who polled an agency last, and when. */
	const polls = new Map<string, { name: string; at: number }>();
	const lines: (WatcherLine & { name: string })[] = [];
	async function join(name: string, options: Partial<WatcherTask> = {}): Promise<ChildProcess> {
		const child = await start({ database, url, baseUrl, apiKey, name, ...options });
		if (child.stdout)
			createInterface({ input: child.stdout }).on("line", (text) => {
				const line: WatcherLine = JSON.parse(text);
				lines.push({ ...line, name });
				if ("polled" in line) polls.set(line.polled, { name, at: performance.now() });
			});
		return child;
	}
	/** How many agencies each process has, by those that each has polled since. */
	async function shares(): Promise<Record<string, number>> {
		const owners = await run("select name, owner from outbox_leases where topic like 'agencies%'");
		const found: Record<string, number> = {};
		for (const { name } of owners) {
			const by = polls.get(String(name))?.name ?? "nobody";
			found[by] = (found[by] ?? 0) + 1;
		}
		return found;
	}
	return { sandbox, agencies, polls, lines, join, shares, run };
}

describe.each(["postgres", "mysql", "libsql"] as const)("%s", (database) => {
	test("three processes have ten of thirty agencies each, and two of them fifteen when one is killed", async () => {
		const { agencies, polls, join, shares } = await openFleet(database, 30);
		const first = await join("first");
		await expect.poll(shares).toEqual({ first: 30 });
		const [, third] = await Promise.all([join("second"), join("third")]);
		await expect.poll(shares).toEqual({ first: 10, second: 10, third: 10 });
		const theirs = agencies.filter((id) => polls.get(id)?.name === "third");
		const killedAt = performance.now();
		third.kill("SIGKILL");
		await expect.poll(shares).toEqual({ first: 15, second: 15 });
		// For the log: `AGENCIES_LOG=1` shows how long nobody polled them.
		const waits = theirs.map((id) => Math.round(((polls.get(id)?.at ?? 0) - killedAt) / 1_000));
		if (process.env.AGENCIES_LOG) console.log(database, "seconds until all are polled again:", Math.max(...waits));
		// One that ends in peace gives its own back.
		const ended = once(first, "exit");
		first.kill("SIGTERM");
		expect((await ended)[0]).toBe(0);
		await expect.poll(shares).toEqual({ second: 30 });
	});

	test("a process that was stopped before it stores a checkpoint stores none once another one has the agency", async () => {
		const { sandbox, agencies, lines, join, run } = await openFleet(database, 1);
		const writers = async () => (await run("select writer from feed")).map(({ writer }) => writer);
		sandbox.agency().contact("+447700900101").writes("Hello");
		// In SQLite a stopped transaction keeps everybody from writing, so that it stops without one.
		const stopped = await join("stopped", { stops: true });
		await expect.poll(() => lines.some((line) => "stopped" in line)).toBe(true);
		if (database === "libsql") {
			stopped.kill("SIGCONT");
			await expect.poll(writers).toEqual(["stopped"]);
			return;
		}
		await join("other");
		await expect.poll(writers).toEqual(["other"]);
		stopped.kill("SIGCONT");
		await expect.poll(() => lines.some((line) => "failed" in line && line.name === "stopped")).toBe(true);
		expect(agencies).toHaveLength(1);
		expect(await writers()).toEqual(["other"]);
	});
});
