import type { Awaitable } from "../awaitable.ts";
import type { OutboxReason } from "../names.ts";
import { allSends, type Band, type ListedState, longestLeaseMs, type Superseded } from "../store.ts";
import { unfinished } from "../text.ts";
import type { Operation } from "../transaction.ts";
import type { Row, Value } from "./connection.ts";
import type { LeaseStatements } from "./leases.ts";
import type { Migration } from "./migration.ts";
import type { Names } from "./names.ts";

/** What a database does for a store. `query` and `change` take a statement with `$1`, `$2`, … for its values. */
export interface Database {
	/** Runs one statement, and gives its rows. */
	query: (sql: string, values: Value[]) => Promise<Row[]>;
	/** Runs an insert, an update or a delete, and gives the number of rows. */
	change: (sql: string, values: Value[]) => Promise<number>;
	/** Reads the clock of the database as `ms`, over the connection of the caller's transaction if there is one. */
	time?: (tx: unknown) => Promise<Row[]>;
	/** Reads the timeline of PostgreSQL. Undefined if it may not be read. */
	timeline?: () => Promise<number | undefined>;
	/** Refuses a connection that changes what it reads. */
	check: () => Promise<unknown>;
	/** Refuses a role to which the database shows some of the rows alone. */
	checkRows?: () => Promise<unknown>;
	/** Runs the migrations that are missing, then those of a later version. */
	migrate: (later: readonly Migration[]) => Promise<unknown>;
	/** Stores texts, or finds those that have their ids. Each has the values of {@link insertedColumns}. */
	insert: (texts: Value[][]) => Promise<Row[]>;
	/**
	 * The same in the caller's open transaction. The statement that proves the transaction begins before this returns. Throws
	 * `PartnerInvalidInput` if it cannot prove that what it stores disappears with the transaction.
	 */
	insertIn: (tx: unknown, texts: Value[][]) => Awaitable<Row[]>;
	/** The same for one text that takes the place of another one. Gives the rows of both, as `supersede` of a store does. */
	supersedeIn: (tx: unknown, text: Value[], old: SupersededRow) => Awaitable<{ text?: Row; old?: Row }>;
	/** Cancels a text in the caller's open transaction, with the same proof, and gives its row. */
	cancelIn: (tx: unknown, id: string, now: number, by: string | null) => Promise<Row | undefined>;
	/** Acknowledges changes in the caller's open transaction, with the same proof. The values are ids, each with its revision. */
	acknowledgeIn: (tx: unknown, values: Value[]) => Promise<unknown>;
	/** Changes rows in the caller's open transaction, and gives their number. */
	changeIn: (tx: unknown, operation: Operation, sql: string, values: Value[]) => Promise<number>;
	/** Acknowledges changes. */
	acknowledge: (values: Value[]) => Promise<unknown>;
	/** The names of the tables. */
	names: Names;
	/** The statements. */
	statements: Statements;
}

/** Rows that one statement of a change of many finds, and changes. */
export const atOnce = 500;

/**
 * A change of texts, whatever their number: a statement that finds the next ones in the order of an index, and which of them fit,
 * and one that changes those. `:seq` and `:since` are of the last one before, `:last` is the last one there was at the
 * beginning, and `:keys` are the ones to change. No statement reads more than {@link atOnce} rows, whether they fit or not. MySQL locks
 * each row that an update reads, also one that a caller has not committed, but a select reads without locks.
 */
export interface Change {
	keys: string;
	change: string;
}

/**
 * The change of the texts that fit, in the order of arrival.
 *
 * @param act the update without its condition, or the delete
 * @param among a condition of which an index has the texts in their order
 * @param end what comes after the condition
 */
export function changing(
	texts: string,
	act: string,
	{
		among,
		fits,
		index = "",
		end = "returning 1 as one",
	}: { among: string; fits: string; index?: string; end?: string },
): Change {
	return {
		keys: `select seq, case when ${fits} then 1 else 0 end as fits from ${texts} ${index}
			where ${among} and seq > :seq order by seq limit ${atOnce}`,
		change: `${act} where seq in (:keys) and ${among} and ${fits} ${end}`,
	};
}

/**
 * Whether a request of an unfinished text could have begun in the time that was lost: from `$1` to `$2`. `$3` is the number of the
 * restoration, under which each text is marked once. One that is still marked may get an earlier beginning.
 */
