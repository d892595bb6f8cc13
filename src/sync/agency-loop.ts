import { type Client, isPartnerError, PartnerConfigurationError, type PartnerError } from "messaging-conversations";
import { onAbort, untilAborted } from "../shared/signals.ts";
import { sleep } from "../shared/sleep.ts";
import type { AgencyChange, AgencyPoll, WatchAgenciesOptions } from "./agencies.ts";
import type { Budget, PollBudget } from "./budget.ts";
import { encode } from "./checkpoint.ts";
import { type Feed, type FeedSettings, forgetIn, oneByOne, pollOnce } from "./feed.ts";
import { refuse } from "./input.ts";
import { type Change, never } from "./memory.ts";
import { createPace } from "./pace.ts";
import { poll as pollChanges } from "./poll.ts";
import { createPosition, ofCallers } from "./position.ts";

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

/** How often the lease is asked for again while a poll runs. */
const leaseEveryMs = 15_000;
/** How long the end of a loop waits for the removal of a contact that was erased just before. */
const lastEraseMs = 15_000;

/** The body of a loop must not commit what another process may have gone on from. */
function refuseLost(agencyId: string): never {
	const rule = "was lost while you stored a change. Roll back: the process that has it gets the change again";
	const operation = "watchAgencies";
	throw new PartnerConfigurationError({ operation, field: "lease", rule, agencyId, retryable: true });
}

/** One poll of an agency, and how it went. */
interface Poll {
	/** When it began. */
	began: number;
	/** Once its checkpoint is loaded. */
	feed?: Feed;
	/** Nothing more of it is delivered: what it has found is being stored. */
	isDelivered?: true;
	/** The service's time at the poll before. */
	clockBefore: number;
	requests: number;
	changes: number;
	errors: PartnerError[];
	/** The body of the loop has called `save` for the change that it has. */
	isSaved: boolean;
	/** It delivered everything that there was. */
	isComplete: boolean;
}

