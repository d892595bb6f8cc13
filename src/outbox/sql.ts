import { fields, refuse } from "./check.ts";
import type { OutboxStore } from "./store.ts";
import { followed, newProgress, type OutboxText, unfinished } from "./text.ts";

/** Options of {@link sqliteStore} and {@link postgresStore}. */
export interface StoreOptions {
	/**
	 * Name of the table of texts; the worker's begins with it. PostgreSQL takes a schema before it, as `crm.outbox_text`.
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
	/** Selects a row when the table or the index named by `$1` exists. Without it, `migrate` runs every `create … if not exists`. */
	find?: string;
}

/** Names of the tables. */
export interface Names {
	/** The texts. */
	texts: string;
	/** The one process that works. */
	worker: string;
	/** Prefix of the names of indexes. */
	index: string;
}

/** Checks the table's name, because it goes into statements as it is. */
export function namesFrom(options: StoreOptions, operation: "sqliteStore" | "postgresStore"): Names {
	fields("options", options, operation, "table");
	const { table = "outbox_text" } = options;
	if (typeof table !== "string" || !/^([a-z_]\w{0,39}\.)?[a-z_]\w{0,39}$/i.test(table))
		refuse("table", "must be a name of letters, digits and _, or schema.name", operation);
	return { texts: table, worker: `${table}_worker`, index: table.replace(/.*\./, "") };
}

const quoted = (states: readonly string[]): string => `('${states.join("', '")}')`;
const open = quoted(unfinished);

/** The indexes: no statement of a step reads more rows than it uses. */
const indexes = {
	due: "(next_at) where next_at is not null",
	lane: "(agency_id, recipient, next_at, seq) where next_at is not null",
	recipient: "(recipient) where next_at is not null",
	sent: "(agency_id, recipient, seq) where message_id is not null",
	message: "(message_id) where message_id is not null",
	ended: "(since) where next_at is null",
};

/** The columns of the texts, as both databases take them. */
const columns = `id text not null unique, agency_id text not null, recipient text not null, body text not null,
	subaccount_id text, consent_language text, not_after bigint, created_at bigint not null, state text not null,
	since bigint not null, next_at bigint, version bigint not null, message_id text, queue_id text, progress text not null`;

const workerColumns = "one bigint primary key, token text not null, host text, pid bigint, beat_at bigint";

