// The conversations and messages of an agency as tables of PostgreSQL. `poll` stores what has changed; `nightly` stores what
// moved no conversation to the top, and deletes what is gone. Both may bring the same message, so both upsert.
import { createHash } from "node:crypto";
import { type AgencyClient, type ConversationDetail, isPartnerError, type Message } from "messaging-conversations";
import { type Change, changes, fingerprintOf, reconcile } from "messaging-conversations/sync";
import type { Database, Sql } from "../database.ts";

export const tables = `
	create table if not exists feed (agency_id text primary key, checkpoint text not null);
	create table if not exists conversation (
		agency_id text, phone text, name text, ai_enabled boolean not null, visibility text not null,
		total_messages integer not null, window_expires_at text, fingerprint text not null,
		primary key (agency_id, phone)
	);
	create table if not exists message (
		agency_id text, id bigint, phone text not null, sid text, direction text not null, body text, template text,
		status text, created_at text, files text, seen boolean not null default false,
		primary key (agency_id, sid) -- not the id, of which JSON loses the last digits if it is large
	);
	create table if not exists unstored (
		id bigserial primary key, agency_id text not null, phone text not null, change text not null,
		failures integer not null default 0, retry_at timestamptz not null
	);
	create table if not exists erased (agency_id text, phone_hash text, primary key (agency_id, phone_hash));`;

export interface PollOptions {
	database: Database;
	agency: AgencyClient;
	/** Called after each conversation that was stored: how many were, and how many remain. */
	progress?: ((done: number, remaining: number) => void) | undefined;
	signal?: AbortSignal | undefined;
}

/** Another worker has stored something of the agency since this poll began. */
export class OvertakenError extends Error {}

/** One poll; returns how many changes it has stored. A change and its checkpoint are one transaction. */
export async function poll({ database, agency, progress, signal }: PollOptions): Promise<number> {
	let stored = await checkpointOf(database, agency.id);
	const feed = changes(agency, { since: stored ?? "beginning", skip: erasedIn(database, agency.id), signal });
	const save = async (sql: Sql): Promise<string> => {
		const { checkpoint } = feed;
		const { rows } = await sql.query(
			`insert into feed values ($1, $2) on conflict (agency_id) do update set checkpoint = excluded.checkpoint
			where feed.checkpoint = $3 returning 1`,
			[agency.id, checkpoint, stored],
		);
		// A worker that was taken for dead, and is not: its current change is stored by its successor.
		if (rows.length === 0) throw new OvertakenError(`Another worker polls ${agency.id}.`);
		return checkpoint;
	};
	await retryUnstored(database, agency.id);
	let done = 0;
	try {
		for await (const change of feed) {
			stored = await storeOrPutOff(database, agency.id, change, save);
			done++;
			progress?.(done, feed.remaining);
		}
	} catch (error) {
		// After a failed read the checkpoint remembers what to read again. After an error in the loop it is from before the change.
		if (isPartnerError(error)) await save(database);
		throw error;
	}
	await save(database); // a poll without a change moves on too
	return done;
}

/** Stores a change. One that the database refuses is put off, so that it does not block the others. */
async function storeOrPutOff<Result>(
	database: Database,
	agencyId: string,
	change: Pick<Change, "phoneNumber" | "conversation" | "messages">,
	save: (sql: Sql) => Promise<Result>,
): Promise<Result> {
	try {
		return await database.transaction(async (sql) => {
			// After a change that was put off the contact's next ones wait too, so that they are stored in order.
			const { rows } = await sql.query("select 1 from unstored where agency_id = $1 and phone = $2 limit 1", [
				agencyId,
				change.phoneNumber,
			]);
			if (rows.length > 0) await putOff(sql, agencyId, change);
			else await storeChange(sql, agencyId, change);
			return save(sql);
		});
	} catch (error) {
		if (!isOfTheData(error)) throw error;
		return database.transaction(async (sql) => {
			await putOff(sql, agencyId, change);
			return save(sql);
		});
	}
}

