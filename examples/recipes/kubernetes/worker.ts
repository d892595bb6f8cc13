import { createServer } from "node:http";
import { createClient } from "messaging-conversations";
import {
	createOutbox,
	pgBossEngine,
	postgresStore,
} from "messaging-conversations/outbox";
import pg from "pg";
// pg-boss 12, for Node 22 or later: import { PgBoss } from "pg-boss"
import PgBoss from "pg-boss";

const {
	MESSAGING_BASE_URL: baseUrl,
	MESSAGING_API_KEY: apiKey,
	DATABASE_URL = "",
	PORT,
} = process.env;

// First of all: the first process of a container ignores a signal that it does
// not listen to.
const stop = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"])
	process.once(signal, () => stop.abort());

const log = (message: string, fields: object = {}) =>
	console.log(JSON.stringify({ message, ...fields }));

const pool = new pg.Pool({ connectionString: DATABASE_URL });
const boss = new PgBoss({ connectionString: DATABASE_URL, schedule: false });
// A connection that breaks is replaced. Without a listener the error would end
// the process.
for (const source of [pool, boss])
	source.on("error", (error: Error) => log(error.message));
// Not needed with pg-boss 12. If the database is down at the end of a job,
// pg-boss 10 leaves a rejection unhandled.
process.on("unhandledRejection", (error) =>
	log(error instanceof Error ? error.message : "unhandled rejection"),
);
await boss.start();

const outbox = createOutbox({
	client: createClient({ baseUrl, apiKey }),
	store: postgresStore(pool),
	engine: pgBossEngine(boss),
	// A request may take 30 seconds, and ends within the grace period of the pod
	settleMs: 35_000,
	// Alert on it, and do not restart the pod
	onPaused: ({ reason, retryAt }) => log("texts wait", { reason, retryAt }),
});
await outbox.migrate();

const probes = createServer(({ url }, response) => {
	// Live as long as the process answers. A restart does not help if the service
	// or the database is down.
	response.writeHead(url === "/live" ? 200 : 404).end();
}).listen(Number(PORT ?? 8080));

log("working");
// The requests in progress are finished
await outbox.work({ signal: stop.signal });
log("stopping");
await boss.stop();
await pool.end();
probes.close();
probes.closeAllConnections();
