import { version } from "../../../package.json";
import { sleep } from "../../shared/sleep.ts";
import type { OutboxEngine } from "../engines/engine.ts";
import type { OwnClock } from "../own-clock.ts";
import { allSends, isAlert, type Lease, type OutboxStore, type StoredPause, type StoredSuspension } from "../store.ts";
import type { Restored } from "../text.ts";
import type { Alerts } from "./alerts.ts";
import type { Pauses } from "./pauses.ts";
import type { Next, Worked } from "./queue.ts";

/** The parts of the outbox that a worker uses. */
export interface Work {
	store: OutboxStore;
	/** Does what is due in a queue, until the signal aborts. */
	step: (lease: Lease, signal?: AbortSignal) => Promise<Worked>;
	clock: OwnClock;
	concurrency: number;
	/** How long a lease lasts, in milliseconds, if the worker is gone. */
	leaseMs: number;
	/** Awakens what waits for an end of the quiet hours that was corrected. */
	awaken: () => Promise<void>;
	/** Reports what people have suspended. */
	suspended: (all: readonly StoredSuspension[]) => Promise<void>;
	alerts: Alerts;
	/** Reports that the database has lost what came after a time. */
	lost: (restored: Restored, count: number) => Promise<void>;
	/** Stores again what this process knows of a No, because the database may have lost it. */
	sayNoAgain: () => Promise<void>;
}

/** What a process remembers of a worker, also from one run to the next: an outage may be a failover. */
interface Self {
	id: string;
	/** The number of the restoration after which it has said again what it knows. */
	restore?: number | undefined;
}

/** A loop over what is due. */
export interface Loop {
	/** Checks again at once: something was stored. */
	claimNow: () => void;
	/** Works through all queues that are due; with `forever` until the signal aborts. Steps under way end first. */
	run: (forever: boolean, signal?: AbortSignal) => Promise<void>;
}

/** What another process stores is found within this time. */
const idleMs = 1_000;
/** While a worker is busy, it looks for what others store as often as this. */
const busyMs = 200;
const beatMs = 5_000;
/** How often a worker asks whether it is its turn to put back what is missing in the queues. */
const healMs = 10_000;
/** A worker that tries whether a pause has ended, and dies, keeps others from it for this long. */
const probeMs = 60_000;
/** A queue that comes back as due so many times, although nothing came of it, has something that no step can change. */
const mostIdle = 2;
/** Then it is due after a second, and after twice as long each time. */
const longestIdleMs = 60_000;
/** Timers and other work of the process have their turn at least as often as this. */
const mostBusyMs = 50;
/** After a claim that found nothing the next one comes no sooner, however many jobs of an engine or changes of a feed ask for it. */
const gapMs = 50;
/** A worker takes at most this many queues of an agency at once. */
const mostOfOne = 4;

