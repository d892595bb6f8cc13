/*
 * Works through the queue of one recipient: reads, decides, stores and sends.
 */

import {
	isWindowOpen,
	type OutgoingMessage,
	PartnerConfigurationError,
	type PartnerError,
	type Sent,
} from "messaging-conversations";
import { phaseOf } from "../../shared/delivery-phase.ts";
import { baselineOf } from "../baseline.ts";
import {
	afterFollow,
	asMessage,
	backoffMs,
	type Decision,
	decide,
	ended,
	ifQuiet,
	lastMoment,
	lastRequestAt,
	longestWaitMs,
	mayTakePlace,
	onHeldOf,
	pendingOf,
	readAgain,
	readMs,
	unsent,
	wasSurelyOpen,
	whileWaiting,
	withEnd,
} from "../decide.ts";
import { findText, isConsentFailed, type Match, type Reading, readConversation, slackMs } from "../match.ts";
import type { CheckedOptions } from "../options.ts";
import { type Contact, createContact, type OptOutReader } from "../policy/contact.ts";
import { policies, purposeOf } from "../policy/purpose.ts";
import { bandOf, type Lease, type NextDue } from "../store.ts";
import {
	type Change,
	type ContactFacts,
	changed,
	isUnfinished,
	type OpenText,
	type OutboxText,
	operationIdOf,
	type Recipient,
	storableId,
	type TextError,
} from "../text.ts";
import { failureOf } from "./failure.ts";
import { type Gateway, isRefusedByGateway } from "./gateway.ts";
import type { Pauses } from "./pauses.ts";
import { ifHookFailed, permissionFor } from "./permission.ts";
import type { QuietClock } from "./quiet.ts";
import { canAsk, isSameSettings, type Settings, type SettingsCache } from "./settings.ts";
import { ifUnchanged, type Summaries, watchedFrom } from "./watch.ts";

/** The parts of the outbox that the work on a queue uses. */
export interface QueueContext {
	options: CheckedOptions;
	pauses: Pauses;
	gateway: Gateway;
	settings: SettingsCache;
	summaries: Summaries;
	optOuts: OptOutReader;
	quiet: QuietClock;
	/** Called after each change of state that is stored. */
	onChange: (text: OutboxText) => Promise<void>;
	/** The right to work on the queue. */
	lease: Lease;
	contact: Contact;
	/** How long a lease lasts, in milliseconds. */
	leaseMs: number;
}

/** How long after a read the request that relies on it may begin. */
const freshMs = 10_000;
/** How long a read may take. A slow service is still read and sent to. */
const readingMs = 30_000;

/** When a queue is due next, and what it waits for. Undefined if nothing is left in it. */
export type Next = NextDue | undefined;

/** Does what is due in a queue, until the signal aborts. */
export async function workQueue(
	shared: Omit<QueueContext, "lease" | "contact">,
	lease: Lease,
	signal?: AbortSignal,
): Promise<Next> {
	const { store, now } = shared.options;
	const context: QueueContext = { ...shared, lease, contact: createContact(store, shared.optOuts, lease, now) };
	// Another text of the agency has met an error since the queue was leased.
	if (context.pauses.pausedUntil(lease.agencyId) > now()) return { at: now(), band: lease.band };
	await follow(context, lease, signal);
	let last: OutboxText | undefined;
	while (!signal?.aborted) {
		const texts = await store.open(lease, 20, now());
		if (await endUnsent(context, texts)) continue;
		const head = headOf(texts, context.options);
		if (!head) break;
		const isDue = (head.nextAt ?? 0) <= now();
		// An earlier version has put it off behind the text that has just ended here.
		const isNext = last && last.id !== head.id && head.progress.attempts === 0;
		if (!isNext && !isDue) break;
		// More urgent texts of other recipients come first.
		if (last && head.priority < last.priority) {
			if (!isDue) await write(context, head, { nextAt: now() });
			break;
		}
		last = head;
		if (!(await workText(context, head, texts, signal))) break;
	}
	if (signal?.aborted) return { at: now(), band: lease.band };
	return nextOf(context, lease);
}

