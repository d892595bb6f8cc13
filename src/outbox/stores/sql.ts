import { operationIdFrom } from "messaging-conversations";
import { progressFrom } from "../progress.ts";
import { bandOf, type OutboxStore } from "../store.ts";
import { followed, type OpenText, type OutboxText, type Recipient, unfinished } from "../text.ts";
import { inChunks, type Row, type Value } from "./connection.ts";
import { isDuplicate, isLocked, withoutValues } from "./database-error.ts";
import { createLeases, type LeaseSql, leaseTables } from "./leases.ts";
import type { Names } from "./names.ts";

/** A database, as a store uses it. Statements have `$1`, `$2`, … for their values. */
export interface Database {
	/** Runs one statement. */
	query: (sql: string, values: Value[]) => Promise<Row[]>;
	/**
	 * Stores a text in the caller's open transaction, and gives its row, or the row that has its id already. The statement that
	 * proves the transaction begins before this returns. Throws `PartnerInvalidInput` if it cannot prove that what it stores
	 * disappears with the transaction.
	 */
	insertIn: (tx: unknown, text: Insertion) => Promise<Row>;
	/** Acknowledges changes in the caller's open transaction, with the same proof. */
	acknowledgeIn: (tx: unknown, some: Acknowledgement) => Promise<unknown>;
	/** Runs an update or a delete without `returning`, and gives the number of rows. Absent if the database has `returning`. */
	change?: ((sql: string, values: Value[]) => Promise<number>) | undefined;
	/**
	 * Checks the settings of the connection, and gives the statement that creates each table. Absent if the tables are created
	 * one part at a time.
	 */
	tables?: (names: Names) => Promise<Record<string, string>>;
	/** The column of the order of arrival. */
	seq: string;
	/** What `insert` does when the id is there: with an update, it gives the row that is there. */
	onConflict: string;
	/** What an insert does when the key is there: it sets something, or nothing. */
	upsert: (key: string, set?: string) => string;
	/** What `insert` stores as `begun_at`: the moment at which it runs. */
	begunAt: string;
	/** The column that says when a text was enqueued. */
	begun: "begun_at" | "seq";
	/** The moment of a stop. `begun` of every text that was enqueued before is smaller or equal. */
	stopNow: (texts: string) => string;
	/** Selects a row when the table or the index named by `$1` exists, in the current schema if the name has none. */
	find: string;
	/** Selects a row when the schema named by `$1` exists. */
	findSchema: string;
	/** The type of whole numbers in a cast. */
	bigint: "bigint" | "signed";
	/** What a list of tuples begins with. */
	tuples: "values" | "";
	/**
	 * The columns of the indexes that hold a part of the texts: the due ones, the unfinished ones, and those to be acknowledged.
	 * Without partial indexes they are columns of their own, which are null in all other texts. Then the conditions for those
	 * with a message and for the ended ones.
	 */
	parts: { due: string; open: string; since: string; isSent: string; isEnded: string };
	/**
	 * A statement locks each row that it reads, also one that a caller has not committed. So the rows are found by a read, and
	 * changed by their keys; and stops are kept apart from the texts, so that a guard reads no text.
	 */
	locksReads: boolean;
	/** A statement can change rows of two tables by a `with`. */
	isChangedInWith: boolean;
	/** How the statements about queues differ. */
	leases: LeaseSql;
	/** What the rows of texts are read with, for `query` to see that they arrive undamaged. */
	proof: string;
}

/** A text to store. */
export interface Insertion {
	id: string;
	/** The names of the tables. */
	names: Names;
	/** The values of {@link inserted}. */
	values: Value[];
}

/** The columns that `insert` writes, and the type of each. The first ones are values, the others the same for each new text. */
const given = {
	id: "text",
	agency_id: "text",
	recipient: "text",
	body: "text",
	subaccount_id: "text",
	consent_language: "text",
	not_before: "bigint",
	not_after: "bigint",
	priority: "bigint",
	created_at: "bigint",
	since: "bigint",
	next_at: "bigint",
	ready_at: "bigint",
	progress: "text",
};
export const inserted: string = `${Object.keys(given).join(", ")}, state, version, begun_at`;

