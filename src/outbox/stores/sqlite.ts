import { type Awaitable, after } from "../awaitable.ts";
import type { DatabaseStore } from "../store.ts";
import {
	type AnyQueryable,
	databaseOf,
	type Operation,
	refuseEnded,
	synchronousIn,
	transactionOf,
} from "../transaction.ts";
import type { LibsqlClient } from "../transactions/libsql-client.ts";
import type { SqliteDatabase } from "../transactions/synchronous-sqlite.ts";
import type { Row, Value } from "./connection.ts";
import { withoutNames } from "./facts.ts";
import { isMeta } from "./meta.ts";
import { type Names, namesFrom, type StoreOptions } from "./names.ts";
import { plainRow, refuseChanged } from "./plain-rows.ts";
import { retryLocked } from "./retry.ts";
import { onSame, returningStatements } from "./returning.ts";
import { enqueueVersion, mayWork, refuseEnqueue } from "./schema.ts";
import { createSqlStore } from "./sql.ts";
import { migrateSqlite, type Together } from "./sqlite-tables.ts";
import {
	atOnce,
	both,
	cancelled,
	changing,
	everyText,
	insertedColumns,
	isAstray,
	isFollowing,
	isFree,
	isFreeToSend,
	isNotStopped,
	isOpen,
	marks,
	open,
	rowsOfMarks,
	type Statements,
	saved,
} from "./statements.ts";

/** One connection writes at a time, so that the order of arrival is that of the transactions. A stop counts in it. */
const moment = (texts: string): string => `coalesce((select seq from sqlite_sequence where name = '${texts}'), 0)`;
/** The clock of the leases, in milliseconds. SQLite has none of its own before 3.42. */
const clock = "cast((julianday('now') - 2440587.5) * 86400000 as integer)";
const free = isFree(clock);

/** Those of a number, in one agency or in all of them. */
const ofNumber = "recipient = $1 and ($2 = '' or agency_id = $2)";
/** When a text is due that is waked at `$1`. */
const awake = "case when state = 'waiting' and attempts = 0 then max(ready_at, $1) else $1 end";

