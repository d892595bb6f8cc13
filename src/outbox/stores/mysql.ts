import { refuse } from "../input.ts";
import type { OutboxStore } from "../store.ts";
import { type AnyQueryable, databaseOf, type Operation, refuseEnded, transactionOf } from "../transaction.ts";
import type { MysqlQueryable } from "../transactions/mysql2.ts";
import type { SequelizeQueryable } from "../transactions/sequelize.ts";
import type { Connection, Row, Value } from "./connection.ts";
import { isUnprepared, isWithoutTransaction } from "./database-error.ts";
import { type Names, namesFrom, type StoreOptions } from "./names.ts";
import {
	type Acknowledgement,
	createSqlStore,
	type Insertion,
	inserted,
	insertedValues,
	open,
	retryLocked,
	unconfirmed,
} from "./sql.ts";

/** A sign that only utf8mb4 holds. Each text is read beside it, because a connection may have another character set than the last. */
const wave = "👋";
const proof = ", _utf8mb4 x'f09f918b' as wave";

/** In microseconds, whatever the time zone of the session. */
const now = "timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))";

/** Longer ones would be cut off without an error, if the `sql_mode` is not strict. */
const longest = 255;

/**
 * Keeps the texts of an outbox in MySQL 8.0.17 and later, or in MariaDB 10.6 and later. Pass a pool of mysql2 or mariadb. Or
 * pass a database of Prisma, Drizzle, Knex, Kysely, TypeORM (a manager), MikroORM (an entity manager) or Sequelize. The `tx` of
 * `enqueue` is a transaction of any of them. One process works on it, or any number with {@link bullmqEngine}.
 *
 * @throws PartnerInvalidInput if `pool` or the name of the table is not usable
 * @example
 * const crmOutbox = createOutbox({ client, store: mysqlStore(mysqlPool) });
 * await crmOutbox.migrate();
 */
export function mysqlStore(
	pool: MysqlQueryable | SequelizeQueryable | AnyQueryable,
	options: StoreOptions = {},
): OutboxStore {
	const { query, change } = databaseOf(pool, "mysql", "pool", "mysqlStore");
	const run: typeof query = (sql, values) => retryLocked(() => query(sql, values));
	const store = createSqlStore(
		{
			query: async (sql, values) => undamaged(await run(sql, values), "pool", "mysqlStore"),
			insertIn: (tx, text) => insertIn(transactionOf(tx, "mysql", "enqueue", pool), text),
			acknowledgeIn: (tx, some) => acknowledgeIn(transactionOf(tx, "mysql", "acknowledge", pool), some),
			change: change && ((sql, values) => retryLocked(() => change(sql, values))),
			async tables(names) {
				const end = `engine = InnoDB default charset = utf8mb4 collate = ${await collationOf(run)}`;
				return Object.fromEntries(
					Object.entries(tablesOf(names)).map(([name, definition]) => [
						name,
						`create table if not exists ${name} (${definition}) ${end}`,
					]),
				);
			},
			seq: "",
			onConflict,
			upsert: (key, set = `${key} = ${key}`) => `on duplicate key update ${set}`,
			begunAt: now,
			begun: "begun_at",
			stopNow: () => now,
			// The sign has its character set, as the value has, because the connection may have another collation.
			find: `select 1 as found from information_schema.tables where table_name = substring_index($1, _utf8mb4 '.', -1)
				and table_schema = if($1 like _utf8mb4 '%.%', substring_index($1, _utf8mb4 '.', 1), database())`,
			findSchema: "select 1 as found from information_schema.schemata where schema_name = $1",
			bigint: "signed",
			tuples: "",
			parts: {
				due: "part_due",
				open: "part_open",
				since: "part_since",
				isSent: "part_sent = 1",
				isEnded: "part_open is null",
			},
			locksReads: true,
			isChangedInWith: false,
			leases: {
				clock: `(${now} div 1000)`,
				least: "least",
				greatest: "greatest",
				onConflict: () => "on duplicate key update",
				given: (column) => `values(${column})`,
				isArrived: `state <> '${unconfirmed}'`,
				skipLocked: "",
				by: (index) => `force index (${index})`,
				hasReturning: false,
			},
			proof,
		},
		namesFrom(options, "mysqlStore"),
	);
	return {
		...store,
		async insert(text, tx) {
			for (const field of ["id", "agencyId", "consentLanguage"] as const)
				if ((text[field] ?? "").length > longest)
					refuse(field, `must have at most ${longest} characters on MySQL`, "enqueue");
			return store.insert(text, tx);
		},
	};
}

