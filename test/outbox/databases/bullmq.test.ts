// The engine of BullMQ 5 and 6 on a Redis of its own, which forgets, goes away and comes back.
import * as bullmq5 from "bullmq";
import * as bullmq6 from "bullmq-6";
import IORedis from "ioredis";
import { createClient } from "messaging-conversations";
import { type BullmqEngineOptions, bullmqEngine, createOutbox, type Pause } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { isLong } from "../../length.ts";
import { freePort } from "../../postgres.ts";
import { mysqlStore } from "../port.ts";
import { useMysql } from "./mysql-server.ts";
import { type RedisServer, startRedis } from "./redis-server.ts";

const { openPool } = useMysql("MariaDB");

let redis: RedisServer;
beforeAll(async () => {
	redis = await startRedis();
});
afterAll(() => redis.close());

const ends: (() => Promise<unknown>)[] = [];
afterAll(async () => {
	for (const end of ends.reverse()) await end();
});

type Bullmq = typeof bullmq5 | typeof bullmq6;
let queues = 0;

function openQueue(
	{ Queue }: Bullmq,
	name = `outbox-${++queues}`,
	connection: object = { host: "127.0.0.1", port: redis.port },
) {
	const Class = Queue as typeof bullmq5.Queue;
	const queue = new Class(name, { connection });
	queue.on("error", () => {});
	ends.push(() => queue.close());
	return queue;
}

async function openWorld(bullmq: Bullmq, { settleMs = 600_000 } = {}) {
	const sandbox = createSandbox({ now: new Date() });
	const agencyId = sandbox.agency().id;
	const people = ["+447700900101", "+447700900102"].map((number) => sandbox.agency().contact(number));
	for (const person of people) person.writes("Hello");
	const pool = await openPool();
	const queue = openQueue(bullmq);
	const open = (given: BullmqEngineOptions["queue"] = queue) => {
		const stop = new AbortController();
		const engine = bullmqEngine({ queue: given, Worker: bullmq.Worker });
		// With these ten minutes nothing is found by the scan: what is sent was woken by a job.
		const client = createClient({ ...sandbox.connection });
		const pauses: Pause[] = [];
		const onPaused = (pause: Pause) => void pauses.push(pause);
		const outbox = createOutbox({ client, store: mysqlStore(pool), engine, settleMs, followMs: [300], onPaused });
		let working: Promise<void> | undefined;
		const end = async () => {
			stop.abort();
			await working;
		};
		ends.push(end);
		return { outbox, pauses, end, work: () => void (working = outbox.work({ signal: stop.signal })) };
	};
	const note = (id: string, who = 0) => ({ id, agencyId, to: people[who]?.phoneNumber ?? "", body: id });
	const inbox = (who = 0) => people[who]?.inbox().map(({ body }) => body);
	return { pool, queue, open, note, inbox };
}

describe.each([
	["5", bullmq5],
	["6", bullmq6],
] as [string, Bullmq][])("BullMQ %s", (_, bullmq) => {
	test("a text is sent by its job, also in order, after a rollback and by a second worker", async () => {
		const { pool, queue, open, note, inbox } = await openWorld(bullmq);
		const [first, second] = [open(), open()];
		await first.outbox.migrate();
		first.work();
		second.work();
		const connection = await pool.getConnection();
		await connection.beginTransaction();
		await first.outbox.enqueue(note("undone"), { tx: connection });
		await connection.rollback();
		await connection.beginTransaction();
		for (const id of ["1", "2", "3"]) await first.outbox.enqueue(note(id), { tx: connection });
		// The jobs run before the transaction has ended.
		await new Promise((resolve) => setTimeout(resolve, 600));
		expect(inbox()).toEqual([]);
		await connection.commit();
		connection.release();
		await expect.poll(() => inbox()).toEqual(["1", "2", "3"]);
		await first.end();
		await second.outbox.enqueue({ ...note("4"), priority: 1_000_000 });
		await second.outbox.enqueue({ ...note("5", 1), priority: -1_000_000, notBefore: Date.now() + 700 });
		await expect.poll(() => [inbox(), inbox(1)]).toEqual([["1", "2", "3", "4"], ["5"]]);
		await second.end();
		// Jobs that are done leave nothing behind.
		const counts = await queue.getJobCounts("active", "completed", "failed");
		expect(counts).toEqual({ active: 0, completed: 0, failed: 0 });
	});

	if (!isLong && bullmq === bullmq6) return;

	test("what a flushed Redis forgot is found by the scan", async () => {
		const { open, note, inbox } = await openWorld(bullmq, { settleMs: 1_500 });
		const { outbox, work, end } = open();
		await outbox.migrate();
		await outbox.enqueue(note("1"));
		await outbox.enqueue(note("2", 1));
		await redis.flush();
		work();
		await expect.poll(() => [inbox(), inbox(1)]).toEqual([["1"], ["2"]]);
		await end();
	});

	test("texts of one contact with different priorities follow each other without the scan", async () => {
		const { pool, open, note, inbox } = await openWorld(bullmq);
		const { outbox, work, end } = open();
		await outbox.migrate();
		const ids = ["1", "2", "3", "4", "5"];
		for (const id of ids) await outbox.enqueue({ ...note(id), priority: 10 - Number(id) });
		await redis.flush();
		// The first scan finds them, and the next one comes half a minute later.
		await pool.query("update outbox_texts set next_at = next_at - 60000");
		work();
		await expect.poll(() => inbox()).toEqual(ids);
		await end();
	});

	test("a full Redis holds up no text", async () => {
		const { open, note, inbox } = await openWorld(bullmq, { settleMs: 1_500 });
		const { outbox, pauses, work, end } = open();
		await outbox.migrate();
		work();
		await redis.set("maxmemory", "1");
		try {
			expect(await outbox.enqueue(note("1"))).toMatchObject({ state: "waiting" });
			await expect.poll(() => inbox()).toEqual(["1"]);
		} finally {
			await redis.set("maxmemory", "0");
		}
		expect(pauses).toEqual([]);
		await end();
	});

	test("while Redis is away texts are stored and sent, and nothing fails", async () => {
		const { open, note, inbox } = await openWorld(bullmq, { settleMs: 1_500 });
		const { outbox, pauses, work, end } = open();
		await outbox.migrate();
		work();
		await outbox.enqueue(note("1"));
		await expect.poll(() => inbox()).toEqual(["1"]);
		await redis.stop();
		for (const id of ["2", "3"]) expect(await outbox.enqueue(note(id))).toMatchObject({ state: "waiting" });
		await expect.poll(() => inbox()).toEqual(["1", "2", "3"]);
		await redis.start();
		await outbox.enqueue(note("4"));
		await expect.poll(() => inbox()).toEqual(["1", "2", "3", "4"]);
		expect(pauses).toEqual([]);
		// It can be stopped without Redis, too.
		await redis.stop();
		await end();
		await redis.start();
	});
});