export const mayHaveBegun: string = (() => {
	const isDue = "(attempts > 0 or ready_at <= $2)";
	// Its quiet hours were not over by then.
	const isAsleep = "(coalesce(reason, '') = 'quiet_hours' and next_at > $2)";
	const isWaiting = `(state <> 'waiting' or (${isDue} and (not_after is null or not_after >= $1) and not ${isAsleep}))`;
	const isEarlier = "(restore_number = $3 and restored_to is not null and restored_from > $1)";
	return `((restore_number < $3 and created_at <= $2 and ${isWaiting}) or ${isEarlier})`;
})();

/** All texts that were there at the beginning. */
export const everyText = "seq <= :last";

/** A text whose place another one takes. */
export interface SupersededRow extends Superseded {
	/** The text that takes its place. */
	by: string;
	now: number;
}

/** What `save` does beside the change of the row. */
export interface SaveOptions {
	/** It changes nothing if the recipient was stopped. */
	isGuarded: boolean;
	/** It changes nothing if the lease is lost, and prolongs it. */
	isLeased: boolean;
}

/** Whether a worker looks for texts to send, for what is only to be read, or for one queue to try while everybody is paused. */
export type Turns = "send" | "read" | "probe";

/**
 * Which bands of an agency are claimed. While a person has suspended it, all its queues are only read: what was sent is followed,
 * and what is too old expires.
 */
export function bandsOf(what: Turns, isSuspended: boolean): readonly Band[] {
	if (what === "read") return isSuspended ? [0, 1, 2, 3] : [3];
	if (what === "probe") return isSuspended ? [3] : [0, 1, 2, 3];
	return isSuspended ? [] : [0, 1, 2];
}

/** The statements of a database, each with its values. An empty agency means all agencies. */
export interface Statements extends LeaseStatements {
	/** id */
	find: string;
	/** message id */
	byMessage: string;
	/** recipient, agency, now, limit; key and hash of the contact. For all of them the last one before in place of the limit */
	open: (isAll: boolean) => string;
	/** recipient, agency, the last one before */
	unfinished: string;
	/**
	 * The next texts of an agency, and which are unfinished. A statement reads {@link atOnce} rows of an index, whether they fit or not.
	 * agency, `planned_at` and `seq` of the last one before, the last one there was at the beginning
	 */
	unfinishedOf: string;
	/** recipient, agency, now */
	followed: string;
	/** recipient, agency, now */
	nextOf: string;
	/** recipient, agency */
	claimed: string;
	/** limit */
	unacknowledged: (withHeld: boolean) => string;
	/** The values that {@link saved} names. */
	save: (options: SaveOptions) => string;
	/** Before a `save` with a lease: lease, token, its length */
	prolong?: string;
	/** agency, hash, key, source. Hash and key are empty for all contacts of the agency. */
	stop: string;
	/** What the outbox knows of itself. */
	meta: string;
	/** new keys, the keys as they were read */
	addKeys: string;
	/** From now on `purge` keeps what was not acknowledged. */
	useSettled: string;
	/** One row. The value with the agency, and the number of the first one of the names: key and hash, of each. */
	facts: (names: number, agency: string, from: number) => string;
	/** agency, hash, key; time of each column, with its details. Of one contact, or of several, each of which is another one */
	note: (columns: readonly string[], count?: number) => string;
	/** The next contacts behind one. key, hash, agency */
	contacts: string;
	/** key, hashes */
	contactsOf: (count: number) => string;
	/** key, hash, agency */
	forgetNames: string;
	/** The next numbers that texts have, behind one. number */
	numbers: string;
	/** now, recipient, agency */
	wake: Change;
	wakeQueues: string;
	asleep: string;
	/** now, agency, until */
	awaken: Change;
	/** now */
	recover: Change;
	/** now, the ids that the queues lie between */
	recoverQueues: string;
	recoverPauses: string;
	/** from, to, number of the restoration */
	restored: Change;
	/** from, to, source, by */
	noteRestored: string;
	/** from, to, source, the number before */
	declareRestore: string;
	/** from, number */
	joinRestore: string;
	/** number. Requests may begin again, unless a living worker does not know of the restoration yet. */
	closeRestore: string;
	/** recipient, agency */
	erase: Change[];
	/** id */
	eraseOne: Change[];
	/** The last text. */
	last: string;
	/** before */
	purge: (keepsUnacknowledged: boolean) => Change;
	/** before. It comes first, so that nobody takes the rows for lost. */
	notePurge: string;

