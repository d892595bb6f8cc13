/*
 * What an unfinished text waits for: the gate is asked as a worker would ask it, with what is stored, and without a hook or a request.
 */

import { isRestored } from "./decide.ts";
import { defaultSettleMs } from "./delivery.ts";
import { type Answer, gate, type ToldRule } from "./gate/gate.ts";
import { heldAhead } from "./gate/order.ts";
import { type Situation, storedSituation } from "./gate/situation.ts";
import { waiting, waits } from "./gate/waiting.ts";
import type { BesideName, WaitsForKind } from "./names.ts";
import type { ContactView } from "./policy/contact-view.ts";
import type { ZonedHours } from "./policy/quiet-hours.ts";
import { isGivenUp, mayRepeatAtOnce, waitsForRequestUntil } from "./requests.ts";
import { pausedIn, saidByHook, shown, suspendedIn } from "./sentences.ts";
import { allSends, type StoredPause, type StoredSuspension, type StoredWorker } from "./store.ts";
import { suspensionOf } from "./suspension.ts";
import type { OutboxText } from "./text.ts";

/** What an unfinished text waits for. */
export interface WaitsFor {
	/** What keeps it back. docs/not-sent.md says when each holds. */
	kind: WaitsForKind;
	/** The cause in a sentence, for a support desk. It holds no number and no text. */
	sentence: string;
	/** Id of the contact's other text that has to end, or let it pass, first; null if there is none, or if it is not of this outbox. */
	id: string | null;
	/**
	 * It is not sent before this time, unless something happens until then: the contact writes, or a person calls `cancel`, `resume`, `optIn`
	 * or `restored`. Null if that can't be known.
	 */
	until: Date | null;
}

/** What is known of a text that has not ended. */
export interface Told {
	waitsFor: WaitsFor;
	/** When it is tried next; null if that can't be known, or if it is not tried again. */
	nextAttemptAt: Date | null;
}

/** What is stored at a moment of all texts. */
export interface Snapshot {
	suspensions: readonly StoredSuspension[];
	pauses: readonly StoredPause[];
	workers: readonly StoredWorker[];
	/** Those of the outbox; absent at the command line, which does not know them. */
	options?: Situation["options"] | undefined;
	/** The quiet hours, if they are known without a hook. */
	hours: ZonedHours | null;
	now: number;
}

/** The same, and what is stored of the contact. */
export interface TextSnapshot extends Snapshot {
	/** The contact's open texts whose turn has come, in their order. */
	queue: readonly OutboxText[];
	/** The ids of those that take the place of the one that the service holds. */
	heirs: ReadonlySet<string>;
	contact: ContactView;
}

/** A worker gives a sign of life every 5 seconds. */
const deadAfterMs = 60_000;
/** A cron job that calls `runOnce` comes at least this often. */
const onceDeadAfterMs = 15 * 60_000;

/** Whether a worker is at work, as far as its signs of life tell. */
export function isAlive({ runsOnce, silentMs }: StoredWorker): boolean {
	return silentMs < (runsOnce ? onceDeadAfterMs : deadAfterMs);
}

export function waitsForOf(text: OutboxText, snapshot: TextSnapshot): Told {
	const { waitsFor, nextAttemptAt } = toldOf(text, snapshot);
	const { kind, sentence } = waitsFor;
	const alive = snapshot.workers.filter(isAlive);
	const isTurn = text.state === "waiting" && kind in turns;
	if (alive.length === 0)
		return isTurn
			? told("no_worker", withoutWorker(snapshot))
			: { waitsFor: { ...waitsFor, sentence: `${sentence} Besides, no worker is running.` }, nextAttemptAt };
	const isOnce = isTurn && kind !== "failing" && alive.every(({ runsOnce }) => runsOnce);
	const later = isOnce ? " No process calls work, so that it is looked at when runOnce is called next." : "";
	return { waitsFor: { ...waitsFor, sentence: `${sentence}${later}` }, nextAttemptAt };
}

/** What is told beside the rules of a text that waits, and when. */
export const beside: Readonly<Record<BesideName, string>> = {
	consent: "The service holds it until the contact consents",
	result: "A request began, and its result is not known yet. At night it is looked for too",
	failing: "A call for it failed: the next try is at `until`",
	no_worker: "Its turn has come, and no process calls `work` or `runOnce`",
};

/** What only a worker is missing for. */
const turns = { restored: true, shows: true, unchanged: true, reading: true, failing: true };

function toldOf(text: OutboxText, snapshot: TextSnapshot): Told {
	if (text.state === "held") return told("consent", besides([heldSentence(text), ...pausesOf(text, snapshot)]));
	return text.state === "sending" ? resultOf(text, snapshot) : waitOf(text, snapshot);
}

function withoutWorker({ workers: [last], now }: Snapshot): string {
	const seen = last
		? `the last sign of one is from ${shown(now - last.silentMs)}`
		: "each one that ran has stopped in order, or none has run within a day";
	return `No worker is running: ${seen}. Start a process that calls work or runOnce.`;
}

