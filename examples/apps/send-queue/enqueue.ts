// `npm run send-queue:enqueue -- "+44 7700 900101" "See you at 14:00."`: a text for the workers on a PostgreSQL server
// (DATABASE_URL), as your web application would queue one.
import { openDatabase } from "./database.ts";
import { createSendQueue } from "./queue.ts";

const { DATABASE_URL } = process.env;
const [to, body] = process.argv.slice(2);
if (!DATABASE_URL || !to || !body) throw new Error("Needs DATABASE_URL, a phone number and a text.");

const database = await openDatabase(DATABASE_URL);
const queue = await createSendQueue(database, { supervise: false });
const id = await database.transaction((sql) => queue.enqueue(sql, { to, body }));
console.log(`queued as ${id}`);
await queue.stop();
await database.close();
