import type { Outbox } from "messaging-conversations/outbox";
import type { Sql, TransactionSql } from "postgres";
import { remind, shown, type Visit } from "./visit.ts";

/** The text takes the place of what has not gone out yet. */
async function tell(
	outbox: Outbox,
	tx: TransactionSql,
	visit: Visit,
	version: number,
	body: string,
) {
	const { id, agencyId, to, at } = visit;
	const earlier = `${id}:${version - 1}`;
	// What the service holds can't be taken back, only replaced
	const reminder = await outbox.status(`${earlier}:reminder`);
	const isHeld = reminder?.state === "held";
	if (!isHeld) await outbox.cancel(`${earlier}:reminder`, { tx });
	const supersedes = isHeld ? reminder.id : earlier;
	const text = { agencyId, to, body, notAfter: at, supersedes };
	await outbox.enqueue({ ...text, id: `${id}:${version}` }, { tx });
}

export const move = (sql: Sql, outbox: Outbox, visit: Visit, at: Date) =>
	sql.begin(async (tx) => {
		const [row] = await tx`update visit set at = ${at}, version = version + 1
			where id = ${visit.id} and at <> ${at} and not called_off
			returning version`;
		if (!row) return; // a double click
		const moved = { ...visit, at };
		const body = `New time for ${visit.flat}: ${shown(at)}.`;
		await tell(outbox, tx, moved, row.version, body);
		await remind(outbox, tx, moved, row.version);
	});

export const callOff = (sql: Sql, outbox: Outbox, visit: Visit) =>
	sql.begin(async (tx) => {
		const [row] = await tx`update visit
			set called_off = true, version = version + 1
			where id = ${visit.id} and not called_off returning version`;
		if (!row) return; // a double click
		const body = `The visit of ${visit.flat} is called off.`;
		await tell(outbox, tx, visit, row.version, body);
	});
