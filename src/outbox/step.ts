import { type Client, isPartnerError } from "messaging-conversations";
import { baselineOf } from "./baseline.ts";
import {
	afterAnswer,
	afterError,
	afterLook,
	afterReading,
	backoffMs,
	beforeReading,
	beginning,
	type Decision,
} from "./lane.ts";
import { isConsentFailed, phaseOf, type Reading, readConversation, slackMs, type Trace, traceOf } from "./reading.ts";
import { isOver, keptBack } from "./retry.ts";
import type { OutboxStore } from "./store.ts";
import { type Change, changed, type Lane, type OutboxText, operationIdOf, type Rules } from "./text.ts";
import { endingOf, errorOf, type Troubles } from "./trouble.ts";

/** The parts of the outbox that a step uses. */
export interface StepContext {
	client: Client;
	store: OutboxStore;
	rules: Rules;
	troubles: Troubles;
	now: () => number;
	/** Whether `now` is the service's own time. */
	isClockGiven: boolean;
	/** Called after each change of state that is stored. */
	onChange: (text: OutboxText) => Promise<void>;
}

/** How long after a reading the request that leans on it may begin. */
const freshMs = 10_000;
/** How long a reading may take. A slow service is still read and sent to; beyond this it is a trouble. */
const readingMs = 30_000;

/** Does what is due in one lane, until the signal aborts. Returns the time of the next step; undefined when nothing is left. */
export async function stepLane(context: StepContext, lane: Lane, signal?: AbortSignal): Promise<number | undefined> {
	const { store, now } = context;
	const pausedUntil = context.troubles.pausedUntil(lane.agencyId);
	if (pausedUntil > now()) return pause(context, lane, pausedUntil);
	await follow(context, lane);
	let last = "";
	while (!signal?.aborted) {
		const texts = await store.open(lane, 20);
		for (const text of texts) await expire(context, text);
		const head = headOf(texts, context.rules);
		if (!head) break;
		// Another worker may have put it off behind the text that has just ended here.
		const isNext = last && last !== head.id && !head.progress.attempts;
		if (!isNext && (head.nextAt ?? 0) > now()) break;
		last = head.id;
		if (!(await stepHead(context, head, texts))) break;
	}
	return rest(context, lane);
}

/** The text whose turn it is, with the time of the one that is to replace it if that is due earlier. */
function headOf([first, ...others]: readonly OutboxText[], rules: Rules): OutboxText | undefined {
	const next = replacing(first, others, rules);
	return first && next ? { ...first, nextAt: Math.min(first.nextAt ?? 0, next.nextAt ?? 0) } : first;
}

/** The text that is to take the place of the one that is held. */
function replacing(held: OutboxText | undefined, texts: readonly OutboxText[], { onHeld }: Rules) {
	if (onHeld !== "replace" || held?.state !== "held") return undefined;
	// Whether the text is in the queue is not known at the moment.
	if (held.progress.emptyAt !== null || held.progress.failures > 0) return undefined;
	return texts.find(({ state }) => state === "waiting");
}

/** One step of one text: read, decide, send. False when another worker has changed it, or the read failed. */
async function stepHead(context: StepContext, head: OutboxText, texts: readonly OutboxText[]): Promise<boolean> {
	const { rules, now } = context;
	const before = beforeReading(head, rules, now());
	if (before !== "read") return carryOut(context, head, before, { reading: null, readAt: now() });
	const trace = await readFor(context, head);
	if (trace === undefined) return false;
	const text = trace && head.state !== "waiting" ? noted(head, trace) : head;
	const reading = trace?.reading ?? null;
	const readAt = now();
	const decided = afterReading(text, trace, rules, readAt);
	const decision: Decision =
		decided !== "send" && decided.state === "dropped" && (await isReplaced(context, text))
			? { ...decided, state: "replaced" }
			: decided;
	const next = replacing(text, texts, rules);
	if (!next || trace?.kind !== "held" || decision === "send" || (next.nextAt ?? 0) > now())
		return carryOut(context, text, decision, { reading, readAt });
	const progress = { ...decision.progress, replacedBy: next.id };
	if (!(await write(context, text, { ...decision, progress }))) return false;
	return carryOut(context, next, "send", { reading, readAt, replaces: text.id });
}