/** Texts that wait behind the head are due with it. */
async function nextOf({ options: { store, now } }: QueueContext, recipient: Recipient): Promise<Next> {
	const at = now();
	const [head] = await store.open(recipient, 1, at);
	if (head && (head.nextAt ?? 0) <= at) return { at, band: bandOf(head.state, head.priority) };
	return store.nextOf(recipient, at);
}

/** Ends the waiting texts that may not be sent any more. Returns whether there were any. */
async function endUnsent(context: QueueContext, texts: readonly OpenText[]): Promise<boolean> {
	let isAny = false;
	for (const text of texts) {
		if (text.state !== "waiting") continue;
		const change = text.stoppedBy ? ifStopped(text) : await ifInTime(context, text);
		if (change?.state && (await write(context, text, change))) isAny = true;
	}
	return isAny;
}

/** The end of a text whose contact has opted out, or whose time has passed, or will have when the quiet hours end. */
async function ifInTime(context: QueueContext, text: OpenText): Promise<Change | undefined> {
	const { options, quiet, contact } = context;
	const change = whileWaiting(text, options, options.now());
	const { keepsQuiet, afterOptOut } = policies[purposeOf(text)];
	if (change?.state) return change;
	const endedBy = contact.isUpToDate() && text.progress.attempts === 0 && (await contact.endedBy(text));
	if (endedBy) return unsent(text, "cancelled", endedBy);
	const optOut = afterOptOut === "never" && contact.isUpToDate() && (await contact.optOutOf(text, null, true));
	if (optOut) return { ...unsent(text, "cancelled", "opted_out"), progress: { optOutSid: optOut.messageSid } };
	if (change || keepsQuiet !== "always") return change;
	// If the time zone cannot be had, the text that is due tells of it.
	const until = await quiet.end(text.agencyId, options.now()).catch(() => undefined);
	return until === undefined ? undefined : ifQuiet(text, until, options);
}

function ifStopped(text: OpenText): Change {
	return unsent(text, "cancelled", text.stoppedBy === "drop" ? "earlier_text_dropped" : "requested");
}

/** The text whose turn it is, with the time of the one that is to replace it if that is due earlier. */
function headOf([first, ...others]: readonly OpenText[], options: CheckedOptions): OutboxText | undefined {
	const next = replacing(first, others, options);
	return first && next ? { ...first, nextAt: Math.min(first.nextAt ?? 0, next.nextAt ?? 0) } : first;
}

/** The text that is to take the place of the one that is held. */
function replacing(held: OutboxText | undefined, texts: readonly OutboxText[], options: CheckedOptions) {
	if (held?.state !== "held") return undefined;
	// Whether the text is in the service's queue is not known at the moment.
	if (held.progress.emptyAt !== null || held.progress.failures > 0) return undefined;
	return texts.find((text) => text.state === "waiting" && onHeldOf(text, options, "onOwnHeld") !== "wait");
}

