import type { DatabaseStore } from "../store.ts";
import { type AnyQueryable, databaseOf, type Operation, refuseEnded, transactionOf } from "../transaction.ts";
import type { PostgresQueryable } from "../transactions/pg.ts";
import type { PostgresJsSql } from "../transactions/postgres-js.ts";
import type { Connection, Row, Value } from "./connection.ts";
import { isForbidden } from "./database-error.ts";
import { insertedFacts, keysLength, laterFacts, latestFacts, withoutNames } from "./facts.ts";
import { leaseStatements } from "./leases.ts";
import { isMeta } from "./meta.ts";
import { type Names, namesFrom, type StoreOptions } from "./names.ts";
import { refuseChanged, typedRow } from "./plain-rows.ts";
import { migratePostgres } from "./postgres-tables.ts";
import { retryLocked } from "./retry.ts";
import { hiddenIn, refuseHidden, refuseUnreadable } from "./row-security.ts";
import { enqueueVersion, mayWork, refuseEnqueue } from "./schema.ts";
import { createSqlStore } from "./sql.ts";
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

/** The moment of a statement, in microseconds. */
const moment = "(extract(epoch from clock_timestamp()) * 1000000)::bigint";
/** The clock of the leases, in milliseconds. */
const clock = "(extract(epoch from clock_timestamp()) * 1000)::bigint";
const free = isFree(clock);

/** Whether the role may read the timeline. Some hosts have taken the functions away, and a standby has none of its own. */
const mayReadTimeline = `select not pg_is_in_recovery() and (select count(*) = 2 from (values ('pg_current_wal_insert_lsn()'), ('pg_walfile_name(pg_lsn)')) as f (name)
	where to_regprocedure(name) is not null and has_function_privilege(to_regprocedure(name), 'execute')) as may`;

/** What becomes of a row of the contacts that is there. */
const onSame = "on conflict (key_id, hash, agency_id) do update set";

/** Those of a number, in one agency or in all of them. */
const ofNumber = "recipient = $1 and ($2::text = '' or agency_id = $2::text)";
/** When a text is due that is waked at `$1`. */
const awake = "case when state = 'waiting' and attempts = 0 then greatest(ready_at, $1::bigint) else $1::bigint end";
/** What `erase` changes. */
const erased = `recipient = '', body = '', subaccount_id = null, consent_language = null, message_id = null,
	queue_id = null, by_whom = null, why = null, cancelled_by = null, cancelled_at = null, given = null, attempts = 0, failures = 0, progress = '{}', next_at = null, version = version + 1`;

