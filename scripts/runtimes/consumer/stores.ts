// The outbox on the databases that the arguments name, as far as this runtime has them.
import { createClient } from "messaging-conversations";
import { type DatabaseStore, postgresStore, type SqliteDatabase, sqliteStore } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { controlsOf } from "./controls.ts";
import { tryOutbox } from "./outbox.ts";

type Sqlite = new (path: string) => SqliteDatabase;

/** Each loads a database and returns what opens an empty store on it. */
const databases: Record<string, (name: string) => Promise<() => Promise<DatabaseStore>>> = {
	// The names are variables, because no compiler and no bundler here knows all of these modules.
	async "node:sqlite"(name) {
		const { DatabaseSync }: { DatabaseSync: Sqlite } = await import(name);
		return async () => sqliteStore(new DatabaseSync(":memory:"));
	},
	async "bun:sqlite"(name) {
		const { Database }: { Database: Sqlite } = await import(name);
		return async () => sqliteStore(new Database(":memory:"));
	},
	async "@electric-sql/pglite"(name) {
		const { PGlite } = await import(name);
		const db = await PGlite.create();
		return async () => {
			await db.exec("drop schema if exists public cascade; create schema public");
			return postgresStore(db);
		};
	},
};

async function main(): Promise<void> {
	for (const name of process.argv.slice(2)) {
		const sandbox = createSandbox({ scenario: "busy" });
		const phone = "+447700900901";
		sandbox.agency().contact(phone).writes("Is the flat still free?");
		const client = createClient({ ...sandbox.connection });
		const agency = client.agency(sandbox.agency().id);
		const open = await databases[name]?.(name);
		if (open === undefined) throw new Error(`not so: ${name} is tried`);
		await tryOutbox({ client, agency, store: await open(), controls: controlsOf(sandbox) }, phone);
		console.log(`ok ${name}`);
	}
	process.exit(0);
}

main().catch((error: unknown) => {
	console.error(error);
	process.exit(1);
});