/** One step of one text: read, decide, send. False when another worker has changed it, or when it has to wait. */
async function workText(
	context: QueueContext,
	head: OutboxText,
	texts: readonly OutboxText[],
	signal: AbortSignal | undefined,
): Promise<boolean> {
	const { options } = context;
	const { now } = options;
	const before = decide(head, undefined, options, now());
	// Only a reply may go to a contact who has asked for no more texts since.
	const isRepeat = before === "send";
	if (isRepeat && policies[purposeOf(head)].afterOptOut !== "never")
		return request(context, head, { reading: null, readAt: now() }, signal);
	if (before === "read" && head.state === "waiting" && policies[purposeOf(head)].keepsQuiet === "always") {
		const asleep = await ifAsleep(context, head, null);
		if (asleep) return (await write(context, head, asleep)) !== undefined;
	}
	if (before !== "read" && !isRepeat) return (await write(context, head, before)) !== undefined;
	const waitsFor = replacing(head, texts, options) ? undefined : await ifUnchanged(context, head, signal);
	if (waitsFor) return (await write(context, head, waitsFor)) !== undefined;
	const match = await readFor(context, head, signal);
	if (match === undefined) return false;
	const readAt = now();
	const learned = await withOptOut(context, noted(head, match, readAt), match).catch(hookFailure);
	if (learned instanceof PartnerConfigurationError) {
		await write(context, head, ifHookFailed(context, head, learned));
		return false;
	}
	const text = learned;
	if (isRepeat && match?.kind === "none" && (await mayRepeat(context, text)))
		return request(context, text, { reading: match.reading, readAt }, signal);
	const decision = decide(text, match, options, readAt);
	const next = replacing(text, texts, options);
	if (next && match?.kind === "held" && decision !== "send" && decision !== "read" && (next.nextAt ?? 0) <= now()) {
		if (!mayTakePlace(onHeldOf(next, options, "onOwnHeld"), match, readAt)) {
			// It waits as long as the one that is held, unless something changes.
			if (!(await write(context, next, { nextAt: decision.nextAt ?? readAt + longestWaitMs }))) return false;
			return apply(context, text, decision);
		}
		const progress = { ...decision.progress, replacedBy: next.id };
		if (!(await write(context, text, { ...decision, progress }))) return false;
		return send(context, next, match, { reading: match.reading, readAt, replaces: text.id }, signal);
	}
	if (decision === "send") return send(context, text, match, { reading: match?.reading ?? null, readAt }, signal);
	return apply(context, text, decision);
}

/** The row with what the reading shows. It is stored together with the decision. */
function noted(text: OutboxText, match: Match | null, now: number): OutboxText {
	const progress = { ...text.progress, watched: watchedFrom(text, match, now) };
	if (!match || text.state === "waiting") return { ...text, progress };
	const consentFailed = isConsentFailed(match) ?? progress.consentFailed;
	return { ...text, progress: { ...progress, hidden: 0, consentFailed } };
}

/** Whether a request that just failed may be made again, although its conversation shows nothing of it yet. */
async function mayRepeat({ contact, quiet, options }: QueueContext, text: OutboxText): Promise<boolean> {
	if (await contact.optOutOf(text, null, true)) return false;
	if (policies[purposeOf(text)].keepsQuiet !== "always") return true;
	const until = await quiet.end(text.agencyId, options.now()).catch(() => 0);
	return until === undefined;
}

/** The change of a text that may not begin in these hours. */
async function ifAsleep(
	{ options, quiet, pauses }: QueueContext,
	text: OutboxText,
	reading: Reading | null,
): Promise<Change | undefined> {
	const now = options.now();
	const isOpen = reading !== null && isWindowOpen(reading.conversation, now);
	if (policies[purposeOf(text)].keepsQuiet === "while_closed" && isOpen) return undefined;
	try {
		const until = await quiet.end(text.agencyId, now);
		if (until === undefined) return undefined;
		return text.state === "held" ? readAgain(text, options, now) : ifQuiet(text, until, options);
	} catch (error) {
		return ifHookFailed({ options, pauses }, text, hookFailure(error));
	}
}

/** The error of a hook of the caller. Throws any other one. */
function hookFailure(error: unknown): PartnerConfigurationError {
	if (error instanceof PartnerConfigurationError) return error;
	throw error;
}

/** Takes in what the contact asked for. A held text of a contact who has opted out is not sent again. */
async function withOptOut({ contact, options }: QueueContext, text: OutboxText, match: Match | null) {
	if (!match) return text;
	await contact.learn(match.reading.messages);
	if (text.state !== "held" || text.progress.cancelRequested) return text;
	const isOpen = isWindowOpen(match.reading.conversation, options.now());
	const isOut = await contact.optOutOf(text, match.reading, isOpen);
	return isOut ? { ...text, progress: { ...text.progress, cancelRequested: true } } : text;
}