/** A row whose transaction was not proven counts as absent. Its state is set last, because the others depend on it. */
const onConflict = `on duplicate key update ${[...inserted.split(", "), "queue_id"]
	.filter((name) => !["id", "version", "state"].includes(name))
	.concat("state")
	.map((name) => `${name} = if(state = '${unconfirmed}', values(${name}), ${name})`)
	.join(", ")}`;

/**
 * Inserts a row that is safe outside of a transaction too, and reads. Throws if the two did not run in one transaction: if that
 * ends in between, the savepoint is gone. All is sent at once, so that a `commit` that is not waited for comes after it.
 */
async function proven(
	connection: Connection,
	operation: Operation,
	{ insert, read }: Record<"insert" | "read", [sql: string, values: readonly Value[]]>,
	undo: () => Promise<unknown>,
): Promise<Row[]> {
	const savepoint = `outbox_${crypto.randomUUID().replaceAll("-", "")}`;
	const [begun, inserted, found, ended] = await Promise.allSettled([
		connection.query(`savepoint ${savepoint}`, []),
		connection.query(...insert),
		connection.query(...read),
		connection.query(`release savepoint ${savepoint}`, []),
	]);
	if (begun.status === "rejected" && isUnprepared(begun.reason))
		refuse(
			"tx",
			"cannot be proven to be open, because MySQL prepares no savepoint. With Prisma, pass useTextProtocol: true to PrismaMariaDb",
			operation,
		);
	for (const each of [begun, inserted, found]) if (each.status === "rejected") throw each.reason;
	if (ended.status === "fulfilled" && found.status === "fulfilled") return found.value;
	await undo().catch(() => {});
	if (ended.status === "rejected" && !isWithoutTransaction(ended.reason)) throw ended.reason;
	return refuseEnded(operation);
}

/**
 * MariaDB knows whether a transaction is open, so the row is a text at once. MySQL takes this for comments, and stores a row that
 * nobody sees.
 */
const ifOpen = (value: string, otherwise: string): string =>
	`/*M! if((@@in_transaction = 1 or @@autocommit = 0) and @@character_set_results = 'utf8mb4', ${value}, */ ${otherwise} /*M! ) */`;

/** Stores a row, proves that it disappears with the transaction, and makes it a text if it is none yet. */
async function insertIn(connection: Connection, { id, names, values }: Insertion): Promise<Row> {
	const { texts } = names;
	const token = crypto.randomUUID();
	const undo = () =>
		connection.query(`delete from ${texts} where id = $1 and queue_id = $2 and state = '${unconfirmed}'`, [id, token]);
	const one = `$${values.length + 1}`;
	const next = `$${nextAt + 1}`;
	const row = insertedValues(now, { state: ifOpen("'waiting'", `'${unconfirmed}'`) }).replace(
		`${next},`,
		`${ifOpen(next, "null")},`,
	);
	const insert = `insert into ${texts} (${inserted}, queue_id) values (${row}, ${ifOpen("null", one)}) ${onConflict}`;
	const read = `select *${proof} from ${texts} where id = $1`;
	let [stored] = await proven(
		connection,
		"enqueue",
		{ insert: [insert, [...values, token]], read: [read, [id]] },
		undo,
	);
	if (stored) undamaged([stored], "tx", "enqueue");
	// A transaction sees a row that was committed since it began only with a lock. The lock would also keep others from inserting
	// ids beside it, so the own row is read without one.
	else [stored] = await connection.query(`${read} for update`, [id]);
	if (!stored) return refuseEnded("enqueue");
	if (stored.state !== unconfirmed) return stored;
	// By the primary key, because MariaDB would lock the gap before the id otherwise.
	const change = `update ${texts} force index (primary) set state = 'waiting', next_at = $3, queue_id = null where seq = $1 and queue_id = $2`;
	const count = await connection.change?.(change, [Number(stored.seq), token, values[nextAt] ?? null]);
	if (!count) return refuseEnded("enqueue");
	return { ...stored, state: "waiting", next_at: values[nextAt], queue_id: null };
}