/** What `insert` writes. `isTyped` names the type of each value, because PostgreSQL takes one in a `select` as text otherwise. */
export function insertedValues(begunAt: string, { isTyped = false, state = "'waiting'" } = {}): string {
	const values = Object.values(given).map((type, at) => `$${at + 1}${isTyped ? `::${type}` : ""}`);
	return `${values.join(", ")}, ${state}, 0, ${begunAt}`;
}

/** Changes to acknowledge, in one statement. */
export interface Acknowledgement {
	/** The names of the tables. */
	names: Names;
	/** Fits the rows of the changes. */
	where: string;
	/** A list of the ids, as `where` has them. */
	ids: string;
	values: Value[];
}

const quoted = (states: readonly string[]): string => `('${states.join("', '")}')`;
export const open = quoted(unfinished);

/**
 * The state of a row that no worker, no status and no list shows, and that `insert` treats as absent: MySQL has stored it, and
 * the transaction is not proven yet.
 */
export const unconfirmed = "unconfirmed";

/** What PostgreSQL and SQLite have in common. */
export const standard = {
	upsert: (key, set) => `on conflict (${key}) ${set === undefined ? "do nothing" : `do update set ${set}`}`,
	findSchema: "select 1 as found where to_regnamespace($1) is not null",
	bigint: "bigint",
	tuples: "values",
	parts: {
		due: "priority",
		open: "attempted",
		since: "since",
		isSent: "message_id is not null",
		isEnded: "state <> 'waiting'",
	},
	locksReads: false,
	isChangedInWith: false,
	proof: "",
} satisfies Partial<Database>;

/** What PostgreSQL and SQLite have in common in the statements about queues. */
export const standardLeases = {
	least: "least",
	greatest: "greatest",
	onConflict: (key) => `on conflict (${key}) do update set`,
	given: (column) => `excluded.${column}`,
	isArrived: "next_at is not null",
	skipLocked: "",
	by: () => "",
	hasReturning: true,
} satisfies Partial<LeaseSql>;

/**
 * The indexes: no statement of a step reads more rows than it uses. One that is changed needs a new name, because `migrate`
 * finds an index by its name; the old name belongs in `formerIndexes` then.
 */
const indexes = {
	priority: "(priority, next_at, seq, recipient, agency_id) where next_at is not null",
	next: "(next_at) where next_at is not null",
	arrived: "(seq) where arrived = 1 and next_at is not null",
	followed: "(recipient, agency_id, next_at) where next_at is not null and state in ('sent', 'delivered')",
	turn: `(recipient, agency_id, attempted desc, priority desc, seq) where next_at is not null and state in ${open}`,
	queue: "(recipient, agency_id, next_at, seq) where next_at is not null",
	sent: "(agency_id, recipient, seq) where message_id is not null",
	message: "(message_id) where message_id is not null",
	ended: "(since) where next_at is null",
	stopped: "(recipient, agency_id) where stopped_at is not null",
	unacknowledged: "(since, seq) where unacknowledged is not null",
};

/** Those of earlier versions. */
const formerIndexes = ["due", "lane", "recipient"];

/** The columns of the texts, as both databases take them. */
const columns = `id text not null unique, agency_id text not null, recipient text not null, body text not null,
	subaccount_id text, consent_language text, not_after bigint, created_at bigint not null, state text not null,
	since bigint not null, next_at bigint, version bigint not null, message_id text, queue_id text, progress text not null`;

/** The columns that came later. `migrate` adds them to an older table. */
const addedColumns = [
	"reason text",
	"not_before bigint",
	"ready_at bigint not null default 0",
	"priority bigint not null default 0",
	"attempted bigint not null default 0",
	"begun_at bigint not null default 0",
	"stopped_at bigint",
	"unacknowledged bigint",
	// 1 until a worker has put it into its queue. Texts of an earlier version have it too.
	"arrived bigint default 1",
];

/**
 * Of a table as version 0.2 wrote it: its word for `unknown`, and which texts were attempted. Its progress is converted when a
 * row is read, see `progressFrom`.
 */
const conversions = [
	"state = 'unknown' where state = 'unclear'",
	`attempted = 1 where attempted = 0 and progress not like '%"attempts":0,%'`,
];

/** A database takes some thousand values in one statement. */
const mostAcknowledged = 1_000;

const workerColumns = "one bigint primary key, token text not null, host text, pid bigint, beat_at bigint";
const addedWorkerColumns = ["started_at bigint"];
/** The row beside the stops that says that `settled` is used. */
const settledIsUsed = "settled";
const stopColumns = "name text primary key, stopped_at bigint not null";

