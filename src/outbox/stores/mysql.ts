import { refuse } from "../input.ts";
import type { DatabaseStore, OutboxStore } from "../store.ts";
import type { NewText } from "../text.ts";
import { type AnyQueryable, databaseOf, type Operation, refuseEnded, transactionOf } from "../transaction.ts";
import type { MysqlQueryable } from "../transactions/mysql2.ts";
import type { SequelizeQueryable } from "../transactions/sequelize.ts";
import type { Connection, Row, Value } from "./connection.ts";
import { isUnprepared, isWithoutTransaction } from "./database-error.ts";
import { insertedFacts, keysLength, laterFacts, latestFacts, withoutNames } from "./facts.ts";
import { leaseStatements } from "./leases.ts";
import { isMeta } from "./meta.ts";
import { migrateMysql } from "./mysql-tables.ts";
import { type Names, namesFrom, type StoreOptions } from "./names.ts";
import { plainRow, refuseChanged } from "./plain-rows.ts";
import { retryLocked } from "./retry.ts";
import { enqueueVersion, mayWork, refuseEnqueue } from "./schema.ts";
import { createSqlStore } from "./sql.ts";
import {
	atOnce,
	both,
	type Change,
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
	lastStops,
	marks,
	mayHaveBegun,
	ofAgency,
	open,
	puttingForward,
	rowsOfMarks,
	type Statements,
	type SupersededRow,
	saved,
	servedNow,
	suspendedOf,
	turnFirst,
	unfinishedTextsOf,
} from "./statements.ts";

/** A sign that only utf8mb4 holds. Each text is read beside it, because a connection may have another character set than the last. */
const wave = "👋";
const sign = "_utf8mb4 x'f09f918b' as wave";

/** In microseconds, whatever the time zone of the session. */
const moment = "timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))";
/** The clock of the leases, in milliseconds. */
const clock = `(${moment} div 1000)`;
const free = isFree(clock);

/** Longer ones would be cut off without an error, if the `sql_mode` is not strict. */
const longest = 255;

/**
 * The state of a row that no worker, no status and no list shows, and that `insert` treats as absent. MySQL has stored it, and
 * the transaction is not proven yet.
 */
const unconfirmed = "unconfirmed";

/**
 * An update names the primary key: MySQL would read small tables as a whole otherwise, with locks on each row, and the gaps
 * beside it. A select names the index that has its rows in order, because it would sort them otherwise.
 */
