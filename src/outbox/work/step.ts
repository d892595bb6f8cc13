/*
 * One step of one text: read, decide, and store the decision or send.
 */
import { PartnerConfigurationError } from "messaging-conversations";
import { freshMs } from "../../shared/freshness.ts";
import { isSurelyOpen } from "../baseline.ts";
import {
	type Decision,
	decide,
	ended,
	isInDoubt,
	isRestored,
	lastTapAt,
	longestWaitMs,
	mayTakePlace,
	onOtherHeldOf,
	onOwnHeldOf,
	readAgain,
	unsent,
} from "../decide.ts";
import { withRead } from "../journal.ts";
import { isConsentFailed, lastHeldBy, type Match } from "../match.ts";
import { optOutAfter, optOutOf } from "../policy/contact-view.ts";
import { policies, purposeOf } from "../policy/purpose.ts";
import type { Change, OutboxText } from "../text.ts";
import type { QueueContext } from "./context.ts";
import { hookFailure } from "./failure.ts";
import { waitingWith, willing } from "./order.ts";
import { ifAsleep, ifHookFailed, ifNotNow, ifWrongNumber } from "./permission.ts";
import { readFor } from "./read.ts";
import { type Allowed, putToSleep, request, send } from "./send.ts";
import { ifUnchanged, watchedFrom } from "./watch.ts";
import { write } from "./write.ts";

/** One step of one text: read, decide, send. False when another worker has changed it, or when it has to wait. */
export async function workText(
	context: QueueContext,
	head: OutboxText,
	texts: readonly OutboxText[],
	signal: AbortSignal | undefined,
): Promise<boolean> {
	const { options, lease } = context;
	const { now } = options;
	const decided = decide(head, undefined, options, now());
	// What was sent is followed while a person has suspended the agency, and nothing is sent again.
	const before = decided === "send" && lease.isSuspended ? "read" : decided;
	// The contact may have asked for no more texts since.
	const isRepeat = before === "send";
	const isUntouched = before === "read" && head.state === "waiting" && !isRestored(head) && !isInDoubt(head);
	const kept = isUntouched ? await ifWrongNumber(context, head) : undefined;
	if (kept) return (await write(context, head, kept)) !== undefined;
	if (isUntouched && policies[purposeOf(head)].keepsQuiet === "always") {
		const asleep = await ifAsleep(context, head, null);
		if (asleep) {
			const saved = await write(context, head, asleep);
			await putToSleep(context, saved);
			return saved !== undefined;
		}
	}
	if (before !== "read" && !isRepeat) return (await write(context, head, before)) !== undefined;
	const others = lease.isSuspended ? [] : texts;
	const isOut =
		head.state === "held" &&
		!head.progress.cancelRequested &&
		optOutOf(head, await context.contact.view(), undefined) !== null;
	const waitsFor =
		isOut || willing(head, others, options).length > 0 ? undefined : await ifUnchanged(context, head, signal);
	if (waitsFor) return putOff(context, head, waitsFor, texts);
	let ageMs = () => Number.POSITIVE_INFINITY;
	const read = () =>
		readFor(context, head, signal, (age) => {
			ageMs = age;
		});
	let match = await read();
	// This process was stopped meanwhile, or asking for the key has blocked it.
	if (match !== undefined && ageMs() > freshMs) match = await read();
	if (match === undefined) return false;
	const readAt = now();
	const learned = await withOptOut(
		context,
		noted(head, match, { now: readAt, settleMs: options.settleMs, texts }),
		match,
	).catch(hookFailure);
	if (learned instanceof PartnerConfigurationError) {
		await write(context, head, ifHookFailed(context, head, learned));
		return false;
	}
	const decision = await sinceBackup(context, learned, decide(learned, match, options, readAt));
	// Once is enough.
	const text = { ...learned, progress: { ...learned.progress, restored: undefined } };
	const grounds = { reading: match?.reading ?? null, readAt, ageMs };
	// A request that just failed may be made again, although its conversation shows nothing of it yet.
	if (isRepeat && match?.kind === "none" && !(await ifNotNow(context, text, grounds)))
		return request(context, text, grounds, signal);
	if (text.state === "held" && match && typeof decision !== "string") {
		const passed = await letPass(context, text, others, { match, decision, readAt, ageMs }, signal);
		if (passed !== undefined) return passed;
	}
	if (decision === "send" && lease.isSuspended) return apply(context, text, readAgain(text, options, now()));
	if (decision === "send") {
		const isBehind = text.state === "waiting" && (match?.reading.conversation.queuedMessages.length ?? 0) > 0;
		const needsOpen = isBehind && onOtherHeldOf(text, options) === "send_if_open";
		return send(context, text, match, { ...grounds, needsOpen }, signal);
	}
	if (text.state === "waiting" && decision !== "read" && decision.state === undefined)
		return putOff(context, text, decision, texts);
	return apply(context, text, decision);
}

/** Stores that a text waits, and the replies behind it as long. The next reply that is enqueued lets all be looked at. */
async function putOff(
	context: QueueContext,
	head: OutboxText,
	change: Change,
	texts: readonly OutboxText[],
): Promise<boolean> {
	const saved = await write(context, head, change);
	if (!saved) return false;
	if (saved.reason !== null) return true;
	for (const text of waitingWith(saved, texts, context.options.now()))
		await write(context, text, { nextAt: saved.nextAt });
	return true;
}

/**
 * Sends a text that may go before one that was held: in its place, or because that has just left the service's queue, whatever became
 * of it. Undefined if none may, and the held text is still there.
 */
