/*
 * Which text of a queue is next, and which ones need not wait for it.
 */
import { latestByOwn, unmeasured } from "../clocks.ts";
import { isInDoubt, onOwnHeldOf } from "../decide.ts";
import type { CheckedOptions } from "../options.ts";
import { policies, purposeOf } from "../policy/purpose.ts";
import type { OpenText, OutboxText } from "../text.ts";

/** The text whose turn it is, with the time of one that need not wait for it if that is due earlier. */
export function headOf([first, ...others]: readonly OpenText[], options: CheckedOptions): OutboxText | undefined {
	const now = options.now();
	const reply = passing(first, others, now);
	if (reply || !first) return reply;
	const woken = waking(first, others, now);
	const earlier = [...willing(first, others, options), ...(woken ? [woken] : [])];
	return { ...first, nextAt: Math.min(first.nextAt ?? 0, ...earlier.map(({ nextAt }) => nextAt ?? 0)) };
}

/**
 * A reply that is due before a text that was tried and waits for later, such as for the morning: nothing of that one is on its way. If that
 * one waits to be certain that the contact has declined, only a reply that was enqueued after they did.
 */
function passing(first: OutboxText | undefined, others: readonly OutboxText[], now: number): OutboxText | undefined {
	if (first?.state !== "waiting" || (first.nextAt ?? 0) <= now || isInDoubt(first)) return undefined;
	const { declinedAt } = first.progress;
	if (declinedAt === undefined && sleepsWhileClosed(first)) return undefined;
	return others.find((text) => {
		const isDue = text.progress.attempts === 0 && (text.nextAt ?? 0) <= now;
		return sleepsWhileClosed(text) && isDue && text.createdAt > latestByOwn(declinedAt ?? {}, unmeasured);
	});
}

/**
 * A reply that is due behind one that sleeps until the morning, or that waits for a text of somebody else: the window may have opened
 * meanwhile, or that text may have left the service's queue.
 */
function waking(first: OutboxText | undefined, others: readonly OutboxText[], now: number): OutboxText | undefined {
	if (!first || !sleepsWhileClosed(first) || (first.reason !== "quiet_hours" && !isBehindOther(first)))
		return undefined;
	return others.find(
		(text) =>
			sleepsWhileClosed(text) && text.reason !== "quiet_hours" && (text.nextAt ?? Number.POSITIVE_INFINITY) <= now,
	);
}

/** Whether the last read of a text that was never requested showed a text of somebody else in the service's queue. */
const isBehindOther = ({ state, reason, progress: { attempts, failures, reads, emptyAt } }: OutboxText): boolean =>
	state === "waiting" && reason === null && attempts + failures === 0 && reads > 0 && emptyAt === null;

/** The replies that are due and wait behind a text of somebody else together with the first of them. What came after its decline does not. */
export function waitingWith(first: OutboxText, texts: readonly OutboxText[], now: number): OutboxText[] {
	if (!sleepsWhileClosed(first)) return [];
	const { declinedAt } = first.progress;
	const until = declinedAt ? latestByOwn(declinedAt, unmeasured) : Number.POSITIVE_INFINITY;
	return texts.filter((text) => {
		const isDue = text.progress.attempts === 0 && (text.nextAt ?? Number.POSITIVE_INFINITY) <= now;
		return text.id !== first.id && sleepsWhileClosed(text) && isDue && text.createdAt <= until;
	});
}

/** The texts that do not wait for the one that is held. Once it has left the queue only those that need no place of it. */
export function willing(
	held: OutboxText | undefined,
	texts: readonly OutboxText[],
	options: CheckedOptions,
): OutboxText[] {
	if (held?.state !== "held") return [];
	// What became of it is not known at the moment.
	if (held.progress.failures > 0) return [];
	const isGone = held.progress.emptyAt !== null;
	return texts.filter((text) => {
		const onHeld = text.state === "waiting" ? onOwnHeldOf(text, held, options) : "wait";
		return isGone ? onHeld === "send_if_open" : onHeld !== "wait";
	});
}

export const sleepsWhileClosed = (text: OutboxText): boolean =>
	text.state === "waiting" && policies[purposeOf(text)].keepsQuiet === "while_closed";
