/*
 * Sends a text: asks whether it may go now, stores that its request begins, makes it, and stores how it ended.
 */
import type { Answered, OutgoingMessage, PartnerError, Sent } from "messaging-conversations";
import { freshMs, msSince, thisMoment } from "../../shared/freshness.ts";
import { baselineOf, surelyOpenMs } from "../baseline.ts";
import { asMessage, backoffMs, ended, readMs } from "../decide.ts";
import { lastHeldBy, type Reading } from "../match.ts";
import type { CheckedOptions } from "../options.ts";
import { policies, whenClosedOf } from "../policy/purpose.ts";
import { lastMoment, lastRequestAt, pendingOf, wasSurelyOpen, withEnd } from "../requests.ts";
import { type Change, errorOf, type OutboxText, operationIdOf, storableId } from "../text.ts";
import type { QueueContext } from "./context.ts";
import { failureOf, isOptionRefused } from "./failure.ts";
import { isRefusedByGateway } from "./gateway.ts";
import { canAsk, isSameSettings, type Settings } from "./settings.ts";
import { write, writeEnd } from "./write.ts";

/** How long a read may take that is only to leave the step. The one that the request relies on must not grow old meanwhile. */
const stepMs = 2_000;

/** What a request relies on, and what the service gets. */
export interface Grounds {
	/** The reading before it. Null if the conversation is unknown or hidden. */
	reading: Reading | null;
	/** The id of the text that waits in the service's queue until this one takes its place. */
	replaces?: string;
	/** When the conversation was read, by the clock of the outbox. */
	readAt: number;
	/** How old the reading is, by the clocks of the machine. */
	ageMs: () => number;
	/** The agency's settings when the request was allowed. */
	settings?: Settings | undefined;
	/** Language for the consent template. */
	language?: string | null;
}

/**
 * Stores that a request begins, makes it, and stores how it ended.
 *
 * @param mayBegin asked right before it is made, and about a time that is near
 */
export async function request(
	context: QueueContext,
	text: OutboxText,
	grounds: Grounds,
	signal: AbortSignal | undefined,
	mayBegin: (at: number) => Promise<boolean>,
): Promise<boolean> {
	const { options } = context;
	const { now } = options;
	await leaveStep(context, text, signal);
	if (signal?.aborted) return false;
	const started = thisMoment();
	const begun = await begin(context, text, grounds);
	if (!begun) return false;
	const message = await messageOf(begun, await context.options.store.outboxId());
	// The statement can have taken long, or the machine was suspended, and then the quiet hours may have begun.
	await options.clock.measure();
	const until = await beginsUntil(begun, grounds, options, mayBegin);
	// Another worker takes over `settleMs` after the attempt record. By then the request must have ended, by both clocks: a
	// process that was stopped since knows it by the one, a machine that slept by the other.
	const sinceMs = Math.max(msSince(started), now() - (lastRequestAt(begun) ?? 0));
	const { settleMs } = options;
	const longestMs = Math.min(Math.max(settleMs - 5_000, Math.min(1_000, (settleMs * 2) / 3)), 60_000);
	const leftMs = longestMs - sinceMs;
	/** Nothing was sent. Somebody may have written since the reading, or the time has passed: read again first. */
	const readFirst = async (waitMs: number, failures: number): Promise<false> => {
		const { state, reason, progress } = text;
		const nextAt = signal?.aborted ? now() : now() + waitMs;
		await writeEnd(context, begun, { state, reason, nextAt, progress: { ...progress, wait: undefined, failures } });
		return false;
	};
	const { failures } = text.progress;
	const ageMs = Math.max(now() - grounds.readAt, grounds.ageMs());
	// A reading counts for its very last millisecond.
	const beginMs = Math.min(freshMs + 1 - ageMs, until - now());
	if (leftMs < 1 || beginMs < 1 || signal?.aborted) return readFirst(backoffMs(failures), failures + 1);
	// The client looks at the clock again right before it writes, because the process can be stopped here too. Its own retries are
	// off, because only a reading knows what they would replace. `enqueue` has checked the number.
	// It goes by the clock of this machine, which may differ from that of the outbox by hours.
	const { date: machineDate } = thisMoment();
	const deadline = new Date(Math.min(started.date + longestMs, machineDate + Math.ceil(leftMs)));
	const beginBy = new Date(machineDate + beginMs);
	const limits = { retry: false, deadline, beginBy } as const;
	const call = { ...limits, keyScope: context.keyScope, allowUnlistedNumber: true };
	const result = await options.client
		.agency(text.agencyId)
		.messages.send(message, call)
		.withResponse()
		.then(
			(answered) => ({ ok: true as const, ...answered }),
			async (thrown: unknown) => {
				// Nothing was sent, and this ends the work: the text is as it was before.
				if (isOptionRefused(thrown)) await readFirst(0, failures);
				return { ok: false as const, error: failureOf(thrown, "messages.send") };
			},
		);
	// It has waited for a connection. That is no fault of the service, and the others need not wait.
	if (!result.ok && isTooLate(result.error)) return readFirst(backoffMs(0), failures);
	if (result.ok) context.gateway.sent(text);
	const after = result.ok
		? afterSend(begun, result, grounds, options)
		: await afterError(context, begun, result.error, grounds, signal);
	const done = await writeEnd(context, begun, after);
	if (result.ok) await context.pauses.passed(text, "send");
	if (done?.state === "held" && grounds.replaces !== undefined) await markReplaced(context, grounds.replaces);
	return done !== undefined;
}

