/*
 * One step of a text that was requested before: read, decide, and store the decision or send it again.
 */
import { PartnerConfigurationError } from "messaging-conversations";
import { freshMs } from "../../shared/freshness.ts";
import { isSurelyOpen } from "../baseline.ts";
import { type Decision, decide, ended, longestWaitMs, readAgain } from "../decide.ts";
import { gate } from "../gate/gate.ts";
import { mayWantToPass } from "../gate/order.ts";
import type { Passing } from "../gate/situation.ts";
import { onHeldRead } from "../gate/waiting.ts";
import type { Match } from "../match.ts";
import type { CheckedOptions } from "../options.ts";
import { optOutOf } from "../policy/contact-view.ts";
import type { Change, OutboxText } from "../text.ts";
import { situationOf } from "./ask.ts";
import type { QueueContext } from "./context.ts";
import { hookFailure, ifHookFailed } from "./hook-failure.ts";
import { behindHeld, pass } from "./pass.ts";
import { ifNotNow, mayBegin } from "./permission.ts";
import { noted, readFor } from "./read.ts";
import { type Allowed, request, sendAgain } from "./send.ts";
import { ifUnchanged } from "./watch.ts";
import { write } from "./write.ts";

/** One step of a text that was requested: read, decide, send. False when another worker has changed it, or when it has to wait. */
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
	if (before !== "read" && !isRepeat) return (await write(context, head, before)) !== undefined;
	const others = lease.isSuspended ? [] : texts;
	const isOut =
		head.state === "held" &&
		!head.progress.cancelRequested &&
		optOutOf(head, await context.contact.view(), undefined) !== null;
	const isAwaited = passingOf(head, others, options).length > 0;
	const waits = isOut || isAwaited ? undefined : await ifUnchanged(context, head, signal);
	if (waits) return (await write(context, head, waits)) !== undefined;
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
	const text = await withOptOut(
		context,
		noted(head, match, { now: readAt, settleMs: options.settleMs, texts }),
		match,
	).catch(hookFailure);
	if (text instanceof PartnerConfigurationError) {
		await write(context, head, ifHookFailed(context.pauses, head, text, now()));
		return false;
	}
	const decision = decide(text, match, options, readAt);
	const grounds = { reading: match?.reading ?? null, readAt, ageMs };
	// A request that just failed may be made again, although its conversation shows nothing of it yet.
	if (isRepeat && match?.kind === "none" && !(await ifNotNow(context, text, grounds)))
		return request(context, text, grounds, signal, (at) => mayBegin(context, text, grounds, at));
	if (text.state === "held" && match && typeof decision !== "string") {
		const passed = await letPass(context, text, others, { match, decision, readAt, ageMs }, signal);
		if (passed !== undefined) return passed;
	}
	if (decision === "send" && lease.isSuspended) return apply(context, text, readAgain(text, options, now()));
	if (decision === "send") return sendAgain(context, text, match, grounds, signal);
	return apply(context, text, decision);
}

/** The texts that need not wait for the end of one that the service holds. */
function passingOf(held: OutboxText, texts: readonly OutboxText[], options: CheckedOptions): OutboxText[] {
	return held.state === "held"
		? texts.filter((text) => text.state === "waiting" && mayWantToPass(text, held, options))
		: [];
}

/**
 * Lets the first text go before one that was held, if one may: in its place, or because that has just left the service's queue, whatever
 * became of it. Undefined if none may, and the held text is still there.
 */
async function letPass(
	context: QueueContext,
	held: OutboxText,
	texts: readonly OutboxText[],
	{ match, decision, readAt, ageMs }: { match: Match; decision: Change } & Pick<Allowed, "readAt" | "ageMs">,
	signal: AbortSignal | undefined,
): Promise<boolean | undefined> {
	const { options } = context;
	const isGone = Boolean(decision.progress?.emptyAt);
	if (match.kind !== "held" && !isGone) return undefined;
	const seen = { ...held, progress: { ...held.progress, ...decision.progress } };
	const due = passingOf(seen, texts, options).filter(({ nextAt }) => (nextAt ?? 0) <= options.now());
	const passing = { held: seen, match, isGone, readAt, ageMs };
	const next = await firstOf(context, due, passing);
	if (next && !isGone) {
		const progress = { ...decision.progress, replacedBy: next.id };
		if (!(await write(context, held, { ...decision, progress }))) return false;
		return pass(context, next, texts, { passing }, signal);
	}
	if (isGone && !(await apply(context, held, decision))) return false;
	if (next) return pass(context, next, texts, { passing }, signal);
	for (const text of due)
		if (!(await write(context, text, behindHeld(texts, decision.nextAt ?? readAt + longestWaitMs)))) return false;
	return isGone ? true : undefined;
}

/** The first text that nothing keeps behind the held one, as the reading of that one shows. */
async function firstOf(
	context: QueueContext,
	texts: readonly OutboxText[],
	passing: Passing,
): Promise<OutboxText | undefined> {
	for (const text of texts) if (!gate(await situationOf(context, text, texts, { passing }), onHeldRead)) return text;
	return undefined;
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