/** A store on a database that speaks SQL. Each method is one statement. */
export function createSqlStore(
	{ query, seq: seqColumn, find }: Database,
	{ texts, worker, index }: Names,
): OutboxStore {
	const textsOf = async (sql: string, values: (string | number | null)[]): Promise<OutboxText[]> =>
		(await query(sql, values)).map(textFrom);
	const first = async (sql: string, value: string): Promise<OutboxText | undefined> => (await textsOf(sql, [value]))[0];

	return {
		async migrate() {
			const create = async (name: string, statement: string): Promise<void> => {
				if (find && (await query(find, [name]))[0]) return;
				// "if not exists" fails in PostgreSQL when another process creates the same at that moment. Then it is there.
				await query(statement, []).catch(() => query(statement, []));
			};
			await create(texts, `create table if not exists ${texts} (${seqColumn}, ${columns})`);
			await create(worker, `create table if not exists ${worker} (${workerColumns})`);
			for (const [name, on] of Object.entries(indexes)) {
				await create(`${texts}_${name}`, `create index if not exists ${index}_${name} on ${texts} ${on}`);
			}
		},
		async insert(text, tx) {
			const { id, agencyId, to, body, subaccountId, consentLanguage, notAfter, createdAt, progress } = text;
			const [stored] = await query(
				`insert into ${texts} (id, agency_id, recipient, body, subaccount_id, consent_language, not_after, created_at,
					state, since, next_at, version, progress)
				values ($1, $2, $3, $4, $5, $6, $7, $8, 'waiting', $8, $8, 0, $9)
				on conflict (id) do nothing returning *`,
				[id, agencyId, to, body, subaccountId, consentLanguage, notAfter, createdAt, JSON.stringify(progress)],
				tx,
			);
			const row = stored ?? (await query(`select * from ${texts} where id = $1`, [id], tx))[0];
			if (!row) throw new Error("The text was not stored.");
			return textFrom(row);
		},
		find: (id) => first(`select * from ${texts} where id = $1`, id),
		open: ({ agencyId, to }, limit) =>
			textsOf(
				`select * from ${texts}
				where agency_id = $1 and recipient = $2 and next_at is not null and state in ${open}
				order by case state when 'sending' then 0 when 'held' then 1 else 2 end, seq limit $3`,
				[agencyId, to, limit],
			),
		followed: ({ agencyId, to }, now) =>
			textsOf(
				`select * from ${texts}
				where agency_id = $1 and recipient = $2 and next_at <= $3 and state in ${quoted(followed)} order by seq`,
				[agencyId, to, now],
			),
		async save({ seq, version, state, since, nextAt, messageId, queueId, progress }) {
			const rows = await query(
				`update ${texts} set state = $3, since = $4, next_at = $5, message_id = $6, queue_id = $7, progress = $8,
					version = version + 1
				where seq = $1 and version = $2 returning seq`,
				[seq, version, state, since, nextAt, messageId, queueId, JSON.stringify(progress)],
			);
			return rows.length > 0;
		},
		async postpone({ agencyId, to }, until) {
			await query(
				`update ${texts} set next_at = $3
				where agency_id = $1 and recipient = $2 and next_at < $3 and state in ('waiting', 'held')`,
				[agencyId, to, until],
			);
		},
		async wake({ agencyId, to = "" }, now) {
			const lane = agencyId === undefined ? "recipient = $2" : "agency_id = $3 and recipient = $2";
			await query(
				`update ${texts} set next_at = $1, version = version + 1 where ${lane} and next_at > $1 and state in ('waiting', 'held')`,
				agencyId === undefined ? [now, to] : [now, to, agencyId],
			);
		},
		async recover(now) {
			await query(`update ${texts} set next_at = $1 where next_at > $1 and state in ${open}`, [now]);
		},
		async due(now, limit) {
			// Only the text of each lane that has been due for the longest, so that a long lane takes no other's place.
			const sql = `select agency_id, recipient from ${texts} t where next_at <= $1 and seq = (
					select e.seq from ${texts} e
					where e.agency_id = t.agency_id and e.recipient = t.recipient and e.next_at is not null
					order by e.next_at, e.seq limit 1)
				order by next_at limit $2`;
			return (await query(sql, [now, limit])).map((row) => ({
				agencyId: String(row.agency_id),
				to: String(row.recipient),
			}));
		},
		async nextDue(after = -1) {
			const sql = `select next_at from ${texts} where next_at > $1 order by next_at limit 1`;
			const [row] = await query(sql, [after]);
			return row && Number(row.next_at);
		},
		async claimed({ agencyId, to }) {
			const sql = `select message_id from ${texts}
				where agency_id = $1 and recipient = $2 and message_id is not null order by seq desc limit 100`;
			return (await query(sql, [agencyId, to])).map((row) => String(row.message_id));
		},
		byMessage: (messageId) => first(`select * from ${texts} where message_id = $1`, messageId),
		async purge(before) {
			return (await query(`delete from ${texts} where next_at is null and since < $1 returning seq`, [before])).length;
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

/** The columns that are numbers, which PostgreSQL gives as strings. */
const numbers = /^(seq|notAfter|createdAt|since|nextAt|version)$/;

function textFrom(row: Row): OutboxText {
	const fields = Object.entries(row).map(([column, value]) => {
		// The ORM whose `tx` ran the statement may have renamed the columns already.
		const name = column.replace(/_(.)/, (_, letter: string) => letter.toUpperCase());
		return [name, value !== null && numbers.test(name) ? Number(value) : value];
	});
	const { recipient: to, progress, ...text } = Object.fromEntries(fields);
	return { ...text, to, progress: { ...newProgress, ...JSON.parse(progress) } };
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
