// PostgreSQL: a server by DATABASE_URL, else PGlite, which is PostgreSQL in this process.
import { PGlite, type Transaction } from "@electric-sql/pglite";
import pg from "pg";

export type Row = Record<string, unknown>;

/** What SQL goes through: the database, or a transaction on it. An outbox takes it as its `pool` and as `tx`. */
export interface Sql {
	query: (text: string, values?: readonly unknown[]) => Promise<{ rows: Row[] }>;
}

export interface Database extends Sql {
	/** Commits what `run` did, or nothing when it throws. */
	transaction: <T>(run: (sql: Sql) => Promise<T>) => Promise<T>;
	close: () => Promise<void>;
}

/** `url` is a `postgres://` one, or the folder of a PGlite database; in memory without either. */
export async function openDatabase(url?: string): Promise<Database> {
	return url && isServer(url) ? openServer(url) : openEmbedded(url);
}

/** Whether any number of processes can share the database. */
export function isServer(url: string): boolean {
	return url.startsWith("postgres");
}

/** Creates tables with `create table if not exists`, one process at a time, because PostgreSQL fails one of two that do it at once. */
export async function createTables(database: Database, sql: string): Promise<void> {
	await database.transaction(async (tx) => {
		await tx.query("select pg_advisory_xact_lock(7021)"); // any number, the same in each process
		await tx.query(sql);
	});
}

function openServer(connectionString: string): Database {
	const pool = new pg.Pool({ connectionString });
	// A connection that breaks while it idles is replaced by the pool; without a listener it would end the process.
	pool.on("error", (error) => console.error(error.message));
	const through = (client: pg.Pool | pg.PoolClient): Sql => ({
		query: (text, values) => client.query(text, values ? [...values] : undefined),
	});
	return {
		...through(pool),
		async transaction(run) {
			const client = await pool.connect();
			// The pool listens to connections that idle only: one that breaks between two statements would end the process.
			const onError = (error: Error): void => console.error(error.message);
			client.on("error", onError);
			try {
				await client.query("begin");
				const done = await run(through(client));
				await client.query("commit");
				return done;
			} catch (error) {
				// On a broken connection the server has rolled back by itself.
				await client.query("rollback").catch(() => {});
				throw error;
			} finally {
				client.off("error", onError);
				client.release();
			}
		},
		close: () => pool.end(),
	};
}

async function openEmbedded(folder?: string): Promise<Database> {
	const lite = await PGlite.create(folder);
	const through = (client: PGlite | Transaction): Sql => ({
		async query(text, values) {
			// PGlite takes several statements only without values, and a number for a text only as text.
			if (values?.length)
				return client.query<Row>(
					text,
					values.map((value) => (typeof value === "number" ? `${value}` : value)),
				);
			const results = await client.exec(text);
			return { rows: results.at(-1)?.rows ?? [] };
		},
	});
	return {
		...through(lite),
		transaction: (run) => lite.transaction((client) => run(through(client))),
		close: () => lite.close(),
	};
}
