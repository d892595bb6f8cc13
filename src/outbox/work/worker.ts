import { sleep } from "../../shared/sleep.ts";
import type { OutboxEngine } from "../engines/engine.ts";
import type { Lease, OutboxStore, StoredPause } from "../store.ts";
import { isPassing } from "../stores/database-error.ts";
import type { Pauses } from "./pauses.ts";
import type { Next } from "./step.ts";

/** The parts of the outbox that a worker uses. */
export interface Work {
	store: OutboxStore;
	/** Does what is due in a queue, until the signal aborts. Returns when it is due next. */
	step: (lease: Lease, signal?: AbortSignal) => Promise<Next>;
	now: () => number;
	concurrency: number;
	/** How long a lease lasts, in milliseconds, if the worker is gone. */
	leaseMs: number;
}

/** A loop over what is due. */
export interface Loop {
	/** Checks again at once: something was stored. */
	nudge: () => void;
	/** Works through all queues that are due; with `forever` until the signal aborts. Steps under way end first. */
	run: (forever: boolean, signal?: AbortSignal) => Promise<void>;
}

/** What another process stores is found within this time. */
const idleMs = 1_000;
const beatMs = 5_000;
/** A worker that tries whether a pause has ended, and dies, keeps others from it for this long. */
const probeMs = 60_000;
/** A worker takes at most this many queues of an agency at once. */
const mostOfOne = 4;

/** How many queues a worker works on at once, of one agency and of those that are only read. */
function sharesOf(concurrency: number) {
	const half = Math.max(1, Math.floor(concurrency / 2));
	return {
		each: Math.max(1, Math.min(mostOfOne, Math.floor(half / 2))),
		half,
		// What stays free lets a text of another agency begin at once, however long the requests of this one take.
		alone: concurrency < 4 ? concurrency : concurrency - Math.ceil(concurrency / 8),
	};
}

/** Works on the queues that are due, beside any number of other workers. */
export function createLoop({ store, step, now, concurrency, leaseMs }: Work, pauses: Pauses): Loop {
	const { each, half, alone } = sharesOf(concurrency);
	/** Those that could not be released, because the database was away. Until they end, nobody else has their queues. */
	const kept = new Set<Lease>();
	const nudges = new Set<() => void>();
	const nudge = (): void => {
		for (const wakeUp of nudges) wakeUp();
	};

	async function run(forever: boolean, signal?: AbortSignal): Promise<void> {
		const running = new Map<Lease, { ended: Promise<void>; since: number }>();
		let last = 0;
		let joinedAt = Number.NEGATIVE_INFINITY;
		let probedAt = Number.NEGATIVE_INFINITY;
		let failure: { error: unknown } | undefined;
		let isNudged = false;
		let waiting: AbortController | undefined;
		const wakeUp = (): void => {
			isNudged = true;
			waiting?.abort();
		};

		async function work(lease: Lease, probed?: StoredPause): Promise<void> {
			try {
				await store.release(lease, await step(lease, signal));
				// The pause neither ended nor grew, because the step made no request of its kind.
				if (probed) await store.probe(probed.agencyId, probed.until, now());
			} catch (error) {
				failure ??= { error };
				kept.add(lease);
			}
		}

		async function releaseKept(): Promise<void> {
			for (const lease of kept) {
				await store.release(lease, { at: now(), band: lease.band });
				kept.delete(lease);
			}
		}

		function start(lease: Lease, probed?: StoredPause): void {
			const ended = work(lease, probed).finally(() => {
				running.delete(lease);
				wakeUp();
			});
			running.set(lease, { ended, since: performance.now() });
		}

		/** Agencies that have so many queues here that a claim could give them more than `most`. */
		function busy(most: number): string[] {
			const counts = new Map<string, number>();
			for (const { agencyId } of running.keys()) counts.set(agencyId, (counts.get(agencyId) ?? 0) + 1);
			return [...counts].flatMap(([agencyId, count]) => (count + each > most ? [agencyId] : []));
		}

		/** Leases what is due and starts it. Returns how many queues. */
		async function claim(at: number): Promise<number> {
			const before = running.size;
			const take = async (isReading: boolean, most: number, limit: number): Promise<void> => {
				if (limit < 1) return;
				const leases = await store.claim({ now: at, limit, each, leaseMs, isReading, without: busy(most) });
				if (leases.length > 0) pauses.ended(leases.map(({ agencyId }) => agencyId));
				for (const lease of leases) start(lease);
			};
			const free = () => concurrency - running.size;
			await take(false, half, free());
			if (busy(half).length > 0) await take(false, alone, free());
			const reads = [...running.keys()].filter(({ band }) => band === 3).length;
			await take(true, half, Math.min(free(), half - reads));
			if (running.size === before || performance.now() - probedAt >= idleMs) await probe(at);
			return running.size - before;
		}

		/** Tries one queue of each agency whose pause has come to its end. Of several workers one does. */
		async function probe(at: number): Promise<void> {
			probedAt = performance.now();
			const paused = await store.paused();
			const everybody = paused.find(({ agencyId }) => agencyId === "");
			for (const pause of everybody ? [everybody] : paused) {
				if (pause.until > at || running.size >= concurrency) continue;
				const { agencyId: probing } = pause;
				const options = { now: at, limit: 1, each: 1, leaseMs, isReading: false, probing };
				const [lease] = await store.claim(options);
				if (!lease) continue;
				const until = at + probeMs;
				if (await store.probe(probing, pause.until, until)) {
					pauses.resumed({ ...pause, until: 1 });
					start(lease, { ...pause, until });
				} else await store.release(lease, { at, band: lease.band });
			}
		}

		const renewing = setInterval(() => {
			const old = [...running].filter(([, { since }]) => performance.now() - since >= leaseMs / 3);
			const tokens = old.map(([{ token }]) => token);
			// A lease that is lost does no harm, and a store that fails shows it elsewhere.
			if (tokens.length > 0) store.renew(tokens, leaseMs).catch(() => {});
		}, leaseMs / 3);
		// The loop itself keeps the process alive.
		Object(renewing).unref?.();
		nudges.add(wakeUp);
		try {
			await releaseKept();
			while (!signal?.aborted && !failure) {
				isNudged = false;
				const at = now();
				if (at + beatMs < last) {
					// The clock was set back. A text that waits for some seconds would wait until the clock comes to that time again.
					pauses.forget();
					await store.recover(at);
				}
				last = at;
				if (performance.now() - joinedAt >= beatMs) {
					// A worker of an earlier version does it all.
					if (!(await store.join())) {
						if (!forever) break;
						await sleep(idleMs, [signal]);
						continue;
					}
					joinedAt = performance.now();
				}
				const count = running.size < concurrency ? await claim(at) : 0;
				if (count > 0 && running.size < concurrency) continue;
				if (running.size === 0 && !forever) break;
				// At most until something is stored or a step ends.
				waiting = new AbortController();
				if (!isNudged) await sleep(idleMs, [signal, waiting.signal]);
			}
		} finally {
			nudges.delete(wakeUp);
			await Promise.all([...running.values()].map(({ ended }) => ended));
			clearInterval(renewing);
			await releaseKept().catch(() => {});
		}
		if (failure) throw failure.error;
	}

	return { run, nudge };
}

/** Works until the signal aborts, and checks at once what a job of the engine tells of. */
export async function workWith(engine: OutboxEngine, loop: Loop, signal: AbortSignal | undefined): Promise<void> {
	await engine.start(signal);
	if (signal?.aborted) return;
	const stop = await engine.work(loop.nudge);
	try {
		await loop.run(true, signal);
	} finally {
		await stop();
	}
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
