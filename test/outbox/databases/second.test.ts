// Two processes work on one store without an engine. When one is killed, the other takes over what it had.
import { once } from "node:events";
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Server, startServer } from "../../postgres.ts";
import { postgresStore, sqliteStore } from "../port.ts";
import { newFile } from "./open.ts";
import { useWorkers } from "./start-worker.ts";

let server: Server | undefined;
const pools: pg.Pool[] = [];
beforeAll(async () => {
	server = await startServer(import.meta.url);
});
afterAll(async () => {
	for (const pool of pools) await pool.end();
	await server?.close();
});
const start = useWorkers();

test.each(["libsql", "postgres"] as const)("two processes on %s work at once, beside runOnce", async (database) => {
	const sandbox = createSandbox({ now: new Date() });
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Hello");
	const { baseUrl, apiKey, close } = await serve(sandbox);
	const url = database === "libsql" ? newFile() : ((await server?.create()) ?? "");
	const workers = [];
	for (let at = 0; at < 2; at++) {
		const worker = await start({ database, url, baseUrl, apiKey, count: 0 });
		if (worker.stdout) await once(worker.stdout, "data");
		workers.push(worker);
	}
	const pool = new pg.Pool({ connectionString: url });
	pools.push(pool);
	const store = database === "libsql" ? sqliteStore(new Libsql(url)) : postgresStore(pool);
	const outbox = createOutbox({ client: createClient({ baseUrl, apiKey }), store, settleMs: 1_500, followMs: [300] });
	const text = { agencyId: sandbox.agency().id, to: anna.phoneNumber };
	const ids = Array.from({ length: 20 }, (_, at) => `${at}`);
	for (const id of ids) {
		await outbox.enqueue({ id, ...text, body: `Text ${id}` });
		if (id === "10") workers[0]?.kill("SIGKILL");
		if (Number(id) % 5 === 0) await outbox.runOnce();
	}
	await expect.poll(async () => (await outbox.status("19"))?.state).toBe("sent");
	expect(anna.inbox().map(({ body }) => body)).toEqual(ids.map((id) => `Text ${id}`));
	expect(sandbox.violations()).toEqual([]);
	workers[1]?.kill("SIGTERM");
	await close();
});
