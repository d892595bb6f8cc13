// Connections that change what they read are refused by the name of the option, before anything is stored.
import { Kysely, MysqlDialect, ParseJSONResultsPlugin, PostgresDialect } from "kysely";
import Libsql from "libsql";
import { createPool } from "mysql2";
import pg from "pg";
import postgres from "postgres";
import { afterAll, describe, expect, test } from "vitest";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import { newText } from "../store-suite.ts";
import { useMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";

const { create, openPool } = usePostgres(import.meta.url);
const mariadb = useMysql("MariaDB");

const text = { ...newText, id: "a", createdAt: 1 };

const ends: (() => Promise<unknown>)[] = [];
afterAll(async () => {
	for (const end of ends) await end();
});

interface Opened {
	/** On a connection that changes what it reads. */
	changed: OutboxStore;
	/** On one of the same database that does not. */
	plain: OutboxStore;
}

const onPostgresJs =
	(options: object) =>
	async (url: string): Promise<OutboxStore> => {
		const sql = postgres(url, { max: 2, onnotice: () => {}, ...options });
		ends.push(() => sql.end());
		return postgresStore(sql);
	};

const onPostgres: [name: string, option: string, open: (url: string) => Promise<OutboxStore>][] = [
	[
		"Kysely with ParseJSONResultsPlugin",
		"ParseJSONResultsPlugin",
		async (url) => {
			const dialect = new PostgresDialect({ pool: new pg.Pool({ connectionString: url, max: 2 }) });
			const db = new Kysely<object>({ dialect, plugins: [new ParseJSONResultsPlugin()] });
			ends.push(() => db.destroy());
			return postgresStore(db);
		},
	],
	["postgres.js with postgres.pascal", "postgres.pascal", onPostgresJs({ transform: postgres.pascal })],
	["postgres.js with postgres.kebab", "postgres.kebab", onPostgresJs({ transform: postgres.kebab })],
	[
		"postgres.js that makes null undefined",
		"transform.value",
		onPostgresJs({ transform: { value: { from: (value: unknown) => value ?? undefined } } }),
	],
	[
		"pg with rowMode array",
		'rowMode: "array"',
		async (url) => {
			const pool = await openPool(url);
			return postgresStore({
				query: (sql: string, values: unknown[] = []) => pool.query({ text: sql, values, rowMode: "array" }),
			});
		},
	],
];

const databases: [name: string, option: string, field: string, open: () => Promise<Opened>][] = [
	...onPostgres.map(([name, option, open]): (typeof databases)[number] => [
		name,
		option,
		"pool",
		async () => {
			const url = await create();
			return { changed: await open(url), plain: postgresStore(await openPool(url)) };
		},
	]),
	[
		"Kysely with ParseJSONResultsPlugin on MariaDB",
		"ParseJSONResultsPlugin",
		"pool",
		async () => {
			const uri = await mariadb.create();
			const dialect = new MysqlDialect({ pool: createPool({ uri, connectionLimit: 2 }) });
			const db = new Kysely<object>({ dialect, plugins: [new ParseJSONResultsPlugin()] });
			ends.push(() => db.destroy());
			return { changed: mysqlStore(db), plain: mysqlStore(await mariadb.openPool(uri)) };
		},
	],
	[
		"libsql that gives arrays",
		"returnArrays",
		"db",
		async () => {
			const db = new Libsql(newFile());
			const changing = {
				prepare(sql: string) {
					const statement = db.prepare(sql);
					return /^\s*(select|pragma)\b|\breturning\b/i.test(sql) ? statement.raw() : statement;
				},
			};
			return { changed: sqliteStore(changing), plain: sqliteStore(db) };
		},
	],
];

describe.each(databases)("%s", (_, option, field, open) => {
	test("is refused by migrate, and before the first text is stored", async () => {
		const { changed, plain } = await open();
		const refused = { _tag: "PartnerInvalidInput", field, rule: expect.stringContaining(option) };
		await expect(changed.migrate()).rejects.toMatchObject(refused);
		await expect(plain.find("a")).rejects.toThrow("call outbox.migrate() first");
		await plain.migrate();
		await expect(changed.insert(text, undefined)).rejects.toMatchObject(refused);
		await expect(changed.beat({ id: "a", version: "1.0.0", runsOnce: false, at: 0 })).rejects.toMatchObject(refused);
		expect(await plain.find("a")).toBeUndefined();
		expect(await plain.insert(text, undefined)).toMatchObject({ id: "a", reason: null });
	});
});

test("a transaction of Kysely with ParseJSONResultsPlugin is refused", async () => {
	const url = await create();
	const pool = await openPool(url);
	const store = postgresStore(pool);
	await store.migrate();
	const dialect = new PostgresDialect({ pool: new pg.Pool({ connectionString: url, max: 2 }) });
	const db = new Kysely<object>({ dialect, plugins: [new ParseJSONResultsPlugin()] });
	ends.push(() => db.destroy());
	await expect(db.transaction().execute(async (tx) => store.insert(text, tx))).rejects.toMatchObject({
		field: "tx",
		rule: expect.stringContaining("ParseJSONResultsPlugin"),
	});
	expect(await store.find("a")).toBeUndefined();
});
