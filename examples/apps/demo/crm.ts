// The CRM's process: its pages, the worker that sends, and the change feed. `npm run demo` starts it, and starts it again
// when it is killed. All three are in one process, because a PGlite database belongs to one.
import { openAgency } from "../agency.ts";
import { openDatabase } from "../database.ts";
import { createPages } from "./pages.ts";
import { openRecords } from "./records.ts";

const stop = new AbortController();
for (const event of ["SIGTERM", "SIGINT", "disconnect"]) process.once(event, () => stop.abort());

const { DATABASE_URL, PORT = "0" } = process.env;
const { client, agency } = await openAgency();
const database = await openDatabase(DATABASE_URL);
const records = await openRecords(client, agency, database);
const server = createPages(records).listen(Number(PORT), "127.0.0.1", (error) => {
	if (error) throw error;
	const address = server.address();
	process.send?.(typeof address === "object" ? address?.port : address);
});
await Promise.all([records.outbox.work({ signal: stop.signal }), records.follow(stop.signal)]);
server.close();
server.closeAllConnections();
await database.close();
if (process.connected) process.disconnect();