/** Rows that are changed by their keys in one statement. */
const mostKeys = 500;

/** A store on a database that speaks SQL. Each change is one statement. */
export function createSqlStore(database: Database, names: Names): OutboxStore {
	const { schema, texts, worker, stops, queues, index } = names;
	const { seq: seqColumn, onConflict, upsert, begunAt, begun, find, tuples, parts, locksReads, proof } = database;
	const query: Database["query"] = (sql, values) =>
		database.query(sql, values).catch((error: unknown) => {
			throw withoutValues(error, values);
		});
	/** Without `tx`, and gives the number of rows. */
	const change = (sql: string, values: Value[]): Promise<number> =>
		database.change?.(sql, values).catch((error: unknown) => {
			throw withoutValues(error, values);
		}) ?? query(`${sql} returning seq`, values).then((rows) => rows.length);
	const stopNow = database.stopNow(texts);
	// MySQL would read small tables as a whole otherwise, with locks on each row, and sort what an index has in order.
	const by = (name: string): string => (locksReads ? `force index (${name})` : "");
	const textsOf = async (sql: string, values: Value[]): Promise<OutboxText[]> =>
		(await query(sql, values)).map(textFrom);
	const first = async (sql: string, value: string | number): Promise<OutboxText | undefined> =>
		(await textsOf(sql, [value]))[0];
	// When a recipient was last stopped: by a text that was lost, or by `cancelAll`. The values are `$one` and `$one + 1`.
	const lostAt = (one: number, { dropped }: StopNames): string =>
		locksReads
			? `select max(stopped_at) from ${stops} where name = '${dropped}'`
			: `select max(stopped_at) from (
				select stopped_at from ${texts}
				where recipient = $${one} and agency_id = $${one + 1} and stopped_at is not null
				union all select stopped_at from ${stops} where name = '${dropped}') as stop`;
	const cancelledAt = ({ cancelled }: StopNames): string =>
		`select max(stopped_at) from ${stops} where name in (${cancelled.map((name) => `'${name}'`).join(", ")})`;

	/** Updates or deletes the texts that fit, and returns their number. */
	async function changeAll(act: string, where: string, values: Value[], index?: string): Promise<number> {
		if (!locksReads) return change(`${act} where ${where}`, values);
		const found = await query(`select seq from ${texts} ${index ? by(index) : ""} where ${where}`, values);
		const keys = found.map(({ seq }) => Number(seq));
		let count = 0;
		for (const some of inChunks(keys, mostKeys))
			count += await change(`${act} where seq in (${some.join(", ")}) and ${where}`, values);
		return count;
	}
	const updateAll = (set: string, where: string, values: Value[], index?: string): Promise<number> =>
		changeAll(`update ${texts} ${by("primary")} set ${set}`, where, values, index);

	const { leases, begin, wakeQueues, endPauses, removeQueues } = createLeases(names, database.leases, {
		query,
		change: (sql, values) =>
			database.change?.(sql, values).catch((error: unknown) => {
				throw withoutValues(error, values);
			}) ?? query(`${sql} returning 1 as one`, values).then((rows) => rows.length),
		readopt: () => updateAll("arrived = 1", "next_at is not null and arrived is null", [], "ended"),
	});

	/** Keeps the stops of lost texts that are about to go, because a text that they stop may still be to come. */
	async function keepStops(where: string, values: Value[]): Promise<void> {
		if (locksReads) return;
		const lost = await query(
			`select agency_id, recipient, max(stopped_at) as stopped_at from ${texts}
			where ${where} and stopped_at is not null group by agency_id, recipient`,
			values,
		);
		for (const { agency_id, recipient, stopped_at } of lost) {
			const { dropped } = await stopNames({ agencyId: String(agency_id), to: String(recipient) });
			await query(
				`insert into ${stops} as kept (name, stopped_at) values ($1, $2)
				on conflict (name) do update set stopped_at = excluded.stopped_at where excluded.stopped_at > kept.stopped_at`,
				[dropped, Number(stopped_at)],
			);
		}
	}

	async function isSettledUsed(): Promise<boolean> {
		return (await query(`select 1 as found from ${stops} where name = $1`, [settledIsUsed])).length > 0;
	}

	const exists = async (name: string): Promise<boolean> => (await query(find, [name])).length > 0;

	async function create(name: string, statement: string): Promise<void> {
		if (await exists(name)) return;
		// Asked first, because "if not exists" needs the right to create it even when it is there. In PostgreSQL it fails when
		// another process creates the same at that moment. Then it is there.
		await query(statement, []).catch(() => query(statement, []));
	}

	async function createSchema(): Promise<void> {
		if (schema === "") return;
		const name = schema.slice(0, -1);
		const [found] = await query(database.findSchema, [name]);
		const statement = `create schema if not exists ${name}`;
		if (!found) await query(statement, []).catch(() => query(statement, []));
	}

	async function addColumns(table: string, added: readonly string[]): Promise<void> {
		for (const column of added) {
			const name = column.replace(/ .*/, "");
			const isThere = () =>
				query(`select ${name} from ${table} limit 0`, []).then(
					() => true,
					() => false,
				);
			if (await isThere()) continue;
			await query(`alter table ${table} add column ${column}`, []).catch(async (error: unknown) => {
				// Another process may have added it at that moment.
				if (!(await isThere())) throw error;
			});
		}
	}

	/**
	 * Adds the column `arrived` to a table of an earlier version on MySQL. It is 1 in what is unfinished or will be inserted, and
	 * null in the many finished texts, which the index leaves out this way. The index comes last, as the sign that all is done.
	 */
	async function addArrived(): Promise<void> {
		const isDone = () =>
			query(`select seq from ${texts} ${by("arrived")} where arrived = 2 limit 1`, []).then(
				() => true,
				() => false,
			);
		if (await isDone()) return;
		const tolerant = (sql: string) =>
			query(sql, []).catch(async (error: unknown) => {
				// Another process may have done it at that moment.
				if (!(await isDone()) && !isDuplicate(error)) throw error;
			});
		await tolerant(`alter table ${texts} add column arrived tinyint default null, algorithm = instant`);
		await query(`alter table ${texts} alter column arrived set default 1`, []);
		await updateAll("arrived = 1", `next_at is not null and arrived is null and state <> '${unconfirmed}'`, []);
		await tolerant(`alter table ${texts} add index arrived (arrived, seq), algorithm = inplace, lock = none`);
	}

	return {
		async migrate() {
			await createSchema();
			if (database.tables) {
				const before = await exists(texts);
				for (const [name, statement] of Object.entries(await database.tables(names))) await create(name, statement);
				if (before) await addArrived();
				await begin();
				return;
			}
			await create(texts, `create table if not exists ${texts} (${seqColumn}, ${columns})`);
			await create(worker, `create table if not exists ${worker} (${workerColumns})`);
			await create(stops, `create table if not exists ${stops} (${stopColumns})`);
			await addColumns(texts, addedColumns);
			await addColumns(worker, addedWorkerColumns);
			const former: string[] = [];
			for (const name of formerIndexes) if (await exists(`${texts}_${name}`)) former.push(name);
			if (former.length > 0) for (const change of conversions) await query(`update ${texts} set ${change}`, []);
			const made = leaseTables(names, seqColumn.replace(/^seq /, ""));
			for (const [name, statement] of Object.entries({ ...made.tables, ...made.indexes }))
				await create(name, statement);
			for (const [name, on] of Object.entries(indexes))
				await create(`${texts}_${name}`, `create index if not exists ${index}_${name} on ${texts} ${on}`);
			await begin();
			// Last, because they are the sign of a table that is not converted yet.
			for (const name of former) await query(`drop index if exists ${schema}${index}_${name}`, []);
		},
		async insert(text, tx) {
			const { id, agencyId, to, body, subaccountId, consentLanguage, notBefore, notAfter, priority, createdAt } = text;
			const readyAt = notBefore ?? 0;
			const values: Value[] = [id, agencyId, to, body, subaccountId, consentLanguage, notBefore, notAfter, priority];
			values.push(createdAt, createdAt, Math.max(createdAt, readyAt), readyAt, JSON.stringify(text.progress));
			if (tx !== undefined) {
				// Nothing is awaited before, because a synchronous transaction ends before what is awaited.
				const row = database.insertIn(tx, { id, names, values });
				return textFrom(await row.catch((error: unknown) => Promise.reject(withoutValues(error, values))));
			}
			const sql = `select *${proof} from ${texts} where id = $1 and state <> '${unconfirmed}'`;
			// MySQL shows in what it reads whether it can store the text undamaged.
			const [seen] = locksReads
				? await query(`select t.*${proof} from (select 1 as one) o left join ${texts} t on t.id = $1`, [id])
				: [];
			if (seen && seen.id !== null && seen.state !== unconfirmed) return textFrom(seen);
			const insert = `insert into ${texts} (${inserted}) values (${insertedValues(begunAt)}) ${onConflict}`;
			const [stored] = await query(insert, values);
			const row = stored ?? (await query(sql, [id]))[0];
			if (!row) throw new Error("The text was not stored.");
			return textFrom(row);
		},
		find: (id) => first(`select *${proof} from ${texts} where id = $1 and state <> '${unconfirmed}'`, id),
		async open(recipient, limit, now) {
			const { agencyId, to } = recipient;
			const stopped = await stopNames(recipient);
			const rows = await query(
				`select t.*${proof}, ${begun} as begun, (${lostAt(1, stopped)}) as lost_at, (${cancelledAt(stopped)}) as cancelled_at
				from ${texts} t ${by("turn")}
				where recipient = $1 and agency_id = $2 and ${parts.open} is not null and next_at is not null
					and state in ${open} and (attempted = 1 or ready_at <= $3)
				order by ${parts.open} desc, priority desc, seq limit $4`,
				// The few that were attempted are ordered here, so that the database needs to sort nothing.
				[to, agencyId, now, Math.max(limit, 10)],
			);
			const found = rows.map(({ begun, lost_at, cancelled_at, ...row }) => ({
				...textFrom(row),
				stoppedBy: stoppedBy(Number(begun), lost_at, cancelled_at),
			}));
			return found.sort((one, other) => rankOf(one) - rankOf(other)).slice(0, limit);
		},
		unfinished: ({ agencyId, to = "" }) =>
			textsOf(
				`select *${proof} from ${texts} where recipient = $1 and next_at is not null and state in ${open}
					${agencyId === undefined ? "" : "and agency_id = $2"} order by seq`,
				agencyId === undefined ? [to] : [to, agencyId],
			),
		followed: ({ agencyId, to }, now) =>
			textsOf(
				`select *${proof} from ${texts}
				where recipient = $1 and agency_id = $2 and next_at <= $3 and ${parts.isEnded}
					and state in ${quoted(followed)} order by seq`,
				[to, agencyId, now],
			),
		async save(text, { stops: isStop = false, unlessStopped = false, lease, leaseMs = 0 } = {}) {
			const { seq, version, state, reason, since, nextAt, readyAt, messageId, queueId, unacknowledged, progress } =
				text;
			const values: Value[] = [seq, version, state, reason, since, nextAt, readyAt, messageId, queueId, unacknowledged];
			values.push(Number(progress.attempts > 0), JSON.stringify(progress));
			let guard = "";
			let tables: string = texts;
			const names = isStop || unlessStopped ? await stopNames(text) : undefined;
			if (names && unlessStopped) {
				if (!locksReads) values.push(text.to, text.agencyId);
				guard = [lostAt(13, names), cancelledAt(names)]
					.map((stop) => `and ${begun} > coalesce((${stop}), -1)`)
					.join(" ");
			}
			if (names && isStop && locksReads) {
				// One statement changes both rows, so the one of the stop has to be there.
				await query(`insert into ${stops} (name, stopped_at) values ('${names.dropped}', 0) ${upsert("name")}`, []);
				tables = `${texts}, ${stops}`;
				guard += ` and name = '${names.dropped}'`;
			}
			let before = "";
			let set = isStop ? `, stopped_at = ${stopNow}` : "";
			if (lease) {
				// The statement changes the queue too, so that no other worker can take it over at the same moment.
				values.push(lease.id, lease.token);
				const isMine = `${queues}.id = $${values.length - 1} and token = $${values.length}`;
				const until = `lease_until = ${database.leases.clock} + ${leaseMs}`;
				set += ", arrived = null";
				if (locksReads) {
					tables += `, ${queues}`;
					set += `, ${until}`;
					guard += ` and ${isMine}`;
				} else if (database.isChangedInWith) {
					before = `with lease as (update ${queues} set ${until} where ${isMine} returning 1)`;
					guard += " and exists (select 1 from lease)";
				} else guard += ` and exists (select 1 from ${queues} where ${isMine})`;
			}
			const count = await change(
				`${before} update ${tables} set state = $3, reason = $4, since = $5, next_at = $6, ready_at = $7, message_id = $8,
					queue_id = $9, unacknowledged = $10, attempted = $11, progress = $12, version = version + 1
					${set}
				where seq = $1 and version = $2 ${guard}`,
				values,
			);
			if (isStop) await nextMoment();
			return count > 0;
		},
		async stop(recipient) {
			const { cancelled } = await stopNames(recipient);
			await query(
				`insert into ${stops} (name, stopped_at) values ($1, ${stopNow}) ${upsert("name", `stopped_at = ${stopNow}`)}`,
				[cancelled[0]],
			);
			await nextMoment();
		},
		async wake({ agencyId, to = "" }, now) {
			const who = agencyId === undefined ? "recipient = $2" : "recipient = $2 and agency_id = $3";
			const ready = "case when state = 'waiting' and attempted = 0 and ready_at > $1 then ready_at else $1 end";
			const where = `${who} and next_at > ${ready} and state in ('waiting', 'held')`;
			const values = agencyId === undefined ? [now, to] : [now, to, agencyId];
			await updateAll(`next_at = ${ready}, version = version + 1`, where, values);
			await wakeQueues({ to, ...(agencyId !== undefined && { agencyId }) }, now);
		},
		async recover(now) {
			const ready = "case when state = 'waiting' and attempted = 0 and ready_at > $1 then ready_at else $1 end";
			await updateAll(`next_at = ${ready}`, `next_at > ${ready} and state in ${open}`, [now]);
			await wakeQueues({}, now);
			await endPauses(now);
		},
		async nextOf({ agencyId, to }, now) {
			const sql = `select next_at, state, priority from ${texts} ${by("queue")}
				where recipient = $1 and agency_id = $2 and next_at > $3 order by next_at limit 1`;
			const [row] = await query(sql, [to, agencyId, now]);
			return row && { at: Number(row.next_at), band: bandOf(String(row.state), Number(row.priority)) };
		},
		async claimed({ agencyId, to }) {
			const sql = `select message_id from ${texts}
				where agency_id = $1 and recipient = $2 and ${parts.isSent} order by seq desc limit 100`;
			return (await query(sql, [agencyId, to])).map((row) => String(row.message_id));
		},
		byMessage: (messageId) => first(`select *${proof} from ${texts} where message_id = $1`, messageId),
		async unacknowledged(limit) {
			if (!(await isSettledUsed()))
				await query(`insert into ${stops} (name, stopped_at) values ($1, 0) ${upsert("name")}`, [settledIsUsed]);
			return textsOf(
				`select *${proof} from ${texts} where unacknowledged is not null and ${parts.since} is not null
				order by ${parts.since}, seq limit $1`,
				[limit],
			);
		},
		async acknowledge(changes, tx) {
			// All statements begin here, because what is awaited is not part of a synchronous transaction.
			const statements = inChunks(changes, mostAcknowledged).map(async (some) => {
				const pairs = some.map((_, at) => `($${2 * at + 1}, cast($${2 * at + 2} as ${database.bigint}))`).join(", ");
				const values = some.flatMap(({ id, revision }) => [id, revision]);
				const where = `(id, unacknowledged) in (${tuples} ${pairs})`;
				const ids = some.map((_, at) => `$${2 * at + 1}`).join(", ");
				if (tx !== undefined)
					return database
						.acknowledgeIn(tx, { names, where, ids, values })
						.catch((error: unknown) => Promise.reject(withoutValues(error, values)));
				if (!locksReads) return query(`update ${texts} set unacknowledged = null where ${where}`, values);
				const keys = await query(`select seq from ${texts} where id in (${ids})`, values);
				if (keys.length === 0) return keys;
				const byKey = `seq in (${keys.map(({ seq }) => Number(seq)).join(", ")}) and ${where}`;
				return query(`update ${texts} ${by("primary")} set unacknowledged = null where ${byKey}`, values);
			});
			await Promise.all(statements);
		},
		async erase(which) {
			const values =
				"id" in which ? [which.id] : [which.to ?? "", ...(which.agencyId === undefined ? [] : [which.agencyId])];
			const where = "id" in which ? "id = $1" : `recipient = $1 ${values.length > 1 ? "and agency_id = $2" : ""}`;
			// What is left of an `enqueue` whose transaction had ended.
			await changeAll(`delete from ${texts}`, `${where} and state = '${unconfirmed}'`, values);
			await keepStops(`${where} and state not in ${open}`, values);
			await updateAll(
				`recipient = '', body = '', subaccount_id = null, consent_language = null, message_id = null,
					queue_id = null, progress = '{}', next_at = null, version = version + 1`,
				`${where} and state not in ${open}`,
				values,
			);
			if (!("id" in which)) await removeQueues(which);
		},
		async purge(before) {
			const acknowledged = (await isSettledUsed()) ? "and unacknowledged is null" : "";
			const where = `next_at is null and since < $1 and recipient <> '' ${acknowledged}`;
			await keepStops(where, [before]);
			return changeAll(`delete from ${texts}`, where, [before]);
		},
		...leases,
	};
}

