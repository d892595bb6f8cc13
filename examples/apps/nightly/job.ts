// Every night: what does the messaging service know about each of the CRM's contacts?
//
// Resumable: a batch of contacts and the mark of how far the run is are written in one transaction, so a run that was
// killed goes on where it was. Idempotent: every row is an upsert by the contact's id, so a batch that is done twice,
// or a second run of the same night, changes nothing.
import { setImmediate } from "node:timers/promises";
import type { Client } from "@libsql/client";
import type { AgencyClient } from "messaging-conversations";

export const schema = `
	create table if not exists contact (id integer primary key, phone text not null);
	create table if not exists chat (
		contact_id integer primary key references contact (id),
		phone_number text,        -- E.164; null where the CRM holds something that is no phone number
		contact_name text,
		last_message_at text,     -- null: no conversation
		last_inbound_at text,
		window_expires_at text,   -- until when a text goes out at once
		total_messages integer not null,
		failed_messages integer not null,
		queued_messages integer not null
	);
	create table if not exists nightly_run (night text primary key, up_to integer not null, finished integer not null);
`;

const upsert = `
	insert into chat
	select value ->> 'contactId', value ->> 'phoneNumber', value ->> 'contactName', value ->> 'lastMessageAt',
		value ->> 'lastInboundAt', value ->> 'windowExpiresAt', coalesce(value ->> 'totalMessages', 0),
		coalesce(value ->> 'failedMessages', 0), coalesce(value ->> 'queuedMessages', 0)
	from json_each(?) where true
	on conflict (contact_id) do update set
		phone_number = excluded.phone_number, contact_name = excluded.contact_name,
		last_message_at = excluded.last_message_at, last_inbound_at = excluded.last_inbound_at,
		window_expires_at = excluded.window_expires_at, total_messages = excluded.total_messages,
		failed_messages = excluded.failed_messages, queued_messages = excluded.queued_messages`;

const mark = `
	insert into nightly_run values (?, ?, ?)
	on conflict (night) do update set up_to = excluded.up_to, finished = excluded.finished`;

export interface NightlyOptions {
	db: Client;
	agency: AgencyClient;
	/** Names the run: the same night again goes on where it stopped. */
	night: string;
	/** Contacts looked up and written at a time: the memory that the job takes, and what a killed run does again. */
	batch?: number;
	progress?: (done: number, total: number) => void;
	signal?: AbortSignal;
}

/** Where the run stands. */
export async function standing({ db, night }: Pick<NightlyOptions, "db" | "night">) {
	const { rows } = await db.execute({
		sql: `select coalesce((select up_to from nightly_run where night = ?), 0) as upTo,
			(select count(*) from contact) as total,
			(select count(*) from contact where id <= (select up_to from nightly_run where night = ?)) as done`,
		args: [night, night],
	});
	const [row] = rows;
	return { upTo: Number(row?.upTo), total: Number(row?.total), done: Number(row?.done) };
}

export async function runNightly({ db, agency, night, batch = 2_000, progress, signal }: NightlyOptions) {
	let { upTo, total, done } = await standing({ db, night });
	for (;;) {
		// By key, not by offset: a contact that is added or deleted meanwhile shifts nothing.
		const { rows } = await db.execute({
			sql: "select id, phone from contact where id > ? order by id limit ?",
			args: [upTo, batch],
		});
		if (rows.length === 0) break;
		// Any spelling may stand in the CRM: the SDK normalises, asks about each number once, a hundred at a time, a few
		// requests at once, and answers in this order.
		const found = await agency.conversations.lookup(
			rows.map(({ phone }) => String(phone)),
			// A batch is twenty requests; at night there is time for a slow minute.
			{ deadlineMs: 120_000, signal },
		);
		const chats = found.map(({ phoneNumber, conversation }, index) => ({
			...conversation,
			contactId: rows[index]?.id,
			phoneNumber,
		}));
		upTo = Number(rows.at(-1)?.id);
		done += rows.length;
		await db.batch(
			[
				{ sql: upsert, args: [JSON.stringify(chats)] },
				{ sql: mark, args: [night, upTo, 0] },
			],
			"write",
		);
		progress?.(done, total);
		// An embedded database and a sandbox never wait, so nothing else had its turn: a Ctrl-C is heard here.
		await setImmediate();
	}
	await db.execute({ sql: mark, args: [night, upTo, 1] });
	return { looked: done };
}
