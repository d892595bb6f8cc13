import { onAbort } from "../shared/signals.ts";

/** Gives each request of a fleet its turn, so that no more than a number of requests go out per second. */
export interface Budget {
	/** How many agencies share it. */
	agencies: number;
	/** Waits for the turn of a request that goes first. Resolves at once after an abort, because the request then fails. */
	turn: (signal: AbortSignal) => Promise<void>;
	/** Counts requests that went out without a turn, such as the retries of a call. */
	spend: (requests: number) => void;
	/**
	 * Opens the budget of one poll.
	 * @param lastAt when the agency was polled last
	 * @param pauseMs the pause that it should have between two polls
	 */
	openPoll: (lastAt: number, pauseMs: number, signal: AbortSignal) => PollBudget;
}

export interface PollBudget {
	turn: () => Promise<void>;
	end: () => void;
}

/** A timer may be late by this much without a loss of turns. */
const lateMs = 20;
/** After so many requests a poll is a backlog, and shares its turns with the polls of others. */
const firstRequests = 10;
/** The part of the requests that all backlogs together have while others want more than there is. */
const partOfBacklogs = 1 / 5;
/**
 * An agency goes before those that are in time once it has waited for so many times its pause, or so many times `maxMs`. By
 * `maxMs` alone all quiet agencies that are late would go before an active one.
 */
const patience = { ofPause: 1.6, ofMax: 1.12 };
/** Quiet agencies are polled in time if that takes no more than this part of the requests. */
const partOfQuiet = 0.7;

/** The order of turns. Within a rank the larger urgency goes first, and then who has waited longer. */
type Urgency = readonly [rank: number, urgency: number];

interface Waiting {
	urgency: (now: number) => Urgency;
	begin: () => void;
}

/**
 * Opens a budget. Requests have their turn in this order:
 * 1. the first requests of a poll that has begun, so that what was found is delivered soon;
 * 2. the poll of an agency that has waited for much longer than its pause, or for more than `maxMs`;
 * 3. the poll that is most overdue in proportion to its pause, and backlogs with a part of the requests.
 */
export function openBudget(requestsPerSecond: number, maxMs: number): Budget {
	const stepMs = 1_000 / requestsPerSecond;
	const waiting = new Set<Waiting>();
	let nextAt = performance.now();
	let timer: ReturnType<typeof setTimeout> | undefined;
	/** Polls that are backlogs. */
	let backlogs = 0;

	const budget: Budget = {
		agencies: 0,
		turn: (signal) => wait(signal, () => [3, 0]),
		spend(requests) {
			nextAt += requests * stepMs;
		},
		openPoll(lastAt, pauseMs, signal) {
			let requests = 0;
			let latestAt = 0;
			return {
				async turn() {
					requests++;
					if (requests === firstRequests + 1) backlogs++;
					const isFirst = requests === 1;
					const isBacklog = requests > firstRequests;
					await wait(signal, (now) => {
						if (isFirst) return ofPoll(now - lastAt, pauseMs);
						return isBacklog ? [1, (now - latestAt) / ((backlogs * stepMs) / partOfBacklogs)] : [3, 0];
					});
					latestAt = performance.now();
				},
				end() {
					if (requests > firstRequests) backlogs--;
				},
			};
		},
	};

	function ofPoll(passedMs: number, pauseMs: number): Urgency {
		const isAffordable = budget.agencies * stepMs <= maxMs * partOfQuiet;
		const lateForMs = passedMs - Math.min(pauseMs * patience.ofPause, maxMs * patience.ofMax);
		return isAffordable && lateForMs >= 0 ? [2, lateForMs] : [1, passedMs / Math.max(1, pauseMs)];
	}

	function wait(signal: AbortSignal, urgency: Waiting["urgency"]): Promise<void> {
		return new Promise((resolve) => {
			if (signal.aborted) return resolve();
			const begin = (): void => {
				waiting.delete(entry);
				removeListener();
				resolve();
			};
			const entry: Waiting = { urgency, begin };
			const removeListener = onAbort(signal, () => {
				begin();
				if (waiting.size === 0) clearTimeout(timer);
			});
			waiting.add(entry);
			grant();
		});
	}

	function grant(): void {
		clearTimeout(timer);
		for (let now = performance.now(); now >= nextAt && waiting.size > 0; now = performance.now()) {
			nextAt = Math.max(nextAt, now - lateMs) + stepMs;
			mostUrgent(now)?.begin();
		}
		if (waiting.size > 0) timer = setTimeout(grant, nextAt - performance.now());
	}

	function mostUrgent(now: number): Waiting | undefined {
		let [first, [rank, urgency]]: [Waiting | undefined, Urgency] = [undefined, [0, 0]];
		for (const entry of waiting) {
			const [itsRank, its] = entry.urgency(now);
			if (itsRank > rank || (itsRank === rank && its > urgency)) [first, rank, urgency] = [entry, itsRank, its];
		}
		return first;
	}

	return budget;
}