const statements = (names: Names): Statements => {
	const { texts, contacts, queues, agencies, workers, leases, meta } = names;
	/** Changes the texts that fit among those of an index. */
	const change = (set: string, among: string, fits: string, index = "primary"): Change =>
		changing(texts, `update ${texts} force index (primary) set ${set}`, {
			among,
			fits,
			index: `force index (${index})`,
			end: "",
		});
	const remove = (among: string, fits: string, index: string): Change =>
		changing(texts, `delete from ${texts}`, { among, fits, index: `force index (${index})`, end: "" });
	const erased = `recipient = '', body = '', subaccount_id = null, consent_language = null, message_id = null,
		queue_id = null, by_whom = null, why = null, cancelled_by = null, cancelled_at = null, given = null, attempts = 0, failures = 0, progress = '{}', next_at = null, version = version + 1`;
	const awake = "if(state = 'waiting' and attempts = 0, greatest(ready_at, $1), $1)";
	const ofNumber = "recipient = $1 and (length($2) = 0 or agency_id = $2)";
	return {
		find: `select *, ${sign} from ${texts} where id = $1 and state <> '${unconfirmed}'`,
		byMessage: `select *, ${sign} from ${texts} where message_id = $1`,
		open: (isAll) => `select t.*, ${sign}, begun_at as begun, 
				${lastStops(contacts, "t.agency_id", "$5", "$6")}
			from ${texts} t force index (${isAll ? "number" : "turn"})
			where recipient = $1 and agency_id = $2 and part_open is not null and next_at is not null and state in ${open}
				and (attempts > 0 or ready_at <= $3)
				${isAll ? `and part_number = 1 and seq > $4 order by seq limit ${atOnce}` : "order by part_open desc, purpose desc, priority desc, seq limit $4"}`,
		unfinished: `select *, ${sign} from ${texts} force index (number)
			where ${ofNumber} and part_number = 1 and next_at is not null and seq > $3 order by seq limit ${atOnce}`,
		unfinishedOf: unfinishedTextsOf(texts, "force index (report)"),
		followed: `select *, ${sign} from ${texts} where recipient = $1 and agency_id = $2 and next_at <= $3
				and part_open is null and state in ('sent', 'delivered') order by seq`,
		nextOf: `select next_at, state, purpose from ${texts} force index (queue)
			where recipient = $1 and agency_id = $2 and next_at > $3 order by next_at limit 1`,
		claimed: `select message_id, queue_id from ${texts}
			where recipient = $1 and agency_id = $2 and part_sent = 1 order by seq desc limit 100`,
		unacknowledged: (
			withHeld,
		) => `select *, ${sign} from ${texts} where unacknowledged is not null and part_since is not null
				and ${isListed(withHeld)}
			order by part_since, seq limit $1`,
		// One statement changes the text and the lease.
		save: ({ isGuarded, isLeased }) => `update ${texts} ${isLeased ? `, ${queues}` : ""}
			set ${saved.set}, version = version + 1
				${isLeased ? `, arrived = null, lease_until = ${clock} + ${saved.leaseMs}` : ""}
			where seq = $1 and version = $2
				${isLeased ? `and ${queues}.id = ${saved.lease} and token = ${saved.token} and ${isFreeToSend({ texts, agencies, contacts })} and ${mayWork({ meta })}` : ""}
				${isGuarded ? `and ${isNotStopped("begun_at", contacts, `${texts}.agency_id`, saved.key, saved.hash)}` : ""}`,
		stop: `insert into ${contacts} (agency_id, hash, key_id, stopped_at, stopped_source) values ($1, $2, $3, ${moment}, $4) on duplicate key update stopped_at = ${moment}, stopped_source = values(stopped_source)`,
		meta: `select *, ${keysLength} as keys_length from ${meta} where ${isMeta}`,
		addKeys: `update ${meta} set hash_keys = $1 where ${isMeta} and hash_keys = $2`,
		useSettled: `update ${meta} set settled_used = 1 where ${isMeta} and settled_used = 0`,
		facts: (names, agency, from) => latestFacts({ contacts, meta }, names, agency, from),
		note: (columns, count = 1) => {
			const all = insertedFacts(columns);
			return `insert into ${contacts} (agency_id, hash, key_id, ${all.join(", ")}) values ${rowsOfMarks(count, 3 + all.length)}
				on duplicate key update ${laterFacts(
					columns,
					(column) => column,
					(column) => `values(${column})`,
				)}`;
		},
		// Neither database goes on in the middle of an index by one comparison of three columns.
		contacts: ["key_id = $1 and hash = $2 and agency_id > $3", "key_id = $1 and hash > $2", "key_id > $1"]
			.map(
				(after, at) => `select * from (select * from ${contacts} where key_id <> '' and ${after}
					order by key_id, hash, agency_id limit ${atOnce}) as q${at}`,
			)
			.join(" union all ")
			.concat(` order by key_id, hash, agency_id limit ${atOnce}`),
		contactsOf: (count) => `select * from ${contacts} where key_id = $1 and hash in (${marks(count, 2)})`,
		forgetNames: `update ${contacts} set ${withoutNames} where key_id = $1 and hash = $2 and (length($3) = 0 or agency_id = $3)`,
		numbers: `select recipient from ${texts} force index (number) where recipient > $1 group by recipient order by recipient limit ${atOnce}`,
		wake: change(
			`next_at = ${awake}, version = version + 1`,
			"recipient = $2 and (length($3) = 0 or agency_id = $3) and part_number = 1",
			`state in ('waiting', 'held') and next_at > ${awake}`,
			"number",
		),
		wakeQueues: `update ${queues} set due_at = least(due_at, $1), band = least(band, 1), revision = revision + 1
			where recipient = $2 and (length($3) = 0 or agency_id = $3)`,
		asleep: `select agency_id, next_at from ${texts} force index (health) where state = 'waiting' and reason = 'quiet_hours' group by agency_id, next_at`,
		awaken: change(
			"next_at = $1, version = version + 1",
			`state = 'waiting' and next_at = $3 and ${everyText}`,
			"reason = 'quiet_hours' and agency_id = $2 and next_at > $1",
			"health",
		),
		recover: change(`next_at = ${awake}`, everyText, `state in ${open} and next_at > ${awake} and next_at > $1`),
		recoverQueues: `update ${queues} set due_at = least(due_at, $1), band = least(band, 1), revision = revision + 1
			where id > $2 and id <= $3`,
		recoverPauses: `update ${agencies} set paused_until = $1 where failures > 0 and paused_until > $1 and agency_id >= ''`,
		noteRestored: `insert into ${contacts} (agency_id, hash, key_id, restored_from, restored_to, restored_source, restored_by) values ('', '', '', $1, $2, $3, $4) on duplicate key update restored_from = values(restored_from), restored_to = values(restored_to), restored_source = values(restored_source), restored_by = values(restored_by)`,
		declareRestore: `update ${meta} set restore_number = restore_number + 1, restore_from = $1, restore_to = $2, restore_source = $3, restored_at = ${clock}
			where ${isMeta} and restore_number = $4`,
		joinRestore: `update ${meta} set restore_marked = restore_number - 1, restore_from = least(restore_from, $1)
			where ${isMeta} and restore_number = $2`,
		closeRestore: closingRestore({ meta, workers }, clock),
		restored: change(
			"restored_from = $1, restored_to = $2, restore_number = $3, version = version + 1, arrived = 1",
			everyText,
			`state in ${open} and next_at is not null and ${mayHaveBegun}`,
		),
		// What is left of an `enqueue` whose transaction had ended, too.
		erase: [
			remove(`${ofNumber} and part_number is null`, `state = '${unconfirmed}'`, "number"),
			change(erased, `${ofNumber} and part_number is null`, `state not in ${open}`, "number"),
		],
		eraseOne: [
			remove("id = $1", `state = '${unconfirmed}'`, "id"),
			change(erased, "id = $1", `state not in ${open}`, "id"),
		],
		last: `select max(seq) as seq from ${texts}`,
		notePurge: `update ${meta} set purged_before = $1 where ${isMeta} and purged_before < $1`,
		purge: (keepsUnacknowledged) => {
			const ended = "next_at is null and since < $1";
			const fits = `recipient <> '' ${keepsUnacknowledged ? "and unacknowledged is null" : ""}`;
			// Neither database goes on in the middle of an index by one comparison of two columns.
			const next = (after: string): string =>
				`select * from (select seq, since, case when ${fits} then 1 else 0 end as fits from ${texts} force index (ended)
					where ${ended} and ${after} order by since, seq limit ${atOnce})`;
			return {
				keys: `${next("since = :since and seq > :seq")} as q1 union all ${next("since > :since")} as q2
					order by since, seq limit ${atOnce}`,
				change: `delete from ${texts} where seq in (:keys) and ${ended} and ${fits}`,
			};
		},

		newest: `select seq, agency_id, recipient, purpose, next_at, state from ${texts} force index (arrived)
			where arrived = 1 and state <> '${unconfirmed}' and ${mayWork({ meta })} order by seq desc limit $1`,
		oldest: `select seq, agency_id, recipient, purpose, next_at, state from ${texts} force index (arrived)
			where arrived = 1 and state <> '${unconfirmed}' and ${mayWork({ meta })} order by seq limit $1`,
		addQueues: (count) => `insert into ${queues} (recipient, agency_id, band, due_at) values ${rowsOfMarks(count, 4)}
			on duplicate key update due_at = least(due_at, values(due_at)), band = least(band, values(band)), revision = revision + 1`,
		adopted: (seqs) => `update ${texts} force index (primary) set arrived = null where seq in (${seqs})`,
		takeHealing: `update ${agencies} set served_at = $1
			where agency_id = '' and (served_at <= $1 - $2 or served_at > $1)`,
		astray: astray(names),
		putForward: puttingForward(texts, "force index (primary)"),
		endFarPauses: endingFarPauses(agencies),
		removeQueues: `delete from ${queues} where ${ofNumber} and not exists (select 1 from ${texts} t
			where t.recipient = ${queues}.recipient and t.agency_id = ${queues}.agency_id and t.next_at is not null)`,
		turns: (what, without, limit) => {
			// Not with `exists`, for which MariaDB reads all queues that fit.
			const isDue = (band: number): string => `(select 1 from ${queues} q force index (turn)
				where q.agency_id = a.agency_id and band = ${band} and due_at <= $1 and ${free} limit 1) is not null`;
			const isHealthy = `and failures = 0
				and not exists (select 1 from ${agencies} everybody where everybody.agency_id = '' and everybody.failures > 0)`;
			const isSuspended = isOnlyRead(what, { agencies, contacts });
			return `select agency_id, served_at, ${suspendedOf(what, isSuspended)} as is_suspended from ${agencies} a
				where agency_id <> '' ${what === "probe" ? "" : isHealthy} ${without > 0 ? `and agency_id not in (${marks(without, 2)})` : ""}
					${what === "probe" ? "and (failures = 0 or paused_until <= $1)" : ""}
				and ${isClaimable(what, isSuspended, isDue)}
				order by ${what === "read" ? "" : `if(${isDue(0)}, 0, 1),`} ${turnFirst(clock)} limit ${limit}`;
		},
		serve: `update ${agencies} set served_at = ${servedNow(clock)} where agency_id = $1 and served_at = $2`,
		due: (band, at, limit) => `select id, agency_id, band, due_at from ${queues} force index (turn)
			where agency_id = $${at + 2} and band = ${band} and due_at <= $1 and ${free} order by due_at limit ${limit}`,
		take: (ids) => `update ${queues} force index (primary) set token = $1, lease_until = ${clock} + $3
			where id in (${ids}) and due_at <= $2 and ${free} and ${mayWork({ meta })}`,
		taken: (ids) =>
			`select id, agency_id, recipient, band, revision, ${isFollowing(texts, "q", "$2")}
				from ${queues} q where id in (${ids}) and token = $1`,
		watched: [3, 2, 1, 0]
			.map(
				(band) => `select * from (select recipient from ${queues} force index (turn)
					where agency_id = $1 and band = ${band} and due_at <= $2 order by due_at limit $3) as q${band}`,
			)
			.join(" union all ")
			.concat(" limit $3"),
		renew: (count) =>
			`update ${queues} force index (owner) set lease_until = greatest(lease_until, ${clock} + $1) where token in (${marks(count, 2)})`,
		remove: `delete from ${queues} where id = $1 and token = $2 and revision = $3`,
		// MySQL sets one column after the other, and the band depends on the revision alone.
		release: `update ${queues} set band = if(revision = $3, $4, least(band, $4)), due_at = if(revision = $3, $5, due_at),
				token = null, lease_until = null
			where id = $1 and token = $2`,
		rest: `update ${queues}, (select next_at, state from ${texts} force index (queue)
				where recipient = $4 and agency_id = $5 and next_at > 0 order by next_at limit 1) as first
			set band = 3, due_at = first.next_at, token = null, lease_until = null
			where id = $1 and token = $2 and revision = $3 and first.next_at > $6 and first.state not in ('waiting', 'sending')`,
		removeEmpty: `delete from ${queues} where id = $1 and token = $2 and revision = $3 and not exists (
			select 1 from ${texts} t where t.recipient = $4 and t.agency_id = $5 and t.next_at > 0)`,

		addAgencies: (count) =>
			`insert into ${agencies} (agency_id) values ${rowsOfMarks(count, 1)} on duplicate key update agency_id = values(agency_id)`,
		consent: `select consent, consent_revision from ${agencies} where agency_id = $1`,
		keepConsent: `update ${agencies} set consent = $1, consent_revision = consent_revision + 1
			where agency_id = $2 and consent_revision = $3`,
		agencies: `select agency_id from ${agencies} where agency_id not in ('', '*')`,
		paused: `select agency_id, paused_until, failures, reason, cause, since from ${agencies} where failures > 0`,
		// MySQL sets one column after the other, and the first ones depend on the failures.
		pause: `update ${agencies} set since = if(failures = 0, $6, since), paused_until = if(failures >= $2, greatest(paused_until, $1), $1),
				failures = greatest(failures, $2), reason = $3, cause = $5
			where agency_id = $4`,
		resume: `update ${agencies} set paused_until = 0, failures = 0, reason = null, cause = null, since = null where agency_id = $1 and failures > 0`,
		probe: `update ${agencies} set paused_until = $1 where agency_id = $2 and paused_until = $3 and failures > 0`,

		suspend: `insert into ${contacts} (agency_id, hash, key_id, suspended_reason, suspended_by, suspended_since) values ($1, '', '', $2, $3, $4) on duplicate key update suspended_reason = values(suspended_reason), suspended_by = values(suspended_by),
			suspended_since = coalesce(suspended_since, values(suspended_since))`,
		endSuspension: `update ${contacts} set suspended_since = null, suspended_reason = null, suspended_by = null, resumed_at = $2, resumed_by = $3
			where ${ofAgency} and agency_id = $1 and suspended_since is not null`,
		declared: `select agency_id, resumed_at, resumed_by, restored_from, restored_to, restored_by from ${contacts}
			where ${ofAgency} and (resumed_at > $1 or restored_to is not null)`,
		suspended: `select agency_id, suspended_since, suspended_reason, suspended_by from ${contacts} where ${ofAgency} and suspended_since is not null`,
		nextQueues: `select max(id) as last, count(*) as count from (select id from ${queues} where id > $1 order by id limit $2) as q1`,
		wakeAgency: `update ${queues} set due_at = least(due_at, $1), revision = revision + 1
			where (length($2) = 0 or agency_id = $2) and id > $3 and id <= $4`,

		join: `insert ignore into ${workers} (id, version, runs_once, started_at, seen_at, number, signed_at, restore_number)
			values ($1, $2, $3, ${clock}, ${clock}, $4, $5, $6)`,
		raise: `update ${workers} set number = greatest(number + 1, $3), seen_at = ${clock}, signed_at = $4, restore_number = $5, left_at = null
			where id = $1 and number >= $2`,
		sign: `select number, signed_at from ${workers} where id = $1`,
		signBefore: `select max(signed_at) as at from ${workers} where signed_at <= $1`,
		noteForgotten: `update ${meta} set forgotten = forgotten + 1
			where ${isMeta} and exists (select 1 from ${workers} where seen_at < ${clock} - 86400000)`,
		written: (seqs) => `select seq, id, version from ${texts} where seq in (${seqs})`,
		touch: `update ${texts} set version = version + 1 where seq = $1 and id = $2 and version >= $3`,
		forgetSilent: `delete from ${workers} where id >= '' and seen_at < ${clock} - 86400000`,
		leave: `update ${workers} set left_at = ${clock} where id = $1`,
		workers: `select id, version, runs_once, ${clock} - started_at as age_ms, ${clock} - seen_at as silent_ms from ${workers} where left_at is null
			order by seen_at desc limit 100`,
		counts: countsOf({ texts, queues, agencies, contacts }, "force index (health)"),
		list: (state) =>
			`select *, ${sign} from ${texts} force index (health) where state = '${state}' and (length($2) = 0 or agency_id = $2) order by next_at limit $1`,
		search: (isOfNumber) => {
			const part = (
				index: string,
				among: string,
			): string => `select seq, created_at, case when (length($1) = 0 or agency_id = $1)
					and (length($2) = 0 or state = $2) and state <> '${unconfirmed}' and created_at >= $3 then 1 else 0 end as fits
				from ${texts} force index (${index}) where ${among} seq < $4 order by seq desc limit ${atOnce}`;
			const ofNumberIn = (name: string, part_number: string): string =>
				`select * from (${part("number", `recipient = $5 and part_number ${part_number} and `)}) as ${name}`;
			return isOfNumber
				? `${ofNumberIn("q1", "= 1")} union all ${ofNumberIn("q2", "is null")} order by seq desc limit ${atOnce}`
				: part("primary", "");
		},
		bySeq: (seqs) => `select *, ${sign} from ${texts} force index (primary) where seq in (${seqs})`,
		countDays: (bounds) => countedByDay(`${texts} force index (report)`, bounds, `and state <> '${unconfirmed}'`),
		nextAgency: `select agency_id from ${texts} force index (report) where agency_id > $1 order by agency_id limit 1`,
		...leaseStatements(
			{ leases },
			{
				clock,
				hint: "force index (primary)",
				unlessThere: "on duplicate key update topic = topic",
				counted: "",
			},
		),
	};
};

