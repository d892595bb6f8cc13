import type { Outbox } from "messaging-conversations/outbox";
import type { Sql, TransactionSql } from "postgres";

export interface Visit {
	id: string;
	agencyId: string;
	to: string;
	flat: string;
	at: Date;
}

const dayMs = 24 * 3_600_000;
const format = new Intl.DateTimeFormat("en-GB", {
	weekday: "long",
	day: "numeric",
	month: "long",
	hour: "2-digit",
	minute: "2-digit",
	timeZone: "Europe/Brussels",
});
export const shown = (at: Date) => format.format(at);

/** A text on the day before, for each time that the visit has had. */
export async function remind(
	outbox: Outbox,
	tx: TransactionSql,
	visit: Visit,
	version: number,
) {
	const { id, agencyId, to, flat, at } = visit;
	const body = `Reminder: ${flat}, ${shown(at)}.`;
	const notBefore = new Date(at.getTime() - dayMs);
	const text = { agencyId, to, body, notBefore, notAfter: at };
	await outbox.enqueue({ ...text, id: `${id}:${version}:reminder` }, { tx });
}

/** Stores the visit, its confirmation and its reminder, or nothing. */
export const book = (sql: Sql, outbox: Outbox, visit: Visit) =>
	sql.begin(async (tx) => {
		const { id, agencyId, to, flat, at } = visit;
		await tx`insert into visit (id, at) values (${id}, ${at})
			on conflict do nothing`;
		const body = `See you at ${flat}: ${shown(at)}.`;
		const text = { agencyId, to, body, notAfter: at };
		await outbox.enqueue({ ...text, id: `${id}:0` }, { tx });
		await remind(outbox, tx, visit, 0);
	});
