import { createClient } from "messaging-conversations";
import { createOutbox, postgresStore } from "messaging-conversations/outbox";
import pg from "pg";

export interface Note {
	/** Made by the form, so that a double click is one note and one text. */
	id: string;
	agencyId: string;
	to: string;
	body: string;
	/** Don't send it after this time: ISO 8601 with a UTC offset. */
	visitAt: string;
}

export async function openNotes(databaseUrl: string) {
	const pool = new pg.Pool({ connectionString: databaseUrl });
	// The pool replaces a connection that breaks
	pool.on("error", ({ message }) => console.error(message));
	const client = createClient({
		baseUrl: process.env.MESSAGING_BASE_URL,
		apiKey: process.env.MESSAGING_API_KEY,
	});
	const outbox = createOutbox({
		client,
		store: postgresStore(pool, { prefix: "messaging.outbox" }),
		onPaused: ({ reason, retryAt }) => console.error("paused", reason, retryAt),
	});
	await outbox.migrate();
	const stop = new AbortController();
	const working = outbox.work({ signal: stop.signal });

	return {
		outbox,
		/** Stores the note and its text together, or neither. */
		async save({ id, agencyId, to, body, visitAt }: Note) {
			const tx = await pool.connect();
			try {
				await tx.query("begin");
				await tx.query(
					"insert into note (id, body) values ($1, $2) on conflict do nothing",
					[id, body],
				);
				const text = await outbox.enqueue(
					{ id, agencyId, to, body, notAfter: visitAt },
					{ tx },
				);
				await tx.query("commit");
				return text;
			} catch (error) {
				// A broken connection has rolled back
				await tx.query("rollback").catch(() => {});
				throw error;
			} finally {
				tx.release();
			}
		},
		/** Finishes the requests in progress, for SIGTERM. */
		close: async () => {
			stop.abort();
			await working;
			await pool.end();
		},
	};
}