/**
 * The unfinished texts in the order of an index that has the finished ones at its end. Neither database goes on in the middle of an
 * index by one comparison of several columns.
 */
function astray({ texts, queues, agencies, contacts }: Names): Statements["astray"] {
	const next = (after: string): string =>
		`select * from (select seq, agency_id, recipient, purpose, next_at, since, state, reason, ready_at, attempts, arrived from ${texts} force index (ended)
			where ${after} order by next_at, since, seq limit ${atOnce})`;
	const parts = ["next_at = $2 and since = $3 and seq > $4", "next_at = $2 and since > $3", "next_at > $2"];
	return {
		sql: `select part.*, ${isAstray({ texts, agencies, contacts })}
			from (${parts.map((part, at) => `${next(part)} as q${at}`).join(" union all ")}
				order by next_at, since, seq limit ${atOnce}) as part
			left join ${queues} q on q.recipient = part.recipient and q.agency_id = part.agency_id
			order by part.next_at, part.since, part.seq`,
		place: ["next_at", "since", "seq"],
		first: [0, 0, 0],
	};
}

/**
 * Keeps the texts of an outbox in MySQL 8.0.17 and later, or in MariaDB 10.6 and later. Pass a pool of mysql2 or mariadb. Or
 * pass a database of Prisma, Drizzle, Knex, Kysely, TypeORM (a manager), MikroORM (an entity manager) or Sequelize. The `tx` of
 * `enqueue` is a transaction of any of them. Any number of processes may work on it.
 *
 * @throws PartnerInvalidInput if `pool` or the name of the table is not usable
 * @example
 * const crmOutbox = createOutbox({ client, store: mysqlStore(mysqlPool) });
 * await crmOutbox.migrate();
 */
