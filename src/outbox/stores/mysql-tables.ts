/*
 * The tables on MySQL and MariaDB.
 */
import { refuse } from "../input.ts";
import type { Row } from "./connection.ts";
import { isLocked } from "./database-error.ts";
import { factsIn } from "./facts.ts";
import { isMeta, refuseDropped, writeMeta } from "./meta.ts";
import {
	alone,
	createMigration,
	type Migration,
	migrateInSteps,
	migrationsDone,
	type Query,
	type Update,
	untilFree,
} from "./migration.ts";
import type { Names } from "./names.ts";
import { open } from "./statements.ts";

/** The characters have the character set of the values, because the connection may have another collation. */
const find = `select 1 as found from information_schema.tables where table_name = substring_index($1, _utf8mb4 '.', -1)
	and table_schema = if($1 like _utf8mb4 '%.%', substring_index($1, _utf8mb4 '.', 1), database())`;

/** The clock of the database, in milliseconds. */
const now = "(timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) div 1000)";

/** A database for which a change of a table is no part of a transaction. */
export interface MysqlMigration {
	query: Query;
	update: Update;
	/** Refuses a row that came through a connection of another character set. It has the column `wave`. */
	check: (found: Row) => unknown;
}

/** The migrations, in their order. Tables get their collation as they are created. */
function mysqlMigrations(names: Names): Migration[] {
	const created = Object.entries(tablesOf(names)).map(([name, on]) => [
		name,
		`create table if not exists ${name} (${on})`,
	]);
	return [{ version: "1.0.0", tables: Object.fromEntries(created) }];
}

/** @param later the migrations of a later version */
export async function migrateMysql(
	{ query, update, check }: MysqlMigration,
	names: Names,
	later: readonly Migration[],
): Promise<void> {
	const all = [...mysqlMigrations(names), ...later];
	const { schema, meta } = names;
	const { run, exists, create } = createMigration(query, find);
	const done = (): Promise<number> => migrationsDone(run, meta);
	const before = await done();
	// Those of a later version: what this one would create, that one may have dropped.
	if (before > all.length) return;
	if (schema !== "") {
		const name = schema.slice(0, -1);
		const [found] = await run("select 1 as found from information_schema.schemata where schema_name = $1", [name]);
		if (!found) await run(`create schema if not exists ${name}`);
	}
	const end = `engine = InnoDB default charset = utf8mb4 collate = ${await collationOf(run, check)}`;
	const collated = all.map(
		({ tables = {}, ...migration }): Migration => ({
			...migration,
			tables: Object.fromEntries(Object.entries(tables).map(([name, create]) => [name, `${create} ${end}`])),
		}),
	);
	const [first] = collated;
	// Until a second one changes them, a derived table that was dropped is created again.
	if (first && before <= 1) {
		if (before === 1) await refuseDropped(exists, names);
		for (const [table, statement] of Object.entries(first.tables ?? {})) await create(table, statement);
		await writeMeta(run, names, "on duplicate key update id = id");
		await update(`update ${meta} set schema_version = 1 where ${isMeta} and schema_version = 0`);
	}
	/** MariaDB gives up soon if a transaction holds the table. MySQL takes what it does not know for a comment, and waits. */
	const briefly = (sql: string): Promise<Row[]> =>
		untilFree(isLocked, () => run(`/*M! set statement lock_wait_timeout = 1 for */ ${sql}`));
	if ((await done()) < all.length)
		await alone(update, meta, now, () => migrateInSteps(collated, { run: briefly, update, meta }, done));
}

/**
 * Checks the settings of the connection, and chooses the collation. It has to distinguish a, A and á, and texts that differ by
 * a space at their end.
 */
async function collationOf(query: Query, check: (found: Row) => unknown): Promise<string> {
	const [found] = await query(
		`select @@autocommit as autocommit, _utf8mb4 x'f09f918b' as wave, (select max(collation_name)
			from information_schema.collations where collation_name in ('utf8mb4_nopad_bin', 'utf8mb4_0900_bin')) as exact`,
		[],
	);
	if (typeof found?.exact !== "string")
		refuse("pool", "must be of MySQL 8.0.17 or later, or of MariaDB 10.6 or later", "migrate");
	if (Number(found.autocommit) !== 1)
		refuse("pool", "must have connections with autocommit on: remove `set autocommit = 0`", "migrate");
	check(found);
	return found.exact;
}

