// The conversations and messages of an agency as tables of PostgreSQL. `look` stores what has changed; `nightly` stores
// what moved no conversation to the top, and deletes what is gone. Both may bring the same message, so both upsert.
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
		agency_id text, id bigint, phone text not null, sid text not null, direction text not null, body text, template text,
		status text, created_at text,
		primary key (agency_id, id)
	);`;

export interface LookOptions {
	database: Database;
	agency: AgencyClient;
	/** Called after each conversation that was stored: how many were, and how many are still to come. */
	progress?: ((done: number, left: number) => void) | undefined;
	signal?: AbortSignal | undefined;
}

/** Another worker has stored something of the agency since this look began. */
export class OvertakenError extends Error {}

/** One look; gives how many conversations it has stored. A change and its checkpoint are one transaction. */
export async function look({ database, agency, progress, signal }: LookOptions): Promise<number> {
	let stored = await checkpointOf(database, agency.id);
	const feed = changes(agency, { since: stored ?? "beginning", signal });
	const save = async (sql: Sql): Promise<string> => {
		const { checkpoint } = feed;
		const { rows } = await sql.query(
			`insert into feed values ($1, $2) on conflict (agency_id) do update set checkpoint = excluded.checkpoint
			where feed.checkpoint = $3 returning 1`,
			[agency.id, checkpoint, stored],
		);
		// A worker that was taken for dead, and is not: what it has in hand is stored by its successor.
		if (rows.length === 0) throw new OvertakenError(`Another worker looks at ${agency.id}.`);
		return checkpoint;
	};
	let done = 0;
	let isStoring = false;
	try {
		for await (const change of feed) {
			isStoring = true;
			stored = await database.transaction(async (sql) => {
				await storeChange(sql, agency.id, change);
				return save(sql);
			});
			isStoring = false;
			done++;
			progress?.(done, feed.remaining);
		}
	} catch (error) {
		// After a failed read the checkpoint holds which conversation to read again. After an error while a change was stored
		// it holds that change.
		if (!isStoring && isPartnerError(error)) await save(database);
		throw error;
	}
	await save(database); // a look without a change moves on too
	return done;
}

/** Once a night: names, AI, visibility, late messages, and what is hidden or deleted. Gives how many differed. */
export async function nightly({ database, agency, progress, signal }: LookOptions): Promise<number> {
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
	for await (const { phoneNumber, conversation, messages } of reconcile(agency, { stored, signal })) {
		await database.transaction(async (sql) => {
			if (conversation) {
				await storeChange(sql, agency.id, { conversation, messages });
				await deleteOthers(sql, agency.id, conversation, messages);
			} else {
				await sql.query("delete from message where agency_id = $1 and phone = $2", [agency.id, phoneNumber]);
				await sql.query("delete from conversation where agency_id = $1 and phone = $2", [agency.id, phoneNumber]);
			}
		});
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
	// A look may have stored a new one meanwhile, so the latest are left to the next night.
	await sql.query(
		`delete from message where agency_id = $1 and phone = $2 and created_at::timestamptz < now() - interval '1 hour'
			and id not in (select value::bigint from json_array_elements_text($3::json))`,
		[agencyId, summary.phoneNumber, JSON.stringify(messages.map(({ id }) => id))],
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
		`insert into message select $1, (value ->> 'id')::bigint, $2, value ->> 'messageSid', value ->> 'direction',
			value ->> 'body', value ->> 'templateName', value ->> 'status', value ->> 'createdAt'
		from json_array_elements($3::json) as row(value)
		on conflict (agency_id, id) do update set body = excluded.body, status = excluded.status`,
		[agencyId, summary.phoneNumber, JSON.stringify(messages)],
	);
}