/** Stores a decision. A text that was replaced on purpose was not dropped. */
async function apply(context: QueueContext, text: OutboxText, decision: Exclude<Decision, "send">): Promise<boolean> {
	if (decision === "read") return false;
	const isReplaced = decision.state === "dropped" && (await wasReplaced(context, text));
	const change = isReplaced ? { ...decision, ...ended("replaced", null) } : decision;
	return (await write(context, text, change)) !== undefined;
}

/** What a request relies on. */
interface Grounds {
	/** The reading before it. Null if there was none, or if the conversation is unknown or hidden. */
	reading: Reading | null;
	readAt: number;
	/** The id of the text that waits in the service's queue until this one takes its place. */
	replaces?: string;
	/** The agency's settings when the request was allowed. */
	settings?: Settings | undefined;
	/** Language for the consent template. */
	language?: string | null;
}

/** Makes the request if the agency's settings and the hooks allow it. */
async function send(
	context: QueueContext,
	text: OutboxText,
	match: Match | null,
	grounds: Grounds,
	signal: AbortSignal | undefined,
): Promise<boolean> {
	const asleep = await ifAsleep(context, text, match?.reading ?? null);
	if (asleep) return (await write(context, text, asleep)) !== undefined && asleep.state !== undefined;
	const permission = await permissionFor(context, text, match, signal);
	if (signal?.aborted) return false;
	if ("change" in permission) {
		await write(context, text, permission.change);
		// A text that steps aside or is cancelled gives way to the next one.
		return permission.change.readyAt !== undefined || permission.change.state !== undefined;
	}
	return request(context, text, { ...grounds, ...permission }, signal);
}

/** Stores that a request begins, makes it, and stores how it ended. */
async function request(
	context: QueueContext,
	text: OutboxText,
	grounds: Grounds,
	signal: AbortSignal | undefined,
): Promise<boolean> {
	const { options } = context;
	const { now } = options;
	// The hooks and the reads can have taken long.
	const change = text.state === "waiting" ? whileWaiting(text, options, now()) : undefined;
	if (change) return (await write(context, text, change)) !== undefined;
	if (signal?.aborted) return false;
	const startedAt = performance.now();
	const startedDate = Date.now();
	const begun = await begin(context, text, grounds);
	if (!begun) return false;
	const message = await messageOf(begun);
	// Another worker takes over `settleMs` after the attempt record. By then the request must have ended, by both clocks: a
	// process that was stopped since knows it by the one, a machine that slept by the other.
	const sinceMs = Math.max(performance.now() - startedAt, now() - (lastRequestAt(begun) ?? 0));
	const { settleMs } = options;
	const longestMs = Math.min(Math.max(settleMs - 5_000, Math.min(1_000, (settleMs * 2) / 3)), 60_000);
	const leftMs = longestMs - sinceMs;
	if (leftMs < 1 || now() - grounds.readAt > freshMs || now() > lastMoment(text, options) || signal?.aborted) {
		// Somebody may have written since the reading, or the time has passed: read again first.
		const { state, reason, progress } = text;
		const failures = progress.failures + 1;
		const nextAt = signal?.aborted ? now() : now() + backoffMs(progress.failures);
		await writeEnd(context, begun, { state, reason, nextAt, progress: { ...progress, failures } });
		return false;
	}
	// The client looks at the clock again right before it writes, because the process can be stopped here too. Its own retries are
	// off, because only a reading knows what they would replace. `enqueue` has checked the number.
	const deadlineAt = new Date(startedDate + longestMs);
	const call = { retry: false, deadlineMs: Math.ceil(leftMs), deadlineAt, allowUnlistedNumber: true } as const;
	const result = await options.client
		.agency(text.agencyId)
		.messages.send(message, call)
		.result()
		.catch((thrown: unknown) => ({ ok: false as const, error: failureOf(thrown, "messages.send") }));
	if (result.ok) {
		context.gateway.sent(text);
	}
	const after = result.ok
		? afterSend(begun, result.data, options)
		: await afterError(context, begun, result.error, grounds, signal);
	const done = await writeEnd(context, begun, after);
	if (result.ok) await context.pauses.passed(text, "send");
	if (done?.state === "held" && grounds.replaces !== undefined) await markReplaced(context, grounds.replaces);
	return done !== undefined;
}

