// The libraries that teams reach SQLite with, each with a file of its own.
import { DatabaseSync } from "node:sqlite";
import Database from "better-sqlite3";
import { drizzle } from "drizzle-orm/better-sqlite3";
import createKnex from "knex";
import { Kysely, SqliteDialect } from "kysely";
import { DataSource } from "typeorm";
import { newFile } from "../open.ts";
import { asynchronous, type SqliteLibrary, synchronous } from "../sqlite-libraries.ts";

export const sqliteLibraries: [name: string, open: () => Promise<SqliteLibrary>][] = [
	[
		"better-sqlite3",
		async () => {
			const db = new Database(newFile());
			return { db, isSynchronous: true, transaction: synchronous((act) => db.transaction(() => act(db))()) };
		},
	],
	[
		"node:sqlite",
		async () => {
			const db = new DatabaseSync(newFile());
			const transaction = synchronous((act) => {
				db.exec("begin");
				try {
					act(db);
					db.exec("commit");
				} catch (error) {
					db.exec("rollback");
					throw error;
				}
			});
			return { db, isSynchronous: true, transaction };
		},
	],
	[
		"Drizzle on better-sqlite3",
		async () => {
			const db = drizzle(new Database(newFile()));
			return { db, isSynchronous: true, transaction: synchronous((act) => db.transaction((tx) => act(tx))) };
		},
	],
	[
		"Kysely on better-sqlite3",
		async () => {
			const db = new Kysely<object>({ dialect: new SqliteDialect({ database: new Database(newFile()) }) });
			return { db, transaction: asynchronous((act) => db.transaction().execute(act)) };
		},
	],
	[
		"Knex on better-sqlite3",
		async () => {
			const db = createKnex({ client: "better-sqlite3", connection: { filename: newFile() }, useNullAsDefault: true });
			return { db, transaction: asynchronous((act) => db.transaction(act)) };
		},
	],
	[
		"TypeORM on better-sqlite3",
		async () => {
			const source = await new DataSource({ type: "better-sqlite3", database: newFile() }).initialize();
			return { db: source.manager, transaction: asynchronous((act) => source.transaction(act)) };
		},
	],
];
