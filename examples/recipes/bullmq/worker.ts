import { outbox, pool, queue } from "./outbox.ts";

const stop = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => stop.abort());

await outbox.migrate();
await outbox.work({ signal: stop.signal }); // the requests in progress are finished
await queue.close();
await pool.end();
