// A second worker without an engine is refused; any process may enqueue, ask and cancel; a dead worker's lock is taken at once.
import { once } from "node:events";
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { createOutbox, postgresStore, sqliteStore } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Server, startServer } from "../../postgres.ts";
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

test.each(["libsql", "postgres"] as const)(
	"a second process on %s is refused, and takes over when the first is killed",
	async (database) => {
		const sandbox = createSandbox({ now: new Date() });
		const anna = sandbox.agency().contact("+447700900101");
		anna.writes("Hello");
		const { baseUrl, apiKey, close } = await serve(sandbox);
		const url = database === "libsql" ? newFile() : ((await server?.create()) ?? "");
		const worker = await start({ database, url, baseUrl, apiKey, count: 0 });
		if (worker.stdout) await once(worker.stdout, "data");
		const pool = new pg.Pool({ connectionString: url });
		pools.push(pool);
		const store = database === "libsql" ? sqliteStore(new Libsql(url)) : postgresStore(pool);
		const outbox = createOutbox({ client: createClient({ baseUrl, apiKey }), store, settleMs: 1_500, followMs: [300] });
		await expect.poll(() => store.worker()).toMatchObject({ pid: worker.pid });
		for (const act of [outbox.work, outbox.drain])
			await expect(act()).rejects.toMatchObject({
				_tag: "PartnerInvalidInput",
				field: "store",
				rule: expect.stringContaining(`process ${worker.pid} `),
			});

		const note = { agencyId: sandbox.agency().id, to: anna.phoneNumber, body: "Hi" };
		await outbox.enqueue({ id: "1", ...note });
		await expect.poll(async () => (await outbox.status("1"))?.state).toBe("sent");
		worker.kill("SIGKILL");
		await once(worker, "exit");
		await outbox.enqueue({ id: "2", ...note });
		expect(await outbox.cancel("2")).toBe(true);
		await outbox.enqueue({ id: "3", ...note });
		await outbox.drain();
		expect((await outbox.status("3"))?.state).toBe("sent");
		expect(anna.inbox()).toHaveLength(2);
		await close();
	},
);
