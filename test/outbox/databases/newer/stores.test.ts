import { DatabaseSync } from "node:sqlite";
import Database from "better-sqlite3";
import type { SqliteDatabase } from "messaging-conversations/outbox";
import { describe } from "vitest";
import { sqliteStore } from "../../port.ts";
import { storeSuite } from "../../store-suite.ts";

const databases: [name: string, open: () => SqliteDatabase & { exec: (sql: string) => unknown }][] = [
	["node:sqlite", () => new DatabaseSync(":memory:")],
	["better-sqlite3", () => new Database(":memory:")],
];

for (const [name, open] of databases) {
	let db = open();
	const openStore = () => {
		db = open();
		return sqliteStore(db);
	};
	const transaction = async (act: (tx: unknown) => Promise<void>) => {
		db.exec("begin");
		try {
			await act(db);
			db.exec("commit");
		} catch (error) {
			db.exec("rollback");
			throw error;
		}
	};
	describe(name, () => storeSuite(openStore, { transaction }));
}
