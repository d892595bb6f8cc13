// The worker of the recipe, two at a time, as the pods of its manifest.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { createClient } from "messaging-conversations";
import { createOutbox, pgBossEngine, postgresStore } from "messaging-conversations/outbox";
import PgBoss from "pg-boss";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { afterTest, createDatabase, startProgram, startService } from "./service.ts";

async function open() {
	const service = await startService({ now: new Date() });
	const { url, pool } = await createDatabase();
	const boss = new PgBoss({ connectionString: url, schedule: false });
	boss.on("error", () => {});
	await boss.start();
	afterTest(() => boss.stop({ graceful: false }));
	const client = createClient({ ...service.sandbox.connection });
	const outbox = createOutbox({ client, store: postgresStore(pool), engine: pgBossEngine(boss) });
	await outbox.migrate();
	const startPod = async (port: string, quick?: [RegExp, string]) => {
		const env = { ...service.env, DATABASE_URL: url, PORT: port };
		const pod = startProgram("kubernetes/worker", env, quick);
		await pod.printed(/"working"/);
		return pod;
	};
	const state = async (id: string) => (await outbox.status(id))?.state;
	return { ...service, outbox, startPod, state };
}

async function freePort(): Promise<string> {
	const server = createServer().listen(0);
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	server.close();
	return `${port}`;
}

test("a pod that is stopped in the middle of a send finishes it, and another one does the rest", async () => {
	const { sandbox, anna, agencyId, outbox, startPod, state } = await open();
	const port = await freePort();
	const first = await startPod(port);
	expect((await fetch(`http://127.0.0.1:${port}/live`)).status).toBe(200);
	const slow = sandbox.faults.add({ operation: "messages.send", effect: { latencyMs: 600 } });
	for (const id of ["1", "2", "3"]) await outbox.enqueue({ id, agencyId, to: anna.phoneNumber, body: id });
	await expect.poll(() => slow.remaining).toBe(0);
	first.child.kill("SIGTERM");
	expect(await first.ended).toBe(0);
	expect(await state("1")).toBe("sent"); // known before the pod ended
	expect(anna.inbox().map(({ body }) => body)[0]).toBe("1");

	sandbox.faults.add({ operation: "messages.send", effect: { status: 429, retryAfter: 1 } });
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: { status: 500 } });
	// Otherwise it sees a decline after half a minute.
	const second = await startPod("0", [/settleMs: 35[^,]+,/, "settleMs: 1_500, followMs: [300],"]);
	await expect.poll(() => state("3")).toBe("sent");
	expect(anna.inbox().map(({ body }) => body)).toEqual(["1", "2", "3"]);

	// Bert has never written: his first text is held, and a "no" to it cancels the second.
	const bert = sandbox.agency().contact("+447700900102");
	for (const id of ["4", "5"]) await outbox.enqueue({ id, agencyId, to: bert.phoneNumber, body: id });
	await expect.poll(() => state("4")).toBe("held");
	bert.declines();
	await expect.poll(() => state("5")).toBe("cancelled");
	expect(bert.inbox().filter(({ kind }) => kind === "text")).toEqual([]);
	second.child.kill("SIGTERM");
	expect(await second.ended).toBe(0);
});

test("the manifest names what the worker reads and answers, and waits longer than a request", () => {
	const worker = readFileSync("kubernetes/worker.ts", "utf8");
	const { spec } = parse(readFileSync("kubernetes/deployment.yaml", "utf8")).spec.template;
	const [container] = spec.containers;
	for (const { name } of container.env) expect(worker).toContain(name);
	expect(worker).toContain(`"${container.livenessProbe.httpGet.path}"`);
	expect(worker).toContain(`PORT ?? ${container.ports[0].containerPort}`);
	const [, settleMs = ""] = /settleMs: ([\d_]+)/.exec(worker) ?? [];
	expect(spec.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(Number(settleMs.replace("_", "")) + 5_000);
});
