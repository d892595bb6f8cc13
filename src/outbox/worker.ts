import { sleep } from "../shared/sleep.ts";
import { isPassing } from "./database-error.ts";
import type { OutboxEngine } from "./engine.ts";
import type { Pauses } from "./pauses.ts";
import type { DueRecipient, OutboxStore } from "./store.ts";
import type { Recipient } from "./text.ts";

/** The parts of the outbox that a worker uses. */
export interface Work {
	store: OutboxStore;
	/** Does what is due for a recipient, until the signal aborts. Returns the time of the next step. */
	step: (recipient: Recipient, signal?: AbortSignal) => Promise<number | undefined>;
	now: () => number;
	concurrency: number;
	/** A recipient that has been due for half of this time is woken again, because its job was lost or its worker died. */
	sweepMs: number;
}

/** A loop over what is due. */
export interface Loop {
	/** Checks again at once: something was stored. */
	nudge: () => void;
	/** Works through all queues that are due; with `forever` until the signal aborts. Steps under way end first. */
	run: (forever: boolean, signal?: AbortSignal) => Promise<void>;
}

const idleMs = 1_000;
const beatMs = 5_000;

/** @param pauses give the time until which all texts wait */
export function createLoop({ store, step, now, concurrency }: Work, pauses: Pauses): Loop {
	let waiting: AbortController | undefined;
	let nudged = false;

	function nudge(): void {
		nudged = true;
		waiting?.abort();
	}

	async function run(forever: boolean, signal?: AbortSignal): Promise<void> {
		const running = new Map<string, Promise<unknown>>();
		let last = 0;
		let failure: { error: unknown } | undefined;
		const start = (recipient: Recipient): void => {
			const name = `${recipient.agencyId} ${recipient.to}`;
			const ended = step(recipient, signal)
				.catch((error: unknown) => {
					failure = { error };
				})
				.finally(() => {
					running.delete(name);
					nudge();
				});
			running.set(name, ended);
		};
		try {
			while (!signal?.aborted && !failure) {
				nudged = false;
				const at = now();
				if (at + beatMs < last) {
					// The clock was set back. A text that waits for some seconds would wait until the clock comes to that time again.
					pauses.forget();
					await store.recover(at);
				}
				last = at;
				const paused = pauses.pausedUntil() - at;
				const free = paused > 0 ? 0 : concurrency - running.size;
				const due = free > 0 ? await store.due(at, free + running.size) : [];
				const idle = due.filter(({ agencyId, to }) => !running.has(`${agencyId} ${to}`)).slice(0, free);
				for (const recipient of idle) start(recipient);
				if (running.size === 0 && idle.length === 0 && !forever) break;
				if (running.size >= concurrency || (idle.length === 0 && running.size > 0 && !forever)) {
					await Promise.race(running.values());
					continue;
				}
				if (idle.length > 0) continue;
				// All that is due now is being worked on, and its end wakes this loop.
				const next = await store.nextDue(at);
				const wait = Math.max(1, paused, next === undefined ? idleMs : next - now());
				// At most until something is stored or a step ends.
				waiting = new AbortController();
				if (!nudged) await sleep(Math.min(idleMs, wait), [signal, waiting.signal]);
			}
		} finally {
			// They keep the lock until they end, even if the store fails.
			await Promise.all(running.values());
		}
		if (failure) throw failure.error;
	}

	return { run, nudge };
}

/**
 * Works through the queues that the engine wakes, until the signal aborts. Steps under way end first.
 * @throws what the store or the engine throws; `failed` is aborted then
 */
export async function workWith(
	engine: OutboxEngine,
	{ store, step, now, concurrency, sweepMs }: Work,
	failed: AbortController,
	ended: AbortSignal,
): Promise<void> {
	/** One job a second for a recipient. What is due now stays due. */
	const wake = (due: DueRecipient, at: number): Promise<void> =>
		engine.wake(due, (at <= now() ? Math.floor(at / 1_000) : Math.ceil(at / 1_000)) * 1_000);
	/** A step that is due now has a job of its own: the one of this second may be the job that still runs. */
	const wakeAgain = (due: DueRecipient, at: number): Promise<void> =>
		at <= now() ? engine.wake(due, at, crypto.randomUUID()) : wake(due, at);
	await engine.start(ended);
	if (ended.aborted) return;
	const stop = await engine.work(async (seq) => {
		try {
			const recipient = await store.recipientOf(seq);
			// The row was deleted or erased, or is not committed yet. Other texts of its recipient have jobs of their own.
			if (!recipient) return false;
			const next = await step(recipient, ended);
			if (next !== undefined) await wakeAgain({ ...recipient, seq }, next);
			return true;
		} catch (error) {
			failed.abort(error);
			throw error;
		}
	}, concurrency);
	try {
		while (!ended.aborted) {
			for (const due of await store.due(now() - sweepMs / 2, 1_000)) await wake(due, now());
			await sleep(sweepMs, [ended]);
		}
	} finally {
		await stop();
	}
	failed.signal.throwIfAborted();
}

/** An outage within this time of the last one is the same one. */
const sameOutageMs = 60_000;
const longestOutageWaitMs = 15_000;
/** An outage that lasts is reported again. */
const repeatMs = 15 * 60_000;
/** After this time it is none: an error that nobody has listed may be permanent. A supervisor sees that `work` rejects. */
const mostOutageMs = 3_600_000;

/** Works until the signal aborts. If the database is away it pauses, and resumes once it is back. */
export async function throughOutages(
	work: () => Promise<void>,
	{ pauses, now, signal }: { pauses: Pauses; now: () => number; signal: AbortSignal | undefined },
): Promise<void> {
	let times = 0;
	let last = Number.NEGATIVE_INFINITY;
	let began = 0;
	let told = Number.NEGATIVE_INFINITY;
	for (;;) {
		try {
			return await work();
		} catch (error) {
			if (!isPassing(error)) throw error;
			if (signal?.aborted) return;
			const at = performance.now();
			if (at - last > sameOutageMs) {
				times = 0;
				began = at;
				told = Number.NEGATIVE_INFINITY;
			}
			if (at - began > mostOutageMs) throw error;
			const waitMs = Math.min(longestOutageWaitMs, 250 * 2 ** times);
			if (at - told > repeatMs) {
				pauses.outage(error instanceof Error ? error : new Error(String(error)), now() + waitMs);
				told = at;
			}
			times++;
			await sleep(waitMs, [signal]);
			last = performance.now();
			if (signal?.aborted) return;
		}
	}
}

/** Runs with a signal that any of the given ones aborts. */
export async function untilEitherAborts(
	signals: readonly (AbortSignal | undefined)[],
	act: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
	const either = new AbortController();
	const abort = (): void => either.abort();
	for (const signal of signals) {
		if (signal?.aborted) abort();
		signal?.addEventListener("abort", abort);
	}
	try {
		await act(either.signal);
	} finally {
		for (const signal of signals) signal?.removeEventListener("abort", abort);
	}
}
