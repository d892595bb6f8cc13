/*
 * Whether a text that was requested before may be sent again: by opt-outs, the quiet hours, the agency's settings and the hooks. A text
 * that waits asks the gate.
 */
import { type Message, PartnerConfigurationError } from "messaging-conversations";
import { isSurelyOpen, isUnsure } from "../baseline.ts";
import { backoffMs, lastMoment, readAgain } from "../decide.ts";
import { type HeldMatch, type Match, messagesSince, type Reading, timeOf } from "../match.ts";
import type { CheckedOptions } from "../options.ts";
import type { Contact } from "../policy/contact.ts";
import { hasRefused, isNumberWrong, optOutOf } from "../policy/contact-view.ts";
import { policies, purposeOf } from "../policy/purpose.ts";
import { quietUntil } from "../policy/quiet-hours.ts";
import { type Change, type OutboxText, storableId } from "../text.ts";
import { hookFailure, ifHookFailed } from "./hook-failure.ts";
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
}

/** The change of a text that may not be sent at this moment. It is looked at again after everything that can take long, such as a hook. */
export async function ifNotNow(
	{ options, pauses, quiet, contact }: Context,
	text: OutboxText,
	{ reading }: Grounds,
	now = options.now(),
): Promise<Change | undefined> {
	const known = await contact.view();
	const optOut = optOutOf(text, known, isSurelyOpen(reading, now));
	const isUnclear = reading !== null && isUnsure(reading, now);
	const { afterOptOut, onWrongNumber, onRefusal, keepsQuiet } = policies[purposeOf(text)];
	// Neither sent nor ended: the next reading may show it.
	if (optOut && (optOut.isUnclear || (isUnclear && afterOptOut !== "never"))) return tryAgain(text, now);
	if (optOut) return { ...readAgain(text, options, now), progress: { cancelRequested: true } };
	const isWrong = onWrongNumber === "wait" && isNumberWrong(known);
	if (isWrong || (onRefusal === "wait" && hasRefused(known))) return readAgain(text, options, now);
	if (keepsQuiet === "while_closed" && isSurelyOpen(reading, now)) return undefined;
	try {
		if (quietUntil(now, await quiet.hours(text.agencyId)) === undefined) return undefined;
	} catch (error) {
		return ifHookFailed(pauses, text, hookFailure(error), now);
	}
	return isUnclear && keepsQuiet === "while_closed" ? tryAgain(text, now) : readAgain(text, options, now);
}

/** Waits for another reading, because the clocks of this one do not show whether the window is open. */
function tryAgain({ progress }: OutboxText, now: number): Change {
	const failures = progress.failures + 1;
	return { nextAt: now + backoffMs(failures), progress: { failures } };
}

/** Whether a request may begin at a time. */
export async function mayBegin(context: Context, text: OutboxText, grounds: Grounds, at: number): Promise<boolean> {
	return (await ifNotNow(context, text, grounds, at)) === undefined;
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
		const reply = match?.kind === "held" ? await afterReply(options, text, match) : "send";
		if (reply === "wait") return { change: readAgain(text, options, options.now()) };
		if (reply === "cancel")
			return { change: { ...readAgain(text, options, options.now()), progress: { cancelRequested: true } } };
		const verdict = await verdictOn(options, text, reading);
		// A held text stays in the service's queue, whatever the hook says.
		if (verdict === "cancel")
			return { change: { ...readAgain(text, options, options.now()), progress: { cancelRequested: true } } };
		if (typeof verdict === "object" && "waitUntil" in verdict)
			return { change: ifLater(text, verdict.waitUntil, options) };
		const chosen = typeof verdict === "object" ? verdict.consentLanguage : text.consentLanguage;
		const permission = await bySettings(context, text, reading, chosen, signal);
		if ("language" in permission) pauses.cleared(text.id);
		return permission;
	} catch (error) {
		if (!(error instanceof PartnerConfigurationError)) throw error;
		return { change: ifHookFailed(pauses, text, error, options.now()) };
	}
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

export async function verdictOn(
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

function ifLater(text: OutboxText, until: Date, options: CheckedOptions): Change {
	// A text that is put off beyond its time expires then, and not later.
	const nextAt = Math.min(Math.max(until.getTime(), options.now() + 1_000), lastMoment(text, options) + 1);
	return { nextAt, reason: "before_send" };
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