/** Waits until a transaction that begins has a later time than the stop: the clock of PGlite counts milliseconds. */
function nextMoment(): Promise<void> {
	return new Promise((resolve) => setTimeout(resolve, 2));
}

interface StopNames {
	/** Of `cancelAll`, for the recipient and for the number in all agencies. */
	cancelled: [recipient: string, number: string];
	/** Of a text that was lost, once its row is gone; on MySQL at once. */
	dropped: string;
}

/** The names under which a stop is stored. They are hashes, and hold no number. */
async function stopNames({ agencyId = "", to = "" }: Partial<Recipient>): Promise<StopNames> {
	const name = (agency: string) => operationIdFrom("stop", `agency ${agency}`, to);
	const [recipient, number] = await Promise.all([name(agencyId), name("")]);
	return { cancelled: [recipient, number], dropped: `dropped ${recipient}` };
}

/** Which stop came after the text's transaction had begun. */
function stoppedBy(begun: number, lostAt: unknown, cancelledAt: unknown): OpenText["stoppedBy"] {
	if (cancelledAt !== null && begun <= Number(cancelledAt)) return "cancel";
	return lostAt !== null && begun <= Number(lostAt) ? "drop" : null;
}

/** What is on its way comes first, then what the service holds. */
function rankOf({ state }: OutboxText): number {
	return state === "sending" ? 0 : state === "held" ? 1 : 2;
}

