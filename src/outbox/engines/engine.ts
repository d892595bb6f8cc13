/**
 * Wakes workers on any number of machines within moments. A job says "look now" and no more: the rows decide, so a lost or doubled
 * one does no harm. Workers look by themselves once a second, with and without an engine.
 */
export interface OutboxEngine {
	/** Creates what the engine needs; does nothing when it is there. Returns early if the signal aborts. */
	start: (signal?: AbortSignal) => Promise<void>;
	/** Adds a job, in the transaction `tx` if there is one. Two of one `key` are one. Jobs of a higher priority come first. */
	wake: (wakeUp: WakeUp, options: WakeOptions) => Promise<void>;
	/** Whether a text is enqueued although its wake-up failed, because a worker finds it. By default `enqueue` fails too. */
	mayFailToWake?: boolean;
	/** Calls `wake` for each job. Returns a function that stops it. */
	work: (wake: () => void) => Promise<() => Promise<void>>;
}

/** The data of a job. It holds no number. */
export interface WakeUp {
	/** `seq` of the text that was enqueued or changed. */
	text: number;
}

/** How a job is added. */
export interface WakeOptions {
	/** Distinguishes two jobs. */
	key: string;
	/** That of the text. */
	priority: number;
	/** The caller's transaction. */
	tx?: unknown;
}
