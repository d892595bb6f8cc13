import { computed } from "@preact/signals";
import type { SandboxEvent } from "../index.ts";
import { read } from "./control.ts";
import { targetOf } from "./entries.ts";
import { known, standingAt } from "./model.ts";
import { log } from "./store.ts";
import { lengthOf } from "./time.ts";
import { brief, counted, hasFailed, wordsOf } from "./words.ts";

/*
 * The moments that one can go back to: right after each action. In the middle of one, the world was never to be seen.
 */

/** What an action was, for the colour of its tick. */
export type Kind = "request" | "contact" | "trouble" | "other";

export interface Moment {
	/** The last event of the action. */
	readonly id: number;
	readonly kind: Kind;
}

/** The moments after the events that are loaded, the oldest first. */
export const moments = computed((): readonly Moment[] => {
	const all: Moment[] = [];
	let action: number | undefined;
	for (const event of log.events.value) {
		const kind = kindOf(event);
		const last = all.at(-1);
		if (last && event.action === action) all[all.length - 1] = { id: event.id, kind: stronger(last.kind, kind) };
		else all.push({ id: event.id, kind });
		action = event.action;
	}
	return all;
});

const kinds: readonly Kind[] = ["other", "contact", "request", "trouble"];
const stronger = (a: Kind, b: Kind): Kind => (kinds.indexOf(a) > kinds.indexOf(b) ? a : b);

function kindOf(event: SandboxEvent): Kind {
	const { type } = event;
	if (type === "request") return event.status === null || event.status >= 400 ? "trouble" : "request";
	if (/^(violation|fault\.hit|text\.(replaced|dropped))$/.test(type)) return "trouble";
	if (type === "message.status" && hasFailed(event)) return "trouble";
	return /^(contact\.(wrote|read)|consent\.(accepted|declined))$/.test(type) ? "contact" : "other";
}

/** The moment to show for a wanted event: the end of its action, or on the way back the one before it. */
export async function momentAt(wanted: number, isBack: boolean): Promise<number> {
	const first = log.events.value[0]?.id ?? 0;
	if (wanted < first) return isBack ? await olderBefore(wanted) : await olderAfter(wanted);
	const all = moments.value;
	const after = all.findIndex(({ id }) => id >= wanted);
	if (all[after]?.id === wanted || !isBack) return all[after]?.id ?? wanted;
	return all[after - 1]?.id ?? first - 1;
}

const eventsFrom = (id: number, limit: number): Promise<SandboxEvent[]> =>
	read(`events?brief=true&after=${Math.max(0, id - 1)}&limit=${limit}`);

/** The last moment until an event that is not loaded. */
async function olderBefore(wanted: number): Promise<number> {
	const [next] = await eventsFrom(wanted + 1, 1);
	return Math.min(wanted, (next?.action ?? wanted) - 1);
}

/** The first moment from an event on that is not loaded. */
async function olderAfter(wanted: number): Promise<number> {
	let end: SandboxEvent | undefined;
	for (;;) {
		const some = await eventsFrom(end ? end.id + 1 : wanted, 100);
		for (const event of some) {
			if (end && event.action !== end.action) return end.id;
			end = event;
		}
		if (some.length === 0) return end?.id ?? wanted;
	}
}

/** The types that say most of what an action did, the first one first. */
const telling: readonly string[] =
	"request consent.accepted consent.declined contact.wrote contact.read text.dropped text.held text.sent".split(" ");

/** What happened last until a moment. */
export function wordsAt(at: number): string {
	const all = known.value;
	const last = all.filter(({ id }) => id <= at).at(-1);
	if (!last) return log.hasOlder.value ? "before the oldest line that is loaded" : "before all that is known";
	const own = all.filter(({ action, id }) => action === last.action && id <= at);
	const ranked = telling.map((type) => own.filter((event) => event.type === type).at(-1));
	const event = ranked.find((each) => each !== undefined) ?? last;
	const text = wordsOf(event).text || event.type;
	if (event.type === "request") return brief(`${text}, ${targetOf(event)}`, 100);
	const name = "contact" in event ? (event.name ?? event.contact) : "";
	return brief(text.includes(name) ? text : `${name}: ${text}`, 100);
}

/** What of the present is not yet so at an earlier moment, in one line. */
export function differenceFrom(at: number): string {
	const now = log.events.value.at(-1);
	const shown = standingAt(at);
	const present = new Set(standingAt(Number.POSITIVE_INFINITY));
	const later = [...present].filter(({ id }) => id > at);
	const count = (has: (event: SandboxEvent) => boolean): number => later.filter(has).length;
	const is =
		(type: SandboxEvent["type"]) =>
		(event: SandboxEvent): boolean =>
			event.type === type;
	const [requests, sent, held] = [count(is("request")), count(is("text.sent")), count(is("text.held"))];
	const wrote = count((event) => event.type === "contact.wrote" && event.buttonClicked === null);
	const never = count((event) => event.type === "text.dropped" || event.type === "text.replaced");
	const answers = count((event) => event.type === "consent.accepted" || event.type === "consent.declined");
	const before = known.value.filter(({ id }) => id <= at).at(-1)?.at;
	const gone = now && before !== undefined ? Date.parse(now.at) - Date.parse(before) : 0;
	const undone = shown.filter((event) => !present.has(event)).length;
	const isPart = log.hasOlder.value && at < (log.events.value[0]?.id ?? 0) - 1;
	const parts = [
		requests > 0 && counted(requests, "request"),
		wrote > 0 && counted(wrote, "message of contacts", "messages of contacts"),
		answers > 0 && counted(answers, "answer to a template", "answers to templates"),
		held > 0 && `${counted(held, "text")} held`,
		sent > 0 && `${counted(sent, "text")} sent`,
		never > 0 && `${counted(never, "text")} never to be sent`,
		gone >= 60_000 && `${lengthOf(gone)} on the clock`,
		undone > 0 && `${counted(undone, "event")} of then undone`,
	].filter((part) => part !== false);
	if (parts.length === 0)
		return later.length > 0 ? `Since then: ${counted(later.length, "other event")}.` : "As it is now.";
	return `Since then${isPart ? ", at least" : ""}: ${parts.join(", ")}.`;
}
