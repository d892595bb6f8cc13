// A worker in a process of its own, which kills itself with SIGKILL the n-th time that it comes to a point.
import { PGlite } from "@electric-sql/pglite";
import { Queue, Worker } from "bullmq";
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import {
	bullmqEngine,
	createOutbox,
	mysqlStore,
	type OutboxEngine,
	type OutboxStore,
	pgBossEngine,
	postgresStore,
	sqliteStore,
} from "messaging-conversations/outbox";
import mysql from "mysql2/promise";
import pg from "pg";
import PgBoss from "pg-boss";

/** Where a worker dies. */
export const points = [
	"before the mark",
	"after the mark",
	"request under way",
	"answered, not stored",
	"stored",
] as const;

export interface Task {
	database: "libsql" | "pglite" | "postgres" | "pg-boss" | "bullmq";
	url: string;
	/** Port of Redis. */
	redis?: number;
	baseUrl: string;
	apiKey: string;
	/** Where to die, and at which time of coming there. */
	point?: (typeof points)[number];
	count: number;
	/** How long it waits before each send, in milliseconds. */
	slowMs?: number;
	/** Texts to store first. */
	enqueue?: { id: string; agencyId: string; to: string; body: string }[];
}

export const times = { settleMs: 1_500, followMs: [300] };

const { TASK } = process.env;
if (TASK) await main(JSON.parse(TASK));

async function main(task: Task): Promise<void> {
	const { baseUrl, apiKey, point, count, slowMs = 0, enqueue = [] } = task;
	let left = count;
	const die = (at: (typeof points)[number]): void => {
		if (at === point && --left === 0) process.kill(process.pid, "SIGKILL");
	};
	const { store, engine } = await open(task);
	const client = createClient({
		baseUrl,
		apiKey,
		async fetch(input, init) {
			if (init?.method !== "POST") return fetch(input, init);
			if (slowMs > 0) await new Promise((resolve) => setTimeout(resolve, slowMs));
			const answer = fetch(input, init);
			if (point === "request under way")
				await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, Math.random() * 5))]);
			die("request under way");
			const response = await answer;
			die("answered, not stored");
			return response;
		},
	});
	const outbox = createOutbox({
		client,
		engine,
		concurrency: 8,
		...times,
		store: {
			...store,
			async save(text, options) {
				if (text.state === "sending") die("before the mark");
				const isSaved = await store.save(text, options);
				if (text.state === "sending") die("after the mark");
				if (text.state === "sent" || text.state === "held") die("stored");
				return isSaved;
			},
		},
	});
	await outbox.migrate();
	for (const text of enqueue) await outbox.enqueue(text);
	const stop = new AbortController();
	process.once("SIGTERM", () => stop.abort());
	process.stdout.write("ready\n");
	if (enqueue.length === 0) await outbox.work({ signal: stop.signal });
	process.exit(0);
}

async function open({ database, url, redis }: Task): Promise<{ store: OutboxStore; engine?: OutboxEngine }> {
	if (database === "libsql") {
		const db = new Libsql(url);
		db.exec("pragma journal_mode = wal; pragma synchronous = normal");
		return { store: sqliteStore(db) };
	}
	if (database === "pglite") return { store: postgresStore(await PGlite.create(url)) };
	if (database === "bullmq") {
		const queue = new Queue("outbox", { connection: { host: "127.0.0.1", port: Number(redis) } });
		queue.on("error", () => {});
		return { store: mysqlStore(mysql.createPool(url)), engine: bullmqEngine({ queue, Worker }) };
	}
	const store = postgresStore(new pg.Pool({ connectionString: url }));
	if (database === "postgres") return { store };
	const boss = new PgBoss({ connectionString: url, schedule: false });
	boss.on("error", () => {});
	await boss.start();
	return { store, engine: pgBossEngine(boss, { pollSeconds: 0.5 }) };
}
