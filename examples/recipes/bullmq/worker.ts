import { outbox, pool } from "./outbox.ts";

const stop = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"])
	process.once(signal, () => stop.abort());

await outbox.migrate();
// The requests in progress are finished
await outbox.work({ signal: stop.signal });
await pool.end();
process.exit(); // queue.close() would wait for a Redis that is down
