// A PostgreSQL server for the tests of a file, and pools that end with them.
import pg from "pg";
import { afterAll, beforeAll } from "vitest";
import { type Server, startServer } from "../../postgres.ts";

/** @param caller `import.meta.url` of the tests */
export function usePostgres(caller: string) {
	let server: Server | undefined;
	const pools: pg.Pool[] = [];
	beforeAll(async () => {
		server = await startServer(caller);
	});
	afterAll(async () => {
		for (const pool of pools) await pool.end();
		await server?.close();
	});

	/** The address of a new database. */
	const create = async (): Promise<string> => (await server?.create()) ?? "";

	/** A pool on a database, by default on a new one. */
	async function openPool(url?: string, options = ""): Promise<pg.Pool> {
		const pool = new pg.Pool({ connectionString: url ?? (await create()), options, max: 4 });
		// On a busy machine the server may be stopped while the last connections say goodbye.
		pool.on("connect", (client) => client.on("error", () => {}));
		pool.on("error", () => {});
		pools.push(pool);
		return pool;
	}

	return { create, openPool };
}
