import { createClient } from "messaging-conversations";
import { createOutbox, postgresStore } from "messaging-conversations/outbox";
import pg from "pg";

const client = createClient({ baseUrl: process.env.MESSAGING_BASE_URL, apiKey: process.env.MESSAGING_API_KEY });
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 4, idleTimeoutMillis: 1_000 });
pool.on("error", (error) => console.error(error.message)); // a connection that broke while the function was frozen
const outbox = createOutbox({ client, store: postgresStore(pool), settleMs: 25_000 });

/** Sends what is due. For a schedule of EventBridge, once a minute, with reserved concurrency 1. */
export async function handler(_event: unknown, context: { getRemainingTimeInMillis: () => number }): Promise<void> {
	// A request may take `settleMs` less five seconds. The function ends after the last one, and nothing runs on.
	const signal = AbortSignal.timeout(Math.max(1, context.getRemainingTimeInMillis() - 25_000));
	await outbox.drain({ signal });
}
