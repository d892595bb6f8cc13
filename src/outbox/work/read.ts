/*
 * Reads the conversation about the texts of a recipient.
 */
import { phaseOf } from "../../shared/delivery-phase.ts";
import { isSurelyOpen } from "../baseline.ts";
import { aheadRange, type Offset } from "../clocks.ts";
import { afterFollow, backoffMs, isRestored } from "../decide.ts";
import { withRead } from "../journal.ts";
import {
	backupSlackMs,
	findText,
	isConsentFailed,
	isText,
	lastHeldBy,
	type Match,
	readConversation,
	slackMs,
} from "../match.ts";
import { mayBeHeld } from "../requests.ts";
import type { Claimed } from "../store.ts";
import { errorOf, type OutboxText, type Recipient, type Restored, storableId } from "../text.ts";
import type { QueueContext } from "./context.ts";
import { failureOf } from "./failure.ts";
import { isRefusedByGateway } from "./gateway.ts";
import { hookFailure } from "./hook-failure.ts";
import { watchedFrom } from "./watch.ts";
import { write } from "./write.ts";

/** How long a read may take. A slow service is still read and sent to. */
const readingMs = 30_000;

/** Reads about a text. Null when the conversation is unknown or hidden; undefined when the read failed, which the row notes. */
export async function readFor(
	context: QueueContext,
	text: OutboxText,
	signal: AbortSignal | undefined,
	onRead: (ageMs: () => number) => void,
): Promise<Match | null | undefined> {
	const { pauses, keyScope } = context;
	const { client, store, now } = context.options;
	const { baseline } = text.progress;
	const restored = text.state === "waiting" && isRestored(text) ? text.progress.restored : undefined;
	const since = baseline?.since ?? 0;
	const from = (offset: Offset): number => {
		const [, mostMs] = aheadRange(offset);
		// The contact may have asked for no more texts since a backup.
		if (restored) return Math.min(since || Number.POSITIVE_INFINITY, restored.from - mostMs) - slackMs;
		return text.state === "waiting" ? Number.POSITIVE_INFINITY : since - slackMs;
	};
	try {
		const { lastHeld } = text.progress;
		const knownAt = Math.max(await context.contact.knownAt(), since, lastHeld?.newest ?? 0);
		const found = await readConversation(client.agency(text.agencyId), text.to, from, {
			clock: now,
			knownAt,
			deadline: readingMs,
			signal,
			keyScope,
			onRead,
		});
		await pauses.passed(text, "read");
		if (!found) return null;
		// Only texts to the contact may be others of ours.
		const ours = found.messages.some(isText) ? await store.claimed(text) : [];
		const claimed = new Set(ours.map(({ messageId }) => messageId));
		const direct = directOf(ours);
		const known = new Set((baseline?.known ?? []).map((id) => storableId(id)));
		const isYes = await context.consents.yesIn(text.agencyId, found.messages);
		const sought = { body: text.body, claimed, direct, known, queuedBefore: baseline?.queued, isYes };
		if (!restored) {
			const match = findText(found, { ...sought, since });
			await context.consents.learn(text, found, { text, match });
			return match;
		}
		const [leastMs, mostMs] = aheadRange(found);
		const backup = { since: since || mayBeSentSince(text, restored) - mostMs, until: restored.to - leastMs };
		return findText(found, { ...sought, ...backup });
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

/** Ids of the messages that the service never held. */
const directOf = (ours: readonly Claimed[]): ReadonlySet<string> =>
	new Set(ours.flatMap(({ messageId, wasHeld }) => (wasHeld ? [] : [messageId])));

/** From when on a text may have been sent that is not in its row. */
function mayBeSentSince({ createdAt, notBefore }: OutboxText, { from }: Restored): number {
	return Math.max(from - backupSlackMs, createdAt, notBefore ?? 0);
}

/** The row with what the reading shows. It is stored together with the decision. */
export function noted(
	text: OutboxText,
	match: Match | null,
	{ now, settleMs, texts }: { now: number; settleMs: number; texts: readonly OutboxText[] },
): OutboxText {
	const isOpen = match ? isSurelyOpen(match.reading, now) : undefined;
	const journal = withRead(text.progress.journal, { at: now, read: match?.kind ?? "hidden", isOpen });
	const isSeen = match && match.reading.conversation.queuedMessages.length > 0;
	// A text that was enqueued a moment ago waits behind the same one as those before it.
	const known = [text, ...texts].flatMap(({ progress }) => progress.lastHeld ?? []);
	const [latest] = known.sort((one, other) => (other.newest ?? 0) - (one.newest ?? 0) || other.at - one.at);
	const lastHeld = isSeen ? lastHeldBy(match.reading, settleMs, now) : latest;
	const progress = { ...text.progress, journal, lastHeld, watched: watchedFrom(text, match, now) };
	if (!match || text.state === "waiting") return { ...text, progress };
	const consentFailed = isConsentFailed(match) ?? progress.consentFailed;
	// The contact's phone shows no question, or does after all.
	const isNews = text.state === "held" && (consentFailed ?? false) !== (progress.consentFailed ?? false);
	const unacknowledged = isNews ? text.version + 1 : text.unacknowledged;
	return { ...text, unacknowledged, progress: { ...progress, hidden: 0, consentFailed } };
}

/** Reads about the messages that were sent. One reading serves all texts of the recipient. */
export async function follow(
	context: QueueContext,
	recipient: Recipient,
	signal: AbortSignal | undefined,
): Promise<void> {
	const { pauses, options } = context;
	const { client, store, now } = options;
	const texts = await store.followed(recipient, now());
	if (texts.length === 0) return;
	const missing = new Set(texts.map(({ messageId }) => messageId));
	const oldest = Math.min(...texts.map(({ progress }) => progress.baseline?.since ?? 0));
	try {
		const reading = await readConversation(client.agency(recipient.agencyId), recipient.to, oldest - slackMs, {
			clock: now,
			knownAt: await context.contact.knownAt(),
			seek: ({ messageSid }) => missing.delete(storableId(messageSid)) && missing.size === 0,
			signal,
		});
		await pauses.passed(recipient, "read");
		// A hook that fails is reported before the next text is sent, and keeps it back.
		if (reading) await context.consents.learn(recipient, reading);
		const own = {
			isHeld: async () => (await store.open(recipient, 1, now())).some(mayBeHeld),
			direct: async () => directOf(await store.claimed(recipient)),
		};
		const taps = reading && (await context.consents.tapsIn(recipient.agencyId, reading, own));
		await context.contact.learn(reading ?? null, taps).catch(hookFailure);
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