	/** limit: texts that no worker has put into their queue */
	newest: string;
	oldest: string;
	/** recipient, agency, band, time, of each */
	addQueues: (count: number) => string;
	adopted: (seqs: string) => string;
	/**
	 * Lets new rows have keys that no row has. Only PostgreSQL gives a key that a row already has, if that row was copied with it
	 * from another database.
	 */
	keysForward?: readonly string[];
	/** now, length of a turn. The turn to look for texts that are in no queue. */
	takeHealing: string;
	/**
	 * The next unfinished texts, and whether a text is astray. now, the place of the last one before: the values of some columns, by
	 * which they are ordered.
	 */
	astray: { sql: string; place: readonly string[]; first: Value[] };
	/** now. Texts that a clock of the future has put off. */
	putForward: (seqs: string) => string;
	/** now. Ends the pauses that such a clock has stored. */
	endFarPauses: string;
	/** recipient, agency */
	removeQueues: string;
	/** Agencies with a queue that is due, and whether they are suspended. now, agencies to leave out */
	turns: (what: Turns, without: number, limit: number) => string;
	/** agency, the time of its last turn */
	serve: string;
	/** The queues of one agency that are due. now, agencies, of which it is the one at `at` */
	due: (band: Band, at: number, limit: number) => string;
	/** token, now, length of the lease. Each row says whether texts that were sent are to be followed by then. */
	take: (ids: string) => string;
	/** token, now. Absent where `take` gives its rows. */
	taken?: (ids: string) => string;
	/** agency, now, limit */
	watched: string;
	/** length of the lease, tokens */
	renew: (count: number) => string;
	/** queue, token, revision */
	remove: string;
	/** queue, token, revision, band, time */
	release: string;
	/** queue, token, revision, recipient, agency, now. It is due when its first text is to be read. */
	rest: string;
	/** queue, token, revision, recipient, agency. It is empty. */
	removeEmpty: string;

	/** agency: what is known of its requests for consent */
	consent: string;
	/** what is known, agency, revision */
	keepConsent: string;
	/** agencies */
	addAgencies: (count: number) => string;
	agencies: string;
	paused: string;
	/** until, failures, reason, agency, cause, since */
	pause: string;
	/** agency */
	resume: string;
	/** until, agency, from */
	probe: string;

	/** agency, reason, by, since */
	suspend: string;
	/** agency, time, by */
	endSuspension: string;
	/** What people have resumed since a time, and that a backup was restored. time */
	declared: string;
	suspended: string;
	/** The next queues: id of the last one before, limit */
	nextQueues: string;
	/** now, agency, the ids that the queues lie between */
	wakeAgency: string;

	/** id, version, whether it calls `runOnce`, number, time, restoration. It does nothing if the row is there. */
	join: string;
	/** id, the number that its row has at least, the number that it gets at least, time, restoration */
	raise: string;
	/** id: the time of its last sign */
	sign: string;
	/** time: that of the last sign of anybody by then */
	signBefore: string;
	/** Before silent workers are forgotten, so that they do not take their rows for lost. */
	noteForgotten: string;
	forgetSilent: string;
	/** The rows of texts that were changed. */
	written: (seqs: string) => string;
	/** seq, id, the version that it has at least */
	touch: string;
	/** id */
	leave: string;
	workers: string;
	/** now, limit */
	counts: string;
	/** limit, agency */
	list: (state: ListedState) => string;
	/**
	 * The next texts before one, of a number or of all, and which of them fit. agency, state, since, the last one before; the number.
	 * A statement reads {@link atOnce} rows of an index, whether they fit or not.
	 */
	search: (isOfNumber: boolean) => string;
	bySeq: (seqs: string) => string;
	/** agency, the bounds of the days */
	countDays: (bounds: readonly number[]) => string;
	/** agency */
	nextAgency: string;
}

/** The columns of a new text. Its state, version and moment come after them. */
export const insertedColumns =
	"id, agency_id, recipient, body, subaccount_id, consent_language, not_before, not_after, purpose, priority, by_whom, why, given, created_at, since, next_at, ready_at, planned_at, progress";

