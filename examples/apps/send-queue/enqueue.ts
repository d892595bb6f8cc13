// `npm run send-queue:enqueue -- "+44 7700 900101" "See you at 14:00."`: a text for the workers on a PostgreSQL server
// (DATABASE_URL), as your web application would store one.
import { createOutbox, postgresStore } from "messaging-conversations/outbox";
import { openAgency } from "../agency.ts";
import { openDatabase } from "../database.ts";
import { startEngine } from "./engine.ts";
import { createNotes, sendNote } from "./notes.ts";

const { DATABASE_URL } = process.env;
const [to, body] = process.argv.slice(2);
if (!DATABASE_URL || !to || !body) throw new Error("Needs DATABASE_URL, a phone number and a text.");

const { client, agency } = await openAgency();
const database = await openDatabase(DATABASE_URL);
const { engine, stop } = await startEngine(DATABASE_URL);
const outbox = createOutbox({ client, store: postgresStore(database), engine });
await outbox.migrate();
await createNotes(database);
const text = await sendNote(database, outbox, { id: crypto.randomUUID(), agencyId: agency.id, to, body });
console.log(`stored as ${text.id}`);
await stop();
await database.close();
