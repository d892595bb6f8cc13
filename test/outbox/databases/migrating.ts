// A process that migrates, and that is killed by SIGKILL while one of its statements runs.
import Libsql from "libsql";
import mysql from "mysql2/promise";
import pg from "pg";
import type { Migration } from "../../../src/outbox/stores/migration.ts";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";

export interface MigratingTask {
	database: "libsql" | "postgres" | "mysql";
	url: string;
	/** It dies while this statement runs; later if there are not so many. */
	dieAt: number;
	/** How long after the beginning of the statement, in milliseconds. Before it on SQLite. */
	afterMs: number;
	/** Migrations of a later version. */
	later: Migration[];
}

const { TASK } = process.env;
if (TASK) await main(JSON.parse(TASK));

async function main({ database, url, dieAt, afterMs, later }: MigratingTask): Promise<void> {
	let count = 0;
	const step = (): void => {
		if (++count !== dieAt) return;
		const die = (): boolean => process.kill(process.pid, "SIGKILL");
		// No timer has its turn between the statements of a synchronous library.
		if (database === "libsql") die();
		else setTimeout(die, afterMs);
	};
	await open(database, url, step).migrate(later);
	process.stdout.write(`${count} statements\n`);
	process.exit(0);
}

function open(database: MigratingTask["database"], url: string, step: () => void): OutboxStore {
	if (database === "postgres") {
		const pool = new pg.Pool({ connectionString: url });
		const { query } = pool;
		pool.query = ((...values: Parameters<typeof query>) => {
			step();
			return Reflect.apply(query, pool, values);
		}) as typeof query;
		return postgresStore(pool);
	}
	if (database === "mysql") {
		const pool = mysql.createPool(url);
		const { query } = pool;
		pool.query = ((...values: Parameters<typeof query>) => {
			step();
			return Reflect.apply(query, pool, values);
		}) as typeof query;
		return mysqlStore(pool);
	}
	const db = new Libsql(url);
	const { prepare } = db;
	db.prepare = ((sql: string) => {
		step();
		return Reflect.apply(prepare, db, [sql]);
	}) as typeof prepare;
	return sqliteStore(db);
}
