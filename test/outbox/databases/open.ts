// An empty store on each database.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { createClient } from "@libsql/client";
import Libsql from "libsql";
import pg from "pg";
import { type OutboxStore, postgresStore, sqliteStore } from "../port.ts";

const folder = mkdtempSync(join(tmpdir(), "outbox-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
let files = 0;
export const newFile = (): string => join(folder, `${++files}.db`);

export const openLibsql = async (): Promise<OutboxStore> => sqliteStore(new Libsql(newFile()));
export const openLibsqlClient = async (): Promise<OutboxStore> =>
	sqliteStore(createClient({ url: `file:${newFile()}` }));

let pglite: Promise<PGlite> | undefined;

/** An empty PGlite. All tests of a file share one, because each takes seconds to start. */
export async function emptyPglite(): Promise<PGlite> {
	pglite ??= PGlite.create();
	const db = await pglite;
	await db.exec("drop schema public cascade; create schema public");
	return db;
}

export const openPglite = async (): Promise<OutboxStore> => postgresStore(await emptyPglite());
export const openPostgres = async (url: string): Promise<OutboxStore> =>
	postgresStore(new pg.Pool({ connectionString: url, max: 4 }));
