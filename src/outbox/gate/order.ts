/*
 * Which text of a contact comes first. They go out in order, one at a time.
 */
import { isSurelyOpen } from "../baseline.ts";
import { isRestored, lastTapAt } from "../decide.ts";
import type { Match } from "../match.ts";
import { byUrgency, type OnHeld, policies } from "../policy/purpose.ts";
import { isInDoubt } from "../requests.ts";
import type { OutboxText } from "../text.ts";
import type { Passing, Situation } from "./situation.ts";

/** A reply does not wait for the morning while the window is open. */
export const isReply = (text: OutboxText): boolean => policies[text.purpose].keepsQuiet === "while_closed";

/** The texts of the contact that come before it. */
function ahead({ queue, text }: Situation): readonly OutboxText[] {
	const at = queue.findIndex(({ id }) => id === text.id);
	return at < 0 ? [] : queue.slice(0, at);
}

/** The text of the contact that it waits behind, if any. */
export function inFront(s: Situation): OutboxText | undefined {
	if (s.passing) return undefined;
	return ahead(s).find((other) => {
		if (other.state === "held") return !mayWantToPass(s, s.text, other);
		if (other.state !== "waiting" || isInDoubt(other)) return true;
		return !goesBefore(s, other);
	});
}

/** What is more urgent, or takes the place of another text, does not wait for one that waits for the end of a flow. */
function goesBeforeFlow({ text, now }: Situation, other: OutboxText): boolean {
	if (other.progress.wait?.because !== "flow" || (other.nextAt ?? 0) <= now) return false;
	return (
		policies[text.purpose].inFlow !== "wait" && (text.given.supersedes !== undefined || byUrgency(text, other) < 0)
	);
}

/** Whether a reply goes before a text that was put off. */
function goesBefore(s: Situation, other: OutboxText): boolean {
	if (goesBeforeFlow(s, other)) return true;
	if (!isReply(s.text) || s.text.progress.attempts > 0 || (other.nextAt ?? 0) <= s.now) return false;
	return !isReply(other);
}

/**
 * What it was put off for may have ended: the text before it has just had its turn, or a reply has come since, to what the contact may
 * have written.
 */
export function isWoken({ text, queue, previousId }: Situation): boolean {
	const { attempts, wait } = text.progress;
	// The text before it may have ended the flow. Its wait is short, or it is marketing, and people are told until when it lasts.
	if (attempts > 0 || wait?.because === "flow") return false;
	if (previousId !== undefined && previousId !== text.id && queue[0]?.id === text.id) return true;
	if (!isReply(text) || !wait || !["quiet_while_closed", "colleague_held", "own_held"].includes(wait.because))
		return false;
	return queue.some((other) => other.id !== text.id && isReply(other) && !wait.seen.includes(other.seq));
}

/** The earlier text of this outbox that the service holds. */
export function heldAhead(s: Situation): OutboxText | undefined {
	return ahead(s).find(({ state }) => state === "held");
}

/** Whether it takes the place of a text that the service holds, because it supersedes that one, or one that was to take that place. */
export function takesPlaceOf({ heirs }: Situation, text: OutboxText, held: OutboxText): boolean {
	return text.given.supersedes === held.id || heirs.has(text.id);
}

/** What was chosen for a text while the service holds another one. */
const chosenOnHeld = ({ given }: OutboxText, { onHeld }: Situation["options"]): OnHeld | undefined =>
	given.onHeld ?? onHeld;

/** What a text does while the service holds one of somebody else. Whatever it is for, it does not take that place unasked. */
export const onOtherHeldOf = ({ text, options }: Situation): OnHeld => chosenOnHeld(text, options) ?? "wait";

/** What a text does while the service holds an earlier one of this outbox. */
function onOwnHeldOf(s: Situation, text: OutboxText, held: OutboxText): OnHeld {
	if (takesPlaceOf(s, text, held)) return "replace";
	return chosenOnHeld(text, s.options) ?? policies[text.purpose].onOwnHeld;
}

/** Whether it may be sent although the service holds another one. */
export function mayTakePlace(onHeld: OnHeld, match: Match | null, now: number): boolean {
	return onHeld === "replace" || (onHeld === "send_if_open" && isSurelyOpen(match?.reading ?? null, now));
}

/**
 * Whether a text need not wait for the end of one that the service holds, or that has left the service's queue a moment ago. One that may
 * be in the conversation itself has to be looked for first.
 */
function mayWantToPass(s: Situation, text: OutboxText, held: OutboxText): boolean {
	// What became of the held one is not known at the moment.
	if (held.progress.failures > 0 || isRestored(text) || isInDoubt(text)) return false;
	const onHeld = onOwnHeldOf(s, text, held);
	return held.progress.emptyAt === null ? onHeld !== "wait" : onHeld === "send_if_open";
}

/** The texts that need not wait for the end of this one, which the service holds. */
export function waitingToPass(held: OutboxText, s: Situation): OutboxText[] {
	if (held.state !== "held" || s.agency.isSuspended) return [];
	return s.queue.filter((text) => text.state === "waiting" && mayWantToPass(s, text, held));
}

/** Whether it may go now, as the reading of the held text shows. */
export function mayPass(s: Situation, { held, match, isGone }: Passing): boolean {
	const { text, now } = s;
	if (!isGone) return mayTakePlace(onOwnHeldOf(s, text, held), match, now);
	// The contact may have declined what was enqueued before the tap.
	const isEmpty = match.reading.conversation.queuedMessages.length === 0;
	return isEmpty && text.createdAt > lastTapAt(match) && mayTakePlace("send_if_open", match, now);
}
