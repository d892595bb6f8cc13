import { refuse } from "../input.ts";
import type { OutboxStore } from "../store.ts";
import { type AnyQueryable, databaseOf, type Operation, refuseEnded, transactionOf } from "../transaction.ts";
import type { MysqlQueryable } from "../transactions/mysql2.ts";
import type { SequelizeQueryable } from "../transactions/sequelize.ts";
import type { Connection, Row, Value } from "./connection.ts";
import { isUnprepared, isWithoutTransaction } from "./database-error.ts";
import { migrateMysql } from "./mysql-tables.ts";
import { type Names, namesFrom, type StoreOptions } from "./names.ts";
import { plainRow, refuseChanged } from "./plain-rows.ts";
import { retryLocked } from "./retry.ts";
import { createSqlStore } from "./sql.ts";
import { type Change, insertedColumns, marks, open, rowsOfMarks, type Statements } from "./statements.ts";

/** A sign that only utf8mb4 holds. Each text is read beside it, because a connection may have another character set than the last. */
const wave = "👋";
const sign = "_utf8mb4 x'f09f918b' as wave";

/** In microseconds, whatever the time zone of the session. */
const moment = "timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))";
/** The clock of the leases, in milliseconds. */
const clock = `(${moment} div 1000)`;
const isFree = `(lease_until is null or lease_until <= ${clock})`;

/** Longer ones would be cut off without an error, if the `sql_mode` is not strict. */
const longest = 255;

/**
 * The state of a row that no worker, no status and no list shows, and that `insert` treats as absent: MySQL has stored it, and
 * the transaction is not proven yet.
 */
const unconfirmed = "unconfirmed";

/**
 * An update names the primary key: MySQL would read small tables as a whole otherwise, with locks on each row, and the gaps
 * beside it. A select names the index that has its rows in order, because it would sort them otherwise.
 */
