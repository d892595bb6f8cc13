/*
 * What to do next with one text, decided from its row, a reading and the time. Nothing here reads, sends or stores.
 */
import type { Sent } from "messaging-conversations";
import { serviceNow } from "./baseline.ts";
import { type HeldTrace, isAnswered, isFurther, type Phase, phaseOf, type Trace } from "./reading.ts";
import {
	isGivenUp,
	isInDoubt,
	isOver,
	isSettled,
	keptBack,
	mayRepeatBlindly,
	maySendAgain,
	overdue,
	wasSurelyOpen,
} from "./retry.ts";
import type { Baseline, Change, OutboxText, Rules, TextError } from "./text.ts";

/** Sends the request, or changes the row. */
export type Decision = "send" | Change;

const minuteMs = 60_000;
/** The 48 hours that a contact has to answer a consent template, and a margin. */
const consentMs = 50 * 60 * minuteMs;

/** The decision without a reading: the text has expired or must pause, or a retry is safe because the service knows its id. */
export function beforeReading(text: OutboxText, rules: Rules, now: number): Decision | "read" {
	if (text.state === "waiting") return keptBack(text, rules, now) ?? "read";
	return text.state === "sending" && mayRepeatBlindly(text, now) ? "send" : "read";
}

/** The decision after a reading. The trace is null when the conversation is unknown or hidden. */
export function afterReading(text: OutboxText, trace: Trace | null, rules: Rules, now: number): Decision {
	// What was tried while nobody could read the conversation may have left a trace that can be read now.
	const isUntraced = !trace || trace.kind === "none" || !isInDoubt(text);
	if (text.state === "waiting" && isUntraced) return beforeFirst(text, trace, rules, now);
	if (!trace) return ifHidden(text, rules, now);
	if (trace.kind === "message") return asMessage(trace.message.messageSid, phaseOf(trace.message), rules, now);
	if (trace.kind === "twice") return ended("unclear");
	if (trace.kind === "held") return ifHeld(text, trace, rules, now);
	// It was in the queue, and no request that could put it there again is on its way.
	if (text.state === "held" || (text.queueId !== null && isSettled(text, rules, now))) {
		// A text that is replaced leaves its entry to the other one. In an entry of its own the other one came later.
		const isReplaced = trace.kind === "other" && trace.queued.id === text.queueId;
		return isReplaced ? ended("replaced") : ifEmpty(text, rules, now);
	}
	if (trace.kind === "none" || wasSurelyOpen(text)) return ifNothing(text, rules, now);
	// A template may be that of a flow, and another text in the queue may not have replaced this one.
	return isSettled(text, rules, now) ? ended("unclear") : untilSettled(text, rules);
}

/** Before the first request. It would replace any text in the queue, also one that somebody else sent. */
function beforeFirst(text: OutboxText, trace: Trace | null, rules: Rules, now: number): Decision {
	const isBehind = trace
		? trace.reading.conversation.queuedMessages[0]
		: // The last look found another text in the queue, before the conversation was hidden.
			text.progress.looks > 0 && now - text.since < consentMs;
	return isBehind && rules.onHeld === "wait" ? lookAgain(text, rules, now) : "send";
}

function ifHeld(text: OutboxText, trace: HeldTrace, rules: Rules, now: number): Decision {
	const queueId = trace.queued.id;
	if (text.state !== "held") {
		if (!isSettled(text, rules, now) && text.queueId !== null) return untilSettled(text, rules);
		const doubts = text.queueId === null ? 0 : text.progress.doubts;
		return { queueId, state: "held", nextAt: now + lookMs(rules, 0), progress: { ...heldProgress, doubts } };
	}
	const answered = isAnswered(trace, rules.settleMs, ...serviceNow(trace.reading, text, now));
	if (answered && rules.onReply === "resend" && maySendAgain(text, rules, now)) return "send";
	return { queueId, ...lookAgain(text, rules, now) };
}

const heldProgress = {
	tries: 0,
	taken: false,
	refused: false,
	emptyAt: null,
	looks: 0,
	failures: 0,
};

/** The text is neither in the queue nor a message. It may be on its way from the one to the other. */
function ifEmpty({ progress }: OutboxText, { settleMs }: Rules, now: number): Change {
	const emptyAt = progress.emptyAt ?? now;
	if (now - emptyAt < settleMs) return { nextAt: emptyAt + settleMs, progress: { emptyAt, failures: 0 } };
	return ended("dropped");
}

/** No trace of a request that began: after the settling time it was not taken. */
function ifNothing(text: OutboxText, rules: Rules, now: number): Decision {
	if (!isSettled(text, rules, now)) return untilSettled(text, rules);
	if (text.progress.taken) return ended("unclear");
	if (text.progress.refused) return ended("refused");
	if (isOver(text, now)) return overdue(text);
	if (isGivenUp(text)) return ended("unclear");
	return { state: "waiting", nextAt: now, progress: { tries: 0, firstTriedAt: null } };
}

