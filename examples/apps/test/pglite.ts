import { afterAll } from "vitest";
import { type Database, openDatabase } from "../database.ts";

let shared: Promise<Database> | undefined;
afterAll(async () => {
	await (await shared)?.close();
	shared = undefined;
});

/** An empty PGlite. The tests of a file share one, because each takes seconds to start. */
export async function emptyPglite(): Promise<Database> {
	shared ??= openDatabase();
	const database = await shared;
	await database.query("drop schema if exists public, pgboss cascade; create schema public");
	return database;
}
