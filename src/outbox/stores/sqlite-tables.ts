/*
 * The tables on SQLite.
 */
import { writeMeta } from "./meta.ts";
import { createMigration, type Query } from "./migration.ts";
import type { Names } from "./names.ts";
import { isOpen, open, turnOrder } from "./statements.ts";

const id = "integer primary key autoincrement";

/** The columns of the texts. */
const columns = `seq ${id}, id text not null unique, agency_id text not null, recipient text not null, body text not null,
	subaccount_id text, consent_language text, not_before bigint, not_after bigint,
	purpose text not null, priority bigint not null default 0, given text,
	created_at bigint not null, state text not null, reason text, since bigint not null, sent_at bigint,
	ended_at bigint, next_at bigint, ready_at bigint not null default 0, attempts bigint not null default 0,
	failures bigint not null default 0, restored_from bigint, restored_to bigint, cancel_reason text, begun_at bigint not null default 0,
	version bigint not null, message_id text, queue_id text, unacknowledged bigint, progress text not null,
	arrived bigint default 1`; // 1 until a worker has put it into its queue

/**
 * The indexes: no statement of a step reads more rows than it uses. One that is changed needs a new name, because `migrate`
 * finds an index by its name.
 */
const indexes = {
	arrived: "(seq) where arrived = 1 and next_at is not null",
	followed: "(recipient, agency_id, state, next_at) where next_at is not null and state in ('sent', 'delivered')",
	turn: `(recipient, agency_id, ${turnOrder}) where next_at is not null and state in ${open}`,
	queue: "(recipient, agency_id, next_at, seq) where next_at is not null",
	sent: "(agency_id, recipient, seq) where message_id is not null",
	message: "(message_id) where message_id is not null",
	number: `(recipient, (${isOpen}), seq)`,
	ended: "(since, seq) where next_at is null and recipient <> ''",
	unacknowledged: "(since, seq) where unacknowledged is not null",
	// SQLite sees of an `or` alone that one of these states is in it.
	health: "(state, next_at) where state = 'waiting' or state = 'sending' or state = 'held' or state = 'unknown'",
	asleep: "(agency_id, next_at) where state = 'waiting' and reason = 'quiet_hours'",
};

export async function migrateSqlite(query: Query, names: Names): Promise<void> {
	const { texts, workers, stops, queues, agencies, meta } = names;
	const find = "select 1 as found from sqlite_master where lower(name) = lower($1)";
	const { create } = createMigration(query, find);

	await create(texts, `create table if not exists ${texts} (${columns})`);
	await create(stops, `create table if not exists ${stops} (name text primary key, stopped_at bigint not null)`);
	await create(
		queues,
		`create table if not exists ${queues} (id ${id}, recipient text not null, agency_id text not null, band bigint not null,
			due_at bigint not null, lease_until bigint, token text, revision bigint not null default 0, unique (recipient, agency_id))`,
	);
	await create(
		agencies,
		`create table if not exists ${agencies} (agency_id text primary key, served_at bigint not null default 0,
			paused_until bigint not null default 0, failures bigint not null default 0, reason text,
			cause text, since bigint, suspended_since bigint, suspended_reason text, suspended_by text)`,
	);
	await create(
		workers,
		`create table if not exists ${workers} (id text primary key, version text not null, runs_once bigint not null,
			started_at bigint not null, seen_at bigint not null)`,
	);
	await create(
		meta,
		`create table if not exists ${meta} (id bigint primary key, outbox_id text not null, key_id text not null, hash_keys text not null, settled_used bigint not null default 0,
			schema_version bigint not null default 0)`,
	);
	await writeMeta(query, names, "on conflict (id) do nothing");
	const createIndex = (table: string, end: string, on: string): Promise<void> =>
		create(`${table}_${end}`, `create index if not exists ${table}_${end} on ${table} ${on}`);
	await createIndex(queues, "turn", "(agency_id, band, due_at)");
	await createIndex(queues, "owner", "(token) where token is not null");
	for (const [end, on] of Object.entries(indexes)) await createIndex(texts, end, on);
}