/** The row with what the reading shows of the consent template. It is stored together with the decision. */
function noted({ progress, ...text }: OutboxText, trace: Trace): OutboxText {
	const consentFailed = isConsentFailed(trace) ?? progress.consentFailed;
	return { ...text, progress: { ...progress, hidden: 0, consentFailed } };
}

/** The reading that a decision was made from. */
interface Grounds {
	reading: Reading | null;
	readAt: number;
	/** The id of the text that waits in the queue until this one takes its place. */
	replaces?: string;
}

/** Stores the change of a row, or stores that a request begins, and then makes it. */
async function carryOut(
	context: StepContext,
	text: OutboxText,
	decision: Decision,
	{ reading, readAt, replaces }: Grounds,
): Promise<boolean> {
	const { now, rules } = context;
	const change = decision === "send" ? keptBack(text, rules, now()) : decision;
	if (change) return (await write(context, text, change)) !== undefined;
	const baseline = text.state === "waiting" ? baselineOf(reading, readAt, context.isClockGiven) : null;
	const begun = await write(context, text, beginning(text, baseline, rules, now()));
	if (!begun) return false;
	if (now() - readAt > freshMs || isOver(text, now())) {
		// Somebody may have written since the reading, or its time has passed: read again first.
		const { state, progress } = text;
		const nextAt = now() + backoffMs(progress.failures);
		await write(context, begun, { state, nextAt, progress: { ...progress, failures: progress.failures + 1 } });
		return false;
	}
	const ended = await write(context, begun, await send(context, begun));
	if (ended?.state === "held" && replaces !== undefined) await markReplaced(context, replaces);
	return ended !== undefined;
}

/** One request, with the frozen bytes. The client's own retries are off, because only a reading knows what they would replace. */
async function send({ client, rules, troubles, now }: StepContext, text: OutboxText): Promise<Change> {
	const { agencyId, to, body, subaccountId, consentLanguage } = text;
	const message = {
		to,
		body,
		operationId: await operationIdOf(text),
		...(subaccountId !== null && { subaccountId }),
		...(consentLanguage !== null && { consentLanguage }),
	};
	// Another worker takes over `settleMs` after `triedAt`, not after this moment.
	const sinceMarkMs = now() - (text.progress.triedAt ?? now());
	const deadlineMs = Math.max(1, Math.min(Math.max(rules.settleMs - 5_000, 1_000) - sinceMarkMs, 60_000));
	// `enqueue` has checked the number.
	const options = { retry: false, deadlineMs, allowUnlistedNumber: true } as const;
	const result = await client.agency(agencyId).messages.send(message, options).result();
	if (result.ok) {
		troubles.passed(text, "send");
		return afterAnswer(text, result.data, rules, now());
	}
	const { error } = result;
	const ending = endingOf(error);
	if (ending === "refused") return afterError(text, ending, errorOf(error), now());
	const retryAt = troubles.met(error, text, backoffMs(ending === "taken" ? 0 : text.progress.failures));
	return afterError(text, ending, errorOf(error), retryAt);
}