/**
 * A load balancer that takes its nodes in turn gives each try of a text the same node for its send, because each try makes as many
 * requests. If that node is the one that fails, the text is never sent. So after a failure a further read comes in between, or not.
 */
async function leaveStep({ options, pauses }: QueueContext, text: OutboxText, signal: AbortSignal | undefined) {
	const { progress, agencyId, to } = text;
	const isShaky = progress.failures > 0 || progress.requests.length > 0 || pauses.isFailing(agencyId);
	if (!isShaky || signal?.aborted || Math.random() < 0.5) return;
	const given = { pageSize: 1, retry: false, deadline: stepMs, signal } as const;
	// What it shows does not matter.
	await options.client
		.agency(agencyId)
		.conversations.get(to, given)
		.catch((thrown: unknown) => failureOf(thrown, "conversations.get"));
}

/**
 * Until when a request may begin, which can wait for its connection: its time passes, the window closes, or the quiet hours begin. At the
 * latest now if it may not begin at all.
 */
async function beginsUntil(
	text: OutboxText,
	{ reading }: Grounds,
	options: CheckedOptions,
	mayBegin: (at: number) => Promise<boolean>,
): Promise<number> {
	const now = options.now();
	if (!(await mayBegin(now))) return now;
	const { leastOpenMs } = policies[text.purpose];
	const openMs = (reading && surelyOpenMs(reading, now) - leastOpenMs) || Number.POSITIVE_INFINITY;
	const until = Math.min(lastMoment(text, options) + 1, now + openMs);
	// They begin with a minute.
	const nextMinute = now - (now % 60_000) + 60_000;
	const isFar = nextMinute - now > freshMs;
	return isFar || (await mayBegin(nextMinute)) ? until : Math.min(until, nextMinute);
}

/** Stores the attempt record before the request. It freezes what the service gets, and with it the `operationId`. */
async function begin(context: QueueContext, text: OutboxText, grounds: Grounds): Promise<OutboxText | undefined> {
	const { now, settleMs } = context.options;
	const { progress } = text;
	const language = progress.language === undefined ? grounds.language : progress.language;
	const isFirst = text.state === "waiting" && pendingOf(text).length === 0;
	const begun: Change = {
		state: "sending",
		// A row that is still `sending` then has lost its worker.
		nextAt: now() + settleMs,
		progress: {
			baseline: isFirst ? baselineOf(grounds.reading, grounds.readAt) : progress.baseline,
			attempts: progress.attempts + 1,
			requests: [...progress.requests, { at: now() }],
			language: language ?? null,
			emptyAt: null,
			declinedAt: undefined,
			reads: text.state === "sending" ? progress.reads : 0,
		},
	};
	return write(context, text, begun, { unlessStopped: text.state === "waiting", isBegin: true });
}

/** What the service gets, the same for each request of a generation. */
async function messageOf(text: OutboxText, outboxId: string): Promise<OutgoingMessage> {
	const { to, body, subaccountId, consentLanguage, progress } = text;
	const { language = consentLanguage } = progress;
	return {
		to,
		body,
		operationId: await operationIdOf(text, outboxId),
		...(subaccountId !== null && { subaccountId }),
		...(language !== null && { consentLanguage: language }),
	};
}

function afterSend(
	text: OutboxText,
	{ data: sent }: Answered<Sent>,
	{ reading }: Grounds,
	options: CheckedOptions,
): Change {
	const now = options.now();
	if (!sent.queued) return asMessage(sent.messageId, "sent", options, now);
	const requests = withEnd(text.progress.requests, "held");
	const lastHeld = lastHeldBy(reading, options.settleMs, now);
	const progress = { requests, lastHeld, emptyAt: null, reads: 0, failures: 0, error: null };
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
	const mayBeClosed = error._tag === "PartnerBadRequest" && !wasSurelyOpen(text);
	// It needs nothing of the agency. The next reading shows whether the window has closed.
	if (mayBeClosed && whenClosedOf(text) === "skip") {
		const progress = { ...noted, requests: without, generation: generation + 1, language: undefined };
		return { ...back, nextAt: now() + backoffMs(failures), progress };
	}
	if (mayBeClosed) {
		const fresh = await context.settings.fresh(text.agencyId, text.to, signal);
		// Without that read it is not known why the request was refused. The next worker makes it again.
		if (signal?.aborted) return { ...back, nextAt: now(), progress: { ...noted, requests: without } };
		const { language = null } = text.progress;
		if (!isSameSettings(grounds.settings, fresh) || (fresh && !canAsk(fresh, language))) {
			// The agency's settings may be the reason. The next request has an id of its own.
			const until = await pauses.holdConsent(text.agencyId);
			const nextAt = Math.max(until, now() + backoffMs(failures));
			const progress = { ...noted, requests: without, generation: generation + 1, language: undefined };
			return { state: "waiting", reason: "consent_unavailable", nextAt, progress };
		}
	}
	const progress = { ...noted, requests: without };
	return { ...ended("refused", refusalOf(error)), progress };
}

function isTooLate({ _tag, field, outcome }: PartnerError): boolean {
	return _tag === "PartnerTimeoutError" && field === "beginBy" && outcome === "not_sent";
}

function refusalOf(error: PartnerError) {
	if (error._tag === "PartnerBadRequest") return "bad_request";
	return /allowRecipients/.test(error.message) ? "not_allowed" : "invalid_input";
}

async function markReplaced(context: QueueContext, id: string): Promise<void> {
	const text = await context.options.store.find(id);
	if (text?.state === "held") await write(context, text, ended("replaced", null));
}
