import { operationIdFrom } from "messaging-conversations";
import { isLocked, withoutValues } from "./database-error.ts";
import { fields, refuse } from "./input.ts";
import { progressFrom } from "./progress.ts";
import type { DueRecipient, OutboxStore } from "./store.ts";
import { followed, type OpenText, type OutboxText, type Recipient, unfinished } from "./text.ts";
import type { Row } from "./transaction.ts";

/** Options of {@link sqliteStore} and {@link postgresStore}. */
export interface StoreOptions {
	/**
	 * Name of the table of texts. The names of the other two begin with it. PostgreSQL takes a schema before it, as `crm.outbox_text`.
	 * @default "outbox_text"
	 */
	table?: string | undefined;
}

/** A database, as a store uses it. Statements have `$1`, `$2`, … for their values. */
export interface Database {
	/** Runs one statement; through `tx` when there is one. */
	query: (sql: string, values: (string | number | null)[], tx?: unknown) => Promise<Row[]>;
	/** The column of the order of arrival. */
	seq: string;
	/** What `insert` does when the id is there: with an update, it gives the row that is there. */
	onConflict: string;
	/** What `insert` stores as `begun_at`: the moment at which the transaction began. */
	begunAt: string;
	/** The column that says when the transaction of a text began. */
	begun: "begun_at" | "seq";
	/** The moment of a stop. `begun` of every text whose transaction began before is smaller or equal. */
	stopNow: (texts: string) => string;
	/** Selects a row when the table or the index named by `$1` exists, in the current schema if the name has none. */
	find: string;
}

/** Names of the tables. */
export interface Names {
	/** The schema, with its dot; empty for the current one. */
	schema: string;
	/** The texts. */
	texts: string;
	/** The one process that works. */
	worker: string;
	/** When recipients were stopped. */
	stops: string;
	/** Prefix of the names of indexes. */
	index: string;
}

/** Checks the table's name, because it goes into statements as it is. */
export function namesFrom(options: StoreOptions, operation: "sqliteStore" | "postgresStore"): Names {
	fields("options", options, operation, "table");
	const { table = "outbox_text" } = options;
	const [, schema = "", name] = /^([a-z_]\w{0,39}\.)?([a-z_]\w{0,39})$/i.exec(String(table)) ?? [];
	if (name === undefined || (schema !== "" && operation === "sqliteStore"))
		refuse(
			"table",
			`must be a name of letters, digits and _${operation === "postgresStore" ? ", or schema.name" : ""}`,
			operation,
		);
	return { schema, texts: table, worker: `${table}_worker`, stops: `${table}_stop`, index: name };
}

const quoted = (states: readonly string[]): string => `('${states.join("', '")}')`;
const open = quoted(unfinished);

/**
 * The indexes: no statement of a step reads more rows than it uses. One that is changed needs a new name, because `migrate`
 * finds an index by its name; the old name belongs in `formerIndexes` then.
 */
const indexes = {
	priority: "(priority, next_at, seq, recipient, agency_id) where next_at is not null",
	next: "(next_at) where next_at is not null",
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
];

/**
 * Of a table as version 0.2 wrote it: its word for `unknown`, and which texts were attempted. Its progress is converted when a
 * row is read, see `progressFrom`.
 */
const conversions = [
	"state = 'unknown' where state = 'unclear'",
	`attempted = 1 where attempted = 0 and progress not like '%"attempts":0,%'`,
];

/** Rows of one query for what is due. */
const dueRows = 200;
/** A longer queue is put off in several steps, between which other queues have their turn. */
const mostPostponed = 100;
/** A database takes some thousand values in one statement. */
const mostAcknowledged = 1_000;

const workerColumns = "one bigint primary key, token text not null, host text, pid bigint, beat_at bigint";
const addedWorkerColumns = ["started_at bigint"];
const stopColumns = "name text primary key, stopped_at bigint not null";

type Value = string | number | null;