/** Stores the attempt record before the request. It freezes what the service gets, and with it the `operationId`. */
async function begin(context: QueueContext, text: OutboxText, grounds: Grounds): Promise<OutboxText | undefined> {
	const { now, isClockGiven, settleMs } = context.options;
	const { progress } = text;
	const language = progress.language === undefined ? grounds.language : progress.language;
	const isFirst = text.state === "waiting" && pendingOf(text).length === 0;
	const begun: Change = {
		state: "sending",
		// A row that is still `sending` then has lost its worker.
		nextAt: now() + settleMs,
		progress: {
			baseline: isFirst ? baselineOf(grounds.reading, grounds.readAt, isClockGiven) : progress.baseline,
			attempts: progress.attempts + 1,
			requests: [...progress.requests, { at: now() }],
			language: language ?? null,
			...(progress.attempts === 0 && { idHasNoDefault: true as const }),
			emptyAt: null,
			reads: text.state === "sending" ? progress.reads : 0,
		},
	};
	return write(context, text, begun, { unlessStopped: text.state === "waiting", isBegin: true });
}

/** What the service gets, the same for each request of a generation. */
async function messageOf(text: OutboxText): Promise<OutgoingMessage> {
	const { to, body, subaccountId, consentLanguage, progress } = text;
	const { language = consentLanguage } = progress;
	return {
		to,
		body,
		operationId: await operationIdOf(text),
		...(subaccountId !== null && { subaccountId }),
		...(language !== null && { consentLanguage: language }),
	};
}

function afterSend(text: OutboxText, sent: Sent, options: CheckedOptions): Change {
	const now = options.now();
	if (!sent.queued) return asMessage(sent.messageId, "sent", options, now);
	const requests = withEnd(text.progress.requests, "held");
	const progress = { requests, emptyAt: null, reads: 0, failures: 0, error: null };
	return { state: "held", queueId: storableId(sent.queueId), nextAt: now + readMs(options, 0), progress };
}

/** After a send that failed. Its `outcome` says whether it may have been taken. */
async function afterError(
	context: QueueContext,
	text: OutboxText,
	error: PartnerError,
	grounds: Grounds,
	signal: AbortSignal | undefined,
): Promise<Change> {
	const { options, pauses } = context;
	const { now } = options;
	const { requests, failures, generation } = text.progress;
	const noted = { error: errorOf(error), failures: failures + 1 };
	const isRefused = error._tag === "PartnerBadRequest" || error._tag === "PartnerInvalidInput";
	const without = requests.slice(0, -1);
	const back: Change = { state: text.queueId === null ? "waiting" : "held" };
	if (error.outcome !== "not_sent") {
		if (isRefusedByGateway(error)) {
			const { nextAt, isBlocked } = await context.gateway.refused(error, text, backoffMs(failures));
			const last = requests.at(-1);
			const marked = isBlocked && last ? [...without, { ...last, blocked: true as const }] : requests;
			return { nextAt, progress: { ...noted, requests: marked } };
		}
		const isAccepted = error.outcome === "sent";
		const nextAt = await pauses.met(error, text, backoffMs(isAccepted ? 0 : failures));
		if (isAccepted) return { nextAt, progress: { error: noted.error, requests: withEnd(requests, "accepted") } };
		if (error.status === 429) return { nextAt, progress: { ...noted, requests: withEnd(requests, "limited") } };
		return { nextAt, progress: noted };
	}
	if (!isRefused) {
		const nextAt = await pauses.met(error, text, backoffMs(failures));
		const progress = { ...noted, requests: without };
		return pendingOf(text).length > 1 ? { nextAt, progress } : { ...back, nextAt, progress };
	}
	// An earlier request may have been taken, and this one's refusal says nothing about it.
	if (pendingOf(text).length > 1)
		return { nextAt: now(), progress: { ...noted, requests: withEnd(requests, "refused") } };
	if (text.queueId !== null)
		return { ...back, nextAt: now(), progress: { ...noted, requests: withEnd(requests, "refused") } };
	if (error._tag === "PartnerBadRequest" && !wasSurelyOpen(text)) {
		const fresh = await context.settings.fresh(text.agencyId, text.to, signal);
		// Without that read it is not known why the request was refused. The next worker makes it again.
		if (signal?.aborted) return { ...back, nextAt: now(), progress: { ...noted, requests: without } };
		const { language = null } = text.progress;
		if (!isSameSettings(grounds.settings, fresh) || (fresh && !canAsk(fresh, language))) {
			// The agency's settings may be the reason. The next request has an id of its own.
			const until = pauses.holdConsent(text.agencyId);
			const nextAt = Math.max(until, now() + backoffMs(failures));
			const progress = { ...noted, requests: without, generation: generation + 1, language: undefined };
			return { state: "waiting", reason: "consent_unavailable", nextAt, progress };
		}
	}
	const progress = { ...noted, requests: without };
	return { ...ended("refused", refusalOf(error)), progress };
}

