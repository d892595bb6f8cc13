// A worker in a process of its own, which kills or stops itself the n-th time that it comes to a point.
import { PGlite } from "@electric-sql/pglite";
import { Queue, Worker } from "bullmq";
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { bullmqEngine, createOutbox, type OutboxEngine, pgBossEngine } from "messaging-conversations/outbox";
import mysql from "mysql2/promise";
import pg from "pg";
import PgBoss from "pg-boss";
import { changed, mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";

/** Where a worker dies or stops. */
export const points = [
	"before the mark",
	"after the mark",
	"request under way",
	"answered, not stored",
	"stored",
] as const;

export interface Task {
	database: "libsql" | "pglite" | "postgres" | "mysql" | "pg-boss" | "bullmq";
	url: string;
	/** Port of Redis. */
	redis?: number;
	baseUrl: string;
	apiKey: string;
	/** Where to die or stop, and at which time of coming there. */
	point?: (typeof points)[number];
	count: number;
	/** What it sends itself there. One that is stopped resumes when its parent sends it SIGCONT. @default "SIGKILL" */
	signal?: "SIGKILL" | "SIGSTOP";
	/** Only texts to numbers that begin like this count. @default all */
	numbers?: string;
	/** How many requests fail, before or after the service takes them: 0.3 of them. @default none */
	faults?: number;
	/** Its clock is set forward and back all the time. */
	hasClockSteps?: boolean;
	/** Texts to store first. */
	enqueue?: { id: string; agencyId: string; to: string; body: string }[];
}

export const times = { settleMs: 1_500, followMs: [300] };

const { TASK } = process.env;
if (TASK) await main(JSON.parse(TASK));

async function main(task: Task): Promise<void> {
	const { baseUrl, apiKey, point, count, signal = "SIGKILL", numbers = "", enqueue = [], faults = 0 } = task;
	if (task.hasClockSteps) stepClock();
	let left = count;
	const come = (at: (typeof points)[number], to: string): void => {
		if (at !== point || !to.startsWith(numbers) || --left !== 0) return;
		// A pipe is written at once, so that the parent learns of it although this process stops.
		process.stdout.write("at the point\n");
		process.kill(process.pid, signal);
	};
	const { store, engine } = await open(task);
	const client = createClient({
		baseUrl,
		apiKey,
		async fetch(input, given) {
			// A kept connection, which the server closes during a long stop, would hide a request that comes too late.
			const init = { ...given, headers: { ...given.headers, connection: "close" } };
			if (init.method !== "POST") return failing(faults, () => fetch(input, init));
			const { to } = JSON.parse(String(init.body));
			const answer = failing(faults, () => fetch(input, init));
			if (point === "request under way")
				await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, Math.random() * 5))]);
			come("request under way", to);
			const response = await answer;
			come("answered, not stored", to);
			return response;
		},
	});
	const outbox = createOutbox({
		client,
		engine,
		concurrency: 8,
		...times,
		store: changed(store, {
			async save(text, options) {
				if (text.state === "sending") come("before the mark", text.to);
				const isSaved = await store.save(text, options);
				// Another worker was faster.
				if (!isSaved) return false;
				if (text.state === "sending") come("after the mark", text.to);
				if (text.state === "sent" || text.state === "held") come("stored", text.to);
				return true;
			},
		}),
	});
	await outbox.migrate();
	for (const text of enqueue) await outbox.enqueue(text);
	const stop = new AbortController();
	process.once("SIGTERM", () => stop.abort());
	process.stdout.write("ready\n");
	if (enqueue.length === 0) await outbox.work({ signal: stop.signal });
	process.exit(0);
}

/** What something in front of the service says, although the service may have taken the request. */
const between = [
	() => new Response("<html>Bad gateway</html>", { status: 502, headers: { "content-type": "text/html" } }),
	() => new Response("<html>Gateway time-out</html>", { status: 504, headers: { "content-type": "text/html" } }),
	() => new Response("default backend - 404", { status: 404, headers: { "content-type": "text/plain" } }),
	() => Promise.reject(new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNRESET" }) })),
];

/** Makes a request of which some get lost, and some whose answer does. */
async function failing(rate: number, act: () => Promise<Response>): Promise<Response> {
	const instead = () => between[Math.floor(Math.random() * between.length)]?.() ?? Response.error();
	const luck = Math.random();
	if (luck < rate / 2) return instead();
	const response = await act();
	return luck < rate ? instead() : response;
}

/** Sets the clock by up to ten seconds, every second. */
function stepClock(): void {
	const real = Date.now;
	let offset = 0;
	Date.now = () => real() + offset;
	setInterval(() => {
		offset = Math.round((Math.random() - 0.5) * 20_000);
	}, 1_000).unref();
}

async function open({ database, url, redis }: Task): Promise<{ store: OutboxStore; engine?: OutboxEngine }> {
	if (database === "libsql") {
		const db = new Libsql(url);
		db.exec("pragma journal_mode = wal; pragma synchronous = normal");
		return { store: sqliteStore(db) };
	}
	if (database === "mysql") return { store: mysqlStore(mysql.createPool(url)) };
	if (database === "pglite") return { store: postgresStore(await PGlite.create(url)) };
	if (database === "bullmq") {
		const queue = new Queue("outbox", { connection: { host: "127.0.0.1", port: Number(redis) } });
		queue.on("error", () => {});
		return { store: mysqlStore(mysql.createPool(url)), engine: bullmqEngine({ queue, Worker }) };
	}
	const pool = new pg.Pool({ connectionString: url });
	// One that is idle may be cut off.
	pool.on("error", () => {});
	const store = postgresStore(pool);
	if (database === "postgres") return { store };
	const boss = new PgBoss({ connectionString: url, schedule: false });
	boss.on("error", () => {});
	await boss.start();
	return { store, engine: pgBossEngine(boss, { pollSeconds: 0.5 }) };
}