/** The columns that `save` writes. */
export const savedColumns = [
	"state",
	"reason",
	"since",
	"sent_at",
	"ended_at",
	"next_at",
	"ready_at",
	"message_id",
	"queue_id",
	"unacknowledged",
	"attempts",
	"failures",
	"restored_from",
	"restored_to",
	"cancel_reason",
	"progress",
] as const;

/** The value of a statement that comes this far behind those of a saved row: seq, version and the {@link savedColumns}. */
const afterSaved = (at: number): string => `$${2 + savedColumns.length + at}`;

/** What `save` changes, and the values that it takes beside those of the row. */
export const saved = {
	set: savedColumns.map((name, at) => `${name} = $${3 + at}`).join(", "),
	lease: afterSaved(1),
	token: afterSaved(2),
	leaseMs: afterSaved(3),
	isGuarded: afterSaved(4),
	isLeased: afterSaved(5),
	/** The name of the contact. */
	key: afterSaved(6),
	hash: afterSaved(7),
} as const;

/** The order of a contact's texts that wait. By the alphabet a reply comes last and marketing first. */
export const turnOrder = "(attempts > 0) desc, purpose desc, priority desc, seq";

/** The states that keep the contact's next text back, in SQL. */
export const open: string = `('${unfinished.join("', '")}')`;

/** Whether a text has one of these states, as the indexes of PostgreSQL and SQLite have it. */
export const isOpen = `case when state in ${open} then 1 else 0 end`;

/** Whether the queue `q` has texts that are to be followed by a time. */
export const isFollowing = (texts: string, q: string, now: string): string =>
	`case when exists (select 1 from ${texts} f where f.recipient = ${q}.recipient and f.agency_id = ${q}.agency_id
		and f.next_at <= ${now} and f.state in ('sent', 'delivered')) then 1 else 0 end as is_following`;

/** Whether `settled` lists a text: an unfinished one only if it is held, or if a person has to look at its number. */
export const isListed = (withHeld: boolean): string =>
	withHeld ? "(state not in ('waiting', 'sending') or coalesce(reason, '') = 'wrong_number')" : `state not in ${open}`;

/** The columns of a text that is cancelled in a transaction. */
const cancelledColumns = [
	"since",
	"ended_at",
	"next_at",
	"ready_at",
	"unacknowledged",
	"reason",
	"cancel_reason",
	"version",
	"state",
] as const;

/**
 * The change of a text that is cancelled in a transaction. One that was never requested ends. One that was is marked, and a worker
 * ends it, because only its record shows whether it may have been sent: as `cancelling` of `cancel.ts` does outside of a transaction. The
 * state comes last: MySQL reads it as it has just been set.
 */
export function cancelled(reason: "requested" | "superseded", now: string, by?: string): string {
	// What was restored from a backup may have been sent, which the worker finds out.
	const isUnsent = "state = 'waiting' and attempts = 0 and restored_to is null";
	const changes: Record<(typeof cancelledColumns)[number], string> = {
		since: `case when ${isUnsent} then ${now} else since end`,
		ended_at: `case when ${isUnsent} then ${now} else ended_at end`,
		next_at: `case when ${isUnsent} then null when state = 'waiting' then ${now} else next_at end`,
		// A worker looks for it at once, and does not wait for a time at which it may not be sent any more.
		ready_at: `case when state = 'waiting' and ready_at > ${now} then ${now} else ready_at end`,
		unacknowledged: `case when ${isUnsent} or state = 'held' then version + 1 else unacknowledged end`,
		reason: `case when ${isUnsent} then '${reason}' else reason end`,
		cancel_reason: reason === "superseded" ? "'superseded'" : "coalesce(cancel_reason, 'requested')",
		version: "version + 1",
		state: `case when ${isUnsent} then 'cancelled' else state end`,
	};
	const who =
		by === undefined
			? ""
			: `cancelled_by = coalesce(${by}, cancelled_by), cancelled_at = case when ${by} is null then cancelled_at else ${now} end, `;
	return who + cancelledColumns.map((name) => `${name} = ${changes[name]}`).join(", ");
}

/** The rows of a new text and of the one whose place it takes, among the rows of their ids. */
export function both(rows: readonly Row[], by: string, id: string): { text?: Row; old?: Row } {
	const [text, old] = [by, id].map((each) => rows.find((row) => row.id === each));
	return { ...(text && { text }), ...(old && { old }) };
}

/** `$from`, … for a number of values. */
export function marks(count: number, from = 1): string {
	return Array.from({ length: count }, (_, at) => `$${at + from}`).join(", ");
}