function refusalOf(error: PartnerError) {
	if (error._tag === "PartnerBadRequest") return "bad_request";
	return /allowRecipients/.test(error.message) ? "not_allowed" : "invalid_input";
}

function errorOf({ _tag, message, correlationId }: PartnerError): TextError {
	return { tag: _tag, message, correlationId };
}

/** Reads about a text. Null when the conversation is unknown or hidden; undefined when the read failed, which the row notes. */
async function readFor(
	context: QueueContext,
	text: OutboxText,
	signal: AbortSignal | undefined,
): Promise<Match | null | undefined> {
	const { pauses } = context;
	const { client, store } = context.options;
	const { baseline } = text.progress;
	const since = baseline?.since ?? 0;
	const from = text.state === "waiting" ? Number.POSITIVE_INFINITY : since - slackMs;
	try {
		const found = await readConversation(client.agency(text.agencyId), text.to, from, {
			deadlineMs: readingMs,
			signal,
		});
		await pauses.passed(text, "read");
		if (!found) return null;
		const excluded = new Set([...(await store.claimed(text)), ...(baseline?.known ?? []).map((id) => storableId(id))]);
		return findText(found, { body: text.body, since, excluded, queuedBefore: baseline?.queued });
	} catch (thrown) {
		const error = failureOf(thrown, "conversations.get");
		if (signal?.aborted) return undefined;
		const { failures } = text.progress;
		const waitMs = backoffMs(failures);
		const nextAt = isRefusedByGateway(error)
			? (await context.gateway.refused(error, text, waitMs)).nextAt
			: await pauses.met(error, text, waitMs);
		await write(context, text, { nextAt, progress: { failures: failures + 1, error: errorOf(error) } });
		return undefined;
	}
}

/**
 * Stores the changed row. Undefined if another worker was faster, or if the recipient was stopped meanwhile.
 *
 * @param unlessStopped refuse it if the recipient was stopped after its transaction had begun
 * @param isBegin refuse it if another worker has taken the queue over
 */