export function mysqlStore(
	pool: MysqlQueryable | SequelizeQueryable | AnyQueryable,
	options: StoreOptions = {},
): DatabaseStore {
	const database = databaseOf(pool, "mysql", "pool", "mysqlStore");
	const names = namesFrom(options, "mysqlStore");
	const { texts } = names;
	const run = (sql: string, values: Value[]): Promise<Row[]> => retryLocked(() => database.query(sql, values));
	const query = async (sql: string, values: Value[]): Promise<Row[]> =>
		undamaged(await run(sql, values), "pool", "mysqlStore");
	const change = (sql: string, values: Value[]): Promise<number> =>
		retryLocked(async () => (await database.change?.(sql, values)) ?? 0);
	const store = createSqlStore({
		query,
		change,
		async time(tx) {
			const connection = tx === undefined ? { query: run } : transactionOf(tx, "mysql", "enqueue", pool);
			return connection.query(`select ${clock} as ms`, []);
		},
		check: async () => refuseChanged(await run(plainRow, []), "pool", "mysqlStore"),
		migrate: (later) =>
			migrateMysql(
				{ query: run, update: (sql) => change(sql, []), check: (found) => undamaged([found], "pool", "migrate") },
				names,
				later,
			),
		async insert(rows) {
			const ids = rows.map(([id]) => String(id));
			// What is read shows whether the texts can be stored undamaged.
			const seen = await query(
				`select t.*, ${sign}, ${enqueueVersion(names)} as least from (select 1 as one) o left join ${texts} t on t.id in (${marks(ids.length)})`,
				ids,
			);
			refuseEnqueue(seen[0]?.least, "enqueue");
			const known = new Set(seen.flatMap(({ id, state }) => (state === unconfirmed ? [] : [id])));
			const added = rows.filter(([id]) => !known.has(id));
			if (added.length === 0) return seen;
			await query(
				`insert into ${texts} (${insertedColumns}, state, version, begun_at)
				values ${rowsOfMarks(added.length, width, (row) => `(${row}, 'waiting', 0, ${moment})`)} ${onConflict}`,
				added.flat(),
			);
			return query(
				`select *, ${sign} from ${texts} where id in (${marks(ids.length)}) and state <> '${unconfirmed}'`,
				ids,
			);
		},
		insertIn: async (tx, rows) => insertIn(transactionOf(tx, "mysql", "enqueue", pool), names, rows),
		supersedeIn: async (tx, values, old) =>
			supersedeIn(transactionOf(tx, "mysql", "enqueue", pool), names, values, old),
		cancelIn: (tx, id, now, by) => cancelIn(transactionOf(tx, "mysql", "cancel", pool), names, { id, now, by }),
		async acknowledge(values) {
			const keys = await run(`select seq from ${texts} where id in (${idsOf(values)})`, values);
			if (keys.length > 0) await run(acknowledged(texts, keys, values), values);
		},
		acknowledgeIn: (tx, values) => acknowledgeIn(transactionOf(tx, "mysql", "acknowledge", pool), names, values),
		changeIn: async (tx, operation, sql, values) =>
			(await transactionOf(tx, "mysql", operation, pool).change?.(sql, values)) ?? 0,
		names,
		statements: statements(names),
	});
	const checked = (text: NewText): void => {
		for (const field of ["id", "agencyId", "consentLanguage"] as const)
			if ((text[field] ?? "").length > longest)
				refuse(field, `must have at most ${longest} characters on MySQL`, "enqueue");
	};
	const port: OutboxStore = {
		...store,
		async insert(text, tx) {
			checked(text);
			return store.insert(text, tx);
		},
		async insertMany(all, tx) {
			all.forEach(checked);
			return store.insertMany(all, tx);
		},
		async supersede(text, old, tx) {
			checked(text);
			return store.supersede(text, old, tx);
		},
	};
	return port;
}

