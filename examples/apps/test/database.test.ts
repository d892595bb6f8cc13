// What a PostgreSQL server does to its clients that an embedded database does not.
import { afterAll, expect, test } from "vitest";
import { type Server, startServer } from "../../../test/postgres.ts";
import { createTables, type Database, openDatabase } from "../database.ts";

let server: Server | undefined;
const databases: Database[] = [];
afterAll(async () => {
	for (const { close } of databases) await close();
	await server?.close();
});

async function openAll(count: number): Promise<{ url: string; all: Database[] }> {
	server ??= await startServer(import.meta.url);
	const url = await server.create();
	const all = await Promise.all(Array.from({ length: count }, () => openDatabase(url)));
	databases.push(...all);
	await Promise.all(all.map(({ query }) => query("select 1")));
	return { url, all };
}

test("a connection that breaks between two statements fails the transaction, and the next one has another", async () => {
	const { url, all } = await openAll(1);
	const [database] = all;
	const broken = database?.transaction(async (sql) => {
		const { rows } = await sql.query("select pg_backend_pid() as pid");
		await server?.query(url, `select pg_terminate_backend(${rows[0]?.pid})`);
		// No statement is under way when the connection ends.
		await new Promise((resolve) => setTimeout(resolve, 300));
		await sql.query("select 1");
	});
	await expect(broken).rejects.toThrow("connection");
	expect(await database?.transaction(async (sql) => (await sql.query("select 1 as one")).rows)).toEqual([{ one: 1 }]);
});

test("processes that start at once may all create the tables", async () => {
	const { all } = await openAll(4);
	await Promise.all(all.map((database) => createTables(database, "create table if not exists note (id text)")));
	expect((await all[0]?.query("select * from note"))?.rows).toEqual([]);
});