/** What a claim looks for: an agency's share, what is beyond it if no other agency waits, or what is only to be read. */
type Looking = "shared" | "rest" | "reads";

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
export function createLoop(
	{ store, step, clock, concurrency, leaseMs, awaken, suspended, alerts, lost, sayNoAgain }: Work,
	pauses: Pauses,
): Loop {
	const { now } = clock;
	const { each, half, alone } = sharesOf(concurrency);
	/** Those that could not be released, because the database was down. Until they end, no other worker gets their queues. */
	const kept = new Set<Lease>();
	/**
	 * Those that do not run at the moment: under one name all calls of `runOnce` give a sign of life. They are made late, because a worker
	 * of Cloudflare has no chance at its start.
	 */
	const resting = { forever: [] as Self[], once: [] as Self[] };
	/** How many times in a row a queue came back as due although no text of it has changed its state. */
	const idle = new Map<number, number>();
	const claimers = new Set<() => void>();
	/** When this process last claimed. A failover to a database with another clock ends a run. */
	let last = 0;
	/** When it last asked whether queues are missing. By the clock of the outbox, as their turns. */
	let healedAt = Number.NEGATIVE_INFINITY;
	const claimNow = (): void => {
		for (const tell of claimers) tell();
	};

	/**
	 * When a queue is due next. One that comes back as due again and again without a change would be worked on as fast as the database
	 * can, so it waits. A text that comes into it makes it due at once all the same.
	 */
	function unlessIdle({ id }: Lease, next: Next, isChanged: boolean): Next {
		const at = now();
		if (isChanged || !next || next.at > at) {
			idle.delete(id);
			return next;
		}
		const times = (idle.get(id) ?? 0) + 1;
		idle.set(id, times);
		return times <= mostIdle
			? next
			: { ...next, at: at + Math.min(longestIdleMs, idleMs * 2 ** (times - mostIdle - 1)) };
	}

	async function run(forever: boolean, signal?: AbortSignal): Promise<void> {
		const running = new Map<Lease, { ended: Promise<void>; since: number }>();
		let restedAt = performance.now();
		let seenAt = Number.NEGATIVE_INFINITY;
		let probedAt = Number.NEGATIVE_INFINITY;
		const others = forever ? resting.forever : resting.once;
		const self: Self = others.pop() ?? { id: crypto.randomUUID() };
		let failure: { error: unknown } | undefined;
		/** Something may be due that the last claim has not seen. */
		let hasNews = true;
		let isAwake = false;
		/** What a claim left out when it last found nothing, and when that was. */
		const nothing = new Map<Looking, { without: string; at: number }>();
		/** When a claim last put what was stored since into its queues. */
		let adoptedAt = Number.NEGATIVE_INFINITY;
		let waiting: AbortController | undefined;
		/** Beside the work, because there may be many texts. */
		let healing: Promise<void> | undefined;
		const wakeUp = (): void => {
			isAwake = true;
			waiting?.abort();
		};
		const tell = (): void => {
			hasNews = true;
			wakeUp();
		};

		async function work(lease: Lease, probed?: StoredPause): Promise<void> {
			try {
				const { next, isChanged, isReleased, isBehind } = await step(lease, signal);
				if (isBehind) seenAt = Number.NEGATIVE_INFINITY;
				if (isReleased) idle.delete(lease.id);
				else await store.release(lease, signal?.aborted ? next : unlessIdle(lease, next, isChanged));
				// If the step made no request of its kind, the pause neither ended nor grew.
				if (probed) {
					const until = Math.max(now(), pauses.pausedUntil(probed.agencyId));
					await store.probe(probed.agencyId, probed.until, until);
				}
				if (probed || isBehind || (next && next.at <= now())) hasNews = true;
			} catch (error) {
				failure ??= { error };
				kept.add(lease);
			}
		}

		/** Looks for texts that are in no queue, if no other worker has done so a moment ago. */
		function heal(at: number): void {
			if (healing || (at - healedAt < healMs && at >= healedAt)) return;
			healedAt = at;
			healing = store
				.heal(at, signal)
				.then(
					(count) => {
						if (count > 0) hasNews = true;
					},
					(error: unknown) => {
						failure ??= { error };
					},
				)
				.finally(() => {
					healing = undefined;
					wakeUp();
				});
		}

		/** Gives a sign of life. If the database has lost something since the last one, texts are sent again once that is dealt with. */
		async function beat(): Promise<void> {
			for (;;) {
				seenAt = performance.now();
				const at = now();
				const { restore } = self;
				const seen = await store.beat({ id: self.id, version, runsOnce: !forever, at, restore });
				if (seen.lostSince !== undefined) {
					const restored = { from: seen.lostSince, to: now() };
					const { count, isNew } = await store.restored(restored, "worker");
					if (isNew) await lost(restored, count);
					continue;
				}
				if (restore !== undefined && restore !== seen.restore) {
					await sayNoAgain();
					self.restore = seen.restore;
					continue;
				}
				self.restore = seen.restore;
				// It is asked again in a second.
				if (seen.isRestoring && !(await store.finishRestore())) seenAt = Number.NEGATIVE_INFINITY;
				return;
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

		const reads = (): number => [...running.keys()].filter(({ band }) => band === 3).length;
		const free = (): number => concurrency - running.size;

		/** Leases what is due and starts it. Returns how many queues. */
		async function claim(at: number): Promise<number> {
			const before = running.size;
			if (before >= concurrency) return 0;
			if (hasNews || before === 0) {
				nothing.clear();
				adoptedAt = Number.NEGATIVE_INFINITY;
			}
			hasNews = false;
			const isRecent = (since: number): boolean => performance.now() - since < busyMs;

			/** @param most queues of one agency that work at once */
			async function take(what: Looking, most: number, limit: number): Promise<void> {
				const isReading = what === "reads";
				const leavesNew = isReading || isRecent(adoptedAt);
				const without = busy(most);
				const last = nothing.get(what);
				const isKnown = last && isRecent(last.at) && last.without === without.join();
				if (limit < 1 || (isKnown && leavesNew)) return;
				if (!leavesNew) adoptedAt = performance.now();
				const askedAt = performance.now();
				const leases = await store.claim({ now: at, limit, each, leaseMs, isReading, without, leavesNew });
				if (leases.length === 0) nothing.set(what, { without: without.join(), at: performance.now() });
				else
					pauses.ended(
						leases.map(({ agencyId }) => agencyId),
						askedAt,
					);
				for (const lease of leases) start(lease);
			}
			await take("shared", half, free());
			if (busy(half).length > 0) await take("rest", alone, free());
			await take("reads", half, Math.min(free(), half - reads()));
			if (running.size === 0 || !isRecent(probedAt)) await probe(at);
			return running.size - before;
		}

		/** Tries one queue of each agency whose pause has come to its end. Of several workers one does. */
		async function probe(at: number): Promise<void> {
			const askedAt = performance.now();
			probedAt = askedAt;
			const stored = await store.paused();
			alerts.seen(stored);
			await suspended(await store.suspended());
			const paused = stored.filter(({ agencyId }) => !isAlert(agencyId));
			await probeSends(
				paused.find(({ agencyId }) => agencyId === allSends),
				at,
			);
			const everybody = paused.find(({ agencyId }) => agencyId === "");
			for (const pause of everybody ? [everybody] : paused) {
				if (pause.until > at || running.size >= concurrency || pause.agencyId === allSends) continue;
				const isForbidden = await pauses.isForbidden(pause);
				const { agencyId: probing } = pause;
				const options = { now: at, limit: 1, each: 1, leaseMs, isReading: false, probing };
				const [lease] = await store.claim(options);
				if (!lease) continue;
				const until = at + probeMs;
				// Its step makes no request, and ends what is too old.
				if (isForbidden) start(lease);
				else if (await store.probe(probing, pause.until, until)) {
					// What this process knows of the agency may be older than what the store has just said.
					const own = paused.find(({ agencyId }) => agencyId === lease.agencyId);
					for (const each of own ? [pause, own] : [pause]) pauses.resumed({ ...each, until: 1 });
					if (!own) pauses.ended([lease.agencyId], askedAt);
					start(lease, { ...pause, until });
				} else await store.release(lease, { at, band: lease.band });
			}
		}

		/** Asks whether the key may send again. No text is tried for that. */
		async function probeSends(pause: StoredPause | undefined, at: number): Promise<void> {
			if (!pause) return await pauses.allowed(allSends);
			if (pause.until > at || !(await store.probe(allSends, pause.until, at + probeMs))) return;
			if (await pauses.isForbidden(pause)) return;
			await store.resume(allSends, at);
			await pauses.allowed(allSends);
			hasNews = true;
		}

		const renewing = setInterval(() => {
			const old = [...running].filter(([, { since }]) => performance.now() - since >= leaseMs / 3);
			const tokens = old.map(([{ token }]) => token);
			// A lease that is lost does no harm, and a store that fails shows it elsewhere.
			if (tokens.length > 0) store.renew(tokens, leaseMs).catch(() => {});
		}, leaseMs / 3);
		// The loop itself keeps the process alive.
		Object(renewing).unref?.();
		claimers.add(tell);
		try {
			await releaseKept();
			while (!signal?.aborted && !failure) {
				isAwake = false;
				// With a database in the process, everything else would stand still until nothing is due.
				if (performance.now() - restedAt > mostBusyMs) {
					await sleep(0, [signal]);
					restedAt = performance.now();
				}
				await clock.measure();
				const at = now();
				if (at + beatMs < last) {
					// The clock was set back, or that of another database is behind. A text that waits for some seconds would wait until the clock comes to that time again.
					pauses.forget();
					await store.recover(at);
				}
				last = at;
				if (performance.now() - seenAt >= beatMs) await beat();
				heal(at);
				await awaken();
				const count = await claim(at);
				// All that was due was tried, or that takes long.
				if (running.size === 0 || alerts.isUrgent()) await alerts.tell();
				if (count > 0 && running.size < concurrency) continue;
				// A run that is to end looks once more at once: no step is left that could wake it again.
				const emptyAt = forever && count === 0 && running.size === 0 ? performance.now() : undefined;
				// A step that ended meanwhile may have made something due that this claim has not seen.
				if (running.size === 0 && !forever && !isAwake && !healing) break;
				// At most until something is stored or a step ends.
				waiting = new AbortController();
				if (!isAwake) await sleep(idleMs, [signal, waiting.signal]);
				if (emptyAt !== undefined) await sleep(gapMs - (performance.now() - emptyAt), [signal]);
			}
		} finally {
			claimers.delete(tell);
			await Promise.all([...running.values()].map(({ ended }) => ended));
			await healing;
			clearInterval(renewing);
			await alerts.tell().catch(() => {});
			await releaseKept().catch(() => {});
			// A database that is down forgets it by itself.
			if (forever) await store.leave(self.id).catch(() => {});
			others.push(self);
		}
		if (failure) throw failure.error;
	}

	return { run, claimNow };
}

/** Works until the signal aborts, and checks at once what a job of the engine tells of. */
export async function workWith(engine: OutboxEngine, loop: Loop, signal: AbortSignal | undefined): Promise<void> {
	await engine.start(signal);
	if (signal?.aborted) return;
	const stop = await engine.work(loop.claimNow);
	try {
		await loop.run(true, signal);
	} finally {
		await stop();
	}
}
