// What the CRM does. Its pages and jobs call it, and the worker shares it.
import { createClient, toE164 } from "messaging-conversations";
import type { OutboxOptions } from "messaging-conversations/outbox";
import { createOutbox, postgresStore } from "messaging-conversations/outbox";
import postgres, { type TransactionSql as Tx } from "postgres";

interface Visit {
	id: string; // made with the form, so that a double click is one visit
	agencyId: string;
	phone: string;
	name: string;
	flat: string;
	at: string;
}

export function openCrm(more?: Partial<OutboxOptions>) {
	const { MESSAGING_BASE_URL: baseUrl, MESSAGING_API_KEY: apiKey } =
		process.env;
	const client = createClient({ baseUrl, apiKey });
	const sql = postgres(process.env.DATABASE_URL ?? "", { onnotice() {} });
	const outbox = createOutbox({
		client,
		store: postgresStore(sql, { prefix: "messaging.outbox" }),
		quietHours: { from: "20:00", to: "08:00", timeZone: "Europe/Brussels" },
		onPaused: ({ reason, error }) => console.error(reason, error?.message),
		...more,
	});

	/** Texts how the visit is now, in place of what has not gone out yet. */
	async function announce(tx: Tx, visitId: string, by: string, why: string) {
		const [visit] = await tx`select * from visit_news where id = ${visitId}`;
		if (!visit) throw new Error("There is no such visit.");
		const { agencyId, to, version, flat, time, notBefore, notAfter } = visit;
		const id = `${visitId}:${version}`;
		const earlier = `${visitId}:${version - 1}`;
		// What the service holds can't be taken back, only replaced
		const reminder = await outbox.status(`${earlier}:reminder`);
		const isHeld = reminder?.state === "held";
		if (!isHeld) await outbox.cancel(`${earlier}:reminder`, { tx });
		const supersedes = isHeld ? reminder.id : earlier;
		const is = visit.called_off ? "is called off:" : "is on";
		const texts = [
			{ id, body: `Your visit of ${flat} ${is} ${time}.`, supersedes },
			{ id: `${id}:reminder`, body: `Reminder: ${flat}, ${time}.`, notBefore },
		];
		for (const text of visit.is_reminded ? texts : texts.slice(0, 1)) {
			const all = { ...text, agencyId, to, notAfter, by, why };
			const { description } = await outbox.enqueue(all, { tx });
			await tx`insert into visit_text values
				(${text.id}, ${visitId}, ${description}) on conflict do nothing`;
		}
	}

	return {
		client,
		outbox,
		sql,
		async migrate() {
			await outbox.migrate();
			await sql.file(new URL("schema.sql", import.meta.url));
		},

		/** A visit changes with its texts. To repeat a call changes nothing. */
		book: ({ id, agencyId, phone, name, flat, at }: Visit, by: string) =>
			sql.begin(async (tx) => {
				const to = toE164(phone);
				await tx`insert into contact (agency_id, phone, name)
					values (${agencyId}, ${to}, ${name}) on conflict (agency_id, phone)
					do update set name = excluded.name`;
				await tx`insert into visit (id, agency_id, phone, flat, at)
					values (${id}, ${agencyId}, ${to}, ${flat}, ${at})
					on conflict do nothing`;
				await announce(tx, id, by, "The visit was booked");
			}),
		move: (id: string, at: string, by: string) =>
			sql.begin(async (tx) => {
				await tx`update visit set at = ${at}, version = version + 1
					where id = ${id} and at <> ${at} and not called_off`;
				await announce(tx, id, by, "The visit was moved");
			}),
		callOff: (id: string, by: string) =>
			sql.begin(async (tx) => {
				await tx`update visit set called_off = true, version = version + 1
					where id = ${id} and not called_off`;
				await announce(tx, id, by, "The visit was called off");
			}),
		visits: (agencyId: string) =>
			sql`select * from visit_status where agency_id = ${agencyId}`,
		inbox: (agencyId: string) =>
			sql`select * from inbox where agency_id = ${agencyId} order by at desc`,

		/** Reaches those who wrote within a day, and said no to nothing. */
		async campaign(agencyId: string, why: string, body: string, by: string) {
			const all = { agencyId, body, by, why, purpose: "marketing" as const };
			const contacts = sql`select id, phone as to from contact
				where agency_id = ${agencyId}`;
			for await (const some of contacts.cursor(1_000))
				await outbox.enqueueMany(
					some.map(({ id, to }) => ({ ...all, id: `${why}:${id}`, to })),
				);
		},

		/** Who texted this person, why, and what became of it. */
		audit: (agencyId: string, to: string) => outbox.list({ agencyId, to }),

		/** Call it again as long as it lists texts: the service holds them. */
		async erase(phone: string) {
			const to = toE164(phone);
			await sql`insert into erased values (sha256(${to}::bytea))
				on conflict do nothing`; // first, so that nothing comes back
			await sql`delete from contact where phone = ${to}`; // and all of theirs
			return (await outbox.erase({ to, everyAgency: true })).tooLate;
		},
		async isErased(phone: string) {
			const found = await sql`select from erased
				where contact = sha256(${phone}::bytea)`;
			return found.count > 0;
		},
	};
}
