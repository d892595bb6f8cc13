/*
 * Which text of a contact comes first. They go out in order, one at a time.
 */
import { latestByOwn, unmeasured } from "../clocks.ts";
import { isInDoubt, isRestored, lastTapAt, mayTakePlace, onOwnHeldOf } from "../decide.ts";
import { policies, purposeOf } from "../policy/purpose.ts";
import type { OutboxText } from "../text.ts";
import type { Passing, Situation } from "./situation.ts";

/** A reply does not wait for the morning while the window is open. */
export const isReply = (text: OutboxText): boolean => policies[purposeOf(text)].keepsQuiet === "while_closed";

/** The texts of the contact that come before it. */
function ahead({ queue, text }: Situation): readonly OutboxText[] {
	const at = queue.findIndex(({ id }) => id === text.id);
	return at < 0 ? [] : queue.slice(0, at);
}

/** The text of the contact that it waits behind, if any. */
export function inFront(s: Situation): OutboxText | undefined {
	if (s.passing) return undefined;
	return ahead(s).find((other) => {
		if (other.state === "held") return !mayWantToPass(s.text, other, s.options);
		if (other.state !== "waiting" || isInDoubt(other)) return true;
		return !goesBefore(s, other);
	});
}

/** Whether a reply goes before a text that was put off. One that came after a decline does not wait until that is certain. */
function goesBefore(s: Situation, other: OutboxText): boolean {
	if (!isReply(s.text) || s.text.progress.attempts > 0 || (other.nextAt ?? 0) <= s.now) return false;
	const { declinedAt } = other.progress;
	return declinedAt === undefined ? !isReply(other) : s.text.createdAt > latestByOwn(declinedAt, unmeasured);
}

/**
 * What it was put off for may have ended: the text before it has just had its turn, or a reply has come since, to what the contact may
 * have written.
 */
export function isWoken({ text, queue, previousId }: Situation): boolean {
	const { attempts, wait } = text.progress;
	if (attempts > 0) return false;
	if (previousId !== undefined && previousId !== text.id && queue[0]?.id === text.id) return true;
	if (!isReply(text) || !wait || !["quiet_while_closed", "colleague_held", "own_held"].includes(wait.because))
		return false;
	return queue.some((other) => other.id !== text.id && isReply(other) && !wait.seen.includes(other.seq));
}

/** The earlier text of this outbox that the service holds. */
export function heldAhead(s: Situation): OutboxText | undefined {
	return ahead(s).find(({ state }) => state === "held");
}

/**
 * Whether a text need not wait for the end of one that the service holds, or that has left the service's queue a moment ago. One that may
 * be in the conversation itself has to be looked for first.
 */
function mayWantToPass(text: OutboxText, held: OutboxText, options: Situation["options"]): boolean {
	// What became of the held one is not known at the moment.
	if (held.progress.failures > 0 || isRestored(text) || isInDoubt(text)) return false;
	const onHeld = onOwnHeldOf(text, held, options);
	return held.progress.emptyAt === null ? onHeld !== "wait" : onHeld === "send_if_open";
}

/** The texts that need not wait for the end of this one, which the service holds. */
export function waitingToPass(held: OutboxText, { queue, agency, options }: Situation): OutboxText[] {
	if (held.state !== "held" || agency.isSuspended) return [];
	return queue.filter((text) => text.state === "waiting" && mayWantToPass(text, held, options));
}

/** Whether it may go now, as the reading of the held text shows. */
export function mayPass({ text, options, now }: Situation, { held, match, isGone }: Passing): boolean {
	if (!isGone) return mayTakePlace(onOwnHeldOf(text, held, options), match, now);
	// The contact may have declined what was enqueued before the tap.
	const isEmpty = match.reading.conversation.queuedMessages.length === 0;
	return isEmpty && text.createdAt > lastTapAt(match) && mayTakePlace("send_if_open", match, now);
}
