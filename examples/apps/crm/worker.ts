// Sends the texts and mirrors all agencies. Start as many as you like.
import { watchAgencies } from "messaging-conversations/sync";
import type { TransactionSql } from "postgres";
import { openCrm } from "./crm.ts";

const { client, outbox, sql, isErased } = openCrm();
const stop = new AbortController();
const { signal } = stop;
process.once("SIGTERM", () => stop.abort());

/** Keeps the status column. */
const followTexts = () =>
	outbox.follow(
		({ id, description, acknowledge }) =>
			sql.begin(async (tx) => {
				await tx`update visit_text set status = ${description}
					where id = ${id}`;
				await acknowledge(tx);
			}),
		{ held: true, signal },
	);

const lease = outbox.leases();
const feed = watchAgencies<TransactionSql>(client, {
	lease,
	async load(agencyId) {
		const feeds = await sql`select checkpoint from feed
			where agency_id = ${agencyId}`;
		return feeds[0]?.checkpoint;
	},
	save: (agencyId, checkpoint, tx) =>
		tx
			? save(tx, agencyId, checkpoint)
			: sql.begin((own) => save(own, agencyId, checkpoint)),
	skip: isErased,
	statuses: true,
	maxMs: 15_000,
	onError: ({ message }, agencyId) => console.error(agencyId, message),
	signal,
});

async function save(tx: TransactionSql, agencyId: string, checkpoint: string) {
	if (!(await lease.confirm(agencyId, { tx })))
		throw new Error("Another process follows the agency now.");
	await tx`insert into feed values (${agencyId}, ${checkpoint})
		on conflict (agency_id) do update set checkpoint = excluded.checkpoint`;
}

async function mirror() {
	for await (const change of feed) {
		const { agencyId, phoneNumber: phone, conversation } = change;
		await sql.begin(async (tx) => {
			await tx`lock table erased in share mode`; // an erasure waits for this
			if (await isErased(phone)) return change.save(tx);
			await tx`insert into contact (agency_id, phone, name)
				values (${agencyId}, ${phone}, ${conversation.summary.contactName})
				on conflict do nothing`;
			for (const { messageSid, direction, body, ...more } of change.messages)
				await tx`insert into message values (${agencyId}, ${messageSid},
						${phone}, ${direction}, ${body}, ${more.status}, ${more.createdAt})
					on conflict (agency_id, sid) do update set status = excluded.status`;
			await change.save(tx);
		});
		await outbox.observe(change);
	}
}

await Promise.all([outbox.work({ signal }), followTexts(), mirror()]);
await sql.end();
