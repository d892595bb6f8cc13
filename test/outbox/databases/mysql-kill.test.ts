// Two workers on BullMQ and MySQL. In each round one is killed with SIGKILL or stopped with SIGSTOP, and Redis is flushed or
// restarted. Every text is there once and in its order, and a contact who declined gets none.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Queue, Worker } from "bullmq";
import { createClient } from "messaging-conversations";
import { bullmqEngine, createOutbox, mysqlStore } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isLong } from "../../length.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";
import { type RedisServer, startRedis } from "./redis-server.ts";
import { useWorkers } from "./start-worker.ts";
import { points, type Task } from "./worker.ts";

const rounds = isLong ? 20 : 2;
const contacts = isLong ? 60 : 12;
const textsToDecliners = 3;

let redis: RedisServer;
beforeAll(async () => {
	redis = await startRedis();
});
afterAll(() => redis.close());
const startWorker = useWorkers();

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function start(task: Task): Promise<ChildProcess> {
	const child = await startWorker(task);
	await once(child.stdout ?? child, "data");
	return child;
}

describe.each(mysqlKinds)("%s", (kind) => {
	const { create, openPool } = useMysql(kind);

	test("SIGKILL and SIGSTOP, with Redis flushed and restarted in between", async () => {
		const sandbox = createSandbox({ now: new Date() });
		const agency = sandbox.agency();
		const people = Array.from({ length: contacts }, (_, at) =>
			agency.contact(`+4477009${String(at).padStart(5, "0")}`),
		);
		// One third has written, one third consents, and one third declines.
		const fateOf = (at: number) => (["written", "consents", "declines"] as const)[at % 3];
		people.forEach((person, at) => {
			if (fateOf(at) === "written") person.writes("Hello");
		});
		const answered = new Set<number>();
		const answering = setInterval(() => {
			people.forEach((person, at) => {
				if (answered.has(at) || person.inbox().at(-1)?.kind !== "template") return;
				if (fateOf(at) === "consents") person.accepts();
				else person.declines();
				answered.add(at);
			});
		}, 150);
		const { baseUrl, apiKey, close } = await serve(sandbox);
		const url = await create();
		const pool = await openPool(url);
		const queue = new Queue("outbox", { connection: { host: "127.0.0.1", port: redis.port } });
		queue.on("error", () => {});
		const outbox = createOutbox({
			client: createClient({ baseUrl, apiKey }),
			store: mysqlStore(pool),
			engine: bullmqEngine({ queue, Worker }),
		});
		await outbox.migrate();

		/** Stores texts in one transaction for each contact. */
		async function enqueue(round: number, fits: (at: number) => boolean, count = 1): Promise<void> {
			for (const [at, { phoneNumber: to }] of people.entries()) {
				if (!fits(at)) continue;
				const connection = await pool.getConnection();
				await connection.beginTransaction();
				for (let number = round; number < round + count; number++) {
					const text = { id: `${at}-${number}`, agencyId: agency.id, to, body: `Text ${number}` };
					await outbox.enqueue(text, { tx: connection });
				}
				await connection.commit();
				connection.release();
			}
		}
		await enqueue(0, (at) => fateOf(at) === "declines", textsToDecliners);

		const task: Task = { database: "bullmq", url, redis: redis.port, baseUrl, apiKey, count: 0 };
		const workers = [await start(task), await start(task)];
		const deaths = { SIGKILL: 0, SIGSTOP: 0 };
		for (let round = 0; round < rounds; round++) {
			const turn = round % workers.length;
			if (round % 2 === 0) {
				// One that dies at a point takes the place of the one that ran.
				const victim = workers[turn];
				victim?.kill("SIGKILL");
				const point = points[(round / 2) % points.length] ?? "stored";
				workers[turn] = await start({ ...task, point, count: 2 + (round % 3) });
			}
			await enqueue(round, (at) => fateOf(at) !== "declines");
			if (round % 2 === 0) {
				const dying = workers[turn];
				if (dying && dying.signalCode === null) await Promise.race([once(dying, "exit"), pause(4_000)]);
				if (dying?.signalCode === null) dying.kill("SIGKILL");
				deaths.SIGKILL++;
				await redis.flush();
				workers[turn] = await start(task);
			} else {
				await pause(40 * (round % 5));
				workers[turn]?.kill("SIGSTOP");
				await redis.stop();
				await pause(isLong ? 3_000 : 2_000);
				await redis.start();
				workers[turn]?.kill("SIGCONT");
				deaths.SIGSTOP++;
			}
		}
		const arrived = () =>
			people.map((person) => person.inbox().flatMap(({ kind, body }) => (kind === "text" ? [String(body)] : [])));
		const expected = people.filter((_, at) => fateOf(at) !== "declines").length * rounds;
		await expect
			.poll(() => arrived().flat().length, { timeout: 200_000, interval: 200 })
			.toBeGreaterThanOrEqual(expected);
		const unfinished = () =>
			pool.query("select id from outbox_text where state in ('waiting', 'sending', 'held')").then(([rows]) => rows);
		await expect.poll(unfinished, { timeout: 100_000, interval: 300 }).toEqual([]);
		// What is doubled would come now.
		await pause(isLong ? 4_000 : 1_500);
		for (const worker of workers) {
			worker.kill("SIGTERM");
			if (worker.exitCode === null && worker.signalCode === null) await once(worker, "exit");
		}
		clearInterval(answering);
		await close();
		await queue.close();

		const inOrder = Array.from({ length: rounds }, (_, round) => `Text ${round}`);
		const figures = { doubled: 0, lost: 0, outOfOrder: 0, afterDecline: 0, askedTwice: 0 };
		for (const [at, bodies] of arrived().entries()) {
			if (fateOf(at) === "declines") figures.afterDecline += bodies.length;
			else {
				figures.doubled += bodies.length - new Set(bodies).size;
				figures.lost += inOrder.filter((body) => !bodies.includes(body)).length;
				const unique = [...new Set(bodies)].map((body) => Number(body.slice(5)));
				figures.outOfOrder += unique.filter((number, index) => number < (unique[index - 1] ?? -1)).length;
			}
			const asked = people[at]?.inbox().filter(({ kind }) => kind === "template").length ?? 0;
			figures.askedTwice += Math.max(0, asked - 1);
		}
		if (isLong) console.info(kind, { texts: expected, ...deaths, ...figures });
		expect(figures).toEqual({ doubled: 0, lost: 0, outOfOrder: 0, afterDecline: 0, askedTwice: 0 });
		expect(answered.size).toBe(people.filter((_, at) => fateOf(at) !== "written").length);
		expect(sandbox.violations()).toEqual([]);
	});
});
