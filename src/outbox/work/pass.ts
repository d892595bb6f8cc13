/*
 * One step of a text: asks the gate, finds out what a rule lacks, and asks again from the top. So all that is cheap is judged again after
 * all that is slow.
 */
import { longestWaitMs, spreadMs } from "../decide.ts";
import { type Answer, gate, type Rule } from "../gate/gate.ts";
import { held } from "../gate/held.ts";
import { isWoken, waitingToPass } from "../gate/order.ts";
import { sending } from "../gate/sending.ts";
import {
	type Failed,
	isOpen,
	type Known,
	matchIn,
	type Passing,
	readingIn,
	type Situation,
} from "../gate/situation.ts";
import { onHeldRead, waiting } from "../gate/waiting.ts";
import { withoutFuture } from "../requests.ts";
import type { Change, OutboxText } from "../text.ts";
import { situationOf } from "./ask.ts";
import type { QueueContext } from "./context.ts";
import { find } from "./facts.ts";
import { reportHook } from "./hook-failure.ts";
import type { Pauses } from "./pauses.ts";
import { request } from "./send.ts";
import { write } from "./write.ts";

/** A step finds out each fact once or twice. After so many questions a rule is wrong. */
const mostAsked = 50;
const restMs = 60_000;

/** A reading that lets a text go before the held one. */
type Passed = Passing & { readAt: number; ageMs: () => number };

/** What is known of a text whose step begins. */
interface Begun {
	previousId?: string | undefined;
	known?: Known | undefined;
	/** With the reading of the held text. */
	passing?: Passed | undefined;
}

function tableOf({ state }: OutboxText): readonly Rule[] {
	if (state === "waiting") return waiting;
	return state === "held" ? held : sending;
}

/** One step: the text is sent, ends, or is put off. False if another worker has changed it, or if it was put off by an error. */
export async function pass(
	context: QueueContext,
	head: OutboxText,
	queue: readonly OutboxText[],
	{ previousId, known: given = {}, passing }: Begun,
	signal: AbortSignal | undefined,
): Promise<boolean> {
	const { now } = context.options;
	const corrected = withoutFuture(head, now());
	if (corrected) return (await write(context, head, { nextAt: now(), progress: corrected })) !== undefined;
	const table = tableOf(head);
	let text = head;
	let known: Known = passing ? { reading: { match: passing.match, at: passing.readAt } } : given;
	let failed: Failed | undefined;
	let ageMs = passing?.ageMs ?? (() => 0);
	// The one of the held text counts for this one, and there is no other.
	let readings = passing ? Number.POSITIVE_INFINITY : 0;
	const situation = (): Promise<Situation> => {
		const { reading } = known;
		const readingAgeMs = reading ? Math.max(now() - reading.at, ageMs()) : 0;
		return situationOf(context, text, queue, { known, failed, readingAgeMs, readings, previousId, passing });
	};
	for (let count = 0; count < mostAsked; count++) {
		const asked = await situation();
		const answer = gate(asked, table);
		if (answer?.do === "need") {
			if (signal?.aborted) return false;
			if (answer.fact === "reading") readings++;
			const found = await find[answer.fact](context, asked, signal);
			// The row says why.
			if (!found) return false;
			({ known, failed } = found);
			text = found.text ?? text;
			ageMs = found.ageMs ?? ageMs;
			continue;
		}
		// What was sent since a backup has to be looked for only once.
		if (known.reading && text.state === "waiting")
			text = { ...text, progress: { ...text.progress, restored: undefined } };
		const settled = { ...asked, text };
		if (answer?.do === "become") return settle(context, settled, answer.change, ageMs, signal);
		if (answer?.do === "wait") {
			const change = answer.change && (await putOff(context, settled, answer, answer.change));
			return change ? settle(context, settled, change, ageMs, signal) : false;
		}
		if (answer === undefined || signal?.aborted) return false;
		await noteSend(context, asked);
		const grounds = {
			reading: readingIn(asked),
			readAt: known.reading?.at ?? 0,
			ageMs,
			language: answer.language,
			settings: known.settings ?? undefined,
			...(passing && !passing.isGone && { replaces: passing.held.id }),
		};
		// The statement that begins the request can have taken long: the same question, at another time and without a call.
		const mayBegin = async (at: number) => gate({ ...(await situation()), now: at }, table)?.do === "send";
		return request(context, text, grounds, signal, mayBegin);
	}
	// Two rules ask for each other's fact again and again. The contact's other texts must not wait for them.
	const nextAt = now() + restMs;
	reportFault(context.pauses, text, nextAt);
	await write(context, text, { nextAt });
	return false;
}

