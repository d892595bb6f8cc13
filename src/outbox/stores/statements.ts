import type { Band } from "../store.ts";
import { unfinished } from "../text.ts";
import type { Row, Value } from "./connection.ts";

/** What a database does for a store. `query` and `change` take a statement with `$1`, `$2`, … for its values. */
export interface Database {
	/** Runs one statement, and gives its rows. */
	query: (sql: string, values: Value[]) => Promise<Row[]>;
	/** Runs an insert, an update or a delete, and gives the number of rows. */
	change: (sql: string, values: Value[]) => Promise<number>;
	/** Refuses a connection that changes what it reads. */
	check: () => Promise<unknown>;
	/** Creates the tables, and brings older ones up to date. */
	migrate: () => Promise<unknown>;
	/** Stores a text, or finds the one that has its id. The values are those of {@link insertedColumns}. */
	insert: (values: Value[]) => Promise<Row | undefined>;
	/**
	 * The same in the caller's open transaction. The statement that proves the transaction begins before this returns. Throws
	 * `PartnerInvalidInput` if it cannot prove that what it stores disappears with the transaction.
	 */
	insertIn: (tx: unknown, values: Value[]) => Promise<Row>;
	/** Acknowledges changes in the caller's open transaction, with the same proof. The values are ids, each with its revision. */
	acknowledgeIn: (tx: unknown, values: Value[]) => Promise<unknown>;
	/** Acknowledges changes. */
	acknowledge: (values: Value[]) => Promise<unknown>;
	/** The statements. */
	statements: Statements;
}

/**
 * A change of texts: one statement, or one that finds their keys, and one that changes them with the keys in place of `:keys`.
 * MySQL locks each row that an update reads, also one that a caller has not committed, but a select reads without locks.
 */
export type Change = string | { keys: string; change: string };

/** What `save` does beside the change of the row. */
export interface SaveOptions {
	/** It stops the recipient. */
	isStop: boolean;
	/** It changes nothing if the recipient was stopped. */
	isGuarded: boolean;
	/** It changes nothing if the lease is lost, and prolongs it. */
	isLeased: boolean;
}

/** The statements of a database, each with its values. An agency that is empty stands for all agencies. */
export interface Statements {
	/** id */
	find: string;
	/** message id */
	byMessage: string;
	/** recipient, agency, now, limit; names of the stops: of a lost text, of the recipient, of the number */
	open: string;
	/** recipient, agency */
	unfinished: string;
	/** recipient, agency, now */
	followed: string;
	/** recipient, agency, now */
	nextOf: string;
	/** recipient, agency */
	claimed: string;
	/** limit */
	unacknowledged: string;
	/**
	 * seq, version, state, reason, since, nextAt, readyAt, messageId, queueId, unacknowledged, whether it was attempted, progress;
	 * recipient, agency; names of the stops as in `open`; lease, token, its length; the three options
	 */
	save: (options: SaveOptions) => string;
	/** Before a `save` that stops: name of the stop */
	addStop?: string;
	/** Before a `save` with a lease: lease, token, its length */
	prolong?: string;
	/** name */
	stop: string;
	/** The key of the names under which facts are stored. */
	key: string;
	/** a new key */
	addKey: string;
	/** names */
	facts: (count: number) => string;
	/** name, time */
	note: string;
	/** now, recipient, agency */
	wake: Change;
	wakeQueues: string;
	/** now */
	recover: Change;
	recoverQueues: string;
	recoverPauses: string;
	/** Puts every unfinished text into its queue again. */
	readopt: Change;
	/** recipient, agency */
	erase: Change[];
	/** id */
	eraseOne: Change[];
	/** before */
	purge: (keepsUnacknowledged: boolean) => Change;
	/** The stops of lost texts in rows that go: those of `erase`, `eraseOne` and `purge`. Absent where they are kept apart. */
	lost?: { erase: string; eraseOne: string; purge: string };
	/** name, moment */
	keepStop?: string;
	/** Whether `settled` is used. */
	isSettledUsed: string;
	useSettled: string;

	/** limit: texts that no worker has put into their queue */
	newest: string;
	oldest: string;
	/** recipient, agency, band, time, of each */
	addQueues: (count: number) => string;
	adopted: (seqs: string) => string;
	/** recipient, agency */
	removeQueues: string;
	/** Agencies with a queue that is due. now, agencies to leave out */
	turns: (bands: readonly Band[], isProbing: boolean, without: number, limit: number) => string;
	/** agencies */
	serve: (count: number) => string;
	/** The queues of one agency that are due. now, agencies, of which it is the one at `at` */
	due: (band: Band, at: number, limit: number) => string;
	/** token, now, length of the lease */
	take: (ids: string) => string;
	/** token. Absent where `take` gives its rows. */
	taken?: (ids: string) => string;
	/** agency, now, limit */
	watched: string;
	/** length of the lease, tokens */
	renew: (count: number) => string;
	/** queue, token, revision */
	remove: string;
	/** queue, token, revision, band, time */
	release: string;

	/** agencies */
	addAgencies: (count: number) => string;
	paused: string;
	/** until, failures, reason, agency */
	pause: string;
	/** agency */
	resume: string;
	/** until, agency, from */
	probe: string;

	/** The lock of the earlier versions. */
	worker: string;
	/** now, token */
	beat: string;
	/** token, host, now */
	addWorker: string;
	/** token, host, now, token of before */
	takeWorker: string;
}

/** The columns of a new text. Its state, version and moment come after them. */
export const insertedColumns =
	"id, agency_id, recipient, body, subaccount_id, consent_language, not_before, not_after, priority, created_at, since, next_at, ready_at, progress";

/** The states that keep the contact's next text back, in SQL. */
export const open: string = `('${unfinished.join("', '")}')`;

/** `$from`, … for a number of values. */
export function marks(count: number, from = 1): string {
	return Array.from({ length: count }, (_, at) => `$${at + from}`).join(", ");
}

/** The values of rows of a number of columns each. */
export function rowsOfMarks(count: number, columns: number, each = (marks: string): string => `(${marks})`): string {
	return Array.from({ length: count }, (_, at) => each(marks(columns, columns * at + 1))).join(", ");
}
