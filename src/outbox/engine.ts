import type { DueRecipient } from "./store.ts";

/** Wakes workers on any number of machines. A job is a wake-up and no more: the rows decide, so a lost or doubled one does no harm. */
export interface OutboxEngine {
	/** Creates what the engine needs; does nothing when it is there. Returns early if the signal aborts. */
	start: (signal?: AbortSignal) => Promise<void>;
	/**
	 * Wakes a worker for a recipient at a time in milliseconds, in the transaction `tx` if there is one. `key` distinguishes two
	 * wake-ups of one time. Jobs of a higher priority come first. A job holds `seq`, and no number.
	 */
	wake: (due: DueRecipient & { priority?: number }, at: number, key?: string, tx?: unknown) => Promise<void>;
	/** Whether a text is enqueued although its wake-up failed, because a worker finds it. By default `enqueue` fails too. */
	mayFailToWake?: boolean;
	/**
	 * Calls `step` with the `seq` of each wake-up, at most `concurrency` at once. `step` returns false if the text is not there,
	 * for example because its transaction is still open. Returns a function that stops it after running steps.
	 */
	work: (step: (seq: number) => Promise<boolean>, concurrency: number) => Promise<() => Promise<void>>;
}

/** The data of a job. */
export interface WakeUp {
	/** `seq` of a text of the recipient. */
	text: number;
}