/** Reads about a text. Null when the conversation is unknown or hidden; undefined when the read failed, which the row notes. */
async function readFor(context: StepContext, text: OutboxText): Promise<Trace | null | undefined> {
	const { client, store, troubles } = context;
	const { baseline } = text.progress;
	const since = baseline?.since ?? 0;
	const from = text.state === "waiting" ? Number.POSITIVE_INFINITY : since - slackMs;
	try {
		const found = await readConversation(client.agency(text.agencyId), text.to, from, { deadlineMs: readingMs });
		troubles.passed(text, "read");
		if (!found) return null;
		const excluded = new Set([...(await store.claimed(text)), ...(baseline?.known ?? [])]);
		return traceOf(found, { body: text.body, since, excluded, queuedBefore: baseline?.queued });
	} catch (error) {
		if (!isPartnerError(error)) throw error;
		const { failures } = text.progress;
		const retryAt = troubles.met(error, text, backoffMs(failures));
		await write(context, text, { nextAt: retryAt, progress: { failures: failures + 1, error: errorOf(error) } });
		return undefined;
	}
}

/** Stores the changed row; undefined when another worker was faster. */
async function write(context: StepContext, text: OutboxText, change: Change): Promise<OutboxText | undefined> {
	const next = changed(text, change, context.now());
	if (!(await context.store.save(next))) return undefined;
	const saved = { ...next, version: text.version + 1 };
	if (saved.state !== text.state) await context.onChange(saved);
	return saved;
}

async function expire(context: StepContext, text: OutboxText): Promise<void> {
	const change = text.state === "waiting" ? keptBack(text, context.rules, context.now()) : undefined;
	if (change?.state) await write(context, text, change);
}

/** Whether the service took the text that was sent in this one's place. */
async function isReplaced({ store }: StepContext, { progress: { replacedBy } }: OutboxText): Promise<boolean> {
	const other = replacedBy === null ? undefined : await store.find(replacedBy);
	return other !== undefined && (other.queueId ?? other.messageId) !== null;
}

async function markReplaced(context: StepContext, id: string): Promise<void> {
	const text = await context.store.find(id);
	if (text?.state === "held") await write(context, text, { state: "replaced", nextAt: null });
}

/** Looks at the messages that were sent. One reading serves all texts of the lane. */
async function follow(context: StepContext, lane: Lane): Promise<void> {
	const { client, store, rules, troubles, now } = context;
	const texts = await store.followed(lane, now());
	if (texts.length === 0) return;
	const missing = new Set(texts.map(({ messageId }) => messageId));
	const oldest = Math.min(...texts.map(({ progress }) => progress.baseline?.since ?? 0));
	try {
		const reading = await readConversation(client.agency(lane.agencyId), lane.to, oldest - slackMs, {
			seek: ({ messageSid }) => missing.delete(messageSid) && missing.size === 0,
		});
		troubles.passed(lane, "read");
		for (const text of texts) {
			const message = reading?.messages.find(({ messageSid }) => messageSid === text.messageId);
			await write(context, text, afterLook(text, message ? phaseOf(message) : null, rules, now()));
		}
	} catch (error) {
		if (!isPartnerError(error)) throw error;
		const retryAt = troubles.met(error, lane, backoffMs(5));
		for (const text of texts) await write(context, text, { nextAt: retryAt });
	}
}

/** Puts the texts that wait behind the head off with it. */
async function rest({ store, now }: StepContext, lane: Lane): Promise<number | undefined> {
	const [head] = await store.open(lane, 1);
	const followed = await store.followed(lane, Number.MAX_SAFE_INTEGER);
	const nexts = [head, ...followed].flatMap((text) => text?.nextAt ?? []);
	const until = head?.nextAt ?? 0;
	if (until > now()) await store.postpone(lane, until);
	return nexts.length > 0 ? Math.min(...nexts) : undefined;
}

/** The key may not send, or the service asked to wait: nothing in the lane is due before. */
async function pause(context: StepContext, lane: Lane, until: number): Promise<number> {
	const { store, now } = context;
	const texts = [...(await store.open(lane, 1)), ...(await store.followed(lane, now()))];
	for (const text of texts) {
		if ((text.nextAt ?? until) < until) await write(context, text, { nextAt: until });
	}
	await store.postpone(lane, until);
	return until;
}