/** The request of a text has begun, and its result is not known. */
function resultOf(text: OutboxText, snapshot: TextSnapshot): Told {
	const { agencyId, nextAt, progress } = text;
	const { suspensions, pauses, now, options = stored(text, snapshot.queue) } = snapshot;
	// Nothing was stored since it began.
	const isUnderWay = (nextAt ?? 0) > now && progress.journal?.at(-1)?.request !== undefined;
	const suspension = suspensionOf(agencyId, suspensions);
	const pausesNow = pausesOf(text, snapshot);
	const sentence = besides([
		isUnderWay ? "Is being sent; the result is not known yet." : lostSentence,
		...(suspension ? [suspendedIn(suspension)] : pausesNow),
	]);
	// Its result may be known at any moment.
	if (isUnderWay) return told("result", sentence);
	const readAt = Math.max(now, nextAt ?? 0, ...concerned(text, pauses).map(({ until }) => until));
	const areSendsPaused = pauses.some((pause) => pause.agencyId === allSends);
	const isLast = progress.cancelRequested === true || isGivenUp(text);
	const isTried = !suspension && !areSendsPaused && !isLast;
	const isAtOnce = mayRepeatAtOnce(text, options, readAt);
	const attemptAt = isAtOnce ? readAt : Math.max(readAt, waitsForRequestUntil(text, options));
	return { ...told("result", sentence, { until: readAt }), nextAttemptAt: isTried ? new Date(attemptAt) : null };
}

/** A wait that the gate has told of. */
interface Wait {
	/** Undefined if a call failed, so that no rule has put it off. */
	rule: ToldRule | undefined;
	until: number;
	sentence: string;
	/** The id of the text that it waits for. */
	behind?: string | undefined;
}

/** A wait can end in another one, which ends in another one. More do not follow each other. */
const mostWaits = 10;

/** What a text waits for that may not go now. The gate is asked about the time at which a wait ends too, and the last wait is told of. */
function waitOf(text: OutboxText, snapshot: TextSnapshot): Told {
	const begin = situationOf(text, snapshot);
	const table = isRestored(text) ? restoredFirst : waiting;
	const found: Wait[] = [];
	let [situation, answer] = [begin, gate(begin, table)];
	while (answer?.do === "wait" && found.length < mostWaits) {
		const wait = waitIn(situation, answer);
		const last = found.at(-1);
		if (last && wait.rule === last.rule) break;
		// A call that failed was one that makes the pause.
		if (last && !wait.rule) last.until = wait.until;
		else found.push(wait);
		if (wait.behind !== undefined || wait.rule?.isOpenEnded) break;
		// Which texts are there by then is not known.
		situation = { ...situation, now: answer.until, queue: [situation.text] };
		answer = gate(situation, table);
	}
	const last = found.at(-1);
	const next = answer && answer.do !== "wait" ? ruleOf(answer.because) : undefined;
	const then = next?.says(situation, situation.now) ?? "";
	const isEnd = answer?.do === "become";
	if (!last) return told(kindOf(next, "reading"), then, isEnd ? {} : { until: situation.now, isTried: true });
	const isKnown = last.behind === undefined && !last.rule?.isOpenEnded;
	const sentence = besides([last.sentence, ...(isEnd ? [then] : [])]);
	const unsaid = pausesOf(text, snapshot).filter((each) => !sentence.includes(each));
	return told(
		kindOf(last.rule, "failing"),
		besides([sentence, ...unsaid]),
		isKnown ? { id: last.behind, until: last.until, isTried: !isEnd } : { id: last.behind },
	);

	function waitIn(asked: Situation, { because, until, behind }: Answer & { do: "wait" }): Wait {
		const rule = because === "put_off" || because === "not_before" ? storedRule(asked, because) : ruleOf(because);
		const isBehindHeld = rule?.name === "behind_held" || rule?.name === "own_held";
		const id = isBehindHeld ? heldAhead(begin)?.id : behind;
		const sentence = (rule ?? ruleOf("put_off"))?.says(asked, until) ?? "";
		const other = id === undefined ? undefined : snapshot.queue.find((each) => each.id === id);
		const about =
			other && other.state !== "held" ? ` About that one: ${toldOf(other, snapshot).waitsFor.sentence}` : "";
		return { rule, until, sentence: `${sentence}${about}`, behind: id };
	}
}

/** Nobody is told of a text that goes, or that was put off by no rule. */
const kindOf = (rule: ToldRule | undefined, otherwise: WaitsForKind): WaitsForKind =>
	rule === undefined || rule.name === "send" || rule.name === "put_off" ? otherwise : rule.name;

const ruleOf = (name: string): ToldRule | undefined => waiting.find((rule) => rule.name === name);

