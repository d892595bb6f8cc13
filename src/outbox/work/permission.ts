/*
 * Whether a text that could be sent may be sent: by the quiet hours, the agency's settings, opt-outs and the hooks.
 */
import { type Message, PartnerConfigurationError } from "messaging-conversations";
import { freshMs } from "../../shared/freshness.ts";
import { isSurelyClosed, isSurelyOpen, isUnsure, surelyOpenMs } from "../baseline.ts";
import { backoffMs, ifQuiet, isInDoubt, lastMoment, longestWaitMs, readAgain, unsent } from "../decide.ts";
import { thrownBy } from "../hook-error.ts";
import { type HeldMatch, type Match, messagesSince, type Reading, timeOf } from "../match.ts";
import type { CheckedOptions } from "../options.ts";
import type { Contact } from "../policy/contact.ts";
import { endedBy, hasRefused, isNumberSurelyWrong, isNumberWrong, optOutOf } from "../policy/contact-view.ts";
import { policies, purposeOf } from "../policy/purpose.ts";
import { quietUntil } from "../policy/quiet-hours.ts";
import { type Change, type OutboxText, storableId } from "../text.ts";
import { errorOf, hookFailure } from "./failure.ts";
import { askBeforeSend, askOnReply, type BeforeSendVerdict, type ReplyVerdict } from "./hooks.ts";
import type { Pauses } from "./pauses.ts";
import type { QuietClock } from "./quiet.ts";
import type { Settings, SettingsCache } from "./settings.ts";

/** The request may begin, with this language; or the change of the row instead. */
export type Permission = { language: string | null; settings: Settings | undefined } | { change: Change };

interface Context {
	options: CheckedOptions;
	pauses: Pauses;
	settings: SettingsCache;
	contact: Contact;
	quiet: QuietClock;
	keyScope?: object | undefined;
}

/** What a request relies on, beside the text itself. */
export interface Grounds {
	/** The reading before it. Null if there was none, or if the conversation is unknown or hidden. */
	reading: Reading | null;
	/** The id of the text that waits in the service's queue until this one takes its place. */
	replaces?: string;
	/** Whether it may pass the text that the service holds, or has just held, only while the window is open. */
	needsOpen?: boolean;
}

/**
 * The change of a text that may not be sent at this moment: by an opt-out, the quiet hours, or a window that has closed. It is looked
 * at again after everything that can take long, such as a hook.
 */
export async function ifNotNow(context: Context, text: OutboxText, grounds: Grounds): Promise<Change | undefined> {
	const { options } = context;
	const { reading, needsOpen = false } = grounds;
	try {
		const stopped = await ifOptedOut(context, text, reading);
		if (stopped) return stopped;
	} catch (error) {
		return ifHookFailed(context, text, hookFailure(error));
	}
	const kept = await ifKeptBack(context, text);
	if (kept) return kept;
	const now = options.now();
	const isOpen = isSurelyOpen(reading, now);
	if (needsOpen && !isOpen) return { nextAt: now };
	if (isSilent(text, grounds, now)) return undefined;
	const asleep = await ifAsleep(context, text, reading);
	// Not until the morning, because the next reading may show that the window is open.
	const isSure = !reading || policies[purposeOf(text)].keepsQuiet === "always" || !isUnsure(reading, now);
	if (asleep) return isSure ? asleep : tryAgain(text, now);
	const isSkipped = text.state === "waiting" && text.progress.given?.whenClosed === "skip" && !isOpen;
	if (isSkipped && reading && isUnsure(reading, now)) return tryAgain(text, now);
	return isSkipped ? unsent(text, "expired", "window_closed") : undefined;
}

/** Waits for another reading, because the clocks of this one do not show whether the window is open. */
function tryAgain({ progress }: OutboxText, now: number): Change {
	const failures = progress.failures + 1;
	return { nextAt: now + backoffMs(failures), progress: { failures } };
}

/**
 * Until when a text that may be sent at this moment still may be: its time passes, the quiet hours begin, or the window closes. A
 * request can wait for its connection.
 */
export async function validUntil(context: Context, text: OutboxText, grounds: Grounds): Promise<number> {
	const { options, quiet } = context;
	const now = options.now();
	const { reading } = grounds;
	const openMs = (reading && surelyOpenMs(reading, now)) || Number.POSITIVE_INFINITY;
	const until = Math.min(lastMoment(text, options) + 1, now + openMs);
	// Quiet hours begin with a minute.
	const nextMinute = now - (now % 60_000) + 60_000;
	if (nextMinute - now > freshMs || isSilent(text, grounds, now)) return until;
	const hours = await quiet.hours(text.agencyId).catch(() => null);
	const isQuiet = quietUntil(nextMinute, hours) !== undefined;
	return isQuiet ? Math.min(until, nextMinute) : until;
}

