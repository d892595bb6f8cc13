/*
 * The tables on SQLite. A column costs nothing. An index is built while others wait, a second for a million texts.
 */
import { createMigration, type Query } from "./migration.ts";
import type { Names } from "./names.ts";
import { isOpen, open } from "./statements.ts";

const id = "integer primary key autoincrement";

/** The columns of the texts. Those that came later are in {@link addedColumns}. */
const columns = `seq ${id}, id text not null unique, agency_id text not null, recipient text not null, body text not null,
	subaccount_id text, consent_language text, not_after bigint, created_at bigint not null, state text not null,
	since bigint not null, next_at bigint, version bigint not null, message_id text, queue_id text, progress text not null`;

/** The columns that came later. */
const addedColumns = [
	"reason text",
	"not_before bigint",
	"ready_at bigint not null default 0",
	"priority bigint not null default 0",
	"attempted bigint not null default 0",
	"begun_at bigint not null default 0",
	"unacknowledged bigint",
	// 1 until a worker has put it into its queue. Texts of an earlier version have it too.
	"arrived bigint default 1",
];

/**
 * The indexes: no statement of a step reads more rows than it uses. One that is changed needs a new name, because `migrate`
 * finds an index by its name; the old name belongs in `formerIndexes` then.
 */
const indexes = {
	arrived: "(seq) where arrived = 1 and next_at is not null",
	followed: "(recipient, agency_id, next_at) where next_at is not null and state in ('sent', 'delivered')",
	turn: `(recipient, agency_id, attempted desc, priority desc, seq) where next_at is not null and state in ${open}`,
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

/** The columns of the agencies that came later: why and since when one is paused, and a person's suspension. */
const agencyColumns = [
	"cause text",
	"since bigint",
	"suspended_since bigint",
	"suspended_reason text",
	"suspended_by text",
];

/** Those of version 0.2. */
const formerIndexes = ["due", "lane", "recipient"];

/**
 * Of a table as version 0.2 wrote it: its word for `unknown`, and which texts were attempted. Its progress is converted when a
 * row is read, see `progressFrom`.
 */
const conversions = [
	"state = 'unknown' where state = 'unclear'",
	`attempted = 1 where attempted = 0 and progress not like '%"attempts":0,%'`,
];

export async function migrateSqlite(query: Query, names: Names): Promise<void> {
	const { texts, worker, workers, stops, queues, agencies } = names;
	const find = "select 1 as found from sqlite_master where lower(name) = lower($1)";
	const { run, exists, create, missing } = createMigration(query, find);

	async function addColumns(table: string, added: readonly string[]): Promise<void> {
		for (const column of await missing(table, added))
			await run(`alter table ${table} add column ${column}`).catch(async (error: unknown) => {
				// Another process may have added it at that moment.
				if ((await missing(table, [column])).length > 0) throw error;
			});
	}

	await create(texts, `create table if not exists ${texts} (${columns}, ${addedColumns.join(", ")})`);
	await create(
		worker,
		`create table if not exists ${worker} (one bigint primary key, token text not null, host text, pid bigint, beat_at bigint, started_at bigint)`,
	);
	await create(stops, `create table if not exists ${stops} (name text primary key, stopped_at bigint not null)`);
	await create(
		queues,
		`create table if not exists ${queues} (id ${id}, recipient text not null, agency_id text not null, band bigint not null,
			due_at bigint not null, lease_until bigint, token text, revision bigint not null default 0, unique (recipient, agency_id))`,
	);
	await create(
		agencies,
		`create table if not exists ${agencies} (agency_id text primary key, served_at bigint not null default 0,
			paused_until bigint not null default 0, failures bigint not null default 0, reason text, ${agencyColumns.join(", ")})`,
	);
	await create(
		workers,
		`create table if not exists ${workers} (id text primary key, version text not null, is_drain bigint not null,
			started_at bigint not null, seen_at bigint not null)`,
	);
	await addColumns(texts, addedColumns);
	await addColumns(worker, ["started_at bigint"]);
	await addColumns(agencies, agencyColumns);
	const former: string[] = [];
	for (const name of formerIndexes) if (await exists(`${texts}_${name}`)) former.push(name);
	if (former.length > 0) for (const change of conversions) await run(`update ${texts} set ${change}`);
	const createIndex = (table: string, end: string, on: string): Promise<void> =>
		create(`${table}_${end}`, `create index if not exists ${table}_${end} on ${table} ${on}`);
	await createIndex(queues, "turn", "(agency_id, band, due_at)");
	await createIndex(queues, "owner", "(token) where token is not null");
	for (const [end, on] of Object.entries(indexes)) await createIndex(texts, end, on);
	// Last, because they are the sign of a table that is not converted yet.
	for (const name of former) await run(`drop index if exists ${texts}_${name}`);
}
