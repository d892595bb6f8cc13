// A CRM's notes, each of which is sent as a text. The note and its text are stored together, or neither is.
import type { Outbox, OutboxStatus } from "messaging-conversations/outbox";
import { createTables, type Database } from "../database.ts";

export interface Note {
	/** Made when the form is shown, so that a double click is one note and one text. */
	id: string;
	agencyId: string;
	to: string;
	body: string;
}

export async function createNotes(database: Database): Promise<void> {
	await createTables(
		database,
		"create table if not exists note (id text primary key, body text not null, at timestamptz default now())",
	);
}

/** What the Send button does. */
export function sendNote(database: Database, outbox: Outbox, note: Note): Promise<OutboxStatus> {
	return database.transaction(async (tx) => {
		// First, because it refuses what no row can hold, such as a missing id, with an error for the visitor.
		const text = await outbox.enqueue({ ...note, purpose: "reply" }, { tx });
		await tx.query("insert into note (id, body) values ($1, $2) on conflict do nothing", [note.id, note.body]);
		return text;
	});
}

/** What the page shows: each note, and what became of its text, as long as the outbox is not purged of it. */
export async function listNotes(database: Database, outbox: Outbox) {
	const { rows } = await database.query("select id, body from note order by at desc, id limit 50");
	return Promise.all(rows.map(async ({ id, body }) => ({ body: String(body), text: await outbox.status(String(id)) })));
}