async function letPass(
	context: QueueContext,
	held: OutboxText,
	others: readonly OutboxText[],
	{ match, decision, readAt, ageMs }: { match: Match; decision: Change } & Pick<Allowed, "readAt" | "ageMs">,
	signal: AbortSignal | undefined,
): Promise<boolean | undefined> {
	const { options } = context;
	const { reading } = match;
	const isGone = Boolean(decision.progress?.emptyAt);
	if (match.kind !== "held" && !isGone) return undefined;
	const seen = { ...held, progress: { ...held.progress, ...decision.progress } };
	const due = willing(seen, others, options).filter(({ nextAt }) => (nextAt ?? 0) <= options.now());
	// The contact may have declined what was enqueued before the tap.
	const isAfterTap = (text: OutboxText): boolean => text.createdAt > lastTapAt(match);
	const mayGoAlone = isGone && reading.conversation.queuedMessages.length === 0;
	const next = due.find((text) =>
		isGone
			? mayGoAlone && isAfterTap(text) && mayTakePlace("send_if_open", match, readAt)
			: mayTakePlace(onOwnHeldOf(text, held, options), match, readAt),
	);
	if (next && !isGone) {
		const progress = { ...decision.progress, replacedBy: next.id };
		if (!(await write(context, held, { ...decision, progress }))) return false;
		const needsOpen = onOwnHeldOf(next, held, options) === "send_if_open";
		return send(context, next, match, { reading, readAt, ageMs, replaces: held.id, needsOpen }, signal);
	}
	if (isGone && !(await apply(context, held, decision))) return false;
	if (next) return send(context, next, match, { reading, readAt, ageMs, needsOpen: true }, signal);
	// They wait as long as the one that is held, unless something changes.
	for (const text of due)
		if (!(await write(context, text, { nextAt: decision.nextAt ?? readAt + longestWaitMs }))) return false;
	return isGone ? true : undefined;
}

/** An opt-out since a backup ends what was restored from it, as it did the first time, although the contact may want texts by now. */
async function sinceBackup({ contact }: QueueContext, text: OutboxText, decision: Decision): Promise<Decision> {
	const isWaiting = typeof decision === "string" || decision.state === undefined;
	const optOut =
		isRestored(text) && text.state === "waiting" && isWaiting ? optOutAfter(text, await contact.view()) : null;
	if (!optOut) return decision;
	return { ...unsent(text, "cancelled", "opted_out"), progress: { optOutSid: optOut.messageSid } };
}

/** The row with what the reading shows. It is stored together with the decision. */
function noted(
	text: OutboxText,
	match: Match | null,
	{ now, settleMs, texts }: { now: number; settleMs: number; texts: readonly OutboxText[] },
): OutboxText {
	const isOpen = match ? isSurelyOpen(match.reading, now) : undefined;
	const journal = withRead(text.progress.journal, { at: now, read: match?.kind ?? "hidden", isOpen });
	const isSeen = match && match.reading.conversation.queuedMessages.length > 0;
	// A text that was enqueued a moment ago waits behind the same one as those before it.
	const known = [text, ...texts].flatMap(({ progress }) => progress.lastHeld ?? []);
	const [latest] = known.sort((one, other) => (other.newest ?? 0) - (one.newest ?? 0) || other.at - one.at);
	const lastHeld = isSeen ? lastHeldBy(match.reading, settleMs, now) : latest;
	const progress = { ...text.progress, journal, lastHeld, watched: watchedFrom(text, match, now) };
	if (!match || text.state === "waiting") return { ...text, progress };
	const consentFailed = isConsentFailed(match) ?? progress.consentFailed;
	// The contact's phone shows no question, or does after all.
	const isNews = text.state === "held" && (consentFailed ?? false) !== (progress.consentFailed ?? false);
	const unacknowledged = isNews ? text.version + 1 : text.unacknowledged;
	return { ...text, unacknowledged, progress: { ...progress, hidden: 0, consentFailed } };
}

/** Takes in what the contact asked for. A held text of a contact who has opted out is not sent again. */
async function withOptOut({ contact, options }: QueueContext, text: OutboxText, match: Match | null) {
	await contact.learn(match?.reading ?? null);
	if (!match || text.state !== "held" || text.progress.cancelRequested) return text;
	const isOut = optOutOf(text, await contact.view(), isSurelyOpen(match.reading, options.now()));
	if (!isOut || isOut.isUnclear) return text;
	// The step that the reading began tells of it.
	const [step, ...steps] = [...(text.progress.journal ?? [])].reverse();
	const journal = step && [...steps.reverse(), { ...step, isCancelled: true as const }];
	return { ...text, unacknowledged: text.version + 1, progress: { ...text.progress, journal, cancelRequested: true } };
}

/** Stores a decision. A text that was replaced on purpose was not dropped. */
async function apply(context: QueueContext, text: OutboxText, decision: Exclude<Decision, "send">): Promise<boolean> {
	if (decision === "read") return false;
	const isReplaced = decision.state === "dropped" && (await wasReplaced(context, text));
	const change = isReplaced ? { ...decision, ...ended("replaced", null) } : decision;
	return (await write(context, text, change)) !== undefined;
}

/** Whether the service took the text that was sent in this one's place. */
async function wasReplaced({ options }: QueueContext, { progress: { replacedBy } }: OutboxText): Promise<boolean> {
	const other = replacedBy === null ? undefined : await options.store.find(replacedBy);
	return other !== undefined && (other.queueId ?? other.messageId) !== null;
}
