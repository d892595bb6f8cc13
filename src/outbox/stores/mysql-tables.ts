/*
 * The tables on MySQL and MariaDB. The column that came later costs nothing but a short lock, and its index is built beside the
 * work.
 */
import { refuse } from "../input.ts";
import type { Row } from "./connection.ts";
import { isDuplicate, isLocked } from "./database-error.ts";
import { createMigration, type Query, untilFree } from "./migration.ts";
import type { Names } from "./names.ts";
import { open } from "./statements.ts";

/** The characters have the character set of the values, because the connection may have another collation. */
const find = `select 1 as found from information_schema.tables where table_name = substring_index($1, _utf8mb4 '.', -1)
	and table_schema = if($1 like _utf8mb4 '%.%', substring_index($1, _utf8mb4 '.', 1), database())`;

/** @param check refuses a row that came through a connection of another character set. It has the column `wave` */
export async function migrateMysql(query: Query, names: Names, check: (found: Row) => unknown): Promise<void> {
	const { schema, texts } = names;
	const { run, exists, create, missing } = createMigration(query, find);
	if (schema !== "") {
		const name = schema.slice(0, -1);
		const [found] = await run("select 1 as found from information_schema.schemata where schema_name = $1", [name]);
		if (!found) await run(`create schema if not exists ${name}`);
	}
	const end = `engine = InnoDB default charset = utf8mb4 collate = ${await collationOf(run, check)}`;
	const isOld = await exists(texts);
	for (const [name, definition] of Object.entries(tablesOf(names)))
		await create(name, `create table if not exists ${name} (${definition}) ${end}`);
	if (!isOld) return;
	await addArrived(run, texts);
	await addHealth(run, names, async (column) => (await missing(names.agencies, [column])).length > 0);
}

/** The columns of the agencies that came later: why and since when one is paused, and a person's suspension. */
const agencyColumns = [
	"cause varchar(64)",
	"since bigint",
	"suspended_since bigint",
	"suspended_reason varchar(255)",
	"suspended_by varchar(255)",
];

const mostKeys = 500;
const mostTries = 30;

type Run = (sql: string) => Promise<Row[]>;

/**
 * Changes a table that is in use. MariaDB gives up if a transaction holds it, because the next enqueues would wait behind it: at
 * once for some times, then after a second. MySQL takes this for a comment.
 */
function altering(run: Run, table: string, isDone: () => Promise<boolean>) {
	let tries = 0;
	return (change: string, isCheap: boolean): Promise<unknown> =>
		untilFree(isLocked, () =>
			run(`alter table ${table} /*M! ${isCheap && tries++ < mostTries ? "nowait" : "wait 1"} */ ${change}`),
		).catch(async (error: unknown) => {
			// Another process may have done it at that moment.
			if (!isDuplicate(error) && !(await isDone())) throw error;
		});
}

/** Adds the columns of a suspension, and the index that counts texts by their state. */
async function addHealth(run: Run, { texts, agencies }: Names, isMissing: (column: string) => Promise<boolean>) {
	for (const column of agencyColumns)
		if (await isMissing(column))
			await altering(
				run,
				agencies,
				async () => !(await isMissing(column)),
			)(`add column ${column}, algorithm = instant`, true);
	const isDone = (): Promise<boolean> =>
		run(`select seq from ${texts} force index (health) where state = 'none' limit 1`).then(
			() => true,
			() => false,
		);
	if (!(await isDone()))
		await altering(run, texts, isDone)("add index health (state, next_at), algorithm = inplace, lock = none", false);
}

/**
 * Adds the column `arrived` to a table of an earlier version. It is 1 in what is unfinished or will be inserted, and null in the
 * many finished texts, which the index leaves out this way. The index comes last, as the sign that all is done.
 */
async function addArrived(run: Run, texts: string): Promise<void> {
	const isDone = (): Promise<boolean> =>
		run(`select seq from ${texts} force index (arrived) where arrived = 2 limit 1`).then(
			() => true,
			() => false,
		);
	if (await isDone()) return;
	const alter = altering(run, texts, isDone);
	await alter("add column arrived tinyint default null, algorithm = instant", true);
	await alter("alter column arrived set default 1", true);
	const keys = await run(
		`select seq from ${texts} force index (ended) where next_at is not null and arrived is null and state <> 'unconfirmed'`,
	);
	for (let at = 0; at < keys.length; at += mostKeys) {
		const some = keys.slice(at, at + mostKeys).map(({ seq }) => Number(seq));
		await run(
			`update ${texts} force index (primary) set arrived = 1 where seq in (${some.join(", ")}) and next_at is not null`,
		);
	}
	await alter("add index arrived (arrived, seq), algorithm = inplace, lock = none", false);
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
function tablesOf({ texts, worker, workers, stops, queues, agencies }: Names): Record<string, string> {
	const part = (name: string, type: string, condition: string, value: string) =>
		`part_${name} ${type} generated always as (if(${condition}, ${value}, null)) stored`;
	return {
		[texts]: [
			"seq bigint not null auto_increment primary key",
			"id varchar(255) not null, agency_id varchar(255) not null, recipient varchar(32) not null",
			"body longtext not null, subaccount_id varchar(64), consent_language varchar(255)",
			"not_before bigint, not_after bigint, priority bigint not null default 0, created_at bigint not null",
			"state varchar(32) not null, reason varchar(64), since bigint not null, next_at bigint",
			"ready_at bigint not null default 0, attempted bigint not null default 0, begun_at bigint not null default 0",
			"version bigint not null, message_id varchar(255), queue_id varchar(255), unacknowledged bigint",
			"progress longtext not null, arrived tinyint default 1",
			part("open", "bigint", `next_at is not null and state in ${open}`, "attempted"),
			part("number", "tinyint", `state in ${open}`, "1"),
			part("sent", "bigint", "message_id is not null", "1"),
			part("since", "bigint", "unacknowledged is not null", "since"),
			"unique key id (id), key message (message_id), key ended (next_at, since), key acknowledged (part_since, seq)",
			"key turn (recipient, agency_id, part_open desc, priority desc, seq)",
			"key queue (recipient, agency_id, next_at, seq), key number (recipient, part_number, seq)",
			"key sent (agency_id, recipient, part_sent, seq), key arrived (arrived, seq), key health (state, next_at)",
		].join(", "),
		[worker]:
			"one bigint not null primary key, token varchar(64) not null, host varchar(255), pid bigint, started_at bigint, beat_at bigint",
		[stops]: "name varchar(64) not null primary key, stopped_at bigint not null",
		[queues]: [
			"id bigint not null auto_increment primary key, recipient varchar(32) not null, agency_id varchar(255) not null",
			"band bigint not null, due_at bigint not null, lease_until bigint, token varchar(64), revision bigint not null default 0",
			"unique key who (recipient, agency_id), key turn (agency_id, band, due_at), key owner (token)",
		].join(", "),
		[agencies]:
			"agency_id varchar(255) not null primary key, served_at bigint not null default 0, paused_until bigint not null default 0, failures bigint not null default 0, reason varchar(64), ".concat(
				agencyColumns.join(", "),
			),
		[workers]:
			"id varchar(64) not null primary key, version varchar(64) not null, is_drain bigint not null, started_at bigint not null, seen_at bigint not null",
	};
}
