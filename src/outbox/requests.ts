/*
 * The requests of a text: which may have been taken, and when the next one may begin.
 */
import { openFor } from "./baseline.ts";
import { wrongClockMs } from "./clocks.ts";
import type { OnHeld } from "./policy/purpose.ts";
import type { OutboxText, Progress, RequestRecord } from "./text.ts";

/** The times and choices that decisions depend on. */
export interface Rules {
	settleMs: number;
	followMs: readonly number[];
	defaultMaxAgeMs: number;
	/** Of texts that have none of their own. */
	onHeld: OnHeld | undefined;
	/** Whether a text may be sent again when the contact has answered. */
	mayAnswer: boolean;
}

const minuteMs = 60_000;
/** A window with this much time left is open for certain, even when the clocks differ. */
const marginMs = 20 * minuteMs;
/** This many requests without a known result may follow each other without a pause. Then the pauses grow. */
const quickTries = 4;
/** After this many requests without an answer of the service the text is not sent again. */
const mostLost = 8;
/** As many refusals by something in front of the service, which let other texts pass, end a text sooner. */
const mostBlocked = 3;

/** Whether the service holds a text, or may do so. */
export function mayBeHeld(text: OutboxText): boolean {
	return text.state === "held" || (text.state === "sending" && !wasSurelyOpen(text));
}

/** The requests that may have been taken, for all that is known. */
export function pendingOf({ progress: { requests } }: OutboxText): RequestRecord[] {
	return sinceHeld(requests).filter((request) => !request.cleared);
}

/** The requests since the service last said that it holds the text. */
function sinceHeld(requests: readonly RequestRecord[]): RequestRecord[] {
	return requests.slice(lastHeldIn(requests) + 1);
}

/** The requests in a row that had no answer of the service. A 429 and a refusal are none of them. */
function lostOf({ progress: { requests } }: OutboxText): RequestRecord[] {
	return sinceHeld(requests).filter(({ end }) => end !== "refused" && end !== "limited");
}

/** How many requests in a row may have been taken: those that no read has proven absent. */
export function doubtsOf(text: OutboxText): number {
	return lostOf(text).filter(({ absent }) => !absent).length;
}

export function lastRequestAt({ progress: { requests } }: OutboxText): number | undefined {
	return requests.at(-1)?.at;
}

/** The requests, of which the last has ended. */
export function withEnd(requests: readonly RequestRecord[], end: RequestRecord["end"]): RequestRecord[] {
	const last = requests.at(-1);
	return last ? [...requests.slice(0, -1), { ...last, end }] : [];
}

/**
 * The requests, none of which was taken as far as a read shows.
 *
 * @param isSeen whether the read saw the conversation, which proves it. A hidden one looks like one that does not exist
 */
export function cleared(requests: readonly RequestRecord[], isSeen = true): RequestRecord[] {
	const held = lastHeldIn(requests);
	const mark: Partial<RequestRecord> = isSeen ? { cleared: true, absent: true } : { cleared: true };
	return requests.map((request, index) => (index > held ? { ...request, ...mark } : request));
}

export function lastHeldIn(requests: readonly RequestRecord[]): number {
	return requests.map(({ end }) => end).lastIndexOf("held");
}

/** Whether an earlier request may have been taken in a conversation that is hidden from the agency. */
export function isInDoubt(text: OutboxText): boolean {
	return doubtsOf(text) > 0 && !text.progress.baseline?.seen;
}

/** Whether so many requests had no answer of the service that the text is not sent any more. */
export function isGivenUp(text: OutboxText): boolean {
	return lostOf(text).length >= mostLost || isBlocked(text);
}

/** Whether something in front of the service refuses this text alone, and no request of it was taken. */
export function isBlocked(text: OutboxText): boolean {
	return doubtsOf(text) === 0 && lostOf(text).filter(({ blocked }) => blocked).length >= mostBlocked;
}

/** The pauses grow with the number of requests without an answer of the service. A read in between does not shorten them. */
export function waitsForRequestUntil(text: OutboxText, { settleMs }: Rules): number {
	const lost = lostOf(text).length;
	return lost === 0 ? 0 : (lastRequestAt(text) ?? 0) + settleMs * 4 ** Math.max(0, lost + 1 - quickTries);
}

/**
 * Whether the service is sure to know the id of the request. A repeat in an open window is not sent twice. Not so across the
 * window's end: the window has to be open for certain, by a clock that has not moved back since.
 */
export function mayRepeatAtOnce(text: OutboxText, rules: Rules, now: number): boolean {
	const { baseline, cancelRequested } = text.progress;
	const pending = pendingOf(text);
	const [first] = pending;
	if (!first || cancelRequested || now > lastMoment(text, rules) || baseline?.queued !== null) return false;
	if (pending.some(({ end }) => end !== undefined) || lostOf(text).length >= quickTries) return false;
	const age = now - first.at;
	return age >= 0 && age < minuteMs && openFor(baseline, now) > marginMs;
}

/** Whether the window was open for certain at each request, so that the text cannot have been held. */
export function wasSurelyOpen(text: OutboxText): boolean {
	const { baseline } = text.progress;
	const at = lastRequestAt(text);
	return baseline !== null && at !== undefined && openFor(baseline, at) > marginMs;
}

export function isSettled(text: OutboxText, { settleMs }: Rules, now: number): boolean {
	const at = lastRequestAt(text);
	return at === undefined || now - at >= settleMs;
}

/**
 * What the row knows of its requests, without times of the future: the clock was wrong when they were stored, and the text would wait
 * until then. They count as of now, at which nothing is settled. Undefined if there are none.
 */
export function withoutFuture({ progress }: OutboxText, now: number): Partial<Progress> | undefined {
	const { requests, emptyAt, flow } = progress;
	const isFuture = (at: number | null | undefined): boolean => (at ?? 0) - wrongClockMs > now;
	if (!isFuture(requests.at(-1)?.at) && !isFuture(emptyAt) && !isFuture(flow?.since)) return undefined;
	const past = (at: number): number => Math.min(at, now);
	return {
		requests: requests.map((request) => ({ ...request, at: past(request.at) })),
		emptyAt: emptyAt && past(emptyAt),
		flow: flow && { since: past(flow.since), until: past(flow.until) },
	};
}

/** The last moment at which a request may begin. */
export function lastMoment({ notAfter, notBefore, createdAt }: OutboxText, { defaultMaxAgeMs }: Rules): number {
	return notAfter ?? Math.max(createdAt, notBefore ?? 0) + defaultMaxAgeMs;
}
