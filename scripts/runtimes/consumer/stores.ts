// The outbox on the databases that the arguments name, as far as this runtime has them.
import { createClient } from "messaging-conversations";
import { type OutboxStore, postgresStore, type SqliteDatabase, sqliteStore } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { controlsOf } from "./controls.ts";
import { tryOutbox } from "./outbox.ts";

type Sqlite = new (path: string) => SqliteDatabase;

// The names are no literals, because no compiler and no bundler here knows all of these modules.
const open: Record<string, (name: string) => Promise<OutboxStore>> = {
	async "node:sqlite"(name) {
		const { DatabaseSync }: { DatabaseSync: Sqlite } = await import(name);
		return sqliteStore(new DatabaseSync(":memory:"));
	},
	async "bun:sqlite"(name) {
		const { Database }: { Database: Sqlite } = await import(name);
		return sqliteStore(new Database(":memory:"));
	},
	async "@electric-sql/pglite"(name) {
		const { PGlite } = await import(name);
		return postgresStore(await PGlite.create());
	},
};

async function main(): Promise<void> {
	for (const name of process.argv.slice(2)) {
		const sandbox = createSandbox({ scenario: "busy" });
		const phone = "+447700900901";
		sandbox.agency().contact(phone).writes("Is the flat still free?");
		const client = createClient({ ...sandbox.connection });
		const agency = client.agency(sandbox.agency().id);
		const store = await open[name]?.(name);
		if (store === undefined) throw new Error(`not so: ${name} is tried`);
		await tryOutbox({ client, agency, store, controls: controlsOf(sandbox) }, phone);
		console.log(`ok ${name}`);
	}
	process.exit(0);
}

main().catch((error: unknown) => {
	console.error(error);
	process.exit(1);
});
