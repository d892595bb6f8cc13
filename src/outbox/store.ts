import type { Lane, NewText, OutboxText } from "./text.ts";

/**
 * A store of texts. Each method is one statement that is committed when it returns; only `insert` may be part of the
 * caller's transaction. {@link sqliteStore} and {@link postgresStore} are two of them; whoever writes a third runs
 * test/outbox/store-suite.ts of the repository over it.
 */
export interface OutboxStore {
	/** Creates what the store needs; does nothing when it is there. */
	migrate: () => Promise<void>;
	/** Stores a text as `waiting`, due at once, or gives the row that has its id already. */
	insert: (text: NewText, tx: unknown) => Promise<OutboxText>;
	/** The row of an id. */
	find: (id: string) => Promise<OutboxText | undefined>;
	/** The unfinished texts of a lane, what is sending and held first, then the oldest. */
	open: (lane: Lane, limit: number) => Promise<OutboxText[]>;
	/** The sent texts of a lane that are due to be looked at. */
	followed: (lane: Lane, now: number) => Promise<OutboxText[]>;
	/** Replaces the row if nobody has changed it since it was read, and counts up its version. */
	save: (text: OutboxText) => Promise<boolean>;
	/** Puts off what waits or is held in a lane and is due before. */
	postpone: (lane: Lane, until: number) => Promise<void>;
	/** Makes what waits or is held in a lane due; in every agency's lane to that number without an agency. */
	wake: (lane: Partial<Lane>, now: number) => Promise<void>;
	/** Makes all that is unfinished due: whoever worked on it is gone. */
	recover: (now: number) => Promise<void>;
	/** The lanes with something due, each once, the longest due first. */
	due: (now: number, limit: number) => Promise<Lane[]>;
	/** When the next text is due, of those that are due after a moment when it is given; undefined when none will be. */
	nextDue: (after?: number) => Promise<number | undefined>;
	/** The `messageId`s of a lane's newest texts. */
	claimed: (lane: Lane) => Promise<string[]>;
	/** The text of a message. */
	byMessage: (messageId: string) => Promise<OutboxText | undefined>;
	/** Deletes what was finished before; the number of rows. */
	purge: (before: number) => Promise<number>;
	/** The process that works. */
	worker: () => Promise<Worker | undefined>;
	/** Makes this the process that works, if the one with that token is it, or nobody when null. */
	takeOver: (worker: Worker, from: string | null) => Promise<boolean>;
	/** Nobody works any more, if it was this one. */
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