/** What came back with a backup is read before its other waits count. It is read when nothing else keeps it back. */
const restoredFirst: readonly ToldRule[] = [
	...waits.filter(({ name }) => ["suspended", "not_before", "behind", "pause"].includes(name)),
	...waiting,
];

/** The rule that has put a text off. Undefined if a call failed. */
function storedRule(asked: Situation, because: "put_off" | "not_before"): ToldRule | undefined {
	const { wait } = asked.text.progress;
	const stored = wait && ruleOf(wait.because);
	// The held text that it waited for has ended since.
	const isOver = stored?.name === "own_held" && !heldAhead(asked);
	if (stored && !isOver) return stored;
	return because === "not_before" ? ruleOf(because) : undefined;
}

function situationOf(text: OutboxText, snapshot: TextSnapshot): Situation {
	const { queue, heirs, contact, suspensions, pauses, hours, now, options = stored(text, queue) } = snapshot;
	const found = concerned(text, pauses);
	const [pause] = found;
	const suspension = suspensionOf(text.agencyId, suspensions);
	// A pause that has come to its end goes on until a call has succeeded.
	const pausedUntil = pause ? Math.max(now + 1, ...found.map(({ until }) => until)) : 0;
	return {
		...storedSituation(queue.find(({ id }) => id === text.id) ?? text, options, now),
		queue: pause ? queue.map(withoutFailures) : queue,
		heirs,
		contact,
		agency: { isSuspended: suspension !== undefined, pausedUntil, suspension, pause },
		known: { hours },
	};
}

/** While calls fail, what became of a held text is not known either. That is no wait of its own. */
function withoutFailures(text: OutboxText): OutboxText {
	return text.state === "held" ? { ...text, progress: { ...text.progress, failures: 0 } } : text;
}

/** The pauses that concern a text, that of everybody first. */
function concerned({ agencyId, state }: OutboxText, pauses: readonly StoredPause[]): StoredPause[] {
	const names = ["", agencyId, ...(state === "waiting" ? [allSends] : [])];
	return names.flatMap((name) => pauses.filter((pause) => pause.agencyId === name));
}

const pausesOf = (text: OutboxText, { pauses }: Snapshot): string[] =>
	concerned(text, pauses).slice(0, 1).map(pausedIn);

const besides = (sentences: readonly string[]): string => sentences.join(" ");

function told(
	kind: WaitsForKind,
	sentence: string,
	{ id = null, until, isTried = false }: { id?: string | null | undefined; until?: number; isTried?: boolean } = {},
): Told {
	const at = until === undefined ? null : new Date(until);
	return { waitsFor: { kind, sentence, id, until: at }, nextAttemptAt: isTried ? at : null };
}

/** In the place of options that are not known: nothing that could end a text. */
export const unknownOptions: Situation["options"] = {
	settleMs: defaultSettleMs,
	followMs: [],
	defaultMaxAgeMs: Number.POSITIVE_INFINITY,
	onHeld: undefined,
	mayAnswer: false,
	beforeSend: undefined,
	onReply: undefined,
};

/** The same, with what the row shows. */
function stored({ progress }: OutboxText, queue: readonly OutboxText[]): Situation["options"] {
	const held = queue.find(({ state }) => state === "held");
	const last = progress.journal?.at(-1);
	// A rule that comes after that one has put it off since.
	const mayPass = held && progress.wait && held.since <= (last?.until ?? last?.at ?? 0);
	return { ...unknownOptions, onHeld: mayPass ? "send_if_open" : undefined };
}

/** Why a text that waits was put off, as its row alone says. Undefined if no rule has put it off. */
export function storedSentence(text: OutboxText): string | undefined {
	const { progress, nextAt, readyAt, reason } = text;
	const until = Math.max(nextAt ?? 0, readyAt);
	const situation = storedSituation(text, stored(text, [text]), until);
	return ruleOf(progress.wait?.because ?? reason ?? "")?.says(situation, until);
}

/** Of a text whose request has ended without a result. */
export const lostSentence =
	"A request was made, and it is not known yet whether it was taken: the conversation is read to find out.";

/** What a text that the service holds waits for. */
export function heldSentence(text: OutboxText): string {
	const { reason, progress, nextAt } = text;
	if (progress.cancelRequested && progress.optOutSid !== undefined)
		return "The contact asked for no more texts while the service held it. It is not sent again, but the service still delivers it if they consent.";
	if (progress.cancelRequested) {
		const late = "It was cancelled too late: the service holds it, and still delivers it if the contact consents.";
		return progress.hookReason === undefined ? late : `${late} A check of the application said${saidByHook(text)}`;
	}
	if (reason === "before_send")
		return `Waits for the contact's consent. They have answered, and it is not sent again before ${shown(nextAt ?? 0)}, as a check of the application said${saidByHook(text)}`;
	if (reason === "hook_failed")
		return "Waits for the contact's consent. They have answered, and a check of the application failed.";
	return "Waits for the contact's consent.";
}