/** The ids of changes to acknowledge, whose values are ids, each with its revision. */
const idsOf = (values: readonly Value[]): string =>
	Array.from({ length: values.length / 2 }, (_, at) => `$${2 * at + 1}`).join(", ");

/** By their keys, because MySQL would lock the gaps between the ids otherwise. */
function acknowledged(texts: string, keys: readonly Row[], values: readonly Value[]): string {
	return `update ${texts} force index (primary) set unacknowledged = null
		where seq in (${keys.map(({ seq }) => Number(seq)).join(", ")}) and (id, unacknowledged) in (${rowsOfMarks(values.length / 2, 2)})`;
}

/** A row whose transaction was not proven counts as absent. Its state is set last, because the others depend on it. */
const onConflict = `on duplicate key update ${insertedColumns
	.split(", ")
	.filter((name) => name !== "id")
	.concat("begun_at", "queue_id", "state")
	.map((name) => `${name} = if(state = '${unconfirmed}', values(${name}), ${name})`)
	.join(", ")}`;

/** The least version that may enqueue, for the statements after it on a connection. */
const leastOnConnection = "@messaging_conversations_least";

/**
 * Inserts a row that is safe outside of a transaction too, and reads. Throws if the two did not run in one transaction: if that
 * ends in between, the savepoint is gone. All is sent at once, so that a `commit` that is not waited for comes after it.
 *
 * Whether this version may do it is asked by a `select` of its own: in any other statement InnoDB would lock the row that
 * `migrate` changes, until the caller commits.
 */
