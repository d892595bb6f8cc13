// `npm run send-queue`: two texts to one contact, while the service loses an answer. No real person is reached, and
// the database is in memory.
import { createClient } from "messaging-conversations";
import { createOutbox, postgresStore } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { openDatabase } from "../database.ts";
import { createNotes, sendNote } from "./notes.ts";

const sandbox = createSandbox({ now: new Date() });
const agencyId = sandbox.agency().id;
const anna = sandbox.agency().contact("+447700900101", { name: "Anna" });
anna.writes("Is the flat still free?");
sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset", times: 1 });

const database = await openDatabase();
const outbox = createOutbox({ client: createClient({ ...sandbox.connection }), store: postgresStore(database) });
await outbox.migrate();
await createNotes(database);
await sendNote(database, outbox, { id: "note-1", agencyId, to: "+44 (0)7700 900101", body: "It is!" });
await sendNote(database, outbox, { id: "note-2", agencyId, to: "+44 (0)7700 900101", body: "Would Friday suit you?" });

const done = new AbortController();
const working = outbox.work({ signal: done.signal });
while ((await outbox.status("note-2"))?.state !== "sent") await new Promise((resolve) => setTimeout(resolve, 50));
done.abort();
await working;
await database.close();

const sends = sandbox.requests().filter(({ operation }) => operation === "messages.send").length;
const texts = anna.inbox().map(({ body }) => body);
console.log(`${sends} requests, ${texts.length} texts: ${texts.join(" ")}`);