async function write(
	context: QueueContext,
	text: OutboxText,
	change: Change,
	{ unlessStopped = false, isBegin = false } = {},
): Promise<OutboxText | undefined> {
	const { store, now, afterDrop } = context.options;
	const next = changed(text, change, now());
	const isNewState = next.state !== text.state;
	// The statement that ends a held text stops the recipient too, so that no request can begin in between.
	const stops = afterDrop === "cancel" && isNewState && isLost(next);
	const facts = afterDrop === "cancel" && isNewState ? factsFrom(next, now()) : undefined;
	if (facts) await context.contact.note(facts);
	// As long as the request may be on its way, by the clock of the database: those of two machines may differ.
	const leaseMs = Math.max(context.leaseMs, context.options.settleMs);
	const lease = isBegin ? { lease: context.lease, leaseMs } : {};
	if (!(await store.save(next, { stops, unlessStopped, ...lease }))) return undefined;
	const saved = { ...next, version: text.version + 1 };
	if (isNewState) await context.onChange(saved);
	// Those whose turn has not come too, so that their status says so, and nothing but a late commit depends on the stop.
	if (stops || facts)
		await endUnsent(context, await store.open(next, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER));
	if (next.progress.forget && !isUnfinished(next.state)) await store.erase({ id: next.id });
	return saved;
}

/**
 * Stores how the request of a row ended. A row that was marked as cancelled meanwhile keeps its mark, and gets the end too.
 * Undefined if another worker has taken over.
 */
async function writeEnd(context: QueueContext, begun: OutboxText, change: Change): Promise<OutboxText | undefined> {
	let row: OutboxText | undefined = begun;
	while (row?.state === "sending" && row.progress.attempts === begun.progress.attempts) {
		const done = await write(context, row, change);
		if (done) return done;
		row = await context.options.store.find(begun.id);
	}
	return undefined;
}

/** What the end of a text that the service held says of the contact. */
function factsFrom(text: OutboxText, now: number): ContactFacts | undefined {
	if (text.state !== "dropped") return undefined;
	if (text.reason === "declined") return { declined: text.progress.declinedAt ?? now };
	if (text.reason !== "no_answer") return undefined;
	return purposeOf(text) === "marketing" ? { ignoredMarketing: now } : { ignored: now };
}

/** Whether the contact may have declined a text that was held, or may have been. */
function isLost(text: OutboxText): boolean {
	const { state, queueId, progress } = text;
	if (state === "dropped") return progress.declinedAt !== undefined;
	return state === "unknown" && (queueId !== null || !wasSurelyOpen(text));
}

/** Whether the service took the text that was sent in this one's place. */
async function wasReplaced({ options }: QueueContext, { progress: { replacedBy } }: OutboxText): Promise<boolean> {
	const other = replacedBy === null ? undefined : await options.store.find(replacedBy);
	return other !== undefined && (other.queueId ?? other.messageId) !== null;
}

async function markReplaced(context: QueueContext, id: string): Promise<void> {
	const text = await context.options.store.find(id);
	if (text?.state === "held") await write(context, text, ended("replaced", null));
}

/** Reads about the messages that were sent. One reading serves all texts of the recipient. */
async function follow(context: QueueContext, recipient: Recipient, signal: AbortSignal | undefined): Promise<void> {
	const { pauses, options } = context;
	const { client, store, now } = options;
	const texts = await store.followed(recipient, now());
	if (texts.length === 0) return;
	const missing = new Set(texts.map(({ messageId }) => messageId));
	const oldest = Math.min(...texts.map(({ progress }) => progress.baseline?.since ?? 0));
	try {
		const reading = await readConversation(client.agency(recipient.agencyId), recipient.to, oldest - slackMs, {
			seek: ({ messageSid }) => missing.delete(storableId(messageSid)) && missing.size === 0,
			signal,
		});
		await pauses.passed(recipient, "read");
		// A hook that fails is reported before the next text is sent, and keeps it back.
		await context.contact.learn(reading?.messages ?? []).catch(hookFailure);
		for (const text of texts) {
			const message = reading?.messages.find(({ messageSid }) => storableId(messageSid) === text.messageId);
			await write(context, text, afterFollow(text, message ? phaseOf(message) : null, options, now()));
		}
	} catch (thrown) {
		const error = failureOf(thrown, "conversations.get");
		if (signal?.aborted) return;
		const nextAt = await pauses.met(error, recipient, backoffMs(5));
		for (const text of texts) await write(context, text, { nextAt });
	}
}
