import type { OutboxStore } from "../store.ts";
import { type AnyQueryable, databaseOf, refuseEnded, transactionOf } from "../transaction.ts";
import type { PostgresQueryable } from "../transactions/pg.ts";
import type { PostgresJsSql } from "../transactions/postgres-js.ts";
import type { Connection, Row, Value } from "./connection.ts";
import { type Names, namesFrom, type StoreOptions } from "./names.ts";
import { refuseChanged, typedRow } from "./plain-rows.ts";
import { migratePostgres } from "./postgres-tables.ts";
import { retryLocked } from "./retry.ts";
import { createSqlStore } from "./sql.ts";
import { insertedColumns, marks, open, rowsOfMarks, type Statements } from "./statements.ts";

/** The moment of a statement, in microseconds. */
const moment = "(extract(epoch from clock_timestamp()) * 1000000)::bigint";
/** The clock of the leases, in milliseconds. */
const clock = "(extract(epoch from clock_timestamp()) * 1000)::bigint";
const isFree = `(lease_until is null or lease_until <= ${clock})`;

const statements = ({ texts, stops, queues, agencies, worker }: Names): Statements => ({
	find: `select * from ${texts} where id = $1`,
	byMessage: `select * from ${texts} where message_id = $1`,
	open: `select t.*, begun_at as begun,
			(select max(stopped_at) from (
				select stopped_at from ${texts} where recipient = $1 and agency_id = $2 and stopped_at is not null
				union all select stopped_at from ${stops} where name = $5) as stop) as lost_at,
			(select max(stopped_at) from ${stops} where name in ($6, $7)) as cancelled_at
		from ${texts} t
		where recipient = $1 and agency_id = $2 and next_at is not null and state in ${open}
			and (attempted = 1 or ready_at <= $3)
		order by attempted desc, priority desc, seq limit $4`,
	unfinished: `select * from ${texts}
		where recipient = $1 and ($2::text = '' or agency_id = $2::text) and next_at is not null and state in ${open} order by seq`,
	followed: `select * from ${texts}
		where recipient = $1 and agency_id = $2 and next_at <= $3 and state in ('sent', 'delivered') order by seq`,
	nextOf: `select next_at, state, priority from ${texts}
		where recipient = $1 and agency_id = $2 and next_at > $3 order by next_at limit 1`,
	claimed: `select message_id from ${texts}
		where recipient = $1 and agency_id = $2 and message_id is not null order by seq desc limit 100`,
	unacknowledged: `select * from ${texts} where unacknowledged is not null order by since, seq limit $1`,
	// One statement changes the text and the lease, so that no other worker can take the queue over at the same moment.
	save: () => `with lease as (
			update ${queues} set lease_until = ${clock} + $20::bigint where id = $18::bigint and token = $19::text and $23::bigint = 1
			returning 1)
		update ${texts} set state = $3, reason = $4, since = $5, next_at = $6, ready_at = $7, message_id = $8, queue_id = $9,
			unacknowledged = $10, attempted = $11, progress = $12, version = version + 1,
			arrived = case when $23::bigint = 1 then null else arrived end,
			stopped_at = case when $21::bigint = 1 then ${moment} else stopped_at end
		where seq = $1 and version = $2 and ($23::bigint = 0 or exists (select 1 from lease))
			and ($22::bigint = 0 or begun_at > coalesce(greatest(
				(select max(stopped_at) from ${texts} where recipient = $13::text and agency_id = $14::text and stopped_at is not null),
				(select max(stopped_at) from ${stops} where name in ($15::text, $16::text, $17::text))), -1))
		returning 1 as one`,
	stop: `insert into ${stops} (name, stopped_at) values ($1, ${moment}) on conflict (name) do update set stopped_at = ${moment}`,
	key: `select stopped_at from ${stops} where name = 'key'`,
	addKey: `insert into ${stops} (name, stopped_at) values ('key', $1) on conflict (name) do nothing`,
	facts: (count) => `select name, stopped_at from ${stops} where name in (${marks(count)})`,
	note: `insert into ${stops} (name, stopped_at) values ($1, $2)
		on conflict (name) do update set stopped_at = greatest(${stops}.stopped_at, excluded.stopped_at)`,
	wake: `update ${texts}
		set next_at = case when state = 'waiting' and attempted = 0 then greatest(ready_at, $1::bigint) else $1::bigint end,
			version = version + 1
		where recipient = $2 and ($3::text = '' or agency_id = $3::text) and state in ('waiting', 'held')
			and next_at > case when state = 'waiting' and attempted = 0 then greatest(ready_at, $1::bigint) else $1::bigint end
		returning 1 as one`,
	wakeQueues: `update ${queues} set due_at = least(due_at, $1), band = least(band, 1), revision = revision + 1
		where recipient = $2 and ($3::text = '' or agency_id = $3::text) returning 1 as one`,
	recover: `update ${texts}
		set next_at = case when state = 'waiting' and attempted = 0 then greatest(ready_at, $1::bigint) else $1::bigint end
		where state in ${open}
			and next_at > case when state = 'waiting' and attempted = 0 then greatest(ready_at, $1::bigint) else $1::bigint end
			and next_at > $1::bigint
		returning 1 as one`,
	recoverQueues: `update ${queues} set due_at = least(due_at, $1), band = least(band, 1), revision = revision + 1 returning 1 as one`,
	recoverPauses: `update ${agencies} set paused_until = $1 where failures > 0 and paused_until > $1 returning 1 as one`,
	readopt: `update ${texts} set arrived = 1 where next_at is not null and arrived is null returning 1 as one`,
	erase: [
		`update ${texts} set recipient = '', body = '', subaccount_id = null, consent_language = null, message_id = null,
			queue_id = null, progress = '{}', next_at = null, version = version + 1
		where recipient = $1 and ($2::text = '' or agency_id = $2::text) and state not in ${open} returning 1 as one`,
	],
	eraseOne: [
		`update ${texts} set recipient = '', body = '', subaccount_id = null, consent_language = null, message_id = null,
			queue_id = null, progress = '{}', next_at = null, version = version + 1
		where id = $1 and state not in ${open} returning 1 as one`,
	],
	purge: (keepsUnacknowledged) => `delete from ${texts}
		where next_at is null and since < $1 and recipient <> '' ${keepsUnacknowledged ? "and unacknowledged is null" : ""}
		returning 1 as one`,
	lost: {
		erase: `select agency_id, recipient, max(stopped_at) as stopped_at from ${texts}
			where recipient = $1 and ($2::text = '' or agency_id = $2::text) and stopped_at is not null and state not in ${open}
			group by agency_id, recipient`,
		eraseOne: `select agency_id, recipient, stopped_at from ${texts}
			where id = $1 and stopped_at is not null and state not in ${open}`,
		purge: `select agency_id, recipient, max(stopped_at) as stopped_at from ${texts}
			where next_at is null and since < $1 and recipient <> '' and stopped_at is not null group by agency_id, recipient`,
	},
	keepStop: `insert into ${stops} as kept (name, stopped_at) values ($1, $2)
		on conflict (name) do update set stopped_at = excluded.stopped_at where excluded.stopped_at > kept.stopped_at`,
	isSettledUsed: `select 1 as found from ${stops} where name = 'settled'`,
	useSettled: `insert into ${stops} (name, stopped_at) values ('settled', 0) on conflict (name) do nothing`,

	newest: `select seq, agency_id, recipient, priority, next_at, state from ${texts}
		where arrived = 1 and next_at is not null order by seq desc limit $1`,
	oldest: `select seq, agency_id, recipient, priority, next_at, state from ${texts}
		where arrived = 1 and next_at is not null order by seq limit $1`,
	addQueues: (count) => `insert into ${queues} (recipient, agency_id, band, due_at) values ${rowsOfMarks(count, 4)}
		on conflict (recipient, agency_id) do update set due_at = least(${queues}.due_at, excluded.due_at),
			band = least(${queues}.band, excluded.band), revision = ${queues}.revision + 1`,
	adopted: (seqs) => `update ${texts} set arrived = null where seq in (${seqs}) returning 1 as one`,
	removeQueues: `delete from ${queues} where recipient = $1 and ($2::text = '' or agency_id = $2::text) and not exists (
			select 1 from ${texts} t where t.recipient = ${queues}.recipient and t.agency_id = ${queues}.agency_id and t.next_at is not null)
		returning 1 as one`,
	turns: (bands, isProbing, without, limit) => {
		const isDue = (band: number): string => `exists (select 1 from ${queues} q
			where q.agency_id = a.agency_id and band = ${band} and due_at <= $1 and ${isFree})`;
		const isHealthy = `and failures = 0
			and not exists (select 1 from ${agencies} everybody where everybody.agency_id = '' and everybody.failures > 0)`;
		return `select agency_id from ${agencies} a
			where agency_id <> '' ${isProbing ? "" : isHealthy} ${without > 0 ? `and agency_id not in (${marks(without, 2)})` : ""}
				and (${bands.map(isDue).join(" or ")})
			order by ${bands.includes(0) ? `case when ${isDue(0)} then 0 else 1 end,` : ""} served_at limit ${limit}`;
	},
	// Other workers take the agencies after these meanwhile.
	serve: (count) => `update ${agencies} set served_at = ${clock}
		where agency_id in (select agency_id from ${agencies} where agency_id in (${marks(count)}) for update skip locked)
		returning 1 as one`,
	due: (band, at, limit) => `select id, agency_id, band, due_at from ${queues}
		where agency_id = $${at + 2} and band = ${band} and due_at <= $1 and ${isFree} order by due_at limit ${limit}`,
	take: (ids) => `update ${queues} set token = $1, lease_until = ${clock} + $3::bigint
		where id in (select id from ${queues} where id in (${ids}) and due_at <= $2 and ${isFree} for update skip locked)
		returning id, agency_id, recipient, band, revision`,
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

	addAgencies: (count) => `insert into ${agencies} (agency_id) values ${rowsOfMarks(count, 1)} on conflict do nothing`,
	paused: `select agency_id, paused_until, failures, reason from ${agencies} where failures > 0`,
	pause: `update ${agencies} set paused_until = case when failures >= $2 then greatest(paused_until, $1) else $1 end,
			failures = greatest(failures, $2), reason = $3
		where agency_id = $4 returning 1 as one`,
	resume: `update ${agencies} set paused_until = 0, failures = 0, reason = null
		where agency_id = $1 and failures > 0 returning 1 as one`,
	probe: `update ${agencies} set paused_until = $1
		where agency_id = $2 and paused_until = $3 and failures > 0 returning 1 as one`,

	worker: `select token, beat_at from ${worker} where one = 1`,
	beat: `update ${worker} set beat_at = $1 where one = 1 and token = $2 returning 1 as one`,
	addWorker: `insert into ${worker} (one, token, host, pid, beat_at) values (1, $1, $2, 0, $3) on conflict do nothing`,
	takeWorker: `update ${worker} set token = $1, host = $2, pid = 0, started_at = null, beat_at = $3
		where one = 1 and token = $4 returning 1 as one`,
});