/** The columns that are numbers, which PostgreSQL gives as strings. */
const numbers = /^(seq|notBefore|notAfter|priority|createdAt|since|nextAt|readyAt|version|unacknowledged)$/;
/** The columns that only statements use. */
const internal = /^(attempted|begunAt|stoppedAt|arrived|isOpen|mark|wave|part[A-Z]\w*)$/;

function textFrom(row: Row): OutboxText {
	const fields = Object.entries(row).flatMap(([column, value]) => {
		const name = column.replace(/_(.)/, (_, letter: string) => letter.toUpperCase());
		if (internal.test(name)) return [];
		return [[name, value !== null && numbers.test(name) ? Number(value) : value]];
	});
	const { recipient: to, progress, ...text } = Object.fromEntries(fields);
	return { ...text, to, progress: progressFrom(JSON.parse(progress), text) };
}

const longestWaitMs = 10_000;

/** The code makes a worker pause until the transaction has ended. */
function openTooLong(): Error {
	const what = "A transaction has been open on the outbox's connection for 10 seconds.";
	const how = "If it is yours, pass it: enqueue(text, { tx }). Otherwise end it sooner.";
	return Object.assign(new Error(`${what} ${how}`), { code: "SQLITE_BUSY" });
}

/**
 * Waits while another connection writes to SQLite, or a transaction of the caller's is open. Repeats a statement that PostgreSQL
 * ended because of another one that touched the same rows.
 */
export async function retryLocked<Result>(act: () => Promise<Result> | undefined): Promise<Result> {
	const end = Date.now() + longestWaitMs;
	for (let wait = 1; ; wait = Math.min(50, wait * 2)) {
		try {
			const running = act();
			if (running) return await running;
			if (Date.now() > end) throw openTooLong();
		} catch (error) {
			if (!isLocked(error) || Date.now() > end) throw error;
		}
		await new Promise((resolve) => setTimeout(resolve, wait));
	}
}