/** Whether the database refuses the data, by the class of its error: a value, a constraint, or a limit. */
function isOfTheData(error: unknown): boolean {
	return /^(22|23|54)/.test(Object(error).code);
}

async function putOff(sql: Sql, agencyId: string, change: Pick<Change, "phoneNumber">): Promise<void> {
	await sql.query(
		"insert into unstored (agency_id, phone, change, retry_at) values ($1, $2, $3, now() + interval '1 minute')",
		[agencyId, change.phoneNumber, JSON.stringify(change)],
	);
}

/** Tries again what was put off: after 1, 2, 4 … minutes, at least once a day. */
export async function retryUnstored(database: Database, agencyId: string): Promise<void> {
	const due = await database.query(
		"select phone from unstored where agency_id = $1 group by phone having min(retry_at) <= now()",
		[agencyId],
	);
	for (const { phone } of due.rows) {
		const own = [agencyId, phone];
		try {
			await database.transaction(async (sql) => {
				const { rows } = await sql.query(
					"delete from unstored where agency_id = $1 and phone = $2 returning id::int, change",
					own,
				);
				const inOrder = rows.sort((a, b) => Number(a.id) - Number(b.id));
				for (const { change } of inOrder) await storeChange(sql, agencyId, JSON.parse(String(change)));
			});
		} catch (error) {
			if (!isOfTheData(error)) throw error;
			await database.query(
				`update unstored set failures = failures + 1,
					retry_at = now() + least(interval '1 minute' * power(2, failures), interval '1 day')
				where agency_id = $1 and phone = $2`,
				own,
			);
		}
	}
}

/** Erases a contact, who stays erased: neither a poll nor the night brings them back. */
export async function erase(database: Database, agencyId: string, phone: string): Promise<void> {
	await database.transaction(async (sql) => {
		await sql.query("insert into erased values ($1, $2) on conflict do nothing", [agencyId, hashOf(agencyId, phone)]);
		for (const table of ["message", "conversation", "unstored"])
			await sql.query(`delete from ${table} where agency_id = $1 and phone = $2`, [agencyId, phone]);
	});
}

function erasedIn(database: Sql, agencyId: string): (phone: string) => Promise<boolean> {
	return async (phone) => {
		const own = [agencyId, hashOf(agencyId, phone)];
		const { rows } = await database.query("select 1 from erased where agency_id = $1 and phone_hash = $2", own);
		return rows.length > 0;
	};
}

/** There are few phone numbers, so use a secret of yours as the key (HMAC) if others can read the table. */
function hashOf(agencyId: string, phone: string): string {
	return createHash("sha256").update(`${agencyId} ${phone}`).digest("hex");
}

/** How many messages of each contact have not been seen. A message that comes again counts once, by its `messageSid`. */
export async function unreadCounts(sql: Sql, agencyId: string): Promise<Map<string, number>> {
	const { rows } = await sql.query(
		`select phone, count(distinct sid)::int as unread from message
		where agency_id = $1 and direction = 'inbound' and not seen group by phone`,
		[agencyId],
	);
	return new Map(rows.map(({ phone, unread }) => [String(phone), Number(unread)]));
}

/** Somebody has seen the contact's messages. */
export async function markSeen(sql: Sql, agencyId: string, phone: string): Promise<void> {
	await sql.query("update message set seen = true where agency_id = $1 and phone = $2", [agencyId, phone]);
}

