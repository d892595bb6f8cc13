import { operationIdFrom } from "messaging-conversations";
import { fields, refuse } from "./input.ts";
import { progressFrom } from "./progress.ts";
import type { DueRecipient, OutboxStore } from "./store.ts";
import { followed, type OpenText, type OutboxText, type Recipient, unfinished } from "./text.ts";

/** Options of {@link sqliteStore} and {@link postgresStore}. */
export interface StoreOptions {
	/**
	 * Name of the table of texts. The names of the other two begin with it. PostgreSQL takes a schema before it, as `crm.outbox_text`.
	 * @default "outbox_text"
	 */
	table?: string | undefined;
}

/** The result of a statement. */
export interface Rows {
	/** Its rows. */
	rows: unknown[];
}

/** A row as a database gives it. */
export type Row = Record<string, unknown>;

/** A database, as a store uses it. Statements have `$1`, `$2`, … for their values. */
export interface Database {
	/** Runs one statement; through `tx` when there is one. */
	query: (sql: string, values: (string | number | null)[], tx?: unknown) => Promise<Row[]>;
	/** The column of the order of arrival. */
	seq: string;
	/** What `insert` stores as `begun_at`: the moment at which the transaction began. */
	begunAt: string;
	/** The column that says when the transaction of a text began. */
	begun: "begun_at" | "seq";
	/** The moment of a stop. `begun` of every text whose transaction began before is smaller or equal. */
	stopNow: (texts: string) => string;
	/** Selects a row when the table or the index named by `$1` exists. Without it, `migrate` runs every `create … if not exists`. */
	find?: string;
}

/** Names of the tables. */
export interface Names {
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
	if (typeof table !== "string" || !/^([a-z_]\w{0,39}\.)?[a-z_]\w{0,39}$/i.test(table))
		refuse("table", "must be a name of letters, digits and _, or schema.name", operation);
	return { texts: table, worker: `${table}_worker`, stops: `${table}_stop`, index: table.replace(/.*\./, "") };
}

const quoted = (states: readonly string[]): string => `('${states.join("', '")}')`;
const open = quoted(unfinished);

/** The indexes: no statement of a step reads more rows than it uses. */
const indexes = {
	due: "(priority, next_at, recipient, agency_id, seq) where next_at is not null",
	next: "(next_at) where next_at is not null",
	turn: `(recipient, agency_id, attempted desc, priority desc, seq) where next_at is not null and state in ${open}`,
	queue: "(recipient, agency_id, next_at, seq) where next_at is not null",
	sent: "(agency_id, recipient, seq) where message_id is not null",
	message: "(message_id) where message_id is not null",
	ended: "(since) where next_at is null",
	stopped: "(recipient, agency_id) where stopped_at is not null",
	unacknowledged: "(since, seq) where unacknowledged is not null",
};

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

/** Rows of one query for what is due. */
const dueRows = 200;
/** A longer queue is put off in several steps, between which other queues have their turn. */
const mostPostponed = 1_000;

const workerColumns = "one bigint primary key, token text not null, host text, pid bigint, beat_at bigint";
const stopColumns = "name text primary key, stopped_at bigint not null";

type Value = string | number | null;

