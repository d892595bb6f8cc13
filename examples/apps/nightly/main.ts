// `npm run nightly`: 50,000 contacts of a made-up CRM, a sandbox unless the environment has a key, and a database file
// that stays. Stop it with Ctrl-C and start it again: it goes on where it was.
import { createClient } from "@libsql/client";
import { openAgency } from "../agency.ts";
import { seedContacts } from "./crm.ts";
import { runNightly, schema, standing } from "./job.ts";
import { createProgress } from "./progress.ts";

const db = createClient({ url: process.env.CRM_DATABASE_URL ?? "file:nightly.db" });
await db.executeMultiple(schema);
await seedContacts(db, 50_000);

const { agency } = await openAgency();
const night = process.argv[2] ?? new Date().toISOString().slice(0, 10);
const { total, done } = await standing({ db, night });
const stop = new AbortController();
process.once("SIGINT", () => stop.abort());

try {
	await runNightly({ db, agency, night, progress: createProgress(total, done), signal: stop.signal });
	const { rows } = await db.execute("select count(*) as n from chat where last_message_at is not null");
	console.log(`${rows[0]?.n} of ${total} contacts have a conversation.`);
} catch (error) {
	if (!stop.signal.aborted) throw error;
	console.log("\nStopped. Start it again to go on.");
} finally {
	db.close();
}