/**
 * The columns `part_…` are null in all texts that their index does not need, as partial indexes leave them out. They are
 * stored, because indexes of virtual columns have had defects in both databases.
 */
function tablesOf({ texts, workers, contacts, queues, agencies, leases, meta }: Names): Record<string, string> {
	const part = (name: string, type: string, condition: string, value: string) =>
		`part_${name} ${type} generated always as (if(${condition}, ${value}, null)) stored`;
	return {
		[texts]: [
			"seq bigint not null auto_increment primary key",
			"id varchar(255) not null, agency_id varchar(255) not null, recipient varchar(32) not null",
			"body longtext not null, subaccount_id varchar(64), consent_language varchar(255)",
			"not_before bigint, not_after bigint, purpose varchar(16) not null, priority bigint not null default 0, by_whom varchar(255), why varchar(255), given longtext, created_at bigint not null",
			"state varchar(32) not null, reason varchar(64), since bigint not null, sent_at bigint, ended_at bigint, next_at bigint",
			"attempts bigint not null default 0, failures bigint not null default 0",
			"restored_from bigint, restored_to bigint, restore_number bigint not null default 0, cancel_reason varchar(16), cancelled_by varchar(255), cancelled_at bigint",
			"ready_at bigint not null default 0, begun_at bigint not null default 0, planned_at bigint not null default 0",
			"version bigint not null, message_id varchar(255), queue_id varchar(255), unacknowledged bigint",
			"progress longtext not null, arrived tinyint default 1",
			part("open", "bigint", `next_at is not null and state in ${open}`, "attempts > 0"),
			part("number", "tinyint", `state in ${open}`, "1"),
			part("sent", "bigint", "message_id is not null", "1"),
			part("since", "bigint", "unacknowledged is not null", "since"),
			"unique key id (id), key message (message_id), key ended (next_at, since), key acknowledged (part_since, seq)",
			"key turn (recipient, agency_id, part_open desc, purpose desc, priority desc, seq)",
			"key queue (recipient, agency_id, next_at, seq), key number (recipient, part_number, seq)",
			"key report (agency_id, planned_at), key sent (agency_id, recipient, part_sent, seq), key arrived (arrived, seq), key health (state, next_at)",
		].join(", "),
		[contacts]: [
			"agency_id varchar(255) not null, hash varchar(64) not null, key_id varchar(64) not null",
			factsIn("varchar(16)", "varchar(255)"),
			"stopped_at bigint, stopped_source varchar(16)",
			"suspended_since bigint, suspended_reason varchar(255), suspended_by varchar(255), resumed_at bigint, resumed_by varchar(255)",
			"restored_from bigint, restored_to bigint, restored_source varchar(16), restored_by varchar(255), primary key (key_id, hash, agency_id)",
		].join(", "),
		[queues]: [
			"id bigint not null auto_increment primary key, recipient varchar(32) not null, agency_id varchar(255) not null",
			"band bigint not null, due_at bigint not null, lease_until bigint, token varchar(64), revision bigint not null default 0",
			"unique key who (recipient, agency_id), key turn (agency_id, band, due_at), key owner (token)",
		].join(", "),
		[agencies]:
			"agency_id varchar(255) not null primary key, served_at bigint not null default 0, paused_until bigint not null default 0, failures bigint not null default 0, reason varchar(64), cause varchar(64), since bigint, consent text, consent_revision bigint not null default 0",
		[workers]:
			"id varchar(64) not null primary key, version varchar(64) not null, runs_once bigint not null, started_at bigint not null, seen_at bigint not null, left_at bigint, number bigint not null, signed_at bigint not null, restore_number bigint not null",
		[leases]:
			"topic varchar(160) not null, name varchar(255) not null, owner varchar(64) not null, lease_until bigint not null, revision bigint not null default 0, primary key (topic, name)",
		[meta]: [
			"id bigint not null primary key, outbox_id varchar(64) not null, key_id varchar(64) not null, hash_keys text not null",
			"settled_used bigint not null default 0, schema_version bigint not null default 0, migrating_at bigint",
			"least_work bigint not null default 0, work_version varchar(64), least_enqueue bigint not null default 0, enqueue_version varchar(64)",
			"restore_number bigint not null default 0, restore_marked bigint not null default 0, restore_from bigint, restore_to bigint",
			"restore_source varchar(16), restored_at bigint, purged_before bigint not null default 0, forgotten bigint not null default 0",
		].join(", "),
	};
}