async function proven(
	connection: Connection,
	names: Names,
	operation: Operation,
	{ insert, read }: Record<"insert" | "read", [sql: string, values: readonly Value[]]>,
	undo: () => Promise<unknown>,
): Promise<Row[]> {
	const savepoint = `outbox_${crypto.randomUUID().replaceAll("-", "")}`;
	const [begun, least, inserted, found, ended] = await Promise.allSettled([
		connection.query(`savepoint ${savepoint}`, []),
		connection.query(`select ${leastOnConnection} := ${enqueueVersion(names)} as least`, []),
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
	for (const each of [begun, least, inserted, found]) if (each.status === "rejected") throw each.reason;
	const version = least.status === "fulfilled" ? least.value[0]?.least : undefined;
	const isRefused = typeof version === "string";
	if (ended.status === "fulfilled" && found.status === "fulfilled" && !isRefused) return found.value;
	await undo().catch(() => {});
	if (isRefused) refuseEnqueue(version, operation);
	if (ended.status === "rejected" && !isWithoutTransaction(ended.reason)) throw ended.reason;
	return refuseEnded(operation);
}

/**
 * MariaDB knows whether a transaction is open, so the row is a text at once. MySQL takes this for comments, and stores a row that
 * stays hidden.
 */
const ifOpen = (value: string, otherwise: string): string =>
	`/*M! if((@@in_transaction = 1 or @@autocommit = 0) and @@character_set_results = 'utf8mb4' and ${leastOnConnection} is null, ${value}, */ ${otherwise} /*M! ) */`;

/** Stores rows, proves that they disappear with the transaction, and makes them texts if they are none yet. */
async function insertIn(connection: Connection, names: Names, rows: readonly Value[][]): Promise<Row[]> {
	const { texts } = names;
	const ids = rows.map(([id]) => String(id));
	const token = crypto.randomUUID();
	const undo = () =>
		connection.query(
			`delete from ${texts} where id in (${marks(ids.length)}) and queue_id = $${ids.length + 1} and state = '${unconfirmed}'`,
			[...ids, token],
		);
	const queueId = `$${rows.length * width + 1}`;
	const each = (row: string): string => {
		const values = row.split(", ").map((mark, at) => (at === nextAt ? ifOpen(mark, "null") : mark));
		return `(${values.join(", ")}, ${ifOpen("'waiting'", `'${unconfirmed}'`)}, 0, ${moment}, ${ifOpen("null", queueId)})`;
	};
	const insert = `insert into ${texts} (${insertedColumns}, state, version, begun_at, queue_id)
		values ${rowsOfMarks(rows.length, width, each)} ${onConflict}`;
	const read = (some: readonly string[]): [string, string[]] => [
		`select *, ${sign} from ${texts} where id in (${marks(some.length)})`,
		[...some],
	];
	const stored = await proven(
		connection,
		names,
		"enqueue",
		{ insert: [insert, [...rows.flat(), token]], read: read(ids) },
		undo,
	);
	undamaged(stored, "tx", "enqueue");
	const known = new Set(stored.map(({ id }) => id));
	const missing = ids.filter((id) => !known.has(id));
	if (missing.length > 0) {
		// A transaction sees a row that was committed since it began only with a lock. The lock would also keep others from inserting
		// ids beside it, so the own rows are read without one.
		const [sql, values] = read(missing);
		const others = await connection.query(`${sql} for update`, values);
		if (others.length < missing.length) return refuseEnded("enqueue");
		stored.push(...others);
	}
	const own = stored.filter(({ state }) => state === unconfirmed);
	if (own.length === 0) return stored;
	// By the primary key, because MariaDB would lock the gap before the id otherwise.
	const change = `update ${texts} force index (primary) set state = 'waiting', next_at = ${due}, queue_id = null
		where seq in (${own.map(({ seq }) => Number(seq)).join(", ")}) and queue_id = $1`;
	if ((await connection.change?.(change, [token])) !== own.length) return refuseEnded("enqueue");
	const next = ({ created_at, ready_at }: Row): number => Math.max(Number(created_at), Number(ready_at));
	return stored.map((row) =>
		row.state === unconfirmed ? { ...row, state: "waiting", next_at: next(row), queue_id: null } : row,
	);
}

/** When a new text is due. */
const due = "greatest(created_at, ready_at)";
/** The values of a new text, and where they have that of `next_at`. */
const width = insertedColumns.split(", ").length;
const nextAt = insertedColumns.split(", ").indexOf("next_at");

/** The same for changes of rows: they are made only if a row that proves the transaction is there, and it is removed again. */
async function changeIn(
	connection: Connection,
	operation: Operation,
	names: Names,
	read: [sql: string, values: readonly Value[]],
	/** The change of the rows that were read, if a condition holds. */
	change: (rows: readonly Row[], isProven: string) => [sql: string, values: readonly Value[]] | undefined,
): Promise<{ rows: Row[]; count: number }> {
	const { meta } = names;
	const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2));
	// Not the row of the outbox.
	const isProof = `id = ${high * 2 ** 20 + (low % 2 ** 20) + 2}`;
	const remove = () => connection.change?.(`delete from ${meta} where ${isProof}`, []) ?? Promise.resolve(0);
	const insert = `insert into ${meta} set ${isProof}, outbox_id = 'proof', key_id = '', hash_keys = ''`;
	const rows = await proven(connection, names, operation, { insert: [insert, []], read }, remove);
	const made = change(rows, `exists (select 1 from ${meta} where ${isProof})`);
	// At once, so that a `commit` that is not waited for comes before both, or after both.
	const [done, removed] = await Promise.allSettled([made ? connection.change?.(...made) : 0, remove()]);
	if (done.status === "rejected") throw done.reason;
	if (removed.status === "rejected") throw removed.reason;
	if (removed.value === 0) refuseEnded(operation);
	return { rows, count: done.value ?? 0 };
}