/** Whether it takes the place of the held text that it supersedes, and rings no phone. The contact must not get that one. */
function isSilent(text: OutboxText, { reading, replaces }: Grounds, now: number): boolean {
	if (!reading || replaces === undefined || text.progress.given?.supersedes !== replaces) return false;
	return isSurelyClosed(reading, now);
}

/** Looks at the time, asks the hooks, and checks the agency's settings, after the conversation was read. */
export async function permissionFor(
	context: Context,
	text: OutboxText,
	match: Match | null,
	grounds: Grounds,
	signal: AbortSignal | undefined,
): Promise<Permission> {
	const early = await ifNotNow(context, text, grounds);
	if (early) return { change: early };
	const permission = await byHooks(context, text, match, signal);
	if ("change" in permission) return permission;
	// The hooks can have taken long.
	const late = await ifNotNow(context, text, grounds);
	return late ? { change: late } : permission;
}

async function byHooks(
	context: Context,
	text: OutboxText,
	match: Match | null,
	signal: AbortSignal | undefined,
): Promise<Permission> {
	const { options, pauses } = context;
	try {
		const reading = match?.reading ?? null;
		const reply = text.state === "held" && match?.kind === "held" ? await afterReply(options, text, match) : "send";
		if (reply === "wait") return { change: readAgain(text, options, options.now()) };
		if (reply === "cancel")
			return { change: { ...readAgain(text, options, options.now()), progress: { cancelRequested: true } } };
		const verdict = await verdictOn(options, text, reading);
		if (verdict === "cancel") return { change: ifCancelled(text, options) };
		if (typeof verdict === "object" && "waitUntil" in verdict)
			return { change: ifLater(text, verdict.waitUntil, options) };
		const chosen = typeof verdict === "object" ? verdict.consentLanguage : text.consentLanguage;
		const permission = await bySettings(context, text, reading, chosen, signal);
		if ("language" in permission) pauses.cleared(text.id);
		return permission;
	} catch (error) {
		if (!(error instanceof PartnerConfigurationError)) throw error;
		return { change: ifHookFailed(context, text, error) };
	}
}

/** The change of a text to a contact who asked for no more of them. */
async function ifOptedOut(
	{ options, contact }: Context,
	text: OutboxText,
	reading: Reading | null,
): Promise<Change | undefined> {
	const now = options.now();
	const known = await contact.view();
	const optOut = optOutOf(text, known, isSurelyOpen(reading, now));
	const ended = text.state === "waiting" ? endedBy(text, known) : null;
	if (!optOut) return ended ? unsent(text, "cancelled", ended) : undefined;
	// Neither sent nor ended: the next reading may show it.
	if (optOut.isUnclear || (reading && isUnsure(reading, now) && policies[purposeOf(text)].afterOptOut !== "never"))
		return tryAgain(text, now);
	if (text.state === "held") return { ...readAgain(text, options, now), progress: { cancelRequested: true } };
	return { ...unsent(text, "cancelled", "opted_out"), progress: { optOutSid: optOut.messageSid } };
}

/** The change of a text that waits for what the contact, or a person who knows their number, says next. */
async function ifKeptBack({ options, contact }: Context, text: OutboxText): Promise<Change | undefined> {
	const { onWrongNumber, onRefusal } = policies[purposeOf(text)];
	const known = await contact.view();
	if (onWrongNumber === "wait" && isNumberWrong(known)) return keptBack(text, "wrong_number", options);
	if (onRefusal === "wait" && hasRefused(known)) return keptBack(text, "refusal", options);
	return undefined;
}

/** The same without a read: no message can say that the number is right. */
export async function ifWrongNumber({ options, contact }: Context, text: OutboxText): Promise<Change | undefined> {
	const isKept = policies[purposeOf(text)].onWrongNumber === "wait" && isNumberSurelyWrong(await contact.view());
	return isKept ? keptBack(text, "wrong_number", options) : undefined;
}

function keptBack(text: OutboxText, reason: "wrong_number" | "refusal", options: CheckedOptions): Change {
	const now = options.now();
	if (text.state === "held") return readAgain(text, options, now);
	const nextAt = Math.min(now + longestWaitMs, lastMoment(text, options) + 1);
	// Marketing that is enqueued once they have written does not wait for it.
	return { nextAt, reason, ...(reason === "refusal" && text.progress.attempts === 0 && { readyAt: nextAt }) };
}

