/*
 * Whether a text still waits for what it waited for, without a read of its conversation: a lookup shows a hundred in one request.
 */
import { type Client, type ConversationSummary, isWindowOpen } from "messaging-conversations";
import { consentMs, readAgain } from "../decide.ts";
import { flowLookMs, flowUntil } from "../flow.ts";
import type { Match } from "../match.ts";
import type { CheckedOptions } from "../options.ts";
import { policies } from "../policy/purpose.ts";
import { lastRequestAt } from "../requests.ts";
import type { OutboxStore } from "../store.ts";
import type { Change, OutboxText, Recipient } from "../text.ts";
import { failureOf } from "./failure.ts";
import type { Pauses } from "./pauses.ts";
import type { SettingsCache } from "./settings.ts";

/** The summaries of conversations, as far as they were looked up a moment ago. */
export interface Summaries {
	/** Null if the agency has no conversation with the contact; undefined if that could not be read. */
	of: (recipient: Recipient, signal?: AbortSignal) => Promise<ConversationSummary | null | undefined>;
	/** Forgets what is known of a number, because it has changed. */
	forget: (to: string) => void;
}

interface Context {
	options: CheckedOptions;
	pauses: Pauses;
	settings: SettingsCache;
	summaries: Summaries;
}

/** A colleague who replaces a held text changes nothing in the summary. */
const longestUnreadMs = 8 * 3_600_000;
const mostLookedUp = 100;
/** How long a summary may be used by the texts that are due with the one that it was looked up for. */
const keepMs = 10_000;

/** The change of a text for which nothing has happened since its conversation was read. Undefined if it has to be read. */
export async function ifUnchanged(
	{ options, pauses, settings, summaries }: Context,
	text: OutboxText,
	signal: AbortSignal | undefined,
): Promise<Change | undefined> {
	const now = options.now();
	const { watched } = text.progress;
	if (text.state === "waiting" && text.reason === "consent_unavailable") {
		if ((await settings.of(text.agencyId, null, { signal }))?.eligibleForManualSend !== false) return undefined;
		const summary = await summaries.of(text, signal);
		const isStillClosed = summary === null || (summary && !isWindowOpen(summary, now));
		return isStillClosed ? { nextAt: await pauses.holdConsent(text.agencyId), reason: text.reason } : undefined;
	}
	const isFlow = text.progress.wait?.because === "flow";
	if (
		!watched ||
		Boolean(watched.isFlow) !== isFlow ||
		text.state === "sending" ||
		now < watched.at ||
		now - watched.at > longestUnreadMs
	)
		return undefined;
	// Then the consent runs out.
	if (text.state === "held" && now - (lastRequestAt(text) ?? 0) > consentMs) return undefined;
	const summary = await summaries.of(text, signal);
	if (!summary || signOf(summary) !== watched.sign) return undefined;
	if (!isFlow) return readAgain(text, options, now);
	const { until = now } = text.progress.flow ?? {};
	return now < until ? { nextAt: Math.min(now + flowLookMs, until), reason: "flow" } : undefined;
}

/** What a lookup will be compared with: of a text that is held, or waits behind another that is, while the window is closed, or for a flow. */
export function watchedFrom(
	{ state, purpose, progress }: OutboxText,
	match: Match | null,
	now: number,
): OutboxText["progress"]["watched"] {
	if (!match) return undefined;
	const { summary, queuedMessages } = match.reading.conversation;
	const isFlow =
		state === "waiting" && policies[purpose].inFlow === "wait_briefly" && flowUntil(match.reading, now) !== undefined;
	if (isFlow) return { sign: signOf(summary), at: now, isFlow };
	const isBehind = state === "waiting" && progress.attempts === 0 && queuedMessages.length > 0;
	const waits = (isBehind || (state === "held" && match.kind === "held")) && !isWindowOpen(summary, now);
	return waits ? { sign: signOf(summary), at: now } : undefined;
}

/** Differs when a message came, failed or went out, when a text came into the service's queue or left it, or when a flow began or ended. */
function signOf(summary: ConversationSummary): string {
	const { lastMessageAt, lastInboundAt, totalMessages, failedMessages, queuedMessages, activeFlows } = summary;
	return JSON.stringify([lastMessageAt, lastInboundAt, totalMessages, failedMessages, queuedMessages, activeFlows]);
}

export function createSummaries(client: Client, store: Pick<OutboxStore, "watched">, now: () => number): Summaries {
	interface Known {
		summary: ConversationSummary | null;
		at: number;
		measuredAt: number;
	}
	const known = new Map<string, Known>();
	const running = new Map<string, Promise<unknown>>();
	const nameOf = ({ agencyId, to }: Recipient) => `${agencyId} ${to}`;
	const isFresh = ({ at, measuredAt }: Known) =>
		Math.abs(now() - at) < keepMs && performance.now() - measuredAt < keepMs;

	/** Looks up the contact, and those of the agency that are due too. */
	async function lookUp({ agencyId, to }: Recipient, signal: AbortSignal | undefined): Promise<void> {
		const others = await store.watched(agencyId, now(), mostLookedUp);
		const numbers = [...new Set([to, ...others])].slice(0, mostLookedUp);
		const [at, measuredAt] = [now(), performance.now()];
		const entries = await client.agency(agencyId).conversations.lookup(numbers, { signal });
		for (const [name, each] of known) if (!isFresh(each)) known.delete(name);
		for (const { input, conversation: summary } of entries)
			known.set(nameOf({ agencyId, to: input }), { summary, at, measuredAt });
	}

	/** Each is used once, so that no later change is missed. */
	function take(recipient: Recipient): Known | undefined {
		const found = known.get(nameOf(recipient));
		known.delete(nameOf(recipient));
		return found && isFresh(found) ? found : undefined;
	}

	return {
		async of(recipient, signal) {
			try {
				const other = running.get(recipient.agencyId);
				if (other) await other.catch(() => {});
				let found = take(recipient);
				if (!found) {
					const looking = lookUp(recipient, signal);
					running.set(recipient.agencyId, looking);
					await looking.finally(() => running.delete(recipient.agencyId));
					found = take(recipient);
				}
				return found?.summary;
			} catch (error) {
				// The read that follows meets the same error, and reports it.
				failureOf(error, "conversations.lookup");
				return undefined;
			}
		},
		forget(to) {
			for (const name of known.keys()) if (name.endsWith(` ${to}`)) known.delete(name);
		},
	};
}