/** A store on a database that speaks SQL. Each change is one statement. */
export function createSqlStore(database: Database, { schema, texts, worker, stops, index }: Names): OutboxStore {
	const { seq: seqColumn, onConflict, begunAt, begun, find } = database;
	/** Not async: a statement in the caller's transaction runs before the promise is there. */
	const query: Database["query"] = (sql, values, tx) =>
		database.query(sql, values, tx).catch((error: unknown) => {
			throw withoutValues(error, values);
		});
	const stopNow = database.stopNow(texts);
	const textsOf = async (sql: string, values: Value[]): Promise<OutboxText[]> =>
		(await query(sql, values)).map(textFrom);
	const first = async (sql: string, value: string | number): Promise<OutboxText | undefined> =>
		(await textsOf(sql, [value]))[0];
	// When a recipient was last stopped: by a text that was lost, or by `cancelAll`. The values are `$one` and `$one + 1`.
	const lostAt = (one: number): string =>
		`select max(stopped_at) from ${texts} where recipient = $${one} and agency_id = $${one + 1} and stopped_at is not null`;
	const cancelledAt = (one: number): string =>
		`select max(stopped_at) from ${stops} where name in ($${one}, $${one + 1})`;

	/** Adds the recipients with a due text of a priority, without returning those of a long queue one by one. */
	async function findDue(
		priority: number,
		now: number,
		limit: number,
		found: Map<string, DueRecipient>,
	): Promise<void> {
		let after: [nextAt: number, seq: number] = [-1, -1];
		for (;;) {
			const known = padded([...found.values()]);
			const others = known.map((_, at) => `($${2 * at + 5}, $${2 * at + 6})`).join(", ");
			const rows = await query(
				`select agency_id, recipient, seq, next_at from ${texts}
				where next_at is not null and priority = $1 and next_at <= $2 and (next_at, seq) > ($3, $4)
					${others && `and (recipient, agency_id) not in (values ${others})`}
				order by next_at, seq limit ${dueRows}`,
				[priority, now, ...after, ...known.flatMap(({ to, agencyId }) => [to, agencyId])],
			);
			for (const { agency_id, recipient, seq, next_at } of rows) {
				const due = { agencyId: String(agency_id), to: String(recipient), seq: Number(seq) };
				const name = `${due.agencyId} ${due.to}`;
				if (!found.has(name)) found.set(name, due);
				if (found.size === limit) return;
				after = [Number(next_at), due.seq];
			}
			if (rows.length < dueRows) return;
		}
	}

	const exists = async (name: string): Promise<boolean> => (await query(find, [name])).length > 0;

	async function create(name: string, statement: string): Promise<void> {
		if (await exists(name)) return;
		// "if not exists" fails in PostgreSQL when another process creates the same at that moment. Then it is there.
		await query(statement, []).catch(() => query(statement, []));
	}

	async function createSchema(): Promise<void> {
		if (schema === "") return;
		const name = schema.slice(0, -1);
		const [found] = await query("select 1 where to_regnamespace($1) is not null", [name]);
		// Asked first, because "if not exists" needs the right to create it even when it is there.
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

	return {
		async migrate() {
			await createSchema();
			await create(texts, `create table if not exists ${texts} (${seqColumn}, ${columns})`);
			await create(worker, `create table if not exists ${worker} (${workerColumns})`);
			await create(stops, `create table if not exists ${stops} (${stopColumns})`);
			await addColumns(texts, addedColumns);
			await addColumns(worker, addedWorkerColumns);
			const former: string[] = [];
			for (const name of formerIndexes) if (await exists(`${texts}_${name}`)) former.push(name);
			if (former.length > 0) for (const change of conversions) await query(`update ${texts} set ${change}`, []);
			for (const [name, on] of Object.entries(indexes))
				await create(`${texts}_${name}`, `create index if not exists ${index}_${name} on ${texts} ${on}`);
			// Last, because they are the sign of a table that is not converted yet.
			for (const name of former) await query(`drop index if exists ${schema}${index}_${name}`, []);
		},
		async insert(text, tx) {
			const { id, agencyId, to, body, subaccountId, consentLanguage, notBefore, notAfter, priority, createdAt } = text;
			const readyAt = notBefore ?? 0;
			const [stored] = await query(
				`insert into ${texts} (id, agency_id, recipient, body, subaccount_id, consent_language, not_before, not_after,
					priority, created_at, state, since, next_at, ready_at, version, progress, begun_at)
				values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'waiting', $10, $11, $12, 0, $13, ${begunAt})
				on conflict (id) ${onConflict} returning *`,
				[
					...[id, agencyId, to, body, subaccountId, consentLanguage, notBefore, notAfter, priority, createdAt],
					...[Math.max(createdAt, readyAt), readyAt, JSON.stringify(text.progress)],
				],
				tx,
			);
			const row = stored ?? (await query(`select * from ${texts} where id = $1`, [id], tx))[0];
			if (!row) throw new Error("The text was not stored.");
			return textFrom(row);
		},
		find: (id) => first(`select * from ${texts} where id = $1`, id),
		async open(recipient, limit, now) {
			const { agencyId, to } = recipient;
			const rows = await query(
				`select t.*, ${begun} as begun, (${lostAt(1)}) as lost_at, (${cancelledAt(5)}) as cancelled_at from ${texts} t
				where recipient = $1 and agency_id = $2 and next_at is not null and state in ${open}
					and (attempted = 1 or ready_at <= $3)
				order by attempted desc, priority desc, seq limit $4`,
				// The few that were attempted are ordered here, so that the database needs to sort nothing.
				[to, agencyId, now, Math.max(limit, 10), ...(await stopNames(recipient))],
			);
			const found = rows.map(({ begun, lost_at, cancelled_at, ...row }) => ({
				...textFrom(row),
				stoppedBy: stoppedBy(Number(begun), lost_at, cancelled_at),
			}));
			return found.sort((one, other) => rankOf(one) - rankOf(other)).slice(0, limit);
		},
		unfinished: ({ agencyId, to = "" }) =>
			textsOf(
				`select * from ${texts} where recipient = $1 and next_at is not null and state in ${open}
					${agencyId === undefined ? "" : "and agency_id = $2"} order by seq`,
				agencyId === undefined ? [to] : [to, agencyId],
			),
		followed: ({ agencyId, to }, now) =>
			textsOf(
				`select * from ${texts}
				where recipient = $1 and agency_id = $2 and next_at <= $3 and state in ${quoted(followed)} order by seq`,
				[to, agencyId, now],
			),
		async save(text, { stops: isStop = false, unlessStopped = false } = {}) {
			const { seq, version, state, reason, since, nextAt, readyAt, messageId, queueId, unacknowledged, progress } =
				text;
			const values: Value[] = [seq, version, state, reason, since, nextAt, readyAt, messageId, queueId, unacknowledged];
			values.push(Number(progress.attempts > 0), JSON.stringify(progress));
			let guard = "";
			if (unlessStopped) {
				values.push(text.to, text.agencyId, ...(await stopNames(text)));
				guard = [lostAt(13), cancelledAt(15)].map((stop) => `and ${begun} > coalesce((${stop}), -1)`).join(" ");
			}
			const rows = await query(
				`update ${texts} set state = $3, reason = $4, since = $5, next_at = $6, ready_at = $7, message_id = $8,
					queue_id = $9, unacknowledged = $10, attempted = $11, progress = $12, version = version + 1
					${isStop ? `, stopped_at = ${stopNow}` : ""}
				where seq = $1 and version = $2 ${guard} returning seq`,
				values,
			);
			if (isStop) await nextMoment();
			return rows.length > 0;
		},
		async stop(recipient) {
			const [name] = await stopNames(recipient);
			await query(
				`insert into ${stops} (name, stopped_at) values ($1, ${stopNow})
				on conflict (name) do update set stopped_at = excluded.stopped_at`,
				[name ?? ""],
			);
			await nextMoment();
		},
		async postpone({ agencyId, to }, until, now) {
			await query(
				// Asked twice, because another worker may change a row between the two.
				`update ${texts} set next_at = $3 where next_at < $3 and state in ('waiting', 'held') and seq in (
					select seq from ${texts}
					where recipient = $1 and agency_id = $2 and next_at < $3 and state in ('waiting', 'held') and ready_at <= $4
					order by next_at limit ${mostPostponed})`,
				[to, agencyId, until, now],
			);
		},
		async putOff({ agencyId, to }, until) {
			const where = "recipient = $1 and agency_id = $2 and next_at < $3";
			await query(`update ${texts} set next_at = $3 where ${where}`, [to, agencyId, until]);
		},
		async wake({ agencyId, to = "" }, now) {
			const who = agencyId === undefined ? "recipient = $2" : "recipient = $2 and agency_id = $3";
			const ready = "case when state = 'waiting' and attempted = 0 and ready_at > $1 then ready_at else $1 end";
			await query(
				`update ${texts} set next_at = ${ready}, version = version + 1
				where ${who} and next_at > ${ready} and state in ('waiting', 'held')`,
				agencyId === undefined ? [now, to] : [now, to, agencyId],
			);
		},
		async recover(now) {
			const ready = "case when state = 'waiting' and attempted = 0 and ready_at > $1 then ready_at else $1 end";
			await query(`update ${texts} set next_at = ${ready} where next_at > ${ready} and state in ${open}`, [now]);
		},
		async due(now, limit) {
			const found = new Map<string, DueRecipient>();
			let below = Number.MAX_SAFE_INTEGER;
			while (found.size < limit) {
				const highest = `select priority from ${texts}
					where next_at is not null and next_at <= $2 and priority < $1 order by priority desc limit 1`;
				const [row] = await query(highest, [below, now]);
				if (!row) break;
				below = Number(row.priority);
				await findDue(below, now, limit, found);
			}
			return [...found.values()];
		},
		async nextDue(after = -1) {
			const sql = `select min(next_at) as next_at from ${texts} where next_at > $1`;
			const [row] = await query(sql, [after]);
			return row && row.next_at !== null ? Number(row.next_at) : undefined;
		},
		async nextOf({ agencyId, to }) {
			const sql = `select next_at from ${texts}
				where recipient = $1 and agency_id = $2 and next_at is not null order by next_at limit 1`;
			const [row] = await query(sql, [to, agencyId]);
			return row && Number(row.next_at);
		},
		async recipientOf(seq) {
			const row = await first(`select * from ${texts} where seq = $1`, seq);
			return row && row.to !== "" ? { agencyId: row.agencyId, to: row.to } : undefined;
		},
		async claimed({ agencyId, to }) {
			const sql = `select message_id from ${texts}
				where agency_id = $1 and recipient = $2 and message_id is not null order by seq desc limit 100`;
			return (await query(sql, [agencyId, to])).map((row) => String(row.message_id));
		},
		byMessage: (messageId) => first(`select * from ${texts} where message_id = $1`, messageId),
		unacknowledged: (limit) =>
			textsOf(`select * from ${texts} where unacknowledged is not null order by since, seq limit $1`, [limit]),
		async acknowledge(changes, tx) {
			// All statements begin here, because what is awaited is not part of a synchronous transaction.
			const statements = inChunks(changes, mostAcknowledged).map((some) => {
				const pairs = some.map((_, at) => `($${2 * at + 1}, cast($${2 * at + 2} as bigint))`).join(", ");
				const sql = `update ${texts} set unacknowledged = null where (id, unacknowledged) in (values ${pairs})`;
				const values = some.flatMap(({ id, revision }) => [id, revision]);
				return query(sql, values, tx);
			});
			await Promise.all(statements);
		},
		async erase(which) {
			const values =
				"id" in which ? [which.id] : [which.to ?? "", ...(which.agencyId === undefined ? [] : [which.agencyId])];
			const where = "id" in which ? "id = $1" : `recipient = $1 ${values.length > 1 ? "and agency_id = $2" : ""}`;
			await query(
				`update ${texts} set recipient = '', body = '', subaccount_id = null, consent_language = null, message_id = null,
					queue_id = null, progress = '{}', next_at = null, version = version + 1
				where ${where} and state not in ${open}`,
				values,
			);
		},
		async purge(before) {
			const sql = `delete from ${texts} where next_at is null and since < $1 and recipient <> '' returning seq`;
			return (await query(sql, [before])).length;
		},
		async worker() {
			const [row] = await query(`select * from ${worker} where one = 1`, []);
			if (!row) return undefined;
			const { token, host, pid, beat_at, started_at } = row;
			return {
				token: String(token),
				host: String(host),
				pid: Number(pid),
				startedAt: started_at === null ? undefined : Number(started_at),
				beatAt: Number(beat_at),
			};
		},
		async takeOver({ token, host, pid, startedAt, beatAt }, from) {
			const values = [token, host, pid, startedAt ?? null, beatAt];
			const fields = "token, host, pid, started_at, beat_at";
			const rows = await (from === null
				? query(
						`insert into ${worker} (one, ${fields}) values (1, $1, $2, $3, $4, $5) on conflict (one) do nothing returning one`,
						values,
					)
				: query(
						`update ${worker} set token = $1, host = $2, pid = $3, started_at = $4, beat_at = $5
						where one = 1 and token = $6 returning one`,
						[...values, from],
					));
			return rows.length > 0;
		},
		async leave(token) {
			await query(`delete from ${worker} where token = $1`, [token]);
		},
	};
}

/** The list at a power of two, filled up with its first one, so that there are few different statements to prepare. */
function padded<Each>(list: readonly Each[]): Each[] {
	const length = list.length === 0 ? 0 : 2 ** Math.ceil(Math.log2(list.length));
	return Array.from({ length }, (_, at) => list[at] ?? (list[0] as Each));
}

function inChunks<Each>(list: readonly Each[], size: number): Each[][] {
	return Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size));
}

