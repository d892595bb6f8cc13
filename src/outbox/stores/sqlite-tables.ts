/*
 * The tables on SQLite.
 */
import { factsIn } from "./facts.ts";
import { isMeta, refuseDropped, writeMeta } from "./meta.ts";
import {
	alone,
	createMigration,
	type Migration,
	migrateInSteps,
	migrationsDone,
	numbersOf,
	type Query,
	type Update,
} from "./migration.ts";
import type { Names } from "./names.ts";
import { isOpen, open, turnOrder } from "./statements.ts";

const id = "integer primary key autoincrement";

/** The columns of the texts. */
const columns = `seq ${id}, id text not null unique, agency_id text not null, recipient text not null, body text not null,
	subaccount_id text, consent_language text, not_before bigint, not_after bigint,
	purpose text not null, priority bigint not null default 0, by_whom text, why text, given text,
	created_at bigint not null, state text not null, reason text, since bigint not null, sent_at bigint,
	ended_at bigint, next_at bigint, ready_at bigint not null default 0, attempts bigint not null default 0,
	failures bigint not null default 0, restored_from bigint, restored_to bigint, restore_number bigint not null default 0, cancel_reason text, cancelled_by text, cancelled_at bigint, begun_at bigint not null default 0, planned_at bigint not null default 0,
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
	report: "(agency_id, planned_at)",
	ended: "(since, seq) where next_at is null and recipient <> ''",
	unacknowledged: "(since, seq) where unacknowledged is not null",
	// SQLite sees of an `or` alone that one of these states is in it.
	health: "(state, next_at) where state = 'waiting' or state = 'sending' or state = 'held' or state = 'unknown'",
	asleep: "(agency_id, next_at) where state = 'waiting' and reason = 'quiet_hours'",
};

/** The clock of the machine, in milliseconds. SQLite has none of its own before 3.42. */
const now = "cast((julianday('now') - 2440587.5) * 86400000 as integer)";

/** The migrations, in their order. */
function sqliteMigrations({ texts, workers, contacts, queues, agencies, leases, meta }: Names): Migration[] {
	const tables = {
		[meta]: `(id bigint primary key, outbox_id text not null, key_id text not null, hash_keys text not null,
			settled_used bigint not null default 0, schema_version bigint not null default 0, migrating_at bigint,
			least_work bigint not null default 0, work_version text, least_enqueue bigint not null default 0, enqueue_version text,
			restore_number bigint not null default 0, restore_marked bigint not null default 0, restore_from bigint, restore_to bigint,
			restore_source text, restored_at bigint, purged_before bigint not null default 0, forgotten bigint not null default 0)`,
		[texts]: `(${columns})`,
		[contacts]: `(agency_id text not null, hash text not null, key_id text not null, ${factsIn("text", "text")},
			stopped_at bigint, stopped_source text, suspended_since bigint, suspended_reason text, suspended_by text, resumed_at bigint, resumed_by text,
			restored_from bigint, restored_to bigint, restored_source text, restored_by text, primary key (key_id, hash, agency_id))`,
		[queues]: `(id ${id}, recipient text not null, agency_id text not null, band bigint not null,
			due_at bigint not null, lease_until bigint, token text, revision bigint not null default 0, unique (recipient, agency_id))`,
		[agencies]: `(agency_id text primary key, served_at bigint not null default 0,
			paused_until bigint not null default 0, failures bigint not null default 0, reason text,
			cause text, since bigint, consent text,
			consent_revision bigint not null default 0)`,
		[workers]: `(id text primary key, version text not null, runs_once bigint not null,
			started_at bigint not null, seen_at bigint not null, left_at bigint, number bigint not null, signed_at bigint not null,
			restore_number bigint not null)`,
		[leases]: `(topic text not null, name text not null, owner text not null, lease_until bigint not null,
			revision bigint not null default 0, primary key (topic, name))`,
	};
	const created = Object.entries(tables).map(([name, on]) => [name, `create table if not exists ${name} ${on}`]);
	return [{ version: "1.0.0", tables: Object.fromEntries(created) }];
}

/**
 * Runs statements in one transaction, unless the first one, which changes a row, finds none. Absent if the library is not
 * synchronous: what else runs on its connection would come in between.
 */
export type Together = (first: string, statements: readonly string[]) => Promise<unknown>;

/** @param later the migrations of a later version */
export async function migrateSqlite(
	query: Query,
	names: Names,
	together: Together | undefined,
	later: readonly Migration[],
): Promise<void> {
	const all = [...sqliteMigrations(names), ...later];
	const { texts, queues, meta } = names;
	const find = "select 1 as found from sqlite_master where lower(name) = lower($1)";
	const { run, exists, create } = createMigration(query, find);
	const update: Update = async (sql) => (await run(`${sql} returning 1 as one`)).length;
	const done = (): Promise<number> => migrationsDone(run, meta);

	const before = await done();
	// Those of a later version: what this one would create, that one may have dropped.
	if (before > all.length) return;
	const [first] = all;
	// Until a second one changes them, a derived table that was dropped is created again.
	if (first && before <= 1) {
		if (before === 1) await refuseDropped(exists, names);
		for (const [table, statement] of Object.entries(first.tables ?? {})) await create(table, statement);
		await writeMeta(run, names, "on conflict (id) do nothing");
		await update(`update ${meta} set schema_version = 1 where ${isMeta} and schema_version = 0`);
	}
	if ((await done()) < all.length)
		await alone(update, meta, now, async () => {
			if (!together) return migrateInSteps(all, { run, update, meta }, done);
			for (let number = await done(); number < all.length; number++) {
				const next = all[number] as Migration;
				const numbers = [`schema_version = ${number + 1}`, numbersOf(next, number + 1)].filter(Boolean).join(", ");
				const begin = `update ${meta} set ${numbers} where ${isMeta} and schema_version = ${number} returning 1 as one`;
				await together(begin, [...Object.values(next.tables ?? {}), ...(next.changes ?? [])]);
			}
		});
	const createIndex = (table: string, end: string, on: string): Promise<void> =>
		create(`${table}_${end}`, `create index if not exists ${table}_${end} on ${table} ${on}`);
	await createIndex(queues, "turn", "(agency_id, band, due_at)");
	await createIndex(queues, "owner", "(token) where token is not null");
	for (const [end, on] of Object.entries(indexes)) await createIndex(texts, end, on);
}