/** The values of rows of a number of columns each. */
export function rowsOfMarks(count: number, columns: number, each = (marks: string): string => `(${marks})`): string {
	return Array.from({ length: count }, (_, at) => each(marks(columns, columns * at + 1))).join(", ");
}

/** Whether an agency of `turns` is suspended. Of those that may send none is, and planning a question costs as much as answering it. */
export const suspendedOf = (what: Turns, isSuspended: string): string =>
	what === "send" ? "0" : `case when ${isSuspended} then 1 else 0 end`;

/** Whether an agency of `turns` has a queue that may be claimed. */
export function isClaimable(what: Turns, isSuspended: string, isDue: (band: Band) => string): string {
	const any = (bands: readonly Band[]): string => bands.map(isDue).join(" or ");
	if (what === "send") return `not ${isSuspended} and (${any([0, 1, 2])})`;
	if (what === "read") return `(${any([3])} or (${isSuspended} and (${any([0, 1, 2])})))`;
	return `(${any([3])} or (not ${isSuspended} and (${any([0, 1, 2])})))`;
}

/** The agency's settings. */
const settingsReasons: readonly OutboxReason[] = ["consent_unavailable", "language_required", "language_unavailable"];

/** A text that could not be sent: it was requested, a try failed, or the agency's settings keep it back. In quiet hours it just waits, and so it does for the contact. */
const wasTried = `(coalesce(reason, '') not in ('quiet_hours', 'wrong_number', 'refusal', 'perhaps_declined') and (attempts > 0 or failures > 0
	or reason in ('${settingsReasons.join("', '")}')))`;

/** What keeps texts of an agency back until a person has changed something. */
export const keptBack: readonly OutboxReason[] = [...settingsReasons, "hook_failed", "wrong_number"];

/**
 * Counts texts by their state, each at most `$2` times. Also those of agencies that nobody has suspended that are due at `$1`, that
 * were due before and are tried again later, and that are being sent again, or since before `$3`. And by agency and reason those
 * that settings or a hook keep back.
 */
export function countsOf(
	{ texts, queues, agencies, contacts }: Pick<Names, "texts" | "queues" | "agencies" | "contacts">,
	index = "",
): string {
	const some = (condition: string, columns = "*"): string =>
		`select ${columns} from ${texts} t ${index} where ${condition} order by next_at limit $2`;
	const states = [...unfinished, "unknown"].map(
		(state, at) =>
			`select '${state}' as state, count(*) as count, min(next_at) as oldest, '' as agency_id
			from (${some(`state = '${state}'`, "next_at")}) as q${at}`,
	);
	// Behind a text that is held or waits for later, the queue is due when that one is. One that has just arrived is in none.
	const dueAt = (of: string): string =>
		`coalesce((select q.due_at from ${queues} q where q.recipient = ${of}.recipient and q.agency_id = ${of}.agency_id), 0)`;
	// While everybody's sends are paused, queues are due when something in them is to be read. While those of an agency are, its workers
	// put them off.
	// Behind a held text it is nobody's fault, also when that one is due to be read.
	const isBehindHeld = `exists (select 1 from ${texts} h where h.recipient = t.recipient and h.agency_id = t.agency_id
		and h.next_at is not null and h.state in ${open} and h.state = 'held')`;
	const isTurn = `(t.arrived = 1 or ((${dueAt("t")} <= $1 or ${areSendsPaused(agencies)}) and not ${isBehindHeld}))`;
	const now = "state = 'waiting' and next_at <= $1";
	const later = "state = 'waiting' and next_at > $1";
	// One that is tried again is late since it was first due, also at the moment of a try.
	const first = "case when ready_at > created_at then ready_at else created_at end";
	const since = `case when ${wasTried} then ${first} else next_at end`;
	// What waited behind another one is late since its turn came.
	const turnAt = `case when ${wasTried} then ${first}
		when ${dueAt("q7")} > next_at and ${dueAt("q7")} <= $1 then ${dueAt("q7")} else next_at end`;
	const isRepeat = "attempts > 1";
	const late = [
		["due", `${now} and (${isTurn} or ${wasTried})`, "1 = 1", turnAt],
		["again", later, `ready_at <= $1 and ${wasTried}`, since],
		[
			"stuck",
			"state = 'sending'",
			`(${isRepeat} or since <= $3)`,
			`case when ${isRepeat} then ${first} else since end`,
		],
	].map(
		([name, found = "", fits, from], at) =>
			`select '${name}' as state, count(*) as count, min(${from}) as oldest, '' as agency_id
			from (${some(found)}) as q${7 + at} where ${fits} and ${isNotSuspended(`q${7 + at}`, contacts)}`,
	);
	const kept = [now, later].map(
		(found, at) =>
			`select reason as state, count(*) as count, min(next_at) as oldest, agency_id
			from (${some(found)}) as q${10 + at} where reason in ('${keptBack.join("', '")}') group by agency_id, reason`,
	);
	return [...states, ...late, ...kept].join(" union all ");
}

