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
import { insertedFacts, keysLength, laterFacts, latestFacts, withoutNames } from "./facts.ts";
import { leaseStatements } from "./leases.ts";
import { isMeta } from "./meta.ts";
import { type Names, namesFrom, type StoreOptions } from "./names.ts";
import { plainRow, refuseChanged } from "./plain-rows.ts";
import { retryLocked } from "./retry.ts";
import { enqueueVersion, mayWork, refuseEnqueue } from "./schema.ts";
import { createSqlStore } from "./sql.ts";
import { migrateSqlite, type Together } from "./sqlite-tables.ts";
import {
	atOnce,
	both,
	cancelled,
	changing,
	closingRestore,
	countedByDay,
	countsOf,
	endingFarPauses,
	everyText,
	insertedColumns,
	isAstray,
	isClaimable,
	isFollowing,
	isFree,
	isFreeToSend,
	isListed,
	isNotStopped,
	isOnlyRead,
	isOpen,
	lastStops,
	marks,
	mayHaveBegun,
	ofAgency,
	open,
	puttingForward,
	rowsOfMarks,
	type Statements,
	saved,
	servedNow,
	turnFirst,
	turnOrder,
	unfinishedTextsOf,
} from "./statements.ts";

/** One connection writes at a time, so that the order of arrival is that of the transactions. A stop counts in it. */
const moment = (texts: string): string => `coalesce((select seq from sqlite_sequence where name = '${texts}'), 0)`;
/** The clock of the leases, in milliseconds. SQLite has none of its own before 3.42. */
const clock = "cast((julianday('now') - 2440587.5) * 86400000 as integer)";
const free = isFree(clock);

/** What becomes of a row of the contacts that is there. */
const onSame = "on conflict (key_id, hash, agency_id) do update set";

/** Those of a number, in one agency or in all of them. */
const ofNumber = "recipient = $1 and ($2 = '' or agency_id = $2)";
/** When a text is due that is waked at `$1`. */
const awake = "case when state = 'waiting' and attempts = 0 then max(ready_at, $1) else $1 end";
/** What `erase` changes. */
const erased = `recipient = '', body = '', subaccount_id = null, consent_language = null, message_id = null,
	queue_id = null, by_whom = null, why = null, cancelled_by = null, cancelled_at = null, given = null, attempts = 0, failures = 0, progress = '{}', next_at = null, version = version + 1`;