function statementsOf(names: Names): Statements {
	const { texts, contacts, queues, agencies, workers, meta } = names;
	return {
		...returningStatements(names, { clock, ofNumber, begun: "seq" }),
		prolong: `update ${queues} set lease_until = ${clock} + $3 where id = $1 and token = $2 returning 1 as one`,
		save: ({ isGuarded, isLeased }) => `update ${texts} set ${saved.set}, version = version + 1
				${isLeased ? ", arrived = null" : ""}
			where seq = $1 and version = $2
				${isLeased ? `and exists (select 1 from ${queues} where id = ${saved.lease} and token = ${saved.token}) and ${isFreeToSend({ texts, agencies, contacts })} and ${mayWork({ meta })}` : ""}
				${isGuarded ? `and ${isNotStopped("seq", contacts, `${texts}.agency_id`, saved.key, saved.hash)}` : ""}
			returning 1 as one`,
		stop: `insert into ${contacts} (agency_id, hash, key_id, stopped_at, stopped_source) values ($1, $2, $3, ${moment(texts)}, $4) ${onSame} stopped_at = ${moment(texts)}, stopped_source = excluded.stopped_source`,
		forgetNames: `update ${contacts} set ${withoutNames} where key_id = $1 and hash = $2 and ($3 = '' or agency_id = $3) returning 1 as one`,
		wake: changing(texts, `update ${texts} set next_at = ${awake}, version = version + 1`, {
			among: `recipient = $2 and ($3 = '' or agency_id = $3) and ${isOpen} = 1`,
			fits: `state in ('waiting', 'held') and next_at > ${awake}`,
		}),
		wakeQueues: `update ${queues} set due_at = min(due_at, $1), band = min(band, 1), revision = revision + 1
			where recipient = $2 and ($3 = '' or agency_id = $3) returning 1 as one`,
		awaken: changing(texts, `update ${texts} set next_at = $1, version = version + 1`, {
			among: `state = 'waiting' and reason = 'quiet_hours' and agency_id = $2 and next_at = $3 and ${everyText}`,
			fits: "next_at > $1",
		}),
		recover: changing(texts, `update ${texts} set next_at = ${awake}`, {
			among: everyText,
			fits: `state in ${open} and next_at > ${awake} and next_at > $1`,
		}),
		recoverQueues: `update ${queues} set due_at = min(due_at, $1), band = min(band, 1), revision = revision + 1
			where id > $2 and id <= $3 returning 1 as one`,
		joinRestore: `update ${meta} set restore_marked = restore_number - 1, restore_from = min(restore_from, $1)
			where ${isMeta} and restore_number = $2 returning 1 as one`,
		addQueues: (count) => `insert into ${queues} (recipient, agency_id, band, due_at) values ${rowsOfMarks(count, 4)}
			on conflict (recipient, agency_id) do update set due_at = min(${queues}.due_at, excluded.due_at),
				band = min(${queues}.band, excluded.band), revision = ${queues}.revision + 1`,
		takeHealing: `update ${agencies} set served_at = $1
			where agency_id = '' and (served_at <= $1 - $2 or served_at > $1) returning 1 as one`,
		astray: {
			sql: `select part.*, ${isAstray({ texts, agencies, contacts })}
				from (select seq, agency_id, recipient, purpose, next_at, state, reason, ready_at, attempts, arrived from ${texts}
					where next_at is not null and (recipient, agency_id, next_at, seq) > ($2, $3, $4, $5)
					order by recipient, agency_id, next_at, seq limit ${atOnce}) as part
				left join ${queues} q on q.recipient = part.recipient and q.agency_id = part.agency_id
				order by part.recipient, part.agency_id, part.next_at, part.seq`,
			place: ["recipient", "agency_id", "next_at", "seq"],
			first: ["", "", 0, 0],
		},
		removeQueues: `delete from ${queues} where recipient = $1 and ($2 = '' or agency_id = $2) and not exists (
				select 1 from ${texts} t where t.recipient = ${queues}.recipient and t.agency_id = ${queues}.agency_id and t.next_at is not null)
			returning 1 as one`,
		take: (ids) => `update ${queues} set token = $1, lease_until = ${clock} + $3
			where id in (${ids}) and due_at <= $2 and ${free} and ${mayWork({ meta })}
			returning id, agency_id, recipient, band, revision, ${isFollowing(texts, queues, "$2")}`,
		renew: (count) => `update ${queues} set lease_until = max(lease_until, ${clock} + $1)
			where token in (${marks(count, 2)}) returning 1 as one`,
		release: `update ${queues} set band = case when revision = $3 then $4 else min(band, $4) end,
				due_at = case when revision = $3 then $5 else due_at end, token = null, lease_until = null
			where id = $1 and token = $2 returning 1 as one`,
		pause: `update ${agencies} set paused_until = case when failures >= $2 then max(paused_until, $1) else $1 end,
				failures = max(failures, $2), reason = $3, cause = $5,
				since = case when failures = 0 then $6 else since end
			where agency_id = $4 returning 1 as one`,
		wakeAgency: `update ${queues} set due_at = min(due_at, $1), revision = revision + 1
			where ($2 = '' or agency_id = $2) and id > $3 and id <= $4 returning 1 as one`,

		raise: `update ${workers} set number = max(number + 1, $3), seen_at = ${clock}, signed_at = $4, restore_number = $5, left_at = null
			where id = $1 and number >= $2 returning 1 as one`,
		list: (state) =>
			`select * from ${texts} where state = '${state}' and ($2 = '' or agency_id = $2) order by next_at limit $1`,
		search: (isOfNumber) => {
			const part = (among: string): string => `select seq, created_at, case when ($1 = '' or agency_id = $1)
					and ($2 = '' or state = $2) and created_at >= $3 then 1 else 0 end as fits
				from ${texts} where ${among} seq < $4 order by seq desc limit ${atOnce}`;
			const ofState = (state: number): string =>
				`select * from (${part(`recipient = $5 and ${isOpen} = ${state} and `)}) as part${state}`;
			return isOfNumber ? `${ofState(0)} union all ${ofState(1)} order by seq desc limit ${atOnce}` : part("");
		},
	};
}

