/*
 * Finds out what a rule of the gate lacks. Each may take long.
 */
import type { Message } from "messaging-conversations";
import { freshMs } from "../../shared/freshness.ts";
import { type Fact, type Known, matchIn, mostReadings, readingIn, type Situation } from "../gate/situation.ts";
import { hookError } from "../hook-error.ts";
import { messagesSince, timeOf } from "../match.ts";
import { mayBeHeld } from "../requests.ts";
import { type OutboxText, storableId } from "../text.ts";
import { type Found, findHours, orFailed } from "./ask.ts";
import type { QueueContext } from "./context.ts";
import { askBeforeSend, askOnReply, type BeforeSendVerdict, type ReplyVerdict } from "./hooks.ts";
import { noted, readFor } from "./read.ts";
import { ifUnchanged } from "./watch.ts";

interface Learned extends Found {
	/** The text with what the reading shows of it. */
	text?: OutboxText;
	/** How old the reading is, by the clocks of the machine. */
	ageMs?: () => number;
}

/** Undefined if it cannot be found out now, as the row says. */
type Find = (context: QueueContext, situation: Situation, signal?: AbortSignal) => Promise<Learned | undefined>;

export const find: Record<Fact, Find> = {
	hours: findHours,
	async lookup(context, { known, text, now }, signal) {
		const change = await ifUnchanged(context, text, signal);
		return { known: { ...known, lookup: change ? { ...change, nextAt: change.nextAt ?? now } : null } };
	},
	async reading(context, { known, text, queue }, signal) {
		let ageMs = (): number => Number.POSITIVE_INFINITY;
		const match = await readFor(context, text, signal, (age) => {
			ageMs = age;
		});
		if (match === undefined) return undefined;
		const { now, settleMs } = context.options;
		const at = now();
		// What was found out by an older reading does not count.
		const { reading, takenOver, onReply, beforeSend, settings, ...kept } = known;
		return orFailed<Learned>("reading", kept, async () => {
			const own = {
				isHeld: async () => queue.some(mayBeHeld),
				direct: async () => match?.direct ?? new Set<string>(),
			};
			const taps = match && (await context.consents.tapsIn(text.agencyId, match.reading, own));
			await context.contact.learn(match?.reading ?? null, taps ?? undefined);
			const seen = noted(text, match, { now: at, settleMs, texts: queue });
			return { known: { ...kept, reading: { match, at } }, text: seen, ageMs };
		});
	},
	async takenOver({ options }, { known, text: { progress } }) {
		const other = progress.replacedBy === null ? undefined : await options.store.find(progress.replacedBy);
		return { known: { ...known, takenOver: other !== undefined && (other.queueId ?? other.messageId) !== null } };
	},
	onReply: (context, situation) =>
		inTime(context, "onReply", situation, async () => ({ onReply: await onReplyOf(context, situation) })),
	beforeSend: (context, situation) =>
		inTime(context, "beforeSend", situation, async () => ({ beforeSend: await beforeSendOf(context, situation) })),
	async settings({ settings, keyScope }, situation, signal) {
		const { agencyId } = situation.text;
		const found = await settings.of(agencyId, readingIn(situation), { signal, keyScope });
		return { known: { ...situation.known, settings: found ?? null } };
	},
};

/** Asks a hook. One that takes longer than a reading counts, for the second time, has failed: it would be asked for ever. */
async function inTime(
	{ options: { now } }: QueueContext,
	fact: "onReply" | "beforeSend",
	{ known, readings }: Situation,
	hook: () => Promise<Known>,
): Promise<Learned> {
	const [startedAt, at] = [performance.now(), now()];
	const found = await orFailed<Found>(fact, known, async () => ({ known: { ...known, ...(await hook()) } }));
	// By both clocks, as the age of the reading.
	const tookMs = Math.max(performance.now() - startedAt, now() - at);
	if (found.failed || readings < mostReadings || tookMs <= freshMs) return found;
	const rule = `must return within ${freshMs / 1_000} seconds of the reading before it; it took ${Math.round(tookMs / 1_000)} seconds`;
	return { known, failed: { fact, error: hookError(fact, rule) } };
}

async function onReplyOf({ options: { onReply } }: QueueContext, situation: Situation): Promise<ReplyVerdict> {
	const match = matchIn(situation);
	if (typeof onReply !== "function" || match?.kind !== "held") return "send";
	const since = messagesSince(match.since, timeOf(match.queued.createdAt));
	return askOnReply(
		onReply,
		situation.text,
		since.filter(({ direction }) => direction === "inbound"),
	);
}

async function beforeSendOf({ options }: QueueContext, situation: Situation): Promise<BeforeSendVerdict> {
	const { beforeSend, now, store } = options;
	if (!beforeSend) return "send";
	const { text } = situation;
	const { conversation = null, messages = [] } = readingIn(situation) ?? {};
	const own = new Set(messages.length > 0 ? (await store.claimed(text)).map(({ messageId }) => messageId) : []);
	const isOwn = ({ messageSid }: Message): boolean => own.has(storableId(messageSid));
	return askBeforeSend(beforeSend, text, { conversation, messages, isOwn, now: new Date(now()) });
}
