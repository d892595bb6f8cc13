import Libsql from "libsql";
import type { DatabaseStore } from "messaging-conversations/outbox";
import type mysql from "mysql2/promise";
import { mysqlStore, postgresStore, sqliteStore } from "../port.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";

/** A database with room for several outboxes, and what is done to its tables by hand. */
export interface Place {
	run: (sql: string) => Promise<unknown>;
	rows: (sql: string) => Promise<Record<string, unknown>[]>;
	store: (prefix?: string) => DatabaseStore;
}

/** Each database by its name, and how to open an empty one. The servers run while the tests of this file do. */
export function usePlaces(url: string): [name: string, open: () => Promise<Place>][] {
	const postgres = usePostgres(url);
	return [
		["SQLite", openSqlite],
		[
			"PostgreSQL",
			async () => {
				const pool = await postgres.openPool();
				return {
					run: (sql) => pool.query(sql),
					rows: async (sql) => (await pool.query(sql)).rows,
					store: (prefix) => postgresStore(pool, { prefix }),
				};
			},
		],
		...mysqlKinds.map((kind): [string, () => Promise<Place>] => {
			const { openPool } = useMysql(kind);
			return [
				kind,
				async () => {
					const pool = await openPool();
					return {
						run: (sql) => pool.query(sql),
						rows: async (sql) => (await pool.query<mysql.RowDataPacket[]>(sql))[0],
						store: (prefix) => mysqlStore(pool, { prefix }),
					};
				},
			];
		}),
	];
}

export async function openSqlite(): Promise<Place> {
	const db = new Libsql(newFile());
	return {
		run: async (sql) => db.exec(sql),
		rows: async (sql) => db.prepare(sql).all() as Record<string, unknown>[],
		store: (prefix) => sqliteStore(db, { prefix }),
	};
}
