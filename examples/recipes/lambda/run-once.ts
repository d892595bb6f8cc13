import { createClient } from "messaging-conversations";
import { createOutbox, postgresStore } from "messaging-conversations/outbox";
import pg from "pg";

const client = createClient({
	baseUrl: process.env.MESSAGING_BASE_URL,
	apiKey: process.env.MESSAGING_API_KEY,
});
const settleMs = 30_000;

/**
 * Sends what is due. For a schedule of EventBridge, once a minute.
 */
export async function handler(
	_event: unknown,
	context: { getRemainingTimeInMillis: () => number },
): Promise<void> {
	// Opened for each event, because the database closes connections while the
	// function is frozen.
	const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
	const outbox = createOutbox({ client, store: postgresStore(pool), settleMs });
	try {
		// A request takes at most `settleMs` less five seconds, so the last one
		// ends in time, and nothing runs on.
		const signal = AbortSignal.timeout(
			Math.max(1, context.getRemainingTimeInMillis() - settleMs),
		);
		await outbox.runOnce({ signal });
	} finally {
		await pool.end();
	}
}
