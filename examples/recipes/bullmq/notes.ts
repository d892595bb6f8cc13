import { outbox, pool } from "./outbox.ts";

export interface Note {
	id: string;
	agencyId: string;
	to: string;
	body: string;
	visitAt: string;
}

/**
 * Stores the note and its text in one transaction. A double click stores both
 * once.
 */
export async function saveNote({
	id,
	agencyId,
	to,
	body,
	visitAt,
}: Note): Promise<string> {
	const tx = await pool.getConnection();
	try {
		await tx.beginTransaction();
		await tx.execute(
			`insert into note (id, body) values (?, ?)
			on duplicate key update id = id`,
			[id, body],
		);
		const { description } = await outbox.enqueue(
			{ id, agencyId, to, body, notAfter: visitAt },
			{ tx },
		);
		await tx.commit();
		return description; // "Waits to be sent."
	} catch (error) {
		await tx.rollback();
		throw error;
	} finally {
		tx.release();
	}
}
