import type { Lane, NewText, OutboxText } from "./text.ts";

/**
 * A store of texts. Times are in milliseconds. Each method is one statement that is committed when it returns; only
 * `insert` may be part of the caller's transaction. {@link sqliteStore} and {@link postgresStore} are two of them; whoever
 * writes a third runs test/outbox/store-suite.ts of the repository over it.
 */
export interface OutboxStore {
	/** Creates what the store needs; does nothing when it is there. */
	migrate: () => Promise<void>;
	/** Stores a text as `waiting`, due at once. Returns its row, or the row that has its id already. */
	insert: (text: NewText, tx: unknown) => Promise<OutboxText>;
	/** Finds the row of an id. */
	find: (id: string) => Promise<OutboxText | undefined>;
	/** Finds at most `limit` unfinished texts of a lane: sending, then held, then the oldest. */
	open: (lane: Lane, limit: number) => Promise<OutboxText[]>;
	/** Finds the sent texts of a lane that are due to be looked at. */
	followed: (lane: Lane, now: number) => Promise<OutboxText[]>;
	/** Replaces the row and counts up its version. Returns false, and does nothing, when it was changed since it was read. */
	save: (text: OutboxText) => Promise<boolean>;
	/** Puts off the waiting and held texts of a lane that are due before `until`. */
	postpone: (lane: Lane, until: number) => Promise<void>;
	/** Makes the waiting and held texts of a lane due; without an agency those to the number in all agencies. */
	wake: (lane: Partial<Lane>, now: number) => Promise<void>;
	/** Makes all unfinished texts due, because their worker is gone. */
	recover: (now: number) => Promise<void>;
	/** Finds at most `limit` lanes with a text that is due, each once, the longest due first. */
	due: (now: number, limit: number) => Promise<Lane[]>;
	/** Finds the time at which the next text is due, or the next one after `after`; undefined when there is none. */
	nextDue: (after?: number) => Promise<number | undefined>;
	/** Finds the `messageId`s of a lane's newest texts. */
	claimed: (lane: Lane) => Promise<string[]>;
	/** Finds the text of a message. */
	byMessage: (messageId: string) => Promise<OutboxText | undefined>;
	/** Deletes the texts that were finished before a time. Returns the number of rows. */
	purge: (before: number) => Promise<number>;
	/** Finds the process that works. */
	worker: () => Promise<Worker | undefined>;
	/** Makes this the process that works, in place of the one with the token `from`; null for none. Returns false when another one works. */
	takeOver: (worker: Worker, from: string | null) => Promise<boolean>;
	/** Removes the process that works if it has this token. */
	leave: (token: string) => Promise<void>;
}

/** The process that works on a store without an engine. */
export interface Worker {
	/** Made anew for each worker. */
	token: string;
	/** Name of its machine. */
	host: string;
	/** Its process. */
	pid: number;
	/** Its last sign of life, in milliseconds. */
	beatAt: number;
}
