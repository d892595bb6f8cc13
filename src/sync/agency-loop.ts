import { type Client, isPartnerError, type PartnerError } from "messaging-conversations";
import { onAbort, untilAborted } from "../shared/signals.ts";
import { sleep } from "../shared/sleep.ts";
import type { AgencyChange, AgencyPoll, WatchAgenciesOptions } from "./agencies.ts";
import type { Budget, PollBudget } from "./budget.ts";
import { encode, memoryFrom } from "./checkpoint.ts";
import { type Feed, type FeedSettings, forgetIn, oneByOne, pollOnce } from "./feed.ts";
import { ofCaller, refuse } from "./input.ts";
import { type Change, forget, type Memory, never } from "./memory.ts";
import { poll } from "./poll.ts";

/** What the agencies of one loop share. */
export interface Fleet<Tx> extends Pick<WatchAgenciesOptions<Tx>, "load" | "save" | "lease"> {
	client: Client;
	feed: FeedSettings;
	budget: Budget;
	since: "now" | "beginning";
	minMs: number;
	maxMs: number;
	/** Yields a change to the caller's loop, unless it is over before. Resolves with whether it was delivered. */
	deliver: (change: AgencyChange<Tx>, isOver: () => boolean) => Promise<boolean>;
	onPoll: (event: AgencyPoll) => void;
	/** The agency is absent for an error of `me.get`. */
	onError: (error: PartnerError, agencyId?: string) => void;
}

/** The polls of one agency. They end with its signal. */
export interface AgencyLoop {
	/** Resolves when nothing of it runs any more. Rejects if `onPoll` or `onError` threw. */
	ended: Promise<void>;
	/** Polls as soon as there is a turn. */
	pollNow: () => void;
	/** Removes a contact from the poll that runs, or else from the stored checkpoint. */
	erase: (phoneNumber: string) => Promise<void>;
}

/** The longest Retry-After that is honoured. */
export const longestRetryAfterMs = 3_600_000;
/** The longest pause of an agency that answers 403. */
const longestForbiddenMs = 900_000;
/** How often the lease is asked for again while a poll runs. */
const leaseEveryMs = 15_000;
/** How long the end of a loop waits for the removal of a contact that was forgotten just before. */
const lastForgetMs = 15_000;
/** An agency's activity is the number of its polls that found something, of which half are forgotten after this time. */
const halfLifeMs = 420_000;
/** With an activity of 1, the pause is a fifth of the time since something was found; with 3 or more a fifteenth. */
const pauses = { perActivity: 5, mostActivity: 3 };

/**
 * Polls an agency again and again. Neither a failed request nor a failed `load`, `save` or `lease` ends it.
 * @param before the end of an earlier loop of the agency, which may be storing where it was
 */