/** Where the values of an insertion have that of `next_at`. */
const nextAt = inserted.split(", ").indexOf("next_at");

/** The same for changes of rows: they are made only if a row that proves the transaction is there, and it is removed again. */
async function acknowledgeIn(connection: Connection, { names, where, ids, values }: Acknowledgement): Promise<void> {
	const { texts, stops } = names;
	const isProof = `name = 'proof ${crypto.randomUUID()}'`;
	const remove = () => connection.change?.(`delete from ${stops} where ${isProof}`, []) ?? Promise.resolve(0);
	const insert = `insert into ${stops} (name, stopped_at) values (${isProof.replace("name = ", "")}, ${now})`;
	const read = `select seq from ${texts} where id in (${ids})`;
	const keys = await proven(connection, "acknowledge", { insert: [insert, []], read: [read, values] }, remove);
	const list = keys.map(({ seq }) => Number(seq)).join(", ");
	const update = `update ${texts} force index (primary), ${stops} set unacknowledged = null where seq in (${list}) and ${where} and ${isProof}`;
	// At once, so that a `commit` that is not waited for comes before both, or after both.
	const [done, removed] = await Promise.allSettled([keys.length > 0 && connection.query(update, values), remove()]);
	for (const each of [done, removed]) if (each.status === "rejected") throw each.reason;
	if (removed.status === "fulfilled" && removed.value === 0) refuseEnded("acknowledge");
}

/**
 * Checks the settings of the connection, and chooses the collation. It has to distinguish a, A and á, and texts that differ by
 * a space at their end.
 */
async function collationOf(run: (sql: string, values: []) => Promise<Row[]>): Promise<string> {
	const [found] = await run(
		`select @@autocommit as autocommit${proof}, (select max(collation_name)
			from information_schema.collations where collation_name in ('utf8mb4_nopad_bin', 'utf8mb4_0900_bin')) as exact`,
		[],
	);
	if (typeof found?.exact !== "string")
		refuse("pool", "must be of MySQL 8.0.17 or later, or of MariaDB 10.6 or later", "migrate");
	if (Number(found.autocommit) !== 1)
		refuse("pool", "must have connections with autocommit on: remove `set autocommit = 0`", "migrate");
	undamaged([found], "pool", "migrate");
	return found.exact;
}

/** Refuses rows that came through a connection which replaces signs by question marks. */
function undamaged(rows: Row[], field: "pool" | "tx", operation: string): Row[] {
	if (rows.some((row) => "wave" in row && row.wave !== wave))
		refuse(field, "must have the character set utf8mb4: set charset to utf8mb4", operation);
	return rows;
}

/**
 * The columns `part_…` are null in all texts that their index does not need, as partial indexes leave them out. They are
 * stored, because indexes of virtual columns have had defects in both databases.
 */
function tablesOf({ texts, worker, stops, queues, agencies }: Names): Record<string, string> {
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
			part("due", "bigint", "next_at is not null", "priority"),
			part("open", "bigint", `next_at is not null and state in ${open}`, "attempted"),
			part("sent", "bigint", "message_id is not null", "1"),
			part("since", "bigint", "unacknowledged is not null", "since"),
			"unique key id (id), key message (message_id), key ended (next_at, since), key acknowledged (part_since, seq)",
			"key priority (part_due, next_at, seq, recipient, agency_id)",
			"key turn (recipient, agency_id, part_open desc, priority desc, seq)",
			"key queue (recipient, agency_id, next_at, seq)",
			"key sent (agency_id, recipient, part_sent, seq), key arrived (arrived, seq)",
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
			"agency_id varchar(255) not null primary key, served_at bigint not null default 0, paused_until bigint not null default 0, failures bigint not null default 0, reason varchar(64)",
	};
}
