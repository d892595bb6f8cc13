// pg-boss lets any number of workers share a PostgreSQL server. The embedded database belongs to one process.
import { type OutboxEngine, pgBossEngine } from "messaging-conversations/outbox";
import PgBoss from "pg-boss";
import { isServer } from "../database.ts";

export interface Engine {
	/** Undefined for the embedded database, on which one process works. */
	engine: OutboxEngine | undefined;
	stop: () => Promise<void>;
}

export async function startEngine(url: string): Promise<Engine> {
	if (!isServer(url)) return { engine: undefined, stop: async () => {} };
	const boss = new PgBoss({ connectionString: url, schedule: false });
	// A connection that breaks while it idles is replaced; without a listener it would end the process.
	boss.on("error", (error) => console.error(error.message));
	await boss.start();
	return { engine: pgBossEngine(boss), stop: () => boss.stop({ graceful: true, wait: true }) };
}
