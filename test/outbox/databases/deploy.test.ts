// A rolling deploy: of three pods one after the other is replaced, while texts are enqueued. Nobody logs an error, and every text
// is sent once and in its order.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { describe, expect, test } from "vitest";
import { isLong } from "../../length.ts";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";
import { useWorkers } from "./start-worker.ts";
import type { Task } from "./worker.ts";

const pods = 3;
const contacts = 10;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const { create, openPool } = usePostgres(import.meta.url);
const start = useWorkers();

async function deploy(name: string, store: OutboxStore, place: Pick<Task, "database" | "url">): Promise<void> {
	const sandbox = createSandbox({ now: new Date() });
	const agency = sandbox.agency();
	const people = Array.from({ length: contacts }, (_, at) => agency.contact(`+4477009002${10 + at}`));
	for (const person of people) person.writes("Hello");
	const { baseUrl, apiKey, close } = await serve(sandbox);
	const outbox = createOutbox({ client: createClient({ baseUrl, apiKey }), store });
	await outbox.migrate();

	let log = "";
	async function startPod(): Promise<ChildProcess> {
		const pod = await start({ ...place, baseUrl, apiKey, count: 0 });
		pod.stderr?.on("data", (chunk) => {
			log += chunk;
		});
		if (pod.stdout) await once(pod.stdout, "data");
		return pod;
	}
	const running = await Promise.all(Array.from({ length: pods }, startPod));

	const enqueuedAt = new Map<string, number>();
	/** When a request for each text of a contact began, in their order. */
	const begunAt = new Map<string, number[]>();
	sandbox.subscribe((event) => {
		if (event.type !== "request" || event.operation !== "messages.send" || !event.contact) return;
		begunAt.set(event.contact, [...(begunAt.get(event.contact) ?? []), Date.now()]);
	});
	let isDeployed = false;
	const enqueuing = (async () => {
		while (!isDeployed || enqueuedAt.size < 30) {
			const at = enqueuedAt.size;
			const person = people[at % contacts];
			const body = `Text ${String(at).padStart(5, "0")}`;
			enqueuedAt.set(body, Date.now());
			await outbox.enqueue({ id: body, agencyId: agency.id, to: person?.phoneNumber ?? "", body });
			await pause(100);
		}
	})();
	for (const old of running.slice(0, pods)) {
		running.push(await startPod());
		old.kill("SIGTERM");
		if (old.exitCode === null) await once(old, "exit");
		expect(old.exitCode).toBe(0);
	}
	isDeployed = true;
	await enqueuing;

	const arrived = () => people.flatMap((person) => person.inbox().map(({ body }) => String(body)));
	await expect.poll(() => arrived().length, { interval: 200 }).toBeGreaterThanOrEqual(enqueuedAt.size);
	for (const pod of running.slice(pods)) {
		pod.kill("SIGTERM");
		if (pod.exitCode === null) await once(pod, "exit");
	}
	await close();
	expect(arrived().sort()).toEqual([...enqueuedAt.keys()]);
	for (const person of people) {
		const bodies = person.inbox().map(({ body }) => body);
		expect(bodies).toEqual([...bodies].sort());
	}
	expect(log).toBe("");
	expect(sandbox.violations()).toEqual([]);
	if (isLong) {
		const waits = people.flatMap((person) =>
			person
				.inbox()
				.map(
					({ body }, at) => (begunAt.get(person.phoneNumber)?.[at] ?? Number.NaN) - (enqueuedAt.get(String(body)) ?? 0),
				),
		);
		console.info(name, { texts: waits.length, longestMs: Math.max(...waits) });
	}
}

test("SQLite", async () => {
	const url = newFile();
	const db = new Libsql(url);
	db.exec("pragma journal_mode = wal; pragma synchronous = normal");
	await deploy("SQLite", sqliteStore(db), { database: "libsql", url });
});

test("PostgreSQL", async () => {
	const url = await create();
	await deploy("PostgreSQL", postgresStore(await openPool(url)), { database: "postgres", url });
});

describe.each(mysqlKinds)("%s", (kind) => {
	const { create, openPool } = useMysql(kind);
	test("as on the other databases", async () => {
		const url = await create();
		await deploy(kind, mysqlStore(await openPool(url)), { database: "mysql", url });
	});
});
