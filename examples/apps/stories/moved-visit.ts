import type { Outbox } from "messaging-conversations/outbox";
import type { Sql, TransactionSql } from "postgres";
import { shown, type Visit } from "./visit.ts";

/** The text takes the place of the one before, if that has not gone out. */
async function tell(outbox: Outbox, tx: TransactionSql, visit: Visit, version: number, body: string) {
	const { id, agencyId, to, at } = visit;
	const supersedes = `${id}:${version - 1}`;
	await outbox.cancel(`${supersedes}:reminder`, { tx });
	const text = { agencyId, to, body, notAfter: at, supersedes };
	await outbox.enqueue({ ...text, id: `${id}:${version}` }, { tx });
}

export const move = (sql: Sql, outbox: Outbox, visit: Visit, at: Date) =>
	sql.begin(async (tx) => {
		const [row] = await tx`update visit set at = ${at}, version = version + 1
			where id = ${visit.id} and at <> ${at} returning version`;
		if (!row) return; // a double click
		const body = `New time for ${visit.flat}: ${shown(at)}.`;
		await tell(outbox, tx, { ...visit, at }, row.version, body);
	});

export const callOff = (sql: Sql, outbox: Outbox, visit: Visit) =>
	sql.begin(async (tx) => {
		const [row] = await tx`update visit set version = version + 1
			where id = ${visit.id} returning version`;
		const body = `The visit of ${visit.flat} is called off.`;
		await tell(outbox, tx, visit, row?.version, body);
	});