const statements = ({ texts, contacts, queues, agencies, workers, leases, meta }: Names): Statements => ({
	find: `select * from ${texts} where id = $1`,
	byMessage: `select * from ${texts} where message_id = $1`,
	open: (isAll) => `select t.*, seq as begun,
			${lastStops(contacts, "t.agency_id", "$5", "$6")}
		from ${texts} t
		where recipient = $1 and agency_id = $2 and next_at is not null and state in ${open}
			and (attempts > 0 or ready_at <= $3)
			${isAll ? `and ${isOpen} = 1 and seq > $4 order by seq limit ${atOnce}` : `order by ${turnOrder} limit $4`}`,
	unfinished: `select * from ${texts} where ${ofNumber} and ${isOpen} = 1 and next_at is not null and seq > $3
		order by seq limit ${atOnce}`,
	unfinishedOf: unfinishedTextsOf(texts),
	followed: `select * from ${texts}
		where recipient = $1 and agency_id = $2 and next_at <= $3 and state in ('sent', 'delivered') order by seq`,
	nextOf: `select next_at, state, purpose from ${texts}
		where recipient = $1 and agency_id = $2 and next_at > $3 order by next_at limit 1`,
	claimed: `select message_id, queue_id from ${texts}
		where recipient = $1 and agency_id = $2 and message_id is not null order by seq desc limit 100`,
	unacknowledged: (withHeld) => `select * from ${texts}
		where unacknowledged is not null and ${isListed(withHeld)} order by since, seq limit $1`,
	prolong: `update ${queues} set lease_until = ${clock} + $3 where id = $1 and token = $2 returning 1 as one`,
	save: ({ isGuarded, isLeased }) => `update ${texts} set ${saved.set}, version = version + 1
			${isLeased ? ", arrived = null" : ""}
		where seq = $1 and version = $2
			${isLeased ? `and exists (select 1 from ${queues} where id = ${saved.lease} and token = ${saved.token}) and ${isFreeToSend({ texts, agencies, contacts })} and ${mayWork({ meta })}` : ""}
			${isGuarded ? `and ${isNotStopped("seq", contacts, `${texts}.agency_id`, saved.key, saved.hash)}` : ""}
		returning 1 as one`,
	stop: `insert into ${contacts} (agency_id, hash, key_id, stopped_at, stopped_source) values ($1, $2, $3, ${moment(texts)}, $4) ${onSame} stopped_at = ${moment(texts)}, stopped_source = excluded.stopped_source`,
	meta: `select *, ${keysLength} as keys_length from ${meta} where ${isMeta}`,
	addKeys: `update ${meta} set hash_keys = $1 where ${isMeta} and hash_keys = $2 returning 1 as one`,
	useSettled: `update ${meta} set settled_used = 1 where ${isMeta} and settled_used = 0 returning 1 as one`,
	facts: (names, agency, from) => latestFacts({ contacts, meta }, names, agency, from),
	note: (columns, count = 1) => {
		const all = insertedFacts(columns);
		return `insert into ${contacts} (agency_id, hash, key_id, ${all.join(", ")}) values ${rowsOfMarks(count, 3 + all.length)}
			${onSame} ${laterFacts(
				columns,
				(column) => `${contacts}.${column}`,
				(column) => `excluded.${column}`,
			)}`;
	},
	contacts: `select * from ${contacts} where key_id <> '' and (key_id, hash, agency_id) > ($1, $2, $3)
		order by key_id, hash, agency_id limit ${atOnce}`,
	contactsOf: (count) => `select * from ${contacts} where key_id = $1 and hash in (${marks(count, 2)})`,
	forgetNames: `update ${contacts} set ${withoutNames} where key_id = $1 and hash = $2 and ($3 = '' or agency_id = $3) returning 1 as one`,
	numbers: `select recipient from ${texts} where recipient > $1 group by recipient order by recipient limit ${atOnce}`,
	wake: changing(texts, `update ${texts} set next_at = ${awake}, version = version + 1`, {
		among: `recipient = $2 and ($3 = '' or agency_id = $3) and ${isOpen} = 1`,
		fits: `state in ('waiting', 'held') and next_at > ${awake}`,
	}),
	wakeQueues: `update ${queues} set due_at = min(due_at, $1), band = min(band, 1), revision = revision + 1
		where recipient = $2 and ($3 = '' or agency_id = $3) returning 1 as one`,
	asleep: `select agency_id, next_at from ${texts} where state = 'waiting' and reason = 'quiet_hours' group by agency_id, next_at`,
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
	recoverPauses: `update ${agencies} set paused_until = $1 where failures > 0 and paused_until > $1 returning 1 as one`,
	noteRestored: `insert into ${contacts} (agency_id, hash, key_id, restored_from, restored_to, restored_source, restored_by) values ('', '', '', $1, $2, $3, $4) ${onSame} restored_from = excluded.restored_from, restored_to = excluded.restored_to, restored_source = excluded.restored_source, restored_by = excluded.restored_by`,
	declareRestore: `update ${meta} set restore_number = restore_number + 1, restore_from = $1, restore_to = $2, restore_source = $3, restored_at = ${clock}
		where ${isMeta} and restore_number = $4 returning 1 as one`,
	joinRestore: `update ${meta} set restore_marked = restore_number - 1, restore_from = min(restore_from, $1)
		where ${isMeta} and restore_number = $2 returning 1 as one`,
	closeRestore: `${closingRestore({ meta, workers }, clock)} returning 1 as one`,
	restored: changing(
		texts,
		`update ${texts} set restored_from = $1, restored_to = $2, restore_number = $3, version = version + 1, arrived = 1`,
		{ among: everyText, fits: `state in ${open} and next_at is not null and ${mayHaveBegun}` },
	),
	erase: [
		changing(texts, `update ${texts} set ${erased}`, {
			among: `${ofNumber} and ${isOpen} = 0`,
			fits: `state not in ${open}`,
		}),
	],
	eraseOne: [changing(texts, `update ${texts} set ${erased}`, { among: "id = $1", fits: `state not in ${open}` })],
	last: `select max(seq) as seq from ${texts}`,
	notePurge: `update ${meta} set purged_before = $1 where ${isMeta} and purged_before < $1 returning 1 as one`,
	purge: (keepsUnacknowledged) => {
		const ended = "next_at is null and recipient <> '' and since < $1";
		const fits = keepsUnacknowledged ? "unacknowledged is null" : "1 = 1";
		return {
			keys: `select seq, since, case when ${fits} then 1 else 0 end as fits from ${texts}
				where ${ended} and (since, seq) > (:since, :seq) order by since, seq limit ${atOnce}`,
			change: `delete from ${texts} where seq in (:keys) and ${ended} and ${fits} returning 1 as one`,
		};
	},

	newest: `select seq, agency_id, recipient, purpose, next_at, state from ${texts}
		where arrived = 1 and next_at is not null and ${mayWork({ meta })} order by seq desc limit $1`,
	oldest: `select seq, agency_id, recipient, purpose, next_at, state from ${texts}
		where arrived = 1 and next_at is not null and ${mayWork({ meta })} order by seq limit $1`,
	addQueues: (count) => `insert into ${queues} (recipient, agency_id, band, due_at) values ${rowsOfMarks(count, 4)}
		on conflict (recipient, agency_id) do update set due_at = min(${queues}.due_at, excluded.due_at),
			band = min(${queues}.band, excluded.band), revision = ${queues}.revision + 1`,
	adopted: (seqs) => `update ${texts} set arrived = null where seq in (${seqs}) returning 1 as one`,
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
	putForward: (seqs) => `${puttingForward(texts)(seqs)} returning 1 as one`,
	endFarPauses: `${endingFarPauses(agencies)} returning 1 as one`,
	removeQueues: `delete from ${queues} where recipient = $1 and ($2 = '' or agency_id = $2) and not exists (
			select 1 from ${texts} t where t.recipient = ${queues}.recipient and t.agency_id = ${queues}.agency_id and t.next_at is not null)
		returning 1 as one`,
	turns: (what, without, limit) => {
		const isDue = (band: number): string => `exists (select 1 from ${queues} q
			where q.agency_id = a.agency_id and band = ${band} and due_at <= $1 and ${free})`;
		const isHealthy = `and failures = 0
			and not exists (select 1 from ${agencies} everybody where everybody.agency_id = '' and everybody.failures > 0)`;
		const isSuspended = isOnlyRead(what, { agencies, contacts });
		return `select agency_id, served_at, case when ${isSuspended} then 1 else 0 end as is_suspended from ${agencies} a
			where agency_id <> '' ${what === "probe" ? "" : isHealthy} ${without > 0 ? `and agency_id not in (${marks(without, 2)})` : ""}
				${what === "probe" ? "and (failures = 0 or paused_until <= $1)" : ""}
				and ${isClaimable(what, isSuspended, isDue)}
			order by ${what === "read" ? "" : `case when ${isDue(0)} then 0 else 1 end,`} ${turnFirst(clock)} limit ${limit}`;
	},
	serve: `update ${agencies} set served_at = ${servedNow(clock)} where agency_id = $1 and served_at = $2 returning 1 as one`,
	due: (band, at, limit) => `select id, agency_id, band, due_at from ${queues}
		where agency_id = $${at + 2} and band = ${band} and due_at <= $1 and ${free} order by due_at limit ${limit}`,
	take: (ids) => `update ${queues} set token = $1, lease_until = ${clock} + $3
		where id in (${ids}) and due_at <= $2 and ${free} and ${mayWork({ meta })}
		returning id, agency_id, recipient, band, revision, ${isFollowing(texts, queues, "$2")}`,
	watched: [3, 2, 1, 0]
		.map(
			(band) => `select * from (select recipient from ${queues}
				where agency_id = $1 and band = ${band} and due_at <= $2 order by due_at limit $3) as q${band}`,
		)
		.join(" union all ")
		.concat(" limit $3"),
	renew: (count) => `update ${queues} set lease_until = max(lease_until, ${clock} + $1)
		where token in (${marks(count, 2)}) returning 1 as one`,
	remove: `delete from ${queues} where id = $1 and token = $2 and revision = $3 returning 1 as one`,
	release: `update ${queues} set band = case when revision = $3 then $4 else min(band, $4) end,
			due_at = case when revision = $3 then $5 else due_at end, token = null, lease_until = null
		where id = $1 and token = $2 returning 1 as one`,
	rest: `update ${queues} set band = 3, due_at = first.next_at, token = null, lease_until = null
		from (select next_at, state from ${texts} where recipient = $4 and agency_id = $5 and next_at is not null
			order by next_at limit 1) as first
		where id = $1 and token = $2 and revision = $3 and first.next_at > $6 and first.state not in ('waiting', 'sending')
		returning 1 as one`,
	removeEmpty: `delete from ${queues} where id = $1 and token = $2 and revision = $3 and not exists (
			select 1 from ${texts} t where t.recipient = $4 and t.agency_id = $5 and t.next_at is not null)
		returning 1 as one`,

	addAgencies: (count) => `insert into ${agencies} (agency_id) values ${rowsOfMarks(count, 1)} on conflict do nothing`,
	consent: `select consent, consent_revision from ${agencies} where agency_id = $1`,
	keepConsent: `update ${agencies} set consent = $1, consent_revision = consent_revision + 1
		where agency_id = $2 and consent_revision = $3 returning 1 as one`,
	agencies: `select agency_id from ${agencies} where agency_id not in ('', '*')`,
	paused: `select agency_id, paused_until, failures, reason, cause, since from ${agencies} where failures > 0`,
	pause: `update ${agencies} set paused_until = case when failures >= $2 then max(paused_until, $1) else $1 end,
			failures = max(failures, $2), reason = $3, cause = $5,
			since = case when failures = 0 then $6 else since end
		where agency_id = $4 returning 1 as one`,
	resume: `update ${agencies} set paused_until = 0, failures = 0, reason = null, cause = null, since = null
		where agency_id = $1 and failures > 0 returning 1 as one`,
	probe: `update ${agencies} set paused_until = $1
		where agency_id = $2 and paused_until = $3 and failures > 0 returning 1 as one`,

	suspend: `insert into ${contacts} (agency_id, hash, key_id, suspended_reason, suspended_by, suspended_since) values ($1, '', '', $2, $3, $4) ${onSame} suspended_reason = excluded.suspended_reason, suspended_by = excluded.suspended_by,
		suspended_since = coalesce(${contacts}.suspended_since, excluded.suspended_since)`,
	endSuspension: `update ${contacts} set suspended_since = null, suspended_reason = null, suspended_by = null, resumed_at = $2, resumed_by = $3
		where ${ofAgency} and agency_id = $1 and suspended_since is not null returning 1 as one`,
	declared: `select agency_id, resumed_at, resumed_by, restored_from, restored_to, restored_by from ${contacts}
		where ${ofAgency} and (resumed_at > $1 or restored_to is not null)`,
	suspended: `select agency_id, suspended_since, suspended_reason, suspended_by from ${contacts} where ${ofAgency} and suspended_since is not null`,
	nextQueues: `select max(id) as last, count(*) as count from (select id from ${queues} where id > $1 order by id limit $2) as q1`,
	wakeAgency: `update ${queues} set due_at = min(due_at, $1), revision = revision + 1
		where ($2 = '' or agency_id = $2) and id > $3 and id <= $4 returning 1 as one`,

	join: `insert into ${workers} (id, version, runs_once, started_at, seen_at, number, signed_at, restore_number)
		values ($1, $2, $3, ${clock}, ${clock}, $4, $5, $6) on conflict (id) do nothing returning 1 as one`,
	raise: `update ${workers} set number = max(number + 1, $3), seen_at = ${clock}, signed_at = $4, restore_number = $5, left_at = null
		where id = $1 and number >= $2 returning 1 as one`,
	sign: `select number, signed_at from ${workers} where id = $1`,
	signBefore: `select max(signed_at) as at from ${workers} where signed_at <= $1`,
	noteForgotten: `update ${meta} set forgotten = forgotten + 1
		where ${isMeta} and exists (select 1 from ${workers} where seen_at < ${clock} - 86400000) returning 1 as one`,
	written: (seqs) => `select seq, id, version from ${texts} where seq in (${seqs})`,
	touch: `update ${texts} set version = version + 1 where seq = $1 and id = $2 and version >= $3 returning 1 as one`,
	forgetSilent: `delete from ${workers} where seen_at < ${clock} - 86400000 returning 1 as one`,
	leave: `update ${workers} set left_at = ${clock} where id = $1 returning 1 as one`,
	workers: `select id, version, runs_once, ${clock} - started_at as age_ms, ${clock} - seen_at as silent_ms from ${workers} where left_at is null
		order by seen_at desc limit 100`,
	counts: countsOf({ texts, queues, agencies, contacts }),
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
	bySeq: (seqs) => `select * from ${texts} where seq in (${seqs})`,
	countDays: (bounds) => countedByDay(texts, bounds),
	nextAgency: `select agency_id from ${texts} where agency_id > $1 order by agency_id limit 1`,
	...leaseStatements({ leases }, { clock, unlessThere: "on conflict do nothing", counted: "returning 1 as one" }),
});

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
		statements: statements(names),
	});
}
