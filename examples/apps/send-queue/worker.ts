// `npm run send-queue:worker`: on a PostgreSQL server (DATABASE_URL) start as many as you like. The embedded database
// belongs to one process, so there it serves the page itself, at PORT.
import { createOutbox, postgresStore } from "messaging-conversations/outbox";
import { openAgency } from "../agency.ts";
import { openDatabase } from "../database.ts";
import { startEngine } from "./engine.ts";
import { createNotes } from "./notes.ts";
import { createPage } from "./page.ts";

const { DATABASE_URL = ".pglite", PORT = "0" } = process.env;
const { client, agency, sandbox } = await openAgency();
const database = await openDatabase(DATABASE_URL);
const { engine, stop: stopEngine } = await startEngine(DATABASE_URL);
const outbox = createOutbox({
	client,
	store: postgresStore(database),
	engine,
	onPaused: ({ reason, error, retryAt }) =>
		console.error(`${error?.message ?? reason}; again at ${retryAt.toISOString()}`),
});
await outbox.migrate();
await createNotes(database);
const server = createPage(database, outbox, agency.id).listen(Number(PORT), "127.0.0.1");

const stop = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => stop.abort());
console.log(sandbox ? "ready; a sandbox takes the texts, nobody is reached" : "ready");
await outbox.work({ signal: stop.signal });
server.close();
server.closeAllConnections();
await stopEngine();
await database.close();