export function startAgencyLoop<Tx>(
	fleet: Fleet<Tx>,
	agencyId: string,
	signal: AbortSignal,
	before: Promise<void> | undefined,
): AgencyLoop {
	const { client, feed: settings, budget, since, minMs, maxMs, load, save, lease } = fleet;
	let isPolling = false;
	/** The feed of the poll that runs, once its checkpoint is loaded. */
	let running: Feed | undefined;
	/** The checkpoint that was loaded or stored last. */
	let stored: string | undefined;
	/** Contacts that leave the stored checkpoint before the next poll, each with who waits for that. */
	const toForget = new Map<string, (failure?: PartnerError) => void>();
	/** Whether the body of the loop has called `save` for the change that it has. */
	let isSaved = false;
	/** When the latest poll ended, and the pause that follows. */
	let polledAt = never;
	let pauseMs = 0;
	let pause = new AbortController();
	/** Whether the caller has asked for a poll since the latest one began. */
	let isPolledNow = false;
	/** When a poll began that delivered everything. */
	let currentAt: number | undefined;
	/** The service's time at the poll before. */
	let clockBefore = never;
	/** When a poll last found something. */
	let changedAt = never;
	let activity = 0;
	/** Polls in a row that did not deliver everything. */
	let failures = 0;

	async function run(): Promise<void> {
		await before;
		while (!signal.aborted) {
			pause = new AbortController();
			if (toForget.size > 0) await forgetStored(signal);
			if (performance.now() >= polledAt + pauseMs) {
				// Polls that began together drift apart.
				isPolling = true;
				isPolledNow = false;
				const nextMs = (await pollAgency()) * (1 - Math.random() / 10);
				pauseMs = isPolledNow ? 0 : nextMs;
				isPolling = false;
				polledAt = performance.now();
			}
			// A contact that was forgotten while the poll was being saved.
			if (toForget.size > 0) continue;
			await sleep(polledAt + pauseMs - performance.now(), [signal, pause.signal]);
		}
		if (toForget.size > 0) await forgetStored(AbortSignal.timeout(lastForgetMs));
	}

	/** One poll, whatever fails in it. Returns the pause until the next one. */
	async function pollAgency(): Promise<number> {
		const began = performance.now();
		const own = new AbortController();
		const removeListener = onAbort(signal, () => own.abort());
		const endLease = new AbortController();
		const turns = budget.openPoll(polledAt, pauseMs, own.signal);
		const counts = { requests: 0, changes: 0 };
		const errors: PartnerError[] = [];
		let feed: Feed | undefined;
		let isComplete = false;
		try {
			// Often enough to take over from a process that has died.
			if (!(await isOurs(signal))) return maxMs / 4;
			if (lease) keepLease(own, endLease.signal);
			await turns.turn();
			feed = await openFeed(own.signal, turns, counts);
			const polled = feed;
			await deliverAll(polled, own.signal, counts).finally(() => storeEnd(polled, own.signal));
			isComplete = feed.remaining === 0 && !feed.memory.snapshot;
		} catch (error) {
			if (!isPartnerError(error)) throw error;
			if (!own.signal.aborted) errors.push(error);
		} finally {
			endLease.abort();
			turns.end();
			removeListener();
		}
		if (own.signal.aborted) return maxMs / 4;
		errors.push(...(feed?.failures ?? []).map(({ error }) => error));
		failures = isComplete ? 0 : failures + 1;
		report(feed, began, isComplete, errors, counts);
		return feed && isComplete ? pauseAfter(feed, counts.changes) : pauseAfterFailure(errors);
	}

	/** Passes the changes of a poll to the loop, until it is left. */
	async function deliverAll(feed: Feed, stop: AbortSignal, counts: { changes: number }): Promise<void> {
		for await (const change of oneByOne(pollOnce(feed, 1, stop, poll))) {
			const isOver = (): boolean => stop.aborted || feed.forgotten.has(change.phoneNumber);
			isSaved = false;
			const isDelivered = await fleet.deliver(withPosition(feed, change), isOver);
			// A change of a contact that was forgotten meanwhile counts as delivered.
			if (!isDelivered && !feed.forgotten.has(change.phoneNumber)) return;
			isSaved = false;
			counts.changes++;
		}
	}

	/**
	 * Stores where a poll has ended. A process that has lost its lease does not. Nor is it stored if the loop was left after `save`
	 * of the change: that is so if its transaction was committed, and otherwise the change comes again.
	 */
	async function storeEnd(feed: Feed, stop: AbortSignal): Promise<void> {
		running = undefined;
		if (isSaved || (stop.aborted && !signal.aborted)) return;
		await store(feed.memory);
	}

	function withPosition(feed: Feed, change: Change): AgencyChange<Tx> {
		return {
			agencyId,
			...change,
			get checkpoint() {
				return encode(feed.memory);
			},
			async save(tx) {
				if (!save) refuse("watchAgencies", "save", "is missing: pass it as an option, or store change.checkpoint");
				isSaved = true;
				await save(agencyId, encode(feed.memory), tx);
			},
		};
	}

	async function openFeed(stop: AbortSignal, turns: PollBudget, counts: { requests: number }): Promise<Feed> {
		// The first request has had its turn.
		let hasTurn = true;
		const pace = {
			async turn() {
				if (!hasTurn) await turns.turn();
				hasTurn = false;
			},
			sent(attempts: number) {
				counts.requests += attempts;
				budget.spend(Math.max(0, attempts - 1));
			},
		};
		const memory = await loaded(stop);
		clockBefore = memory.clock;
		for (const phoneNumber of toForget.keys()) forget(memory, phoneNumber);
		const forgotten = new Set(toForget.keys());
		running = { ...settings, agency: client.agency(agencyId), memory, pace, failures: [], forgotten };
		return running;
	}

	async function loaded(stop: AbortSignal): Promise<Memory> {
		// Without `save` the body of the loop stores checkpoints, and what it has not stored is still true. With a lease another
		// process may have gone on.
		if (save || lease || stored === undefined)
			stored = (await ofCallers("load", () => untilAborted(load(agencyId), stop))) ?? undefined;
		return memoryFrom("watchAgencies", "load", stored ?? since, agencyId);
	}

	async function store(memory: Memory): Promise<void> {
		const forgotten = [...toForget];
		for (const [phoneNumber] of forgotten) forget(memory, phoneNumber);
		const checkpoint = encode(memory);
		if (save && checkpoint !== stored) await ofCallers("save", () => save(agencyId, checkpoint));
		stored = checkpoint;
		for (const [phoneNumber, settle] of forgotten) {
			toForget.delete(phoneNumber);
			settle();
		}
	}

	/** Removes contacts from the stored checkpoint between two polls. */
	async function forgetStored(stop: AbortSignal): Promise<void> {
		let failure: PartnerError | undefined;
		try {
			const memory = (await isOurs(stop)) ? await loaded(stop) : undefined;
			if (memory && stored !== undefined) await store(memory);
		} catch (error) {
			if (!isPartnerError(error)) throw error;
			failure = error;
		}
		settleAll(failure);
	}

	function whenForgotten(phoneNumber: string, settle: (failure?: PartnerError) => void): void {
		const before = toForget.get(phoneNumber);
		toForget.set(phoneNumber, (failure) => {
			before?.(failure);
			settle(failure);
		});
	}

	function settleAll(failure?: PartnerError): void {
		for (const settle of toForget.values()) settle(failure);
		toForget.clear();
	}

	async function isOurs(stop: AbortSignal): Promise<boolean> {
		return !lease || (await ofCallers("lease", () => untilAborted(lease(agencyId), stop))) === true;
	}

	/** Ends a poll if the lease is lost meanwhile. A lease that cannot be asked for is kept, because nothing can be stored. */
	async function keepLease(poll: AbortController, end: AbortSignal): Promise<void> {
		while (!end.aborted) {
			await sleep(leaseEveryMs, [end]);
			if (!end.aborted && !(await isOurs(signal).catch(() => true))) poll.abort();
		}
	}

	async function ofCallers<Result>(field: string, run: () => Result | PromiseLike<Result>): Promise<Result> {
		try {
			return await run();
		} catch (error) {
			throw ofCaller("watchAgencies", field, error, agencyId);
		}
	}

	function report(
		feed: Feed | undefined,
		began: number,
		isComplete: boolean,
		errors: readonly PartnerError[],
		counts: Pick<AgencyPoll, "requests" | "changes">,
	): void {
		// Another process may have polled before.
		currentAt ??= began - lastPollMs(feed);
		const now = performance.now();
		const lagMs = Math.round(now - currentAt);
		if (isComplete) currentAt = began;
		for (const error of errors) fleet.onError(error, agencyId);
		const [error] = errors;
		fleet.onPoll({ agencyId, lagMs, remaining: feed?.remaining ?? 0, ...counts, error, checkpoint: stored });
	}

	/** How long before a poll the one before it was, by the service's clock; 0 if there was none. */
	function lastPollMs(feed: Feed | undefined): number {
		const passed = (feed?.memory.clock ?? never) - clockBefore;
		return passed > 0 && passed < Number.POSITIVE_INFINITY ? passed : 0;
	}

	/** Notes what a poll has found. The first poll of an agency says nothing, because it finds everything that is there. */
	function noteActivity({ clock, position }: Memory, changes: number): void {
		const now = performance.now();
		const isFirst = clockBefore === never;
		// This process does not know the agency yet. The service's times say when something happened.
		if (polledAt === never && !isFirst && position !== "now" && clock > position)
			[changedAt, activity] = [now - (clock - position), 1];
		if (changes === 0 || isFirst) return;
		activity = 1 + activity * 2 ** ((changedAt - now) / halfLifeMs);
		changedAt = now;
	}

	/** The pause after a poll that delivered everything: the shorter, the more happens at the agency. */
	function pauseAfter(feed: Feed, changes: number): number {
		noteActivity(feed.memory, changes);
		const { perActivity, mostActivity } = pauses;
		const part = perActivity * Math.min(activity, mostActivity);
		return Math.min(maxMs, Math.max(minMs, part === 0 ? maxMs : (performance.now() - changedAt) / part));
	}

	/** The pause after another poll. It doubles with each. */
	function pauseAfterFailure(errors: readonly PartnerError[]): number {
		const isForbidden = errors.some(({ _tag }) => _tag === "PartnerForbidden");
		const mostMs = isForbidden ? Math.max(maxMs, longestForbiddenMs) : maxMs;
		const askedMs = errors.map(({ retryAfterMs = 0 }) => Math.min(retryAfterMs, longestRetryAfterMs));
		return Math.max(Math.min(mostMs, minMs * 2 ** (failures - 1)), ...askedMs);
	}

	function pollNow(): void {
		isPolledNow = true;
		pauseMs = 0;
		pause.abort();
	}

	return {
		ended: run(),
		pollNow,
		async erase(phoneNumber) {
			if (running) return forgetIn(running, phoneNumber);
			// A poll that begins may wait for the caller's loop, which may wait for this.
			if (isPolling) return whenForgotten(phoneNumber, () => {});
			await new Promise<void>((resolve, reject) => {
				whenForgotten(phoneNumber, (failure) => (failure ? reject(failure) : resolve()));
				pause.abort();
			});
		},
	};
}
