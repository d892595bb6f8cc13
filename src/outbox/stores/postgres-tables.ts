/*
 * The tables on PostgreSQL. None of these statements makes an `enqueue` wait: an index of a table with texts is built beside the
 * work.
 */
import { isPartnerError } from "messaging-conversations";
import { isInTransactionBlock, isLockTimeout } from "./database-error.ts";
import { factsIn } from "./facts.ts";
import { refuseOpenTable, refuseReached, unlessReached } from "./grants.ts";
import { isMeta, refuseDropped, writeMeta } from "./meta.ts";
import {
	alone,
	createMigration,
	lockMs,
	type Migration,
	migrationsDone,
	numbersOf,
	type Query,
	type Update,
	untilFree,
} from "./migration.ts";
import type { Names } from "./names.ts";
import { isOpen, open, turnOrder } from "./statements.ts";

const id = "bigint generated always as identity primary key";

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
	report: "(agency_id, planned_at, seq)",
	ended: "(since, seq) where next_at is null and recipient <> ''",
	unacknowledged: "(since, seq) where unacknowledged is not null",
	health: "(state, next_at) where state in ('waiting', 'sending', 'held', 'unknown')",
	asleep: "(agency_id, next_at, seq) where state = 'waiting' and reason = 'quiet_hours'",
};

/** The indexes of the queues. */
const queueIndexes = {
	turn: "(agency_id, band, due_at)",
	owner: "(token) where token is not null",
};

/** A name without a schema is looked for where it would be created, and not along the whole search path. */
const inSchema =
	"to_regclass(case when strpos($1, '.') > 0 then $1 else quote_ident(current_schema()) || '.' || $1 end)";

/** The clock of the database, in milliseconds. */
const now = "(extract(epoch from clock_timestamp()) * 1000)::bigint";

/** The migrations, in their order. */
function postgresMigrations({ texts, workers, contacts, queues, agencies, leases, meta }: Names): Migration[] {
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

/** @param later the migrations of a later version */
export async function migratePostgres(query: Query, names: Names, later: readonly Migration[]): Promise<void> {
	const all = [...postgresMigrations(names), ...later];
	const { schema, texts, queues, meta } = names;
	const { run, exists } = createMigration(query, `select 1 as found where ${inSchema} is not null`);
	const update: Update = async (sql) => (await run(`${sql} returning 1 as one`)).length;
	const done = async (): Promise<number> => ((await exists(meta)) ? migrationsDone(run, meta) : 0);

	/** Runs statements in one transaction. It gives up after a moment if another one holds a table, again and again. */
	const briefly = (...statements: string[]): Promise<unknown> =>
		untilFree(isLockTimeout, () =>
			run(`do $do$ begin perform set_config('lock_timeout', '${lockMs}ms', true); ${statements.join("; ")}; end $do$`),
		).catch((error: unknown) => refuseOpenTable(run, names, error));

	/** Creates the tables that are missing. */
	async function createTables({ tables = {} }: Migration): Promise<void> {
		const missing: [string, string][] = [];
		// Asked first, because "if not exists" needs the right to create it even when it is there.
		for (const table of Object.entries(tables)) if (!(await exists(table[0]))) missing.push(table);
		if (missing.length === 0) return;
		const names = missing.map(([name]) => name);
		const create = () => briefly(...missing.map(([, statement]) => statement), unlessReached(names));
		// It fails when another process creates the same at that moment. Then it is there.
		await create().catch((error: unknown) => (isPartnerError(error) ? Promise.reject(error) : create()));
	}

	/** Runs one in a transaction, unless another process has. A row of no table is locked that an enqueue would wait for. */
	async function runNext(next: Migration, number: number): Promise<void> {
		const { tables = {}, changes = [] } = next;
		const numbers = [`schema_version = ${number}`, numbersOf(next, number)].filter(Boolean).join(", ");
		await briefly(
			`update ${meta} set ${numbers} where ${isMeta} and schema_version = ${number - 1}`,
			"if not found then return; end if",
			...Object.values(tables),
			...changes,
			unlessReached(Object.keys(tables)),
		);
	}

	/** Whether an index is complete: false if its build was ended, or is under way. Undefined if there is none. */
	async function isValid(name: string): Promise<boolean | undefined> {
		const [row] = await run(`select indisvalid as valid from pg_index where indexrelid = ${inSchema}`, [name]);
		return row && row.valid === true;
	}

	async function createIndex(table: string, end: string, on: string, isEmpty: boolean): Promise<void> {
		const name = `${table}_${end}`;
		const own = name.slice(schema.length);
		const build = (how: string): string => `create index ${how} if not exists ${own} on ${table} ${on}`;
		const plain = (): Promise<unknown> => briefly(build(""));
		const beside = (): Promise<unknown> =>
			run(build("concurrently")).catch((error: unknown) => {
				if (isInTransactionBlock(error)) return plain();
				throw error;
			});
		const create = isEmpty ? plain : beside;
		for (let tries = 0; (await isValid(name)) !== true; tries++) {
			if (tries === 10) throw new Error(`migrate: the index ${name} could not be built. Call migrate again.`);
			// It fails if another one begins at the same moment.
			await create().catch(create);
			// An index that is still not complete is what is left of a build that was ended.
			if ((await isValid(name)) === false) await run(`drop index concurrently if exists ${name}`);
		}
	}

	await refuseReached(run, names);
	const before = await done();
	// Those of a later version: what this one would create, that one may have dropped.
	if (before > all.length) return;
	if (schema !== "") {
		const [found] = await run("select 1 as found where to_regnamespace($1) is not null", [schema.slice(0, -1)]);
		const statement = `create schema if not exists ${schema.slice(0, -1)}`;
		if (!found) await run(statement).catch(() => run(statement));
	}
	const [first] = all;
	// Until a second one changes them, a derived table that was dropped is created again.
	if (first && before <= 1) {
		if (before === 1) await refuseDropped(exists, names);
		await createTables(first);
		await writeMeta(run, names, "on conflict (id) do nothing");
		await update(`update ${meta} set schema_version = 1 where ${isMeta} and schema_version = 0`);
	}
	for (let number = await done(); number < all.length; number++) await runNext(all[number] as Migration, number + 1);
	const builds = [
		...Object.entries(queueIndexes).map(([end, on]) => [queues, end, on] as const),
		...Object.entries(indexes).map(([end, on]) => [texts, end, on] as const),
	];
	const missingBuilds = async () => {
		const found: typeof builds = [];
		for (const build of builds) if ((await isValid(`${build[0]}_${build[1]}`)) !== true) found.push(build);
		return found;
	};
	// Of two builds beside each other the database ends one, because each waits for the other.
	if ((await missingBuilds()).length > 0)
		await alone(update, meta, now, async () => {
			// Those that another process has built meanwhile are left out.
			for (const [table, end, on] of await missingBuilds())
				await createIndex(table, end, on, (await run(`select 1 as found from ${table} limit 1`)).length === 0);
		});
	await refuseReached(run, names);
}