type Statement = [sql: string, values: Value[]];

/**
 * Runs statements in the caller's open transaction. All begin before anything is awaited, and those of a synchronous library have
 * run by then.
 */
function runIn(tx: unknown, operation: Operation, statements: readonly Statement[]): Awaitable<Row[][]> {
	const queryNow = synchronousIn(tx, operation);
	if (queryNow) return statements.map(([sql, values]) => queryNow(sql, values) ?? refuseEnded(operation));
	return runLater(tx, operation, statements);
}

async function runLater(tx: unknown, operation: Operation, statements: readonly Statement[]): Promise<Row[][]> {
	const { queryIfOpen } = transactionOf(tx, "sqlite", operation);
	const all = await Promise.all(statements.map(([sql, values]) => queryIfOpen?.(sql, values)));
	return all.map((rows) => rows ?? refuseEnded(operation));
}

/** The values of a new text. */
const width = insertedColumns.split(", ").length;

/** How long a statement waits by itself while another process writes, in milliseconds: as better-sqlite3 does. */
const busyMs = 5_000;

/**
 * Keeps the texts of an outbox in SQLite: better-sqlite3, node:sqlite, libsql (either of its packages), bun:sqlite, or a
 * database of Drizzle, Knex, Kysely or TypeORM (a manager). Any number of processes may work on it, enqueue, ask and cancel. The
 * `tx` of `enqueue` is a transaction of any of them, or the database itself while a transaction is open on it.
 * With a synchronous library the row is written before `enqueue` returns its promise.
 *
 * @throws PartnerInvalidInput if `db` is not one of these, or for an invalid prefix
 * @example
 * const crmOutbox = createOutbox({ client, store: sqliteStore(db) });
 * await crmOutbox.migrate();
 */