const statements = (
	{ texts, contacts, queues, agencies, workers, leases, meta }: Names,
	hidden: string,
): Statements => ({
	find: `select * from ${texts} where id = $1`,
	byMessage: `select * from ${texts} where message_id = $1`,
	open: (isAll) => `select t.*, begun_at as begun,
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
	// One statement changes the text and the lease, so that no other worker can take the queue over at the same moment. A stop that is
	// hidden since the worker looked is missing too.
	save: () => `with lease as (
			update ${queues} set lease_until = ${clock} + ${saved.leaseMs}::bigint
			where id = ${saved.lease}::bigint and token = ${saved.token}::text and ${saved.isLeased}::bigint = 1
			returning 1)
		update ${texts} set ${saved.set}, version = version + 1,
			arrived = case when ${saved.isLeased}::bigint = 1 then null else arrived end
		where seq = $1 and version = $2
			and (${saved.isLeased}::bigint = 0 or (exists (select 1 from lease) and ${isFreeToSend({ texts, agencies, contacts })} and ${hidden} is null and ${mayWork({ meta })}))
			and (${saved.isGuarded}::bigint = 0 or ${isNotStopped("begun_at", contacts, `${texts}.agency_id`, `${saved.key}::text`, `${saved.hash}::text`)})
		returning 1 as one`,
	stop: `insert into ${contacts} (agency_id, hash, key_id, stopped_at, stopped_source) values ($1, $2, $3, ${moment}, $4) ${onSame} stopped_at = ${moment}, stopped_source = excluded.stopped_source`,
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
	forgetNames: `update ${contacts} set ${withoutNames} where key_id = $1 and hash = $2 and ($3::text = '' or agency_id = $3::text) returning 1 as one`,
	numbers: `select recipient from ${texts} where recipient > $1 group by recipient order by recipient limit ${atOnce}`,
	wake: changing(texts, `update ${texts} set next_at = ${awake}, version = version + 1`, {
		among: `recipient = $2 and ($3::text = '' or agency_id = $3::text) and ${isOpen} = 1`,
		fits: `state in ('waiting', 'held') and next_at > ${awake}`,
	}),
	wakeQueues: `update ${queues} set due_at = least(due_at, $1), band = least(band, 1), revision = revision + 1
		where recipient = $2 and ($3::text = '' or agency_id = $3::text) returning 1 as one`,
	asleep: `select agency_id, next_at from ${texts} where state = 'waiting' and reason = 'quiet_hours' group by agency_id, next_at`,
	awaken: changing(texts, `update ${texts} set next_at = $1::bigint, version = version + 1`, {
		among: `state = 'waiting' and reason = 'quiet_hours' and agency_id = $2::text and next_at = $3::bigint and ${everyText}`,
		fits: "next_at > $1::bigint",
	}),
	recover: changing(texts, `update ${texts} set next_at = ${awake}`, {
		among: everyText,
		fits: `state in ${open} and next_at > ${awake} and next_at > $1::bigint`,
	}),
	recoverQueues: `update ${queues} set due_at = least(due_at, $1), band = least(band, 1), revision = revision + 1
		where id > $2 and id <= $3 returning 1 as one`,
	recoverPauses: `update ${agencies} set paused_until = $1 where failures > 0 and paused_until > $1 returning 1 as one`,
	noteRestored: `insert into ${contacts} (agency_id, hash, key_id, restored_from, restored_to, restored_source, restored_by) values ('', '', '', $1, $2, $3, $4) ${onSame} restored_from = excluded.restored_from, restored_to = excluded.restored_to, restored_source = excluded.restored_source, restored_by = excluded.restored_by`,
	declareRestore: `update ${meta} set restore_number = restore_number + 1, restore_from = $1, restore_to = $2, restore_source = $3, restored_at = ${clock}
		where ${isMeta} and restore_number = $4 returning 1 as one`,
	joinRestore: `update ${meta} set restore_marked = restore_number - 1, restore_from = least(restore_from, $1::bigint)
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
		on conflict (recipient, agency_id) do update set due_at = least(${queues}.due_at, excluded.due_at),
			band = least(${queues}.band, excluded.band), revision = ${queues}.revision + 1`,
	adopted: (seqs) => `update ${texts} set arrived = null where seq in (${seqs}) returning 1 as one`,
	takeHealing: `update ${agencies} set served_at = $1::bigint
		where agency_id = '' and (served_at <= $1::bigint - $2::bigint or served_at > $1::bigint) returning 1 as one`,
	astray: {
		sql: `select part.*, ${isAstray({ texts, agencies, contacts })}
			from (select seq, agency_id, recipient, purpose, next_at, state, reason, ready_at, attempts, arrived from ${texts}
				where next_at is not null and (recipient, agency_id, next_at, seq) > ($2::text, $3::text, $4::bigint, $5::bigint)
				order by recipient, agency_id, next_at, seq limit ${atOnce}) as part
			left join ${queues} q on q.recipient = part.recipient and q.agency_id = part.agency_id
			order by part.recipient, part.agency_id, part.next_at, part.seq`,
		place: ["recipient", "agency_id", "next_at", "seq"],
		first: ["", "", 0, 0],
	},
	putForward: (seqs) => `${puttingForward(texts)(seqs)} returning 1 as one`,
	endFarPauses: `${endingFarPauses(agencies)} returning 1 as one`,
	removeQueues: `delete from ${queues} where recipient = $1 and ($2::text = '' or agency_id = $2::text) and not exists (
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
	take: (ids) => `update ${queues} set token = $1, lease_until = ${clock} + $3::bigint
		where id in (select id from ${queues} where id in (${ids}) and due_at <= $2 and ${free} for update skip locked)
			and ${mayWork({ meta })}
		returning id, agency_id, recipient, band, revision, ${isFollowing(texts, queues, "$2")}`,
	watched: [3, 2, 1, 0]
		.map(
			(band) => `select * from (select recipient from ${queues}
				where agency_id = $1 and band = ${band} and due_at <= $2 order by due_at limit $3) as q${band}`,
		)
		.join(" union all ")
		.concat(" limit $3"),
	renew: (count) => `update ${queues} set lease_until = greatest(lease_until, ${clock} + $1::bigint)
		where token in (${marks(count, 2)}) returning 1 as one`,
	remove: `delete from ${queues} where id = $1 and token = $2 and revision = $3 returning 1 as one`,
	release: `update ${queues} set band = case when revision = $3 then $4 else least(band, $4) end,
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
	pause: `update ${agencies} set paused_until = case when failures >= $2 then greatest(paused_until, $1) else $1 end,
			failures = greatest(failures, $2), reason = $3, cause = $5,
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
	wakeAgency: `update ${queues} set due_at = least(due_at, $1), revision = revision + 1
		where ($2::text = '' or agency_id = $2::text) and id > $3 and id <= $4 returning 1 as one`,

	join: `insert into ${workers} (id, version, runs_once, started_at, seen_at, number, signed_at, restore_number)
		values ($1, $2, $3, ${clock}, ${clock}, $4, $5, $6) on conflict (id) do nothing returning 1 as one`,
	raise: `update ${workers} set number = greatest(number + 1, $3::bigint), seen_at = ${clock}, signed_at = $4, restore_number = $5, left_at = null
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
		`select * from ${texts} where state = '${state}' and ($2::text = '' or agency_id = $2::text) order by next_at limit $1`,
	search: (isOfNumber) => {
		const part = (among: string): string => `select seq, created_at, case when ($1::text = '' or agency_id = $1::text)
				and ($2::text = '' or state = $2::text) and created_at >= $3::bigint then 1 else 0 end as fits
			from ${texts} where ${among} seq < $4::bigint order by seq desc limit ${atOnce}`;
		const ofState = (state: number): string =>
			`select * from (${part(`recipient = $5::text and ${isOpen} = ${state} and `)}) as part${state}`;
		return isOfNumber ? `${ofState(0)} union all ${ofState(1)} order by seq desc limit ${atOnce}` : part("");
	},
	bySeq: (seqs) => `select * from ${texts} where seq in (${seqs})`,
	countDays: (bounds) => countedByDay(texts, bounds),
	nextAgency: `select agency_id from ${texts} where agency_id > $1 order by agency_id limit 1`,
	...leaseStatements({ leases }, { clock, unlessThere: "on conflict do nothing", counted: "returning 1 as one" }),
});

/**
 * Keeps the texts of an outbox in PostgreSQL 13 or later. Takes a Pool of `pg`, PGlite, the `sql` of postgres.js, or a database of Prisma,
 * Drizzle, Knex, Kysely, TypeORM (a manager) or MikroORM (an entity manager). The `tx` of `enqueue` is a transaction of any of them.
 * Any number of processes may work on it.
 *
 * @throws PartnerInvalidInput if `pool` is not one of these, or for an invalid prefix
 * @example
 * const crmOutbox = createOutbox({ client, store: postgresStore(pool) });
 * await crmOutbox.migrate();
 */
export function postgresStore(
	pool: PostgresQueryable | PostgresJsSql | AnyQueryable,
	options: StoreOptions = {},
): DatabaseStore {
	const database = databaseOf(pool, "postgres", "pool", "postgresStore");
	const names = namesFrom(options, "postgresStore");
	const { texts } = names;
	const query = (sql: string, values: Value[]): Promise<Row[]> => retryLocked(() => database.query(sql, values));
	const found = (ids: readonly (Value | undefined)[]): [sql: string, values: Value[]] => [
		`select * from ${texts} where id in (${marks(ids.length)})`,
		ids.map(String),
	];
	const hidden = hiddenIn(names);
	const least = enqueueVersion(names);
	/** What a worker repeats asks it in `beat` alone. */
	const checkRows = async (operation: string): Promise<void> =>
		refuseHidden((await query(`select ${hidden} as hidden`, []))[0], "pool", operation);
	// An update would lock the row until the caller commits, and the worker would wait for it.
	const insert = (
		count: number,
		from = "",
	): string => `insert into ${texts} (${insertedColumns}, state, version, begun_at)
		select given.*, 'waiting', 0, ${moment} from (values ${rowsOfMarks(count, types.length, typed)}) as given ${from}
		on conflict (id) do nothing returning *`;
	/** The rows of the texts that were there before. */
	const others = (rows: readonly Value[][], stored: readonly Row[]): [sql: string, values: Value[]] | undefined => {
		const ids = new Set(stored.map(({ id }) => id));
		const missing = rows.flatMap(([id]) => (ids.has(id) ? [] : [id]));
		return missing.length > 0 ? found(missing) : undefined;
	};
	const cancel = (reason: "requested" | "superseded", now: string, by?: string): string =>
		`update ${texts} set ${cancelled(reason, now, by)}, arrived = 1 from proof where is_open`;
	const isMeant = (count: number): string =>
		`(id, unacknowledged) in (values ${rowsOfMarks(count, 2, (pair) => `(${pair.replace(/, (.*)/, ", cast($1 as bigint)")})`)})`;

	async function insertIn(connection: Connection, rows: readonly Value[][]): Promise<Row[]> {
		const stored = await proven(
			{ connection, hidden, least, operation: "enqueue" },
			rows.flat(),
			(proof) => `with ${proof}, stored as (${insert(rows.length, "join proof on is_open")})
				select proof.is_open, proof.hidden, proof.least, stored.* from proof left join stored on true`,
		);
		if (!stored) return refuseEnded("enqueue");
		const known = stored.filter(({ id }) => id !== null);
		const before = others(rows, known);
		return before ? [...known, ...(await connection.query(...before))] : known;
	}

	return createSqlStore({
		query,
		change: async (sql, values) => (await query(sql, values)).length,
		async time(tx) {
			const connection = tx === undefined ? { query } : transactionOf(tx, "postgres", "enqueue", pool);
			return connection.query(`select ${clock} as ms`, []);
		},
		async timeline() {
			// Asked first, because a statement that is refused may be logged as an error.
			const [row] = await query(mayReadTimeline, []);
			if (row?.may !== true) return undefined;
			const [found] = await query("select substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) as timeline", []);
			return Number.parseInt(String(found?.timeline), 16);
		},
		check: async () => refuseChanged(await query(typedRow, []), "pool", "postgresStore"),
		checkRows: () => checkRows("postgresStore"),
		async migrate(later) {
			await checkRows("migrate");
			await migratePostgres(query, names, later);
			await checkRows("migrate");
		},
		async insert(rows) {
			const statement = `with proof as materialized (select ${hidden} as hidden, ${least} as least),
				stored as (${insert(rows.length, "join proof on hidden is null and least is null")})
				select proof.hidden, proof.least, stored.* from proof left join stored on true`;
			const found = await query(statement, rows.flat()).catch(async (error: unknown) => {
				// With `row_security = off` PostgreSQL refuses it, and does not name the role.
				if (isForbidden(error)) await checkRows("enqueue");
				throw error;
			});
			refuseHidden(found[0], "pool", "enqueue");
			refuseEnqueue(found[0]?.least, "enqueue");
			const stored = found.filter(({ id }) => id !== null);
			const before = others(rows, stored);
			return before ? [...stored, ...(await query(...before))] : stored;
		},
		insertIn: async (tx, rows) => insertIn(transactionOf(tx, "postgres", "enqueue", pool), rows),
		async supersedeIn(tx, values, { id, agencyId, by, now }) {
			const connection = transactionOf(tx, "postgres", "enqueue", pool);
			const at = (count: number): string => `$${types.length + count}`;
			const change = `${cancel("superseded", `${at(1)}::bigint`)} and id = ${at(2)} and state in ${open}
				and agency_id = ${at(3)}::text and not exists (select 1 from ${texts} where id = $1)`;
			// One statement, so that a commit that is not waited for comes before both, or after both.
			const isFree = `is_open and not exists (select 1 from ${texts} where id = ${at(2)}
				and recipient <> '' and agency_id <> ${at(3)}::text)`;
			// The statement would not see what another transaction stores while it waits for the row.
			await connection
				.query(`select seq from ${texts} where id = $1 for update`, [id])
				.catch((error: unknown) => refuseUnreadable(error, "enqueue"));
			const isDone = await proven(
				{ connection, hidden, least, operation: "enqueue" },
				[...values, now, id, agencyId],
				(proof) => `with ${proof}, done as (${change} returning 1), stored as (${insert(1, `join proof on ${isFree}`)})
					select is_open, hidden, least from proof`,
			);
			return isDone ? both(await connection.query(...found([id, by])), by, id) : refuseEnded("enqueue");
		},
		async cancelIn(tx, id, now, by) {
			const connection = transactionOf(tx, "postgres", "cancel", pool);
			const change = `${cancel("requested", "$2::bigint", "$3::text")} and id = $1 and state in ${open}`;
			const isDone = await proven(
				{ connection, hidden, least, operation: "cancel" },
				[id, now, by],
				(proof) => `with ${proof}, done as (${change} returning 1) select is_open, hidden, least from proof`,
			);
			return isDone ? (await connection.query(...found([id])))[0] : refuseEnded("cancel");
		},
		acknowledge: (values) =>
			query(`update ${texts} set unacknowledged = null where ${isMeant(values.length / 2)}`, values),
		async acknowledgeIn(tx, values) {
			const connection = transactionOf(tx, "postgres", "acknowledge", pool);
			const update = `update ${texts} set unacknowledged = null from proof where is_open and ${isMeant(values.length / 2)}`;
			const done = await proven(
				{ connection, hidden, least, operation: "acknowledge" },
				values,
				(proof) => `with ${proof}, done as (${update} returning 1) select is_open, hidden, least from proof`,
			);
			if (!done) refuseEnded("acknowledge");
		},
		changeIn: async (tx, operation, sql, values) =>
			(await transactionOf(tx, "postgres", operation, pool).query(sql, values)).length,
		names,
		statements: statements(names, hidden),
	});
}

const numbers = /^(not_before|not_after|priority|created_at|since|next_at|ready_at|planned_at)$/;
/** PostgreSQL takes a value in a `select` as text if its type is not named. */
const types = insertedColumns.split(", ").map((name) => (numbers.test(name) ? "bigint" : "text"));
const typed = (row: string): string =>
	`(${row
		.split(", ")
		.map((mark, at) => `${mark}::${types[at]}`)
		.join(", ")})`;

/** Disappears with the transaction that sets it. */
const sign = "current_setting('messaging_conversations.tx', true)";

/**
 * Runs a statement that changes rows only if a transaction is open. A transaction that has written proves itself by its number.
 * One that has not is marked by the statement, which then runs again and looks for the mark: if the first one ran outside of a
 * transaction, or in one that has ended since, the mark is gone. Undefined if no transaction is open.
 */
async function proven(
	{
		connection,
		hidden,
		least,
		operation,
	}: { connection: Connection; hidden: string; least: string; operation: Operation },
	given: Value[],
	statement: (proof: string) => string,
): Promise<Row[] | undefined> {
	const values = [...given, crypto.randomUUID()];
	const mark = `$${values.length}::text`;
	const isAssigned = "pg_current_xact_id_if_assigned() is not null";
	const byNumber = `case when not is_open then set_config('messaging_conversations.tx', concat(${sign}, ${mark}), true) end as mark
		from (select ${isAssigned} as is_open, ${hidden} as hidden, ${least} as least) as number`;
	const byMark = `null as mark
		from (select coalesce(strpos(${sign}, ${mark}), 0) > 0 as is_open, ${hidden} as hidden, ${least} as least) as number`;
	for (const proof of [byNumber, byMark]) {
		const sql = statement(
			`proof as materialized (select is_open and hidden is null and least is null as is_open, hidden, least, ${proof})`,
		);
		const rows = await connection.query(sql, values).catch((error: unknown) => refuseUnreadable(error, operation));
		refuseHidden(rows[0], "tx", operation);
		refuseEnqueue(rows[0]?.least, operation);
		if (rows[0]?.is_open === true) return rows;
	}
	return undefined;
}