test("a Redis without the right password is named, and so is one that is away", async () => {
	const { open } = await openWorld(bullmq5);
	await redis.set("requirepass", "sesame");
	const [locked, away] = [
		openQueue(bullmq5),
		openQueue(bullmq5, "away", { host: "127.0.0.1", port: await freePort() }),
	].map((queue) => open(queue));
	for (const one of [locked, away]) one?.work();
	await expect.poll(() => [locked?.pauses.length, away?.pauses.length]).toEqual([1, 1]);
	expect(locked?.pauses[0]?.databaseError?.message).toBe("Redis takes no jobs: NOAUTH.");
	expect(away?.pauses[0]?.databaseError?.message).toBe("Redis takes no jobs: ECONNREFUSED.");
	for (const one of [locked, away]) await one?.end();
	await redis.stop();
	await redis.start();
});

test("work that waits for Redis at its start ends when the signal aborts", async () => {
	const { pool } = await openWorld(bullmq5);
	const queue = {
		name: "away",
		opts: {},
		add: async () => {},
		on: () => {},
		waitUntilReady: () => new Promise(() => {}),
	};
	const engine = bullmqEngine({ queue, Worker: bullmq5.Worker });
	const client = createClient({ ...createSandbox().connection });
	const outbox = createOutbox({ client, store: mysqlStore(pool), engine });
	// So it cannot be the time limit that ends it.
	vi.useFakeTimers({ toFake: ["setTimeout"] });
	try {
		for (const isEarly of [true, false]) {
			const stop = new AbortController();
			if (isEarly) stop.abort();
			const working = outbox.work({ signal: stop.signal });
			stop.abort();
			await working;
		}
	} finally {
		vi.useRealTimers();
	}
});

test("jobs hold no number, and their ids no colon", async () => {
	const { queue, open, note } = await openWorld(bullmq5);
	const { outbox } = open();
	await outbox.migrate();
	await outbox.enqueue({ ...note("id:with:colons"), body: "Key code 4711" });
	const jobs = await queue.getJobs(["prioritized", "waiting", "delayed"]);
	expect(jobs).toHaveLength(1);
	expect(jobs[0]?.id).toMatch(/^[\da-f-]{36}$/);
	expect(JSON.stringify(jobs[0])).not.toMatch(/4477|4711|colons/);
});

test("mistakes are refused by name", async () => {
	const { open } = await openWorld(bullmq5);
	const queue = openQueue(bullmq5);
	const { Worker } = bullmq5;
	for (const [options, field] of [
		[{ queue: {}, Worker }, "queue"],
		[{ queue, Worker: {} }, "Worker"],
		[{ queue, Worker, concurrency: 4 }, "options"],
	] as const)
		expect(() => bullmqEngine(options as never)).toThrow(
			expect.objectContaining({ _tag: "PartnerInvalidInput", field, operation: "bullmqEngine" }),
		);
	const shared = new IORedis({ host: "127.0.0.1", port: redis.port, lazyConnect: true });
	const { outbox } = open(openQueue(bullmq5, "shared", shared));
	await outbox.migrate();
	await expect(outbox.work()).rejects.toMatchObject({
		field: "queue",
		rule: expect.stringContaining("maxRetriesPerRequest: null"),
	});
	shared.disconnect();
});

test("a job of somebody else is refused, and not taken for done", async () => {
	const { queue, open } = await openWorld(bullmq5);
	const { outbox, work, end } = open();
	await outbox.migrate();
	const job = await queue.add("send-email", {});
	work();
	await expect.poll(() => job.getState()).toBe("failed");
	await end();
});