export function sqliteStore(
	db: SqliteDatabase | LibsqlClient | AnyQueryable,
	options: StoreOptions = {},
): DatabaseStore {
	const database = databaseOf(db, "sqlite", "db", "sqliteStore");
	const names = namesFrom(options, "sqliteStore");
	const { texts } = names;
	const isFile = Reflect.get(db, "protocol") === "file";

	/**
	 * libsql and node:sqlite fail at once while another process writes, and after a failed read libsql 0.5 keeps a lock until the
	 * statement is collected. So make them wait.
	 */
	async function becomePatient(): Promise<void> {
		const [row] = await database.query("pragma busy_timeout", []);
		if (Number(row?.timeout) === 0) await database.query(`pragma busy_timeout = ${busyMs}`, []);
	}

	async function run(sql: string, values: readonly unknown[]): Promise<Row[]> {
		// Each of its connections has a time of its own.
		if (isFile) await becomePatient();
		return database.query(sql, values);
	}

	// Whatever ran on the connection while a transaction of the caller is open would become part of it.
	const query = (sql: string, values: Value[]): Promise<Row[]> =>
		retryLocked(() => (database.isTransaction() === true ? undefined : run(sql, values)));
	/** Runs statements of a synchronous library in one transaction. Nothing is awaited, so that nothing comes in between. */
	const together: Together = (first, statements) =>
		retryLocked(() => {
			const { queryNow } = database;
			if (database.isTransaction() === true || !queryNow) return undefined;
			const begun = database.query("begin immediate", []);
			begun.catch(() => {});
			try {
				// Without a transaction none of them runs, and the error of its beginning says why.
				const isFirst = queryNow(first, [])?.length === 1;
				for (const sql of isFirst ? [...statements, "commit"] : ["rollback"]) queryNow(sql, []);
			} catch (error) {
				queryNow("rollback", []);
				throw error;
			}
			return begun;
		});
	// Gives the rows in the same statement: a second one would come after the end of a synchronous transaction.
	const mayChange = `${enqueueVersion(names)} is null`;
	const insert = (
		from: string,
		where: string,
	): string => `insert into ${texts} (${insertedColumns}, state, version, begun_at)
		select *, 'waiting', 0, 0 from ${from} where ${where} and ${mayChange}
		on conflict (id) do update set id = excluded.id returning *`;
	const insertAll = (count: number): string => insert(`(values ${rowsOfMarks(count, width)})`, "1 = 1");
	const least: Statement = [`select ${enqueueVersion(names)} as least`, []];
	const refuseBy = ([row]: readonly Row[], operation: Operation): void => refuseEnqueue(row?.least, operation);
	const find = `select * from ${texts} where id = $1`;
	const cancel = (reason: "requested" | "superseded", by?: string): string =>
		`update ${texts} set ${cancelled(reason, "$2", by)}, arrived = 1 where ${mayChange}`;
	/** old text, now; new text, agency of the old one */
	const supersede = `${cancel("superseded")} and id = $1 and state in ${open}
		and agency_id = $4 and not exists (select 1 from ${texts} where id = $3)`;
	/** new text; old text, its agency */
	const insertUnlessOther = insert(
		`(values (${marks(width)}))`,
		`not exists (select 1 from ${texts} where id = $${width + 1} and recipient <> '' and agency_id <> $${width + 2})`,
	);
	const acknowledge = (values: Value[]): string => `update ${texts} set unacknowledged = null
		where ${mayChange} and (id, unacknowledged) in (values ${rowsOfMarks(values.length / 2, 2)}) returning seq`;

	if ("prepare" in db) becomePatient().catch(() => {});
	return createSqlStore({
		query,
		change: async (sql, values) => (await query(sql, values)).length,
		check: async () => refuseChanged(await query(plainRow, []), "db", "sqliteStore"),
		migrate: (later) => migrateSqlite(query, names, "prepare" in db ? together : undefined, later),
		async insert(rows) {
			const stored = await query(insertAll(rows.length), rows.flat());
			if (stored.length === 0) refuseBy(await query(...least), "enqueue");
			return stored;
		},
		insertIn: (tx, rows) =>
			after(runIn(tx, "enqueue", [[insertAll(rows.length), rows.flat()]]), ([stored = []]) => {
				if (stored.length > 0) return stored;
				return after(runIn(tx, "enqueue", [least]), ([found = []]) => {
					refuseBy(found, "enqueue");
					return stored;
				});
			}),
		supersedeIn(tx, values, { id, agencyId, by, now }) {
			const statements: Statement[] = [
				[supersede, [id, now, by, agencyId]],
				[insertUnlessOther, [...values, id, agencyId]],
				[`select * from ${texts} where id in ($1, $2)`, [id, by]],
				least,
			];
			return after(runIn(tx, "enqueue", statements), ([, , rows = [], found = []]) => {
				refuseBy(found, "enqueue");
				return both(rows, by, id);
			});
		},
		async cancelIn(tx, id, now, by) {
			const statements: Statement[] = [
				[`${cancel("requested", "$3")} and id = $1 and state in ${open}`, [id, now, by]],
				[find, [id]],
				least,
			];
			const [, rows = [], found = []] = await runLater(tx, "cancel", statements);
			refuseBy(found, "cancel");
			return rows[0];
		},
		acknowledge: (values) => query(acknowledge(values), values),
		async acknowledgeIn(tx, values) {
			const [, found = []] = await runLater(tx, "acknowledge", [[acknowledge(values), values], least]);
			refuseBy(found, "acknowledge");
		},
		changeIn: async (tx, operation, sql, values) => (await runIn(tx, operation, [[sql, values]])).flat().length,
		names,
		statements: statementsOf(names),
	});
}
