/*
 * One step of a text that waits: asks the gate, finds out what a rule lacks, and asks again from the top. So all that is cheap is judged
 * again after all that is slow.
 */
import { backoffMs, isRestored, spreadMs } from "../decide.ts";
import { type Answer, gate } from "../gate/gate.ts";
import { type Failed, isOpen, type Known, type Passing, readingIn, type Situation } from "../gate/situation.ts";
import { waiting } from "../gate/waiting.ts";
import type { Change, OpenText, OutboxText } from "../text.ts";
import { ask, situationOf } from "./ask.ts";
import type { QueueContext } from "./context.ts";
import { find } from "./facts.ts";
import { reportHook } from "./hook-failure.ts";
import { request } from "./send.ts";
import { write } from "./write.ts";

/** A text whose hooks take longer than a reading counts would be read for ever. */
const mostReadings = 2;

/** What the gate says of the texts of a queue. */
export interface Turn {
	/** Some of them have ended, so that the queue has to be looked at again. */
	isChanged: boolean;
	/** The first text that is on its way, or that the gate lets go on. */
	head?: OpenText | undefined;
	/** What was found out of it. */
	known: Known;
	/** A text waits for the reading of the head, which the service holds, to go before it. */
	isAwaited: boolean;
}

/** Ends the waiting texts of a queue that may not be sent any more, and finds the one whose turn it is. */
export async function turnOf(
	context: QueueContext,
	queue: readonly OpenText[],
	previousId: string | undefined,
): Promise<Turn> {
	const { now } = context.options;
	const turn: Turn = { isChanged: false, known: {}, isAwaited: false };
	for (const text of queue) {
		if (text.state !== "waiting") {
			turn.head ??= text;
			continue;
		}
		// It would be read first, which waits for the end of a suspension or a pause.
		if ((context.lease.isSuspended || context.pausedUntil > now()) && isRestored(text)) continue;
		const { answer, known } = await ask(context, waiting, text, queue, { previousId });
		if (answer?.do === "become") {
			if (await write(context, text, answer.change)) turn.isChanged = true;
			continue;
		}
		if (answer?.because === "behind_held") turn.isAwaited = true;
		const isStored = answer?.do === "wait" && (!answer.change || (text.nextAt ?? 0) > now());
		if (isStored || turn.head) continue;
		turn.head = text;
		turn.known = known;
	}
	return turn;
}

/** What is known of a text whose step begins. */
interface Begun {
	previousId?: string | undefined;
	known?: Known | undefined;
	/** With the reading of the held text. */
	passing?: (Passing & { readAt: number; ageMs: () => number }) | undefined;
}

/** One step of a waiting text: it is sent, ends, or is put off. False if another worker has changed it, or if it was put off by an error. */
export async function pass(
	context: QueueContext,
	head: OutboxText,
	queue: readonly OutboxText[],
	{ previousId, known: given = {}, passing }: Begun,
	signal: AbortSignal | undefined,
): Promise<boolean> {
	const { now } = context.options;
	let text = head;
	let known: Known = passing ? { reading: { match: passing.match, at: passing.readAt } } : given;
	let failed: Failed | undefined;
	let ageMs = passing?.ageMs ?? (() => 0);
	let readings = 0;
	const situation = (): Promise<Situation> => {
		const { reading } = known;
		const readingAgeMs = reading ? Math.max(now() - reading.at, ageMs()) : 0;
		return situationOf(context, text, queue, { known, failed, readingAgeMs, previousId, passing });
	};
	for (;;) {
		const asked = await situation();
		const answer = gate(asked, waiting);
		if (answer?.do === "need") {
			if (signal?.aborted) return false;
			if (answer.fact === "reading" && (passing || ++readings > mostReadings)) {
				const failures = text.progress.failures + 1;
				await write(context, text, { nextAt: now() + backoffMs(failures), progress: { failures } });
				return false;
			}
			const found = await find[answer.fact](context, asked, signal);
			// The row says why.
			if (!found) return false;
			({ known, failed } = found);
			text = found.text ?? text;
			ageMs = found.ageMs ?? ageMs;
			continue;
		}
		// What was sent since a backup has to be looked for only once.
		if (known.reading) text = { ...text, progress: { ...text.progress, restored: undefined } };
		if (answer?.do === "become") return (await write(context, text, answer.change)) !== undefined;
		if (answer?.do === "wait") return putOff(context, { ...asked, text }, answer);
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
		const mayBegin = async (at: number) => gate({ ...(await situation()), now: at }, waiting)?.do === "send";
		return request(context, text, grounds, signal, mayBegin);
	}
}

/** Stores that a text waits. */
async function putOff(context: QueueContext, situation: Situation, answer: Answer & { do: "wait" }): Promise<boolean> {
	const { text, queue } = situation;
	if (!answer.change) return false;
	const now = context.options.now();
	const until = answer.isSpread ? now + spreadMs(answer.until - situation.now) : answer.until;
	const nextAt = await told(context, situation, answer, until);
	const { wait } = text.progress;
	// A lookup that shows nothing new leaves the cause as it was.
	const because = answer.because === "unchanged" && wait ? wait.because : answer.because;
	const seen = queue.map(({ seq }) => seq);
	const progress = { ...answer.change.progress, wait: { because, seen } };
	return (await write(context, text, { ...answer.change, nextAt, progress })) !== undefined;
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
	if (reason === "before_send_failed" && failed) reportHook(pauses, text, failed.error, until);
	if (because === "consent_unavailable") return pauses.holdConsent(agencyId);
	if (because !== "language_required" && because !== "language_unavailable") return until;
	await pauses.passed(text, "settings");
	pauses.report(text.id, { reason: because, agencyId, retryAt: new Date(until) });
	return until;
}

/** Nothing keeps the text back any more. */
async function noteSend({ pauses }: QueueContext, situation: Situation): Promise<void> {
	const { text } = situation;
	if (situation.known.settings && !isOpen(situation)) await pauses.passed(text, "settings");
	pauses.cleared(text.id);
}

/** The change of a text that may not go before the held one yet: it waits as long as that one, unless something changes. */
export function behindHeld(queue: readonly OutboxText[], nextAt: number): Change {
	return { nextAt, progress: { wait: { because: "own_held", seen: queue.map(({ seq }) => seq) } } };
}