/** Columns of one row: what is there of the last changes of this process. The values of the worker and of the text. */
export const ownChanges = ({ workers, texts }: Pick<Names, "workers" | "texts">, id: string, seq: string): string =>
	`(select w.number from ${workers} w where w.id = ${id}) as own_number, (select o.version from ${texts} o where o.seq = ${seq}) as own_version`;

/**
 * The end of a restoration. A worker that is alive has to store again first what it knows of a No. One that died is waited for a moment.
 *
 * @param clock the time of the database in milliseconds
 */
export const closingRestore = ({ meta, workers }: Pick<Names, "meta" | "workers">, clock: string): string =>
	`update ${meta} set restore_marked = $1 where id = 1 and restore_number = $1 and restore_marked < $1
		and (restored_at <= ${clock} - 15000 or not exists (select 1 from ${workers} w
			where w.left_at is null and w.runs_once = 0 and w.seen_at > ${clock} - 30000 and w.restore_number < $1))`;

/** The row of an agency among the contacts, and of everybody. */
export const ofAgency = "key_id = '' and hash = ''";

/** That neither the agency of a row nor everybody is suspended. */
function isNotSuspended(rows: string, contacts: string): string {
	return `not exists (select 1 from ${contacts} s
		where ${ofAgency} and s.agency_id in ('', ${rows}.agency_id) and s.suspended_since is not null)`;
}

/** Counts the texts of an agency by the day between two bounds. */
export function countedByDay(texts: string, bounds: readonly number[], fits = ""): string {
	const [from = 0, ...ends] = bounds.map(Math.floor);
	const day = ends.map((end, at) => `when planned_at < ${end} then ${at}`).join(" ");
	return `select purpose, state, reason, day, count(*) as count from (select purpose, state, reason, case ${day} end as day
			from ${texts} where agency_id = $1 and planned_at >= ${from} and planned_at < ${ends.at(-1)} ${fits}) as q
		group by purpose, state, reason, day`;
}

/** When the number of a text was last stopped, in its agency or in all of them. */
const numberStoppedAt = (contacts: string, agency: string, key: string, hash: string): string =>
	`(select max(s.stopped_at) from ${contacts} s where s.key_id = ${key} and s.hash = ${hash} and s.agency_id in ('', ${agency}))`;

/** When all contacts of its agency were last stopped. */
const agencyStoppedAt = (contacts: string, agency: string): string =>
	`(select s.stopped_at from ${contacts} s where s.key_id = '' and s.hash = '' and s.agency_id = ${agency})`;

/** Columns: what has stopped a text. In two, so that each is found by the whole key of its row. */
export const lastStops = (contacts: string, agency: string, key: string, hash: string): string =>
	`${numberStoppedAt(contacts, agency, key, hash)} as last_stop, ${agencyStoppedAt(contacts, agency)} as agency_stop`;

/** That nothing has stopped a text since its transaction began. */
export const isNotStopped = (begun: string, contacts: string, agency: string, key: string, hash: string): string =>
	[numberStoppedAt(contacts, agency, key, hash), agencyStoppedAt(contacts, agency)]
		.map((stop) => `${begun} > coalesce(${stop}, -1)`)
		.join(" and ");

/** The next texts of an agency, in the order of an index. Not every database goes on in its middle by one comparison of two columns. */
export function unfinishedTextsOf(texts: string, index = ""): string {
	const next = (after: string, name: string): string =>
		`select * from (select seq, planned_at, case when state in ${open} and next_at is not null then 1 else 0 end as fits
			from ${texts} ${index} where agency_id = $1 and ${after} and seq <= $4 order by planned_at, seq limit ${atOnce}) as ${name}`;
	return `${next("planned_at = $2 and seq > $3", "q1")} union all ${next("planned_at > $2", "q2")}
		order by planned_at, seq limit ${atOnce}`;
}

