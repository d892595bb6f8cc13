import type { NewText, OpenText, OutboxText, Recipient } from "./text.ts";

/**
 * A store of texts: {@link sqliteStore}, {@link postgresStore}, {@link mysqlStore}, or your own. Each change is one
 * statement that is committed when it returns. Only `insert` and `acknowledge` may be part of the caller's transaction. Times are in milliseconds.
 * `storeChecks` of messaging-conversations/outbox/testing checks a store of your own.
 */
export interface OutboxStore {
	/** Creates what the store needs, and brings older tables up to date. Does nothing when they are. */
	migrate: () => Promise<void>;
	/** Stores a text as `waiting`, due at `readyAt`. Returns its row, or the row that has its id already. */
	insert: (text: NewText, tx: unknown) => Promise<OutboxText>;
	/** Finds the row of an id. */
	find: (id: string) => Promise<OutboxText | undefined>;
	/**
	 * Finds at most `limit` unfinished texts of a recipient whose turn has come. Order: sending, then held, then those that
	 * were attempted, then by priority and the order of arrival.
	 */
	open: (recipient: Recipient, limit: number, now: number) => Promise<OpenText[]>;
	/** Finds all unfinished texts of a number; without an agency those of all agencies. */
	unfinished: (recipient: Partial<Recipient>) => Promise<OutboxText[]>;
	/** Finds the sent texts of a recipient that are due. */
	followed: (recipient: Recipient, now: number) => Promise<OutboxText[]>;
	/**
	 * Replaces the row and counts up its version. Returns false, and does nothing, when it was changed since it was read.
	 * With `stops` the statement also stops the recipient: texts whose transaction began before are not to be sent. With
	 * `unlessStopped` it returns false when that has happened.
	 */
	save: (text: OutboxText, options?: { stops?: boolean; unlessStopped?: boolean }) => Promise<boolean>;
	/** Stops a recipient; without an agency the number in all agencies. */
	stop: (recipient: Partial<Recipient>) => Promise<void>;
	/** Puts off the waiting and held texts of a recipient whose turn has come, and which are due before `until`. */
	postpone: (recipient: Recipient, until: number, now: number) => Promise<void>;
	/** Puts off all texts of a recipient that are due before `until`. */
	putOff: (recipient: Recipient, until: number) => Promise<void>;
	/** Makes the waiting and held texts of a number due, or as soon as their turn comes; without an agency in all agencies. */
	wake: (recipient: Partial<Recipient>, now: number) => Promise<void>;
	/** Makes all unfinished texts due, because their worker is gone. */
	recover: (now: number) => Promise<void>;
	/** Finds at most `limit` recipients with a text that is due, each once: by priority, then the longest due first. */
	due: (now: number, limit: number) => Promise<DueRecipient[]>;
	/** Finds the time at which the next text is due, or the next one after `after`; undefined when there is none. */
	nextDue: (after?: number) => Promise<number | undefined>;
	/** Finds the time at which the recipient's next text is due. */
	nextOf: (recipient: Recipient) => Promise<number | undefined>;
	/** Finds the recipient of a row. */
	recipientOf: (seq: number) => Promise<Recipient | undefined>;
	/** Finds the `messageId`s of a recipient's newest texts. */
	claimed: (recipient: Recipient) => Promise<string[]>;
	/** Finds the text of a message. */
	byMessage: (messageId: string) => Promise<OutboxText | undefined>;
	/**
	 * Finds at most `limit` texts in a final state that was not acknowledged, the oldest first. From the first call on, by
	 * whichever process, `purge` keeps such texts.
	 */
	unacknowledged: (limit: number) => Promise<OutboxText[]>;
	/** Acknowledges the final states of texts, except of those that have changed since their `revision`. */
	acknowledge: (changes: readonly { id: string; revision: number }[], tx: unknown) => Promise<void>;
	/**
	 * Erases number, text and message id of one finished text, or of those of a number; without an agency in all agencies.
	 * What is left of each is its id, which `insert` finds.
	 */
	erase: (which: { id: string } | Partial<Recipient>) => Promise<void>;
	/**
	 * Deletes the texts that were finished before a time, except for what `erase` left. Returns the number of rows. What stopped a
	 * recipient still stops it afterwards, as after `erase`.
	 */
	purge: (before: number) => Promise<number>;
	/** Finds the process that works. */
	worker: () => Promise<Worker | undefined>;
	/** Makes this the process that works, in place of the one with the token `from`; null for none. Returns false when another one works. */
	takeOver: (worker: Worker, from: string | null) => Promise<boolean>;
	/** Removes the process that works if it has this token. */
	leave: (token: string) => Promise<void>;
}

/** A recipient with a text that is due. */
export interface DueRecipient extends Recipient {
	/** `seq` of the text, by which a job finds the recipient without holding the number. */
	seq: number;
}

/** The process that works on a store without an engine. */
export interface Worker {
	/** Made anew for each worker. */
	token: string;
	/** Name of its machine. */
	host: string;
	/** Its process. */
	pid: number;
	/** When its process started, in milliseconds, if that is known. */
	startedAt?: number | undefined;
	/** Its last sign of life, in milliseconds. */
	beatAt: number;
}
