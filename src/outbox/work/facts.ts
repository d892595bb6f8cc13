/*
 * Finds out what a rule of the gate lacks. Each may take long.
 */
import type { Message } from "messaging-conversations";
import { type Fact, matchIn, readingIn, type Situation } from "../gate/situation.ts";
import { messagesSince, timeOf } from "../match.ts";
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
			await context.contact.learn(match?.reading ?? null);
			const seen = noted(text, match, { now: at, settleMs, texts: queue });
			return { known: { ...kept, reading: { match, at } }, text: seen, ageMs };
		});
	},
	async takenOver({ options }, { known, text: { progress } }) {
		const other = progress.replacedBy === null ? undefined : await options.store.find(progress.replacedBy);
		return { known: { ...known, takenOver: other !== undefined && (other.queueId ?? other.messageId) !== null } };
	},
	onReply: (context, situation) =>
		orFailed("onReply", situation.known, async () => {
			const verdict = await onReplyOf(context, situation);
			return { known: { ...situation.known, onReply: verdict } };
		}),
	beforeSend: (context, situation) =>
		orFailed("beforeSend", situation.known, async () => {
			const verdict = await beforeSendOf(context, situation);
			return { known: { ...situation.known, beforeSend: verdict } };
		}),
	async settings({ settings, keyScope }, situation, signal) {
		const { agencyId } = situation.text;
		const found = await settings.of(agencyId, readingIn(situation), { signal, keyScope });
		return { known: { ...situation.known, settings: found ?? null } };
	},
};

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
	const own = new Set(messages.length > 0 ? await store.claimed(text) : []);
	const isOwn = ({ messageSid }: Message): boolean => own.has(storableId(messageSid));
	return askBeforeSend(beforeSend, text, { conversation, messages, isOwn, now: new Date(now()) });
}
