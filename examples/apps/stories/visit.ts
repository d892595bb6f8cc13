import type { Outbox } from "messaging-conversations/outbox";
import type { Sql } from "postgres";

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

/** Stores the visit, its confirmation and its reminder, or nothing. */
export const book = (sql: Sql, outbox: Outbox, visit: Visit) =>
	sql.begin(async (tx) => {
		const { id, agencyId, to, flat, at } = visit;
		await tx`insert into visit (id, at) values (${id}, ${at})
			on conflict do nothing`;
		const text = { agencyId, to, notAfter: at };
		const confirmation = `See you at ${flat}: ${shown(at)}.`;
		await outbox.enqueue({ ...text, id: `${id}:0`, body: confirmation }, { tx });
		const reminder = `Tomorrow: ${flat}, ${shown(at)}.`;
		const notBefore = new Date(at.getTime() - dayMs);
		await outbox.enqueue({ ...text, id: `${id}:0:reminder`, body: reminder, notBefore }, { tx });
	});