/** A conversation that was there before, or holds the text, is hidden from the agency now. */
function ifHidden(text: OutboxText, rules: Rules, now: number): Decision {
	const { baseline, failures, hidden = 0, taken, triedAt } = text.progress;
	if (text.queueId === null && !taken && !baseline?.seen) return ifNothing(text, rules, now);
	// While the service may hold the text, the next one would replace it.
	const heldUntil = text.queueId === null && wasSurelyOpen(text) ? 0 : (triedAt ?? 0) + consentMs;
	const waits = rules.followMs.length > 0 ? rules.followMs : [longestLookMs];
	const wait = waits[hidden];
	if (wait === undefined && now >= heldUntil) return ended("unclear");
	const nextAt = wait === undefined ? Math.min(heldUntil, now + longestLookMs) : now + wait;
	return { nextAt, progress: { failures: failures + 1, hidden: hidden + 1 } };
}

/** The change when a request begins. It is stored before the request. */
export function beginning(text: OutboxText, baseline: Baseline | null, { settleMs }: Rules, now: number): Change {
	const { attempts, tries, doubts, firstTriedAt, looks } = text.progress;
	return {
		state: "sending",
		// A row that is still `sending` then has lost its worker.
		nextAt: now + settleMs,
		progress: {
			baseline: baseline ?? text.progress.baseline,
			attempts: attempts + 1,
			tries: tries + 1,
			doubts: doubts + 1,
			firstTriedAt: tries === 0 ? now : firstTriedAt,
			triedAt: now,
			emptyAt: null,
			looks: text.state === "sending" ? looks : 0,
		},
	};
}

/** After the service's answer to the request. */
export function afterAnswer(text: OutboxText, sent: Sent, rules: Rules, now: number): Change {
	if (!sent.queued) return asMessage(sent.messageId, "sent", rules, now);
	const resent = text.queueId !== null;
	const progress = { ...heldProgress, doubts: 0, resent, error: null };
	return { state: "held", queueId: sent.queueId, nextAt: now + lookMs(rules, 0), progress };
}

/** How a send that failed ended for its text. `unknown`: it may have been taken; `turned away`: not taken, try again. */
export type Ending = "taken" | "unknown" | "refused" | "turned away";

/** After an error. `retryAt` is the earliest moment for another try. */
export function afterError(text: OutboxText, ending: Ending, error: TextError, retryAt: number): Change {
	const { tries, doubts, failures, resent } = text.progress;
	const later = { nextAt: retryAt, progress: { error, failures: failures + 1 } };
	if (ending === "taken") return { ...later, progress: { error, taken: true } };
	if (ending === "unknown") return later;
	const refused = ending === "refused";
	const progress = { ...later.progress, doubts: doubts - 1 };
	// An earlier try may have been taken: this one's refusal does not speak for it.
	if (tries > 1) return { ...later, progress: { ...progress, refused } };
	const untried = { ...progress, tries: 0, firstTriedAt: null };
	if (text.queueId !== null) return { ...later, state: "held", progress: { ...untried, resent: resent || refused } };
	return { ...(refused ? ended("refused") : { ...later, state: "waiting" }), progress: untried };
}

/** A message that was sent: what is reported of it now, and whether to look again. */
export function afterLook(text: OutboxText, phase: Phase | null, rules: Rules, now: number): Change {
	const looks = text.progress.looks + 1;
	const state = phase && isFurther(phase, text.state) ? phase : undefined;
	return { ...(state && { state }), nextAt: nextLook(state, rules, looks, now), progress: { looks } };
}

/** The text is a message. */
function asMessage(messageId: string, phase: Phase, rules: Rules, now: number): Change {
	const progress = { looks: 0, failures: 0, error: null };
	return { state: phase, messageId, nextAt: nextLook(phase, rules, 0, now), progress };
}

/** When to look at a message next; null when nothing more will be reported, or the looks are used up. */
function nextLook(phase: Phase | undefined, { followMs }: Rules, looks: number, now: number): number | null {
	const wait = followMs[looks];
	return phase === "read" || phase === "failed" || wait === undefined ? null : now + wait;
}

/** A state in which nothing is left to do. */
function ended(state: OutboxText["state"]): Change {
	return { state, nextAt: null };
}

function lookAgain({ progress: { looks } }: OutboxText, rules: Rules, now: number): Change {
	return { nextAt: now + lookMs(rules, looks), progress: { looks: looks + 1, failures: 0, emptyAt: null } };
}

function untilSettled({ progress: { triedAt } }: OutboxText, { settleMs }: Rules): Change {
	return { nextAt: (triedAt ?? 0) + settleMs, progress: { failures: 0 } };
}

const longestLookMs = 10 * minuteMs;

/** Between two looks at what waits for a contact: as often as a message is followed, but not less than every 10 minutes. */
function lookMs({ followMs }: Rules, looks: number): number {
	const frequent = followMs.filter((ms) => ms <= longestLookMs);
	return frequent[looks] ?? frequent.at(-1) ?? longestLookMs;
}

/** Increasing waits with jitter, up to 10 minutes. */
export function backoffMs(failures: number, random: () => number = Math.random): number {
	return Math.ceil(Math.min(longestLookMs, 1_000 * 2 ** failures) * (0.1 + 0.9 * random()));
}
