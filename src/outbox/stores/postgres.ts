import type { DatabaseStore } from "../store.ts";
import { type AnyQueryable, databaseOf, type Operation, refuseEnded, transactionOf } from "../transaction.ts";
import type { PostgresQueryable } from "../transactions/pg.ts";
import type { PostgresJsSql } from "../transactions/postgres-js.ts";
import type { Connection, Row, Value } from "./connection.ts";
import { isForbidden } from "./database-error.ts";
import { withoutNames } from "./facts.ts";
import { isMeta } from "./meta.ts";
import { type Names, namesFrom, type StoreOptions } from "./names.ts";
import { refuseChanged, typedRow } from "./plain-rows.ts";
import { migratePostgres } from "./postgres-tables.ts";
import { retryLocked } from "./retry.ts";
import { onSame, returningStatements } from "./returning.ts";
import { hiddenIn, refuseHidden, refuseUnreadable } from "./row-security.ts";
import { enqueueVersion, mayWork, refuseEnqueue } from "./schema.ts";
import { createSqlStore } from "./sql.ts";
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

/** The moment of a statement, in microseconds. */
const moment = "(extract(epoch from clock_timestamp()) * 1000000)::bigint";
/** The clock of the leases, in milliseconds. */
const clock = "(extract(epoch from clock_timestamp()) * 1000)::bigint";
const free = isFree(clock);

/** Whether the role may read the timeline. Some hosts have taken the functions away, and a standby has none of its own. */
const mayReadTimeline = `select not pg_is_in_recovery() and (select count(*) = 2 from (values ('pg_current_wal_insert_lsn()'), ('pg_walfile_name(pg_lsn)')) as f (name)
	where to_regprocedure(name) is not null and has_function_privilege(to_regprocedure(name), 'execute')) as may`;

/** Those of a number, in one agency or in all of them. */
const ofNumber = "recipient = $1 and ($2::text = '' or agency_id = $2::text)";
/** When a text is due that is waked at `$1`. */
const awake = "case when state = 'waiting' and attempts = 0 then greatest(ready_at, $1::bigint) else $1::bigint end";

/** Sets the sequence of a key to the highest one, if it is behind, and if the role may. */
const keyForward = (table: string, key: string): string => `select case when has_sequence_privilege(name, 'select')
		and has_sequence_privilege(name, 'update') and most > coalesce(pg_sequence_last_value(name::regclass), 0)
		then setval(name::regclass, most) end
	from (select pg_get_serial_sequence('${table}', '${key}') as name, (select max(${key}) from ${table}) as most) as keys`;

function statementsOf(names: Names, hidden: string): Statements {
	const { texts, contacts, queues, agencies, workers, meta } = names;
	return {
		...returningStatements(names, { clock, ofNumber, begun: "begun_at" }),
		// One statement changes the text and the lease, so that no other worker can take the queue over at the same moment. A stop that is
		// hidden since the worker looked is missing too.
		save({ isGuarded, isLeased }) {
			// Most do not begin a request: then nothing of leases and stops has to be planned.
			if (!isGuarded && !isLeased)
				return `update ${texts} set ${saved.set}, version = version + 1 where seq = $1 and version = $2 returning 1 as one`;
			return `with lease as (
					update ${queues} set lease_until = ${clock} + ${saved.leaseMs}::bigint
					where id = ${saved.lease}::bigint and token = ${saved.token}::text and ${saved.isLeased}::bigint = 1
					returning 1)
				update ${texts} set ${saved.set}, version = version + 1,
					arrived = case when ${saved.isLeased}::bigint = 1 then null else arrived end
				where seq = $1 and version = $2
					and (${saved.isLeased}::bigint = 0 or (exists (select 1 from lease) and ${isFreeToSend({ texts, agencies, contacts })} and ${hidden} is null and ${mayWork({ meta })}))
					and (${saved.isGuarded}::bigint = 0 or ${isNotStopped("begun_at", contacts, `${texts}.agency_id`, `${saved.key}::text`, `${saved.hash}::text`)})
				returning 1 as one`;
		},
		stop: `insert into ${contacts} (agency_id, hash, key_id, stopped_at, stopped_source) values ($1, $2, $3, ${moment}, $4) ${onSame} stopped_at = ${moment}, stopped_source = excluded.stopped_source`,
		forgetNames: `update ${contacts} set ${withoutNames} where key_id = $1 and hash = $2 and ($3::text = '' or agency_id = $3::text) returning 1 as one`,
		wake: changing(texts, `update ${texts} set next_at = ${awake}, version = version + 1`, {
			among: `recipient = $2 and ($3::text = '' or agency_id = $3::text) and ${isOpen} = 1`,
			fits: `state in ('waiting', 'held') and next_at > ${awake}`,
		}),
		wakeQueues: `update ${queues} set due_at = least(due_at, $1), band = least(band, 1), revision = revision + 1
			where recipient = $2 and ($3::text = '' or agency_id = $3::text) returning 1 as one`,
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
		joinRestore: `update ${meta} set restore_marked = restore_number - 1, restore_from = least(restore_from, $1::bigint)
			where ${isMeta} and restore_number = $2 returning 1 as one`,
		addQueues: (count) => `insert into ${queues} (recipient, agency_id, band, due_at) values ${rowsOfMarks(count, 4)}
			on conflict (recipient, agency_id) do update set due_at = least(${queues}.due_at, excluded.due_at),
				band = least(${queues}.band, excluded.band), revision = ${queues}.revision + 1`,
		keysForward: [keyForward(texts, "seq"), keyForward(queues, "id")],
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
		removeQueues: `delete from ${queues} where recipient = $1 and ($2::text = '' or agency_id = $2::text) and not exists (
				select 1 from ${texts} t where t.recipient = ${queues}.recipient and t.agency_id = ${queues}.agency_id and t.next_at is not null)
			returning 1 as one`,
		take: (ids) => `update ${queues} set token = $1, lease_until = ${clock} + $3::bigint
			where id in (select id from ${queues} where id in (${ids}) and due_at <= $2 and ${free} for update skip locked)
				and ${mayWork({ meta })}
			returning id, agency_id, recipient, band, revision, ${isFollowing(texts, queues, "$2")}`,
		renew: (count) => `update ${queues} set lease_until = greatest(lease_until, ${clock} + $1::bigint)
			where token in (${marks(count, 2)}) returning 1 as one`,
		release: `update ${queues} set band = case when revision = $3 then $4 else least(band, $4) end,
				due_at = case when revision = $3 then $5 else due_at end, token = null, lease_until = null
			where id = $1 and token = $2 returning 1 as one`,
		pause: `update ${agencies} set paused_until = case when failures >= $2 then greatest(paused_until, $1) else $1 end,
				failures = greatest(failures, $2), reason = $3, cause = $5,
				since = case when failures = 0 then $6 else since end
			where agency_id = $4 returning 1 as one`,
		wakeAgency: `update ${queues} set due_at = least(due_at, $1), revision = revision + 1
			where ($2::text = '' or agency_id = $2::text) and id > $3 and id <= $4 returning 1 as one`,

		raise: `update ${workers} set number = greatest(number + 1, $3::bigint), seen_at = ${clock}, signed_at = $4, restore_number = $5, left_at = null
			where id = $1 and number >= $2 returning 1 as one`,
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
	};
}

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
			// The old row first: it may have been stored since it was asked for, and then nothing has locked it yet.
			const isFree = `is_open and (select count(*) from done) >= 0 and not exists (select 1 from ${texts}
				where id = ${at(2)} and recipient <> '' and agency_id <> ${at(3)}::text)`;
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
		statements: statementsOf(names, hidden),
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
