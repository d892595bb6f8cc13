/*
 * Finds out what a rule of the gate lacks. Each may take long.
 */
import { type Fact, readingIn, type Situation } from "../gate/situation.ts";
import type { OutboxText } from "../text.ts";
import { type Found, findHours, orFailed } from "./ask.ts";
import type { QueueContext } from "./context.ts";
import { verdictOn } from "./permission.ts";
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
		const hours = known.hours === undefined ? {} : { hours: known.hours };
		return orFailed<Learned>("reading", hours, async () => {
			await context.contact.learn(match?.reading ?? null);
			const seen = noted(text, match, { now: at, settleMs, texts: queue });
			return { known: { ...hours, reading: { match, at } }, text: seen, ageMs };
		});
	},
	beforeSend: async ({ options }, { text, known, ...situation }) =>
		orFailed("beforeSend", known, async () => {
			const verdict = await verdictOn(options, text, readingIn({ text, known, ...situation }));
			return { known: { ...known, beforeSend: verdict } };
		}),
	async settings({ settings, keyScope }, situation, signal) {
		const { agencyId } = situation.text;
		const found = await settings.of(agencyId, readingIn(situation), { signal, keyScope });
		return { known: { ...situation.known, settings: found ?? null } };
	},
};