/** Once a night: names, AI, visibility, late messages, and what is hidden or deleted. Gives how many differed. */
export async function nightly({ database, agency, progress, signal }: PollOptions): Promise<number> {
	const { rows } = await database.query(
		`select phone, fingerprint, (select count(*) from message m where m.agency_id = c.agency_id and m.phone = c.phone) as n
		from conversation c where agency_id = $1`,
		[agency.id],
	);
	const stored = rows.map((row) => ({
		phoneNumber: String(row.phone),
		fingerprint: String(row.fingerprint),
		messages: Number(row.n),
	}));
	let done = 0;
	const skip = erasedIn(database, agency.id);
	for await (const { phoneNumber, conversation, messages } of reconcile(agency, { stored, skip, signal })) {
		if (conversation) {
			const change = { phoneNumber, conversation, messages };
			await storeOrPutOff(database, agency.id, change, (sql) => deleteOthers(sql, agency.id, conversation, messages));
		} else {
			await database.transaction(async (sql) => {
				await sql.query("delete from message where agency_id = $1 and phone = $2", [agency.id, phoneNumber]);
				await sql.query("delete from conversation where agency_id = $1 and phone = $2", [agency.id, phoneNumber]);
			});
		}
		done++;
		progress?.(done, 0);
	}
	return done;
}

export async function checkpointOf(sql: Sql, agencyId: string): Promise<string | null> {
	const { rows } = await sql.query("select checkpoint from feed where agency_id = $1", [agencyId]);
	return rows[0] ? String(rows[0].checkpoint) : null;
}

export async function storeChange(
	sql: Sql,
	agencyId: string,
	{ conversation, messages }: Pick<Change, "conversation" | "messages">,
): Promise<void> {
	await upsertConversation(sql, agencyId, conversation);
	await upsertMessages(sql, agencyId, conversation, messages);
}

/** When all messages of a conversation came, deletes those that did not. */
async function deleteOthers(
	sql: Sql,
	agencyId: string,
	{ summary }: ConversationDetail,
	messages: readonly Message[],
): Promise<void> {
	if (messages.length !== summary.totalMessages) return;
	// A poll may have stored a new one meanwhile, so the latest are left to the next night.
	await sql.query(
		`delete from message where agency_id = $1 and phone = $2 and created_at::timestamptz < now() - interval '1 hour'
			and sid not in (select json_array_elements_text($3::json))`,
		[agencyId, summary.phoneNumber, JSON.stringify(messages.map(({ messageSid }) => messageSid))],
	);
}

async function upsertConversation(sql: Sql, agencyId: string, conversation: ConversationDetail): Promise<void> {
	const { summary } = conversation;
	await sql.query(
		`insert into conversation values ($1, $2, $3, $4, $5, $6, $7, $8)
		on conflict (agency_id, phone) do update set name = excluded.name, ai_enabled = excluded.ai_enabled,
			visibility = excluded.visibility, total_messages = excluded.total_messages,
			window_expires_at = excluded.window_expires_at, fingerprint = excluded.fingerprint`,
		[
			agencyId,
			summary.phoneNumber,
			summary.contactName,
			summary.aiEnabled,
			summary.visibility.reason,
			summary.totalMessages,
			summary.windowExpiresAt,
			fingerprintOf(conversation),
		],
	);
}

async function upsertMessages(
	sql: Sql,
	agencyId: string,
	{ summary }: ConversationDetail,
	messages: readonly Message[],
): Promise<void> {
	if (messages.length === 0) return;
	await sql.query(
		`insert into message (agency_id, id, phone, sid, direction, body, template, status, created_at, files)
		select $1, (value ->> 'id')::bigint, $2, value ->> 'messageSid', value ->> 'direction',
			value ->> 'body', value ->> 'templateName', value ->> 'status', value ->> 'createdAt',
			-- The links of the copies do not expire. They may come later, and the message then comes again.
			coalesce(nullif(value -> 'mediaStored', 'null'), value -> 'media')::text
		from jsonb_array_elements($3::jsonb) as row(value)
		on conflict (agency_id, sid) do update set body = excluded.body, status = excluded.status, files = excluded.files`,
		[agencyId, summary.phoneNumber, JSON.stringify(messages)],
	);
}