async function acknowledgeIn(connection: Connection, names: Names, values: Value[]): Promise<void> {
	const read = `select seq from ${names.texts} where id in (${idsOf(values)})`;
	await changeIn(connection, "acknowledge", names, [read, values], (keys, isProven) =>
		keys.length > 0 ? [`${acknowledged(names.texts, keys, values)} and ${isProven}`, values] : undefined,
	);
}

const cancel = (texts: string, reason: "requested" | "superseded", by?: string): string =>
	`update ${texts} force index (primary) set arrived = 1, ${cancelled(reason, "$2", by)}`;

async function cancelIn(
	connection: Connection,
	names: Names,
	{ id, now, by }: { id: string; now: number; by: string | null },
): Promise<Row | undefined> {
	const read = `select seq from ${names.texts} where id = $1 and state <> '${unconfirmed}'`;
	const { rows } = await changeIn(connection, "cancel", names, [read, [id]], ([row], isProven) =>
		row
			? [
					`${cancel(names.texts, "requested", "$3")} where seq = $1 and state in ${open} and ${isProven}`,
					[Number(row.seq), now, by],
				]
			: undefined,
	);
	const [row] = rows;
	// With a lock, because a transaction that has not changed the row would see it as it was when the transaction began.
	const current = `select *, ${sign} from ${names.texts} where seq = $1 for update`;
	return row && (await connection.query(current, [Number(row.seq)]))[0];
}