const statements = ({ texts, stops, queues, agencies, worker }: Names): Statements => {
	/** Changes the texts that fit. */
	const change = (set: string, where: string, index = ""): Change => ({
		keys: `select seq from ${texts} ${index} where ${where}`,
		change: `update ${texts} force index (primary) set ${set} where seq in (:keys) and ${where}`,
	});
	const remove = (where: string): Change => ({
		keys: `select seq from ${texts} where ${where}`,
		change: `delete from ${texts} where seq in (:keys) and ${where}`,
	});
	const erased = `recipient = '', body = '', subaccount_id = null, consent_language = null, message_id = null,
		queue_id = null, progress = '{}', next_at = null, version = version + 1`;
	const awake = "if(state = 'waiting' and attempted = 0, greatest(ready_at, $1), $1)";
	const ofNumber = "recipient = $1 and (length($2) = 0 or agency_id = $2)";
	return {
		find: `select *, ${sign} from ${texts} where id = $1 and state <> '${unconfirmed}'`,
		byMessage: `select *, ${sign} from ${texts} where message_id = $1`,
		open: `select t.*, ${sign}, begun_at as begun, (select stopped_at from ${stops} where name = $5) as lost_at,
				(select max(stopped_at) from ${stops} where name in ($6, $7)) as cancelled_at
			from ${texts} t force index (turn)
			where recipient = $1 and agency_id = $2 and part_open is not null and next_at is not null and state in ${open}
				and (attempted = 1 or ready_at <= $3)
			order by part_open desc, priority desc, seq limit $4`,
		unfinished: `select *, ${sign} from ${texts} where ${ofNumber} and next_at is not null and state in ${open} order by seq`,
		followed: `select *, ${sign} from ${texts} where recipient = $1 and agency_id = $2 and next_at <= $3
				and part_open is null and state in ('sent', 'delivered') order by seq`,
		nextOf: `select next_at, state, priority from ${texts} force index (queue)
			where recipient = $1 and agency_id = $2 and next_at > $3 order by next_at limit 1`,
		claimed: `select message_id from ${texts}
			where recipient = $1 and agency_id = $2 and part_sent = 1 order by seq desc limit 100`,
		unacknowledged: `select *, ${sign} from ${texts} where unacknowledged is not null and part_since is not null
			order by part_since, seq limit $1`,
		addStop: `insert into ${stops} (name, stopped_at) values ($1, 0) on duplicate key update name = name`,
		// One statement changes the text, the lease and the stop.
		save: ({
			isStop,
			isGuarded,
			isLeased,
		}) => `update ${texts} ${isStop ? `, ${stops}` : ""} ${isLeased ? `, ${queues}` : ""}
			set state = $3, reason = $4, since = $5, next_at = $6, ready_at = $7, message_id = $8, queue_id = $9,
				unacknowledged = $10, attempted = $11, progress = $12, version = version + 1
				${isStop ? `, stopped_at = ${moment}` : ""}
				${isLeased ? `, arrived = null, lease_until = ${clock} + $20` : ""}
			where seq = $1 and version = $2
				${isStop ? "and name = $15" : ""}
				${isLeased ? `and ${queues}.id = $18 and token = $19` : ""}
				${isGuarded ? `and begun_at > coalesce((select max(stopped_at) from ${stops} where name in ($15, $16, $17)), -1)` : ""}`,
		stop: `insert into ${stops} (name, stopped_at) values ($1, ${moment}) on duplicate key update stopped_at = ${moment}`,
		key: `select stopped_at from ${stops} where name = 'key'`,
		addKey: `insert into ${stops} (name, stopped_at) values ('key', $1) on duplicate key update name = name`,
		facts: (count) => `select name, stopped_at from ${stops} where name in (${marks(count)})`,
		note: `insert into ${stops} (name, stopped_at) values ($1, $2)
			on duplicate key update stopped_at = greatest(stopped_at, values(stopped_at))`,
		wake: change(
			`next_at = ${awake}, version = version + 1`,
			`recipient = $2 and (length($3) = 0 or agency_id = $3) and state in ('waiting', 'held') and next_at > ${awake}`,
		),
		wakeQueues: `update ${queues} set due_at = least(due_at, $1), band = least(band, 1), revision = revision + 1
			where recipient = $2 and (length($3) = 0 or agency_id = $3)`,
		recover: change(`next_at = ${awake}`, `state in ${open} and next_at > ${awake} and next_at > $1`),
		recoverQueues: `update ${queues} set due_at = least(due_at, $1), band = least(band, 1), revision = revision + 1 where id > 0`,
		recoverPauses: `update ${agencies} set paused_until = $1 where failures > 0 and paused_until > $1 and agency_id >= ''`,
		readopt: change(
			"arrived = 1",
			`next_at is not null and arrived is null and state <> '${unconfirmed}'`,
			"force index (ended)",
		),
		// What is left of an `enqueue` whose transaction had ended, too.
		erase: [remove(`${ofNumber} and state = '${unconfirmed}'`), change(erased, `${ofNumber} and state not in ${open}`)],
		eraseOne: [remove(`id = $1 and state = '${unconfirmed}'`), change(erased, `id = $1 and state not in ${open}`)],
		purge: (keepsUnacknowledged) =>
			remove(
				`next_at is null and since < $1 and recipient <> '' ${keepsUnacknowledged ? "and unacknowledged is null" : ""}`,
			),
		isSettledUsed: `select 1 as found from ${stops} where name = 'settled'`,
		useSettled: `insert into ${stops} (name, stopped_at) values ('settled', 0) on duplicate key update name = name`,

		newest: `select seq, agency_id, recipient, priority, next_at, state from ${texts} force index (arrived)
			where arrived = 1 and state <> '${unconfirmed}' order by seq desc limit $1`,
		oldest: `select seq, agency_id, recipient, priority, next_at, state from ${texts} force index (arrived)
			where arrived = 1 and state <> '${unconfirmed}' order by seq limit $1`,
		addQueues: (count) => `insert into ${queues} (recipient, agency_id, band, due_at) values ${rowsOfMarks(count, 4)}
			on duplicate key update due_at = least(due_at, values(due_at)), band = least(band, values(band)), revision = revision + 1`,
		adopted: (seqs) => `update ${texts} force index (primary) set arrived = null where seq in (${seqs})`,
		removeQueues: `delete from ${queues} where ${ofNumber} and not exists (select 1 from ${texts} t
			where t.recipient = ${queues}.recipient and t.agency_id = ${queues}.agency_id and t.next_at is not null)`,
		turns: (bands, isProbing, without, limit) => {
			const isDue = (band: number): string => `exists (select 1 from ${queues} q force index (turn)
				where q.agency_id = a.agency_id and band = ${band} and due_at <= $1 and ${isFree})`;
			const isHealthy = `and failures = 0
				and not exists (select 1 from ${agencies} everybody where everybody.agency_id = '' and everybody.failures > 0)`;
			return `select agency_id from ${agencies} a
				where agency_id <> '' ${isProbing ? "" : isHealthy} ${without > 0 ? `and agency_id not in (${marks(without, 2)})` : ""}
					and (${bands.map(isDue).join(" or ")})
				order by ${bands.includes(0) ? `if(${isDue(0)}, 0, 1),` : ""} served_at limit ${limit}`;
		},
		serve: (count) => `update ${agencies} set served_at = ${clock} where agency_id in (${marks(count)})`,
		due: (band, at, limit) => `select id, agency_id, band, due_at from ${queues} force index (turn)
			where agency_id = $${at + 2} and band = ${band} and due_at <= $1 and ${isFree} order by due_at limit ${limit}`,
		take: (ids) => `update ${queues} force index (primary) set token = $1, lease_until = ${clock} + $3
			where id in (${ids}) and due_at <= $2 and ${isFree}`,
		taken: (ids) =>
			`select id, agency_id, recipient, band, revision from ${queues} where id in (${ids}) and token = $1`,
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

		addAgencies: (count) =>
			`insert into ${agencies} (agency_id) values ${rowsOfMarks(count, 1)} on duplicate key update agency_id = values(agency_id)`,
		paused: `select agency_id, paused_until, failures, reason from ${agencies} where failures > 0`,
		pause: `update ${agencies} set paused_until = if(failures >= $2, greatest(paused_until, $1), $1),
				failures = greatest(failures, $2), reason = $3
			where agency_id = $4`,
		resume: `update ${agencies} set paused_until = 0, failures = 0, reason = null where agency_id = $1 and failures > 0`,
		probe: `update ${agencies} set paused_until = $1 where agency_id = $2 and paused_until = $3 and failures > 0`,

		worker: `select token, beat_at from ${worker} where one = 1`,
		beat: `update ${worker} set beat_at = $1 where one = 1 and token = $2`,
		addWorker: `insert into ${worker} (one, token, host, pid, beat_at) values (1, $1, $2, 0, $3) on duplicate key update one = 1`,
		takeWorker: `update ${worker} set token = $1, host = $2, pid = 0, started_at = null, beat_at = $3 where one = 1 and token = $4`,
	};
};

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
): OutboxStore {
	const database = databaseOf(pool, "mysql", "pool", "mysqlStore");
	const names = namesFrom(options, "mysqlStore");
	const { texts } = names;
	const run = (sql: string, values: Value[]): Promise<Row[]> => retryLocked(() => database.query(sql, values));
	const query = async (sql: string, values: Value[]): Promise<Row[]> =>
		undamaged(await run(sql, values), "pool", "mysqlStore");
	const store = createSqlStore({
		query,
		change: (sql, values) => retryLocked(async () => (await database.change?.(sql, values)) ?? 0),
		check: async () => refuseChanged(await run(plainRow, []), "pool", "mysqlStore"),
		migrate: () => migrateMysql(run, names, (found) => undamaged([found], "pool", "migrate")),
		async insert(values) {
			const id = values.slice(0, 1);
			// What is read shows whether the text can be stored undamaged.
			const [seen] = await query(`select t.*, ${sign} from (select 1 as one) o left join ${texts} t on t.id = $1`, id);
			if (seen && seen.id !== null && seen.state !== unconfirmed) return seen;
			await query(
				`insert into ${texts} (${insertedColumns}, state, version, begun_at) values (${marks(values.length)}, 'waiting', 0, ${moment})
				${onConflict}`,
				values,
			);
			return (await query(statements(names).find, id))[0];
		},
		insertIn: (tx, values) => insertIn(transactionOf(tx, "mysql", "enqueue", pool), names, values),
		async acknowledge(values) {
			const keys = await run(`select seq from ${texts} where id in (${idsOf(values)})`, values);
			if (keys.length > 0) await run(acknowledged(texts, "", keys, values), values);
		},
		acknowledgeIn: (tx, values) => acknowledgeIn(transactionOf(tx, "mysql", "acknowledge", pool), names, values),
		statements: statements(names),
	});
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

/** The ids of changes to acknowledge, whose values are ids, each with its revision. */
const idsOf = (values: readonly Value[]): string =>
	Array.from({ length: values.length / 2 }, (_, at) => `$${2 * at + 1}`).join(", ");

/** By their keys, because MySQL would lock the gaps between the ids otherwise. */
function acknowledged(texts: string, others: string, keys: readonly Row[], values: readonly Value[]): string {
	return `update ${texts} force index (primary) ${others} set unacknowledged = null
		where seq in (${keys.map(({ seq }) => Number(seq)).join(", ")}) and (id, unacknowledged) in (${rowsOfMarks(values.length / 2, 2)})`;
}

/** A row whose transaction was not proven counts as absent. Its state is set last, because the others depend on it. */
const onConflict = `on duplicate key update ${insertedColumns
	.split(", ")
	.filter((name) => name !== "id")
	.concat("begun_at", "queue_id", "state")
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
async function insertIn(connection: Connection, { texts }: Names, values: Value[]): Promise<Row> {
	const id = values[0] ?? null;
	const token = crypto.randomUUID();
	const undo = () =>
		connection.query(`delete from ${texts} where id = $1 and queue_id = $2 and state = '${unconfirmed}'`, [id, token]);
	const next = `$${nextAt + 1}`;
	const row = marks(values.length).replace(`${next},`, `${ifOpen(next, "null")},`);
	const insert = `insert into ${texts} (${insertedColumns}, state, version, begun_at, queue_id)
		values (${row}, ${ifOpen("'waiting'", `'${unconfirmed}'`)}, 0, ${moment}, ${ifOpen("null", `$${values.length + 1}`)}) ${onConflict}`;
	const read = `select *, ${sign} from ${texts} where id = $1`;
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
const nextAt = insertedColumns.split(", ").indexOf("next_at");

/** The same for changes of rows: they are made only if a row that proves the transaction is there, and it is removed again. */
async function acknowledgeIn(connection: Connection, { texts, stops }: Names, values: Value[]): Promise<void> {
	const isProof = `name = 'proof ${crypto.randomUUID()}'`;
	const remove = () => connection.change?.(`delete from ${stops} where ${isProof}`, []) ?? Promise.resolve(0);
	const insert = `insert into ${stops} (name, stopped_at) values (${isProof.replace("name = ", "")}, ${moment})`;
	const read = `select seq from ${texts} where id in (${idsOf(values)})`;
	const keys = await proven(connection, "acknowledge", { insert: [insert, []], read: [read, values] }, remove);
	const update = `${acknowledged(texts, `, ${stops}`, keys, values)} and ${isProof}`;
	// At once, so that a `commit` that is not waited for comes before both, or after both.
	const [done, removed] = await Promise.allSettled([keys.length > 0 && connection.query(update, values), remove()]);
	for (const each of [done, removed]) if (each.status === "rejected") throw each.reason;
	if (removed.status === "fulfilled" && removed.value === 0) refuseEnded("acknowledge");
}

/** Refuses rows that came through a connection which replaces signs by question marks. */
function undamaged(rows: Row[], field: "pool" | "tx", operation: string): Row[] {
	if (rows.some((row) => "wave" in row && row.wave !== wave))
		refuse(field, "must have the character set utf8mb4: set charset to utf8mb4", operation);
	return rows;
}
