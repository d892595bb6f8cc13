import { createClient } from "messaging-conversations";
import { createOutbox, pgBossEngine } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import pg from "pg";
import { PgBoss } from "pg-boss-12";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Server, startServer } from "../../../postgres.ts";
import { postgresStore } from "../../port.ts";
import { oneStopsAlone, startBoss } from "../shared-boss.ts";

let server: Server | undefined;
beforeAll(async () => {
	server = await startServer(import.meta.url);
});
afterAll(() => server?.close());

test("two workers by pg-boss 12, and texts stored in a transaction of the caller's", async () => {
	const connectionString = (await server?.create()) ?? "";
	const sandbox = createSandbox({ now: new Date() });
	const client = createClient({ ...sandbox.connection });
	const pool = new pg.Pool({ connectionString });
	const people = Array.from({ length: 10 }, (_, at) => sandbox.agency().contact(`+44770090010${at}`));
	for (const person of people) person.writes("Hello");
	const stop = new AbortController();
	const workers = [];
	for (let worker = 0; worker < 2; worker++) {
		const boss = await startBoss(new PgBoss({ connectionString, schedule: false }));
		const engine = pgBossEngine(boss, { pollSeconds: 0.5 });
		const outbox = createOutbox({ client, store: postgresStore(pool), engine, settleMs: 1_500, followMs: [300] });
		await outbox.migrate();
		workers.push({ boss, outbox, working: outbox.work({ signal: stop.signal }) });
	}
	const [first] = workers;
	const tx = await pool.connect();
	await tx.query("begin");
	for (const body of ["1", "2", "3", "4"])
		for (const { phoneNumber } of people)
			await first?.outbox.enqueue(
				{ id: `${phoneNumber} ${body}`, agencyId: sandbox.agency().id, to: phoneNumber, body },
				{ tx },
			);
	await tx.query("commit");
	tx.release();
	const texts = () => people.map((person) => person.inbox().map(({ body }) => body));
	await expect.poll(() => texts().flat().length).toBe(40);
	stop.abort();
	for (const { boss, working } of workers) {
		await working;
		await boss.stop();
	}
	await pool.end();
	expect(texts()).toEqual(people.map(() => ["1", "2", "3", "4"]));
});

test("an outbox that stops leaves the workers of another one on the same pg-boss 12", async () => {
	const connectionString = (await server?.create()) ?? "";
	await oneStopsAlone(connectionString, new PgBoss({ connectionString, schedule: false }));
});