/**
 * Keeps the texts of an outbox in PostgreSQL 13 or later. Takes a Pool of `pg`, PGlite, the `sql` of postgres.js, or a database of Prisma,
 * Drizzle, Knex, Kysely, TypeORM (a manager) or MikroORM (an entity manager). The `tx` of `enqueue` is a transaction of any of them.
 * Any number of processes may work on it.
 *
 * @throws PartnerInvalidInput if `pool` is not one of these, or for an invalid table name
 * @example
 * const crmOutbox = createOutbox({ client, store: postgresStore(pool) });
 * await crmOutbox.migrate();
 */
export function postgresStore(
	pool: PostgresQueryable | PostgresJsSql | AnyQueryable,
	options: StoreOptions = {},
): OutboxStore {
	const database = databaseOf(pool, "postgres", "pool", "postgresStore");
	const names = namesFrom(options, "postgresStore");
	const { texts } = names;
	const query = (sql: string, values: Value[]): Promise<Row[]> => retryLocked(() => database.query(sql, values));
	const find = `select * from ${texts} where id = $1`;
	// An update would lock the row until the caller commits, and the worker would wait for it.
	const insert = (
		values: string,
		from: string,
	): string => `insert into ${texts} (${insertedColumns}, state, version, begun_at)
		${values}, 'waiting', 0, ${moment} ${from} on conflict (id) do nothing returning *`;
	/** PostgreSQL takes a value in a `select` as text if its type is not named. */
	const typed = insertedColumns.split(", ").map((name, at) => `$${at + 1}::${numbers.test(name) ? "bigint" : "text"}`);
	const isMeant = (count: number): string =>
		`(id, unacknowledged) in (values ${rowsOfMarks(count, 2, (pair) => `(${pair.replace(/, (.*)/, ", cast($1 as bigint)")})`)})`;
	return createSqlStore({
		query,
		change: async (sql, values) => (await query(sql, values)).length,
		check: async () => refuseChanged(await query(typedRow, []), "pool", "postgresStore"),
		migrate: () => migratePostgres(query, names),
		async insert(values) {
			const [stored] = await query(insert(`select ${typed}`, ""), values);
			return stored ?? (await query(find, values.slice(0, 1)))[0];
		},
		async insertIn(tx, values) {
			const connection = transactionOf(tx, "postgres", "enqueue", pool);
			const stored = await proven(
				connection,
				values,
				(proof) => `with ${proof}, stored as (${insert(`select ${typed}`, "from proof where is_open")})
					select proof.is_open, stored.* from proof left join stored on true`,
			);
			if (!stored) return refuseEnded("enqueue");
			if (stored.id !== null) return stored;
			const [known] = await connection.query(find, values.slice(0, 1));
			return known ?? refuseEnded("enqueue");
		},
		acknowledge: (values) =>
			query(`update ${texts} set unacknowledged = null where ${isMeant(values.length / 2)}`, values),
		async acknowledgeIn(tx, values) {
			const connection = transactionOf(tx, "postgres", "acknowledge", pool);
			const update = `update ${texts} set unacknowledged = null from proof where is_open and ${isMeant(values.length / 2)}`;
			const done = await proven(
				connection,
				values,
				(proof) => `with ${proof}, done as (${update} returning 1) select is_open from proof`,
			);
			if (!done) refuseEnded("acknowledge");
		},
		statements: statements(names),
	});
}

const numbers = /^(not_before|not_after|priority|created_at|since|next_at|ready_at)$/;

/** Disappears with the transaction that sets it. */
const sign = "current_setting('messaging_conversations.tx', true)";

/**
 * Runs a statement that changes rows only if a transaction is open. A transaction that has written proves itself by its number.
 * One that has not is marked by the statement, which then runs again and looks for the mark: if the first one ran outside of a
 * transaction, or in one that has ended since, the mark is gone. Undefined if no transaction is open.
 */
async function proven(
	connection: Connection,
	given: Value[],
	statement: (proof: string) => string,
): Promise<Row | undefined> {
	const values = [...given, crypto.randomUUID()];
	const mark = `$${values.length}::text`;
	const byNumber = `select is_open, case when not is_open then set_config('messaging_conversations.tx', concat(${sign}, ${mark}), true) end as mark
		from (select pg_current_xact_id_if_assigned() is not null as is_open) as number`;
	const byMark = `select coalesce(strpos(${sign}, ${mark}), 0) > 0 as is_open`;
	for (const proof of [byNumber, byMark]) {
		const [row] = await connection.query(statement(`proof as materialized (${proof})`), values);
		if (row?.is_open === true) return row;
	}
	return undefined;
}
