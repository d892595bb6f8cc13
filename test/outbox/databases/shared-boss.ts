import { createClient } from "messaging-conversations";
import { createOutbox, type PgBossLike, type PostgresQueryable, pgBossEngine } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import pg from "pg";
import { expect } from "vitest";
import { postgresStore } from "../port.ts";

/** What the tests call of any version of pg-boss. */
interface Boss extends PgBossLike {
	on(event: "error", listener: () => void): unknown;
	start(): Promise<unknown>;
	stop(): Promise<unknown>;
}

/** Starts a pg-boss whose errors are left to the assertions. */
export async function startBoss<B extends Boss>(boss: B): Promise<B> {
	boss.on("error", () => {});
	await boss.start();
	return boss;
}

/** Two outboxes work by one pg-boss; the first stops, and the second still sends. */
export async function oneStopsAlone(connectionString: string, created: Boss): Promise<void> {
	const boss = await startBoss(created);
	const pool = new pg.Pool({ connectionString });
	await stopFirst(boss, pool);
	await boss.stop();
	await pool.end();
}

async function stopFirst(boss: PgBossLike, pool: PostgresQueryable): Promise<void> {
	const sandbox = createSandbox({ now: new Date() });
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Hello");
	const open = () => {
		const stop = new AbortController();
		const engine = pgBossEngine(boss, { pollSeconds: 0.5 });
		const outbox = createOutbox({
			client: createClient({ ...sandbox.connection }),
			store: postgresStore(pool),
			engine,
			// Longer than the test: nothing is sent but by a job.
			settleMs: 600_000,
		});
		return { outbox, stop, work: () => outbox.work({ signal: stop.signal }) };
	};
	const [first, second] = [open(), open()];
	await first.outbox.migrate();
	const works = [first.work(), second.work()];
	const send = async (id: string) => {
		await second.outbox.enqueue({ id, agencyId: sandbox.agency().id, to: anna.phoneNumber, body: id });
		await expect.poll(async () => (await second.outbox.status(id))?.state).toBe("sent");
	};
	await send("1");
	first.stop.abort();
	await works[0];
	await send("2");
	second.stop.abort();
	await works[1];
}
