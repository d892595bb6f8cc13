import { drizzle } from "drizzle-orm/node-postgres";
import { pgTable, text } from "drizzle-orm/pg-core";
import { createClient } from "messaging-conversations";
import { createOutbox, postgresStore } from "messaging-conversations/outbox";
import pg from "pg";

const noteTable = pgTable("note", {
	id: text().primaryKey(),
	body: text().notNull(),
});

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
	// A connection that breaks is replaced
	pool.on("error", ({ message }) => console.error(message));
	const db = drizzle(pool);
	const client = createClient({
		baseUrl: process.env.MESSAGING_BASE_URL,
		apiKey: process.env.MESSAGING_API_KEY,
	});
	const outbox = createOutbox({
		client,
		store: postgresStore(db),
		onPaused: ({ reason, retryAt }) => console.error("paused", reason, retryAt),
	});
	await outbox.migrate();
	const stop = new AbortController();
	const working = outbox.work({ signal: stop.signal });

	return {
		outbox,
		/** Stores the note and its text together, or neither. */
		save: ({ id, agencyId, to, body, visitAt }: Note) =>
			db.transaction(async (tx) => {
				await tx.insert(noteTable).values({ id, body }).onConflictDoNothing();
				return outbox.enqueue(
					{ id, agencyId, to, body, notAfter: visitAt },
					{ tx },
				);
			}),
		/** Finishes the requests in progress, for SIGTERM. */
		close: async () => {
			stop.abort();
			await working;
			await pool.end();
		},
	};
}