const newPoll = (): Poll => ({
	began: performance.now(),
	clockBefore: never,
	requests: 0,
	changes: 0,
	errors: [],
	isSaved: false,
	isComplete: false,
});

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
	const { client, feed: settings, budget, maxMs, save, lease } = fleet;
	const position = createPosition(fleet, agencyId);
	const pace = createPace(fleet);
	/** The poll that runs. */
	let poll: Poll | undefined;
	/** When the latest poll ended, and the rest that follows. */
	let rest = { since: never, ms: 0, end: new AbortController() };
	/** Whether the caller has asked for a poll since the latest one began. */
	let isPolledNow = false;
	/** When a poll began that delivered everything. */
	let currentAt: number | undefined;

	async function run(): Promise<void> {
		await before;
		while (!signal.aborted) {
			rest.end = new AbortController();
			if (position.erased.size > 0) await position.storeErased(() => isOurs(signal), signal);
			if (performance.now() >= rest.since + rest.ms) {
				isPolledNow = false;
				poll = newPoll();
				// Polls that began together drift apart.
				const ms = (await runPoll(poll)) * (1 - Math.random() / 10);
				poll = undefined;
				rest = { ...rest, since: performance.now(), ms: isPolledNow ? 0 : ms };
			}
			// A contact that was erased while the poll was being saved.
			if (position.erased.size > 0) continue;
			await sleep(rest.since + rest.ms - performance.now(), [signal, rest.end.signal]);
		}
		if (position.erased.size > 0) {
			const stop = AbortSignal.timeout(lastEraseMs);
			await position.storeErased(() => isOurs(stop), stop);
		}
	}

	/** One poll, whatever fails in it. Returns the rest until the next one. */
	async function runPoll(poll: Poll): Promise<number> {
		const own = new AbortController();
		const removeListener = onAbort(signal, () => own.abort());
		const endLease = new AbortController();
		const turns = budget.openPoll(rest.since, rest.ms, own.signal);
		try {
			// Often enough to take over from a process that has died.
			if (!(await isOurs(signal))) return maxMs / 4;
			if (lease) keepLease(own, endLease.signal);
			await turns.turn();
			const feed = await openFeed(poll, own.signal, turns);
			await deliverAll(poll, feed, own).finally(() => storeEnd(poll, feed, own.signal));
			poll.isComplete = feed.remaining === 0 && !feed.memory.snapshot;
		} catch (error) {
			if (!isPartnerError(error)) throw error;
			if (!own.signal.aborted) poll.errors.push(error);
		} finally {
			endLease.abort();
			turns.end();
			removeListener();
		}
		if (own.signal.aborted) return maxMs / 4;
		poll.errors.push(...(poll.feed?.failures ?? []).map(({ error }) => error));
		report(poll);
		const { feed, isComplete, clockBefore, changes, errors } = poll;
		return feed && isComplete ? pace.afterPoll(feed.memory, clockBefore, changes) : pace.afterFailure(errors);
	}

	async function openFeed(poll: Poll, stop: AbortSignal, turns: PollBudget): Promise<Feed> {
		// The first request has had its turn.
		let hasTurn = true;
		const turnOfEach = {
			async turn() {
				if (!hasTurn) await turns.turn();
				hasTurn = false;
			},
			sent(attempts: number) {
				poll.requests += attempts;
				budget.spend(Math.max(0, attempts - 1));
			},
		};
		const memory = await position.load(stop);
		poll.clockBefore = memory.clock;
		const forgotten = new Set(position.erased);
		poll.feed = { ...settings, agency: client.agency(agencyId), memory, pace: turnOfEach, failures: [], forgotten };
		return poll.feed;
	}

	/** Passes the changes of a poll to the loop, until it is left. */
	async function deliverAll(poll: Poll, feed: Feed, own: AbortController): Promise<void> {
		for await (const change of oneByOne(pollOnce(feed, 1, own.signal, pollChanges))) {
			const isOver = (): boolean => {
				if (isLost()) own.abort();
				return own.signal.aborted || feed.forgotten.has(change.phoneNumber);
			};
			poll.isSaved = false;
			const isDelivered = await fleet.deliver(withPosition(poll, feed, change), isOver);
			// A change of a contact that was erased meanwhile counts as delivered.
			if (!isDelivered && !feed.forgotten.has(change.phoneNumber)) return;
			poll.isSaved = false;
			poll.changes++;
		}
	}

	function withPosition(poll: Poll, feed: Feed, change: Change): AgencyChange<Tx> {
		return {
			agencyId,
			...change,
			get checkpoint() {
				return encode(feed.memory);
			},
			async save(tx) {
				if (!save) refuse("watchAgencies", "save", "is missing: pass it as an option, or store change.checkpoint");
				if (isLost()) refuseLost(agencyId);
				poll.isSaved = true;
				await save(agencyId, encode(feed.memory), tx);
			},
		};
	}

	/**
	 * Stores where a poll has ended. A process that has lost its lease does not. Nor is it stored if the loop was left after `save`
	 * of the change: that is so if its transaction was committed, and otherwise the change comes again.
	 */
	async function storeEnd(poll: Poll, feed: Feed, stop: AbortSignal): Promise<void> {
		poll.isDelivered = true;
		if (poll.isSaved || isLost() || (stop.aborted && !signal.aborted)) return;
		await position.store(feed.memory);
	}

	async function isOurs(stop: AbortSignal): Promise<boolean> {
		return !lease || (await ofCallers("lease", agencyId, () => untilAborted(lease(agencyId), stop))) === true;
	}

	/** Whether another process may have the agency since, for example because this one was stopped. A function alone does not tell. */
	const isLost = (): boolean => lease?.holds?.(agencyId) === false;

	/** Ends a poll if the lease is lost meanwhile. A lease that cannot be asked for is kept, because nothing can be stored. */
	async function keepLease(own: AbortController, end: AbortSignal): Promise<void> {
		while (!end.aborted) {
			await sleep(leaseEveryMs, [end]);
			if (end.aborted) return;
			if (lease?.holds ? isLost() : !(await isOurs(signal).catch(() => true))) own.abort();
		}
	}

	async function release(): Promise<void> {
		try {
			await lease?.release?.(agencyId);
		} catch {
			// It ends by itself.
		}
	}

	function report({ feed, began, clockBefore, requests, changes, errors, isComplete }: Poll): void {
		// Another process may have polled before: so long before this poll, by the service's clock.
		const passed = (feed?.memory.clock ?? never) - clockBefore;
		currentAt ??= began - (passed > 0 && passed < Number.POSITIVE_INFINITY ? passed : 0);
		const lagMs = Math.round(performance.now() - currentAt);
		if (isComplete) currentAt = began;
		for (const error of errors) fleet.onError(error, agencyId);
		const { checkpoint } = position;
		const [error] = errors;
		fleet.onPoll({ agencyId, lagMs, remaining: feed?.remaining ?? 0, requests, changes, error, checkpoint });
	}

	return {
		ended: run().finally(release),
		pollNow() {
			isPolledNow = true;
			rest.ms = 0;
			rest.end.abort();
		},
		async erase(phoneNumber) {
			if (poll?.feed && !poll.isDelivered) return forgetIn(poll.feed, phoneNumber);
			const erased = position.erase(phoneNumber);
			// A poll that begins may wait for the caller's loop, which may wait for this.
			if (poll) return void erased.catch(() => {});
			rest.end.abort();
			await erased;
		},
	};
}