async function afterReply({ onReply }: CheckedOptions, text: OutboxText, match: HeldMatch): Promise<ReplyVerdict> {
	if (typeof onReply !== "function") return "send";
	const since = messagesSince(match.since, timeOf(match.queued.createdAt));
	return askOnReply(
		onReply,
		text,
		since.filter(({ direction }) => direction === "inbound"),
	);
}

async function verdictOn(
	{ beforeSend, now, store }: CheckedOptions,
	text: OutboxText,
	reading: Reading | null,
): Promise<BeforeSendVerdict> {
	if (!beforeSend) return "send";
	const { conversation = null, messages = [] } = reading ?? {};
	const own = new Set(messages.length > 0 ? await store.claimed(text) : []);
	const isOwn = ({ messageSid }: Message): boolean => own.has(storableId(messageSid));
	return askBeforeSend(beforeSend, text, { conversation, messages, isOwn, now: new Date(now()) });
}

/** A held text stays in the service's queue, whatever the hook says. */
function ifCancelled(text: OutboxText, options: CheckedOptions): Change {
	if (text.state !== "held") return unsent(text, "cancelled", "before_send");
	return { ...readAgain(text, options, options.now()), progress: { cancelRequested: true } };
}

/** A text that was never requested steps aside, so that the contact's other texts do not wait for it. */
function ifLater(text: OutboxText, until: Date, options: CheckedOptions): Change {
	// A text that is put off beyond its time expires then, and not later.
	const nextAt = Math.min(Math.max(until.getTime(), options.now() + 1_000), lastMoment(text, options) + 1);
	return { nextAt, reason: "before_send", ...(text.progress.attempts === 0 && { readyAt: nextAt }) };
}

export function ifHookFailed(
	{ options, pauses }: Pick<Context, "options" | "pauses">,
	text: OutboxText,
	error: PartnerConfigurationError,
): Change {
	const failures = text.progress.failures + 1;
	const nextAt = options.now() + backoffMs(failures);
	const pause = { reason: "hook_failed", error, agencyId: text.agencyId, retryAt: new Date(nextAt) } as const;
	const threw = thrownBy(error);
	pauses.report(text.id, threw ? Object.defineProperty(pause, "cause", { value: threw.cause }) : pause);
	return { nextAt, reason: "before_send_failed", progress: { failures, error: errorOf(error) } };
}

/** While the window is closed, the service sends a consent template. It needs to be approved, and a language. */
async function bySettings(
	{ options, pauses, settings: cache, keyScope }: Context,
	text: OutboxText,
	reading: Reading | null,
	chosen: string | null,
	signal: AbortSignal | undefined,
): Promise<Permission> {
	const now = options.now();
	const { agencyId } = text;
	const isOpen = isSurelyOpen(reading, now);
	const settings = await cache.of(agencyId, reading, { signal, keyScope });
	if (!settings) return { language: chosen, settings };
	const { availableLanguages, defaultLanguage, eligibleForManualSend } = settings;
	const isChoice = availableLanguages.length > 1;
	const language = chosen ?? (isChoice ? defaultLanguage : null);
	if (isOpen) return { language, settings };
	if (!eligibleForManualSend) {
		const nextAt = pauses.holdConsent(agencyId);
		return { change: { nextAt, reason: "consent_unavailable" } };
	}
	await pauses.passed(text, "settings");
	if (language !== null && !availableLanguages.includes(language)) return { change: paused("language_unavailable") };
	if (language === null && isChoice) return { change: paused("language_required") };
	return { language, settings };

	function paused(reason: "language_unavailable" | "language_required"): Change {
		const nextAt = now + backoffMs(text.progress.failures);
		pauses.report(text.id, { reason, agencyId, retryAt: new Date(nextAt) });
		return { nextAt, reason, progress: { failures: text.progress.failures + 1 } };
	}
}

/** The change of a text that may not begin in these hours. */
export async function ifAsleep(
	{ options, quiet, pauses }: Context,
	text: OutboxText,
	reading: Reading | null,
): Promise<Change | undefined> {
	const now = options.now();
	if (policies[purposeOf(text)].keepsQuiet === "while_closed" && isSurelyOpen(reading, now)) return undefined;
	try {
		const until = quietUntil(now, await quiet.hours(text.agencyId));
		if (until === undefined) return undefined;
		if (text.state === "held") return readAgain(text, options, now);
		const change = ifQuiet(text, until, options);
		return isInDoubt(text) ? { ...change, nextAt: Math.min(until, now + longestWaitMs) } : change;
	} catch (error) {
		return ifHookFailed({ options, pauses }, text, hookFailure(error));
	}
}