/**
 * Stores a text and cancels the one whose place it takes. In this order, because a commit that is not waited for can come in between:
 * then the worker cancels it.
 */
async function supersedeIn(
	connection: Connection,
	names: Names,
	values: Value[],
	{ id, agencyId, by, now }: SupersededRow,
): Promise<{ text?: Row; old?: Row }> {
	const { texts } = names;
	const read = `select *, ${sign} from ${texts} where id in ($1, $2) and state <> '${unconfirmed}'`;
	const { rows } = await changeIn(connection, "enqueue", names, [read, [id, by]], () => undefined);
	const known = both(undamaged(rows, "tx", "enqueue"), by, id);
	const store = async (): Promise<{ text?: Row }> => {
		const [text] = await insertIn(connection, names, [values]);
		return text ? { text } : {};
	};
	const seq = Number(known.old?.seq);
	// A repeated call locks nothing, so that two that name each other's texts never wait for each other.
	if (known.text) return known;
	if (!known.old || known.old.recipient === "") return { ...known, ...(await store()) };
	// A worker that wants to send it waits from here on.
	const lock = (): Promise<Row[]> =>
		connection.query(`select *, ${sign} from ${texts} where seq = $1 for update`, [seq]);
	const [old] = await lock();
	const isGone = !old || old.recipient === "";
	if (!isGone && old.agency_id !== agencyId) return { old };
	const stored = await store();
	// Another process may have stored the id since the read.
	if (isGone || stored.text?.state !== "waiting" || Number(stored.text.version) !== 0) return { ...known, ...stored };
	const isEnded = `${cancel(texts, "superseded")} where seq = $1 and state in ${open}`;
	await changeIn(connection, "enqueue", names, ["select 1 as one", []], (_, isProven) => [
		`${isEnded} and ${isProven}`,
		[seq, now],
	]);
	const [ended] = await lock();
	return { ...stored, ...(ended && { old: ended }) };
}

/** Refuses rows that came through a connection which replaces signs by question marks. */
function undamaged(rows: Row[], field: "pool" | "tx", operation: string): Row[] {
	// Where nothing is joined, there is no sign either.
	if (rows.some((row) => "wave" in row && row.wave !== null && row.wave !== wave))
		refuse(field, "must have the character set utf8mb4: set charset to utf8mb4", operation);
	return rows;
}