/** Waits until a transaction that begins has a later time than the stop: the clock of PGlite counts milliseconds. */
function nextMoment(): Promise<void> {
	return new Promise((resolve) => setTimeout(resolve, 2));
}

/** The names under which a stop is stored: that of the recipient, and that of the number in all agencies. Neither holds the number. */
async function stopNames({ agencyId = "", to = "" }: Partial<Recipient>): Promise<string[]> {
	return Promise.all([agencyId, ""].map((agency) => operationIdFrom("stop", `agency ${agency}`, to)));
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
const internal = /^(attempted|begunAt|stoppedAt)$/;

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

/**
 * Waits while another connection writes to SQLite, or a transaction of the caller's is open. Repeats a statement that PostgreSQL
 * ended because of another one that touched the same rows.
 */
export async function retryLocked(act: () => Promise<Row[]> | undefined): Promise<Row[]> {
	const end = Date.now() + longestWaitMs;
	for (let wait = 1; ; wait = Math.min(50, wait * 2)) {
		try {
			const rows = await act();
			if (rows) return rows;
			if (Date.now() > end) throw new Error("A transaction has been open on the outbox's connection for 10 seconds.");
		} catch (error) {
			if (!isLocked(error) || Date.now() > end) throw error;
		}
		await new Promise((resolve) => setTimeout(resolve, wait));
	}
}
