// `npm run send-queue:worker`: on a PostgreSQL server (DATABASE_URL) start as many as you like; the embedded database
// belongs to one process, so there the web application calls `queue.work` itself.
import { openAgency } from "../agency.ts";
import { openDatabase } from "./database.ts";
import { createSendQueue } from "./queue.ts";

const { DATABASE_URL = ".pglite", SEND_QUEUE = "{}" } = process.env;
const { agency, sandbox } = await openAgency();
const database = await openDatabase(DATABASE_URL);
const queue = await createSendQueue(database, JSON.parse(SEND_QUEUE));
await queue.work(agency);

for (const signal of ["SIGTERM", "SIGINT"]) {
	process.once(signal, async () => {
		await queue.stop();
		await database.close();
	});
}
console.log(sandbox ? "ready; a sandbox takes the texts, nobody is reached" : "ready");