/** Tells of a text with which the outbox goes round in circles. */
export function reportFault(pauses: Pauses, { id, agencyId }: OutboxText, until: number): void {
	pauses.report(id, { reason: "fault", agencyId, retryAt: new Date(until) });
}

/**
 * Stores what becomes of a text. The first text that may go before one that the service holds goes then: in its place, or because that
 * one has just left the service's queue, whatever became of it.
 */
async function settle(
	context: QueueContext,
	situation: Situation,
	change: Change,
	ageMs: () => number,
	signal: AbortSignal | undefined,
): Promise<boolean> {
	const { text, queue, now } = situation;
	const due = dueToPass(situation, change);
	const passing = due.length > 0 ? passingOf(situation, change, ageMs) : undefined;
	const next = passing && (await firstOf(context, due, passing));
	const isReplaced = next && !passing.isGone;
	const stored = isReplaced ? { ...change, progress: { ...change.progress, replacedBy: next.id } } : change;
	if (!(await write(context, text, stored))) return false;
	if (next) return pass(context, next, queue, { passing }, signal);
	for (const each of due)
		if (!(await write(context, each, behindHeld(queue, change.nextAt ?? now + longestWaitMs)))) return false;
	return true;
}

/** The texts that are due, and that need not wait for the end of a held one, as it is after the change. */
function dueToPass(situation: Situation, change: Change): OutboxText[] {
	const { text, now } = situation;
	const match = matchIn(situation);
	if (text.state !== "held" || !match || (match.kind !== "held" && !change.progress?.emptyAt)) return [];
	const changed = { ...text, progress: { ...text.progress, ...change.progress } };
	return waitingToPass(changed, situation).filter(
		(each) => (each.nextAt ?? 0) <= now || isWoken({ ...situation, text: each }),
	);
}

function passingOf(situation: Situation, { progress }: Change, ageMs: () => number): Passed | undefined {
	const { text, known } = situation;
	const match = matchIn(situation);
	if (!match || !known.reading) return undefined;
	const seen = { ...text, progress: { ...text.progress, ...progress } };
	return { held: seen, match, isGone: Boolean(progress?.emptyAt), readAt: known.reading.at, ageMs };
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

/** The change of a text that waits, and what its row has to remember. */
async function putOff(
	context: QueueContext,
	situation: Situation,
	answer: Answer & { do: "wait" },
	change: Change,
): Promise<Change> {
	const { text, queue } = situation;
	const now = context.options.now();
	const until = answer.isSpread ? now + spreadMs(answer.until - situation.now) : answer.until;
	const nextAt = await told(context, situation, answer, until);
	const { wait } = text.progress;
	// A lookup that shows nothing new leaves the cause as it was.
	const because = answer.because === "unchanged" && wait ? wait.because : answer.because;
	const seen = queue.map(({ seq }) => seq);
	return { ...change, nextAt, progress: { ...change.progress, wait: { because, seen } } };
}

/** Tells people of a wait that somebody has to end. Returns until when it lasts. */
async function told(
	{ pauses }: QueueContext,
	situation: Situation,
	{ because, change }: Answer & { do: "wait" },
	until: number,
): Promise<number> {
	const { text } = situation;
	const { agencyId } = text;
	const reason = change?.reason;
	const { failed } = situation;
	if (reason === "hook_failed" && failed) await reportHook(pauses, text, failed.error, until);
	if (because === "consent_unavailable") return pauses.holdConsent(agencyId);
	if (because !== "language_required" && because !== "language_unavailable") return until;
	await pauses.passed(text, "settings");
	await pauses.report(text.id, { reason: because, agencyId, retryAt: new Date(until) });
	return until;
}

/** Nothing keeps the text back any more. */
async function noteSend({ pauses }: QueueContext, situation: Situation): Promise<void> {
	const { text } = situation;
	if (situation.known.settings && !isOpen(situation)) await pauses.passed(text, "settings");
	await pauses.cleared(text.id);
}

/** The change of a text that may not go before the held one yet: it waits as long as that one, unless something changes. */
function behindHeld(queue: readonly OutboxText[], nextAt: number): Change {
	return { nextAt, progress: { wait: { because: "own_held", seen: queue.map(({ seq }) => seq) } } };
}
