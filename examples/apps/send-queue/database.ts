// PostgreSQL: a server by DATABASE_URL, else PGlite, which is PostgreSQL in this very process.
import { PGlite } from "@electric-sql/pglite";
import { type OutboxEngine, type PostgresQueryable, pgBossEngine } from "messaging-conversations/outbox";
import pg from "pg";
import PgBoss from "pg-boss";

export interface Database extends PostgresQueryable {
	/** Commits what `run` did, or nothing when it throws. */
	transaction: <T>(run: (tx: PostgresQueryable) => Promise<T>) => Promise<T>;
	/** Lets several processes work; undefined when there can be only one. */
	engine: OutboxEngine | undefined;
	close: () => Promise<void>;
}

/** `url` is a `postgres://` one, or the folder of a PGlite database; in memory without either. */
export async function openDatabase(url?: string): Promise<Database> {
	return url?.startsWith("postgres") ? openServer(url) : openEmbedded(url);
}

async function openServer(connectionString: string): Promise<Database> {
	const pool = new pg.Pool({ connectionString });
	const boss = new PgBoss({ connectionString, schedule: false });
	// A connection that breaks while it idles is replaced; without a listener it would end the process.
	for (const emitter of [pool, boss]) emitter.on("error", (error: Error) => console.error(error.message));
	await boss.start();
	return {
		query: (sql, values) => pool.query(sql, values),
		async transaction(run) {
			const client = await pool.connect();
			try {
				await client.query("begin");
				const done = await run(client);
				await client.query("commit");
				return done;
			} catch (error) {
				// On a broken connection the server has rolled back by itself.
				await client.query("rollback").catch(() => {});
				throw error;
			} finally {
				client.release();
			}
		},
		engine: pgBossEngine(boss),
		async close() {
			await boss.stop({ graceful: true, wait: true });
			await pool.end();
		},
	};
}

async function openEmbedded(folder?: string): Promise<Database> {
	const lite = await PGlite.create(folder);
	return {
		query: (sql, values) => lite.query(sql, values),
		transaction: (run) => lite.transaction((tx) => run(tx)),
		engine: undefined,
		close: () => lite.close(),
	};
}