/** That a text that is changed may be sent: nothing is suspended, and the sends of everybody are not paused. */
export function isFreeToSend({ texts, agencies, contacts }: Pick<Names, "texts" | "agencies" | "contacts">): string {
	return `${isNotSuspended(texts, contacts)} and not ${areSendsPaused(agencies)}`;
}

/** Whether the sends of everybody are paused. */
function areSendsPaused(agencies: string): string {
	return `exists (select 1 from ${agencies} sends where sends.agency_id = '${allSends}' and sends.failures > 0)`;
}

/** Whether no worker has a queue. A lease that ends too late was stored while the clock of the database was wrong, or by hand. */
export const isFree = (clock: string): string =>
	`(lease_until is null or lease_until <= ${clock} or lease_until > ${clock} + ${longestLeaseMs})`;

/** Which agency had its turn first. One of the future had none. */
export const turnFirst = (clock: string): string =>
	`case when served_at > ${clock} + ${longestLeaseMs} then 0 else served_at end`;

/** When an agency has its turn. Each time is another one, so that of two workers one takes it. */
export const servedNow = (clock: string): string =>
	`case when served_at >= ${clock} and served_at <= ${clock} + ${longestLeaseMs} then served_at + 1 else ${clock} end`;

/** A pause that ends by itself lasts for an hour at most, and the quiet hours of a day for less than 26. */
const longestPauseMs = 2 * 60 * 60_000;
const longestWaitMs = 26 * 60 * 60_000;

/** Whether a text may be sent, and yet waits until a time that no rule can have meant at `$1`. A hook may mean any. */
const isFarOff = `next_at - ${longestWaitMs} > $1 and state in ${open} and coalesce(reason, '') <> 'before_send'
	and (ready_at <= $1 or attempts > 0 or reason = 'refusal')`;

/** Lets such texts have their turn. */
export const puttingForward =
	(texts: string, index = ""): ((seqs: string) => string) =>
	(seqs) =>
		`update ${texts} ${index} set next_at = $1, ready_at = case when ready_at > $1 then $1 else ready_at end, version = version + 1
		where seq in (${seqs}) and ${isFarOff}`;

/** Lets such pauses end. */
export const endingFarPauses = (agencies: string): string =>
	`update ${agencies} set since = case when since > $1 then $1 else since end, paused_until = $1
		where failures > 0 and paused_until - ${longestPauseMs} > $1 and agency_id >= ''`;

/** A queue rests for at most a minute although something in it is due. That of a suspended agency for an hour. */
const longestRestMs = 2 * 60_000;
const suspendedRestMs = 62 * 60_000;

/**
 * Of the texts `part` with their queue `q`: whether a text is astray at `$1`, or put off too far. Its agency has no row, it is in no queue, or that is due
 * too late: after a text whose time has not come, or at a time which is that of none of its texts. Behind another one a text may wait
 * until that one is due.
 */
export function isAstray({ texts, agencies, contacts }: Pick<Names, "texts" | "agencies" | "contacts">): string {
	// Not with `exists`, for which PostgreSQL may read all texts at once.
	const isOther = `(select 1 from ${texts} o
		where o.recipient = part.recipient and o.agency_id = part.agency_id and o.next_at = q.due_at limit 1) is null`;
	const isLate = `q.due_at > part.next_at and (part.next_at > $1 or q.due_at - ${suspendedRestMs} > $1
		or (q.due_at - ${longestRestMs} > $1 and ${isFreeToSend({ texts: "part", agencies, contacts })})) and ${isOther}`;
	const isUnknown = `not exists (select 1 from ${agencies} a where a.agency_id = part.agency_id)`;
	return `case when part.arrived is null and (q.id is null or ${isUnknown} or (${isLate})) then 1 else 0 end as is_astray,
		case when ${isFarOff} then 1 else 0 end as is_far_off`;
}

/** Whether what is due of the agency `a` is only to be read. A worker that tries again does so by sending. */
export function isOnlyRead(what: Turns, { agencies, contacts }: Pick<Names, "agencies" | "contacts">): string {
	return `(not ${isNotSuspended("a", contacts)} ${what === "probe" ? "" : `or ${areSendsPaused(agencies)}`})`;
}
