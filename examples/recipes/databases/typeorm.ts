import { createClient } from "messaging-conversations";
import { createOutbox, postgresStore } from "messaging-conversations/outbox";
import { DataSource, EntitySchema } from "typeorm";

const noteEntity = new EntitySchema<{ id: string; body: string }>({
	name: "note",
	columns: { id: { type: "text", primary: true }, body: { type: "text" } },
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
	const db = new DataSource({
		type: "postgres",
		url: databaseUrl,
		entities: [noteEntity],
	});
	await db.initialize();
	const client = createClient({
		baseUrl: process.env.MESSAGING_BASE_URL,
		apiKey: process.env.MESSAGING_API_KEY,
	});
	const outbox = createOutbox({
		client,
		store: postgresStore(db.manager),
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
				await tx
					.createQueryBuilder()
					.insert()
					.into(noteEntity)
					.values({ id, body })
					.orIgnore()
					.execute();
				return outbox.enqueue(
					{ id, agencyId, to, body, notAfter: visitAt },
					{ tx },
				);
			}),
		/** Finishes the requests in progress, for SIGTERM. */
		close: async () => {
			stop.abort();
			await working;
			await db.destroy();
		},
	};
}