/** A store on a database that speaks SQL. Each change is one statement. */
export function createSqlStore(database: Database, { texts, worker, stops, index }: Names): OutboxStore {
	const { query, seq: seqColumn, begunAt, begun, find } = database;
	const stopNow = database.stopNow(texts);
	const textsOf = async (sql: string, values: Value[]): Promise<OutboxText[]> =>
		(await query(sql, values)).map(textFrom);
	const first = async (sql: string, value: string | number): Promise<OutboxText | undefined> =>
		(await textsOf(sql, [value]))[0];
	/** The last moment at which a recipient was stopped, by a text that was lost or by a call, from the values `$one` and `$one + 1`. */
	const lostAt = (one: number): string =>
		`select max(stopped_at) from ${texts} where recipient = $${one} and agency_id = $${one + 1} and stopped_at is not null`;
	const cancelledAt = (one: number): string =>
		`select max(stopped_at) from ${stops} where name in ($${one}, $${one + 1})`;

	/** Adds the recipients with a due text of a priority, without reading those of a long queue one by one. */
	async function findDue(
		priority: number,
		now: number,
		limit: number,
		found: Map<string, DueRecipient>,
	): Promise<void> {
		for (;;) {
			const numbers = [...new Set([...found.values()].map(({ to }) => to))];
			const others = numbers.map((_, at) => `$${at + 3}`).join(", ");
			const rows = await query(
				`select agency_id, recipient, seq from ${texts}
				where next_at is not null and priority = $1 and next_at <= $2
					${others && `and recipient not in (${others})`}
				order by next_at limit ${dueRows}`,
				[priority, now, ...numbers],
			);
			for (const { agency_id, recipient, seq } of rows) {
				const due = { agencyId: String(agency_id), to: String(recipient), seq: Number(seq) };
				const name = `${due.agencyId} ${due.to}`;
				if (!found.has(name)) found.set(name, due);
				if (found.size === limit) return;
			}
			if (rows.length < dueRows) return;
		}
	}

	return {
		async migrate() {
			const create = async (name: string, statement: string): Promise<void> => {
				if (find && (await query(find, [name]))[0]) return;
				// "if not exists" fails in PostgreSQL when another process creates the same at that moment. Then it is there.
				await query(statement, []).catch(() => query(statement, []));
			};
			await create(texts, `create table if not exists ${texts} (${seqColumn}, ${columns})`);
			await create(worker, `create table if not exists ${worker} (${workerColumns})`);
			await create(stops, `create table if not exists ${stops} (${stopColumns})`);
			for (const column of addedColumns) {
				const name = column.replace(/ .*/, "");
				const isThere = () =>
					query(`select ${name} from ${texts} limit 0`, []).then(
						() => true,
						() => false,
					);
				if (await isThere()) continue;
				await query(`alter table ${texts} add column ${column}`, []).catch(async (error: unknown) => {
					// Another process may have added it at that moment.
					if (!(await isThere())) throw error;
				});
			}
			await query(`update ${texts} set state = 'unknown' where state = 'unclear'`, []);
			for (const [name, on] of Object.entries(indexes)) {
				await create(`${texts}_${name}_2`, `create index if not exists ${index}_${name}_2 on ${texts} ${on}`);
			}
			// Those of earlier versions.
			const schema = texts.includes(".") ? texts.replace(/\..*/, ".") : "";
			for (const name of ["due", "lane", "recipient", "sent", "message", "ended"])
				await query(`drop index if exists ${schema}${index}_${name}`, []);
		},
		async insert(text, tx) {
			const { id, agencyId, to, body, subaccountId, consentLanguage, notBefore, notAfter, priority, createdAt } = text;
			const readyAt = notBefore ?? 0;
			const [stored] = await query(
				`insert into ${texts} (id, agency_id, recipient, body, subaccount_id, consent_language, not_before, not_after,
					priority, created_at, state, since, next_at, ready_at, version, progress, begun_at)
				values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'waiting', $10, $11, $12, 0, $13, ${begunAt})
				on conflict (id) do nothing returning *`,
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
			return rows.length > 0;
		},
		async stop(recipient) {
			const [name] = await stopNames(recipient);
			await query(
				`insert into ${stops} (name, stopped_at) values ($1, ${stopNow})
				on conflict (name) do update set stopped_at = excluded.stopped_at`,
				[name ?? ""],
			);
		},
		async postpone({ agencyId, to }, until, now) {
			await query(
				`update ${texts} set next_at = $3 where seq in (
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
				const highest = `select priority from ${texts} where next_at is not null and priority < $1 order by priority desc limit 1`;
				const [row] = await query(highest, [below]);
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
			const pairs = changes.map((_, at) => `(id = $${2 * at + 1} and unacknowledged = $${2 * at + 2})`);
			const values = changes.flatMap(({ id, revision }) => [id, revision]);
			await query(`update ${texts} set unacknowledged = null where ${pairs.join(" or ")}`, values, tx);
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
			return (
				row && { token: String(row.token), host: String(row.host), pid: Number(row.pid), beatAt: Number(row.beat_at) }
			);
		},
		async takeOver({ token, host, pid, beatAt }, from) {
			const values = [token, host, pid, beatAt];
			const rows = await (from === null
				? query(`insert into ${worker} values (1, $1, $2, $3, $4) on conflict (one) do nothing returning one`, values)
				: query(
						`update ${worker} set token = $1, host = $2, pid = $3, beat_at = $4 where one = 1 and token = $5 returning one`,
						[...values, from],
					));
			return rows.length > 0;
		},
		async leave(token) {
			await query(`delete from ${worker} where token = $1`, [token]);
		},
	};
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
		// The ORM whose `tx` ran the statement may have renamed the columns already.
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
 * ended because it and another one waited for each other's rows.
 */
export async function retryLocked(act: () => Promise<Row[]> | undefined): Promise<Row[]> {
	const end = Date.now() + longestWaitMs;
	for (let wait = 1; ; wait = Math.min(50, wait * 2)) {
		try {
			const rows = await act();
			if (rows) return rows;
			if (Date.now() > end) throw new Error("A transaction has been open on the outbox's connection for 10 seconds.");
		} catch (error) {
			const isLocked = /SQLITE_(BUSY|LOCKED)|is locked|40P01/.test(`${Reflect.get(Object(error), "code")} ${error}`);
			if (!isLocked || Date.now() > end) throw error;
		}
		await new Promise((resolve) => setTimeout(resolve, wait));
	}
}
