import type { ConversationState, MessageState, SandboxEvent } from "../index.ts";
import { hasOlderMessages, isMessage, standing } from "./model.ts";
import { type EventOf, isLost, reasonIn, type Words, withoutRest, wordsOf } from "./words.ts";

/** A text that was held, and is never sent. */
export type LostEvent = EventOf<"text.replaced"> | EventOf<"text.dropped">;

/** The lines of a conversation, from top to bottom. */
export type Item =
	| { readonly kind: "message"; readonly at: string; readonly key: string; readonly message: MessageState }
	| { readonly kind: "lost"; readonly at: string; readonly key: string; readonly event: LostEvent }
	/** `times`: how often it happened in a row, such as the attempts of one send that were refused. */
	| { readonly kind: "note"; readonly at: string; readonly key: string; readonly words: Words; readonly times: number };

/** Events that are a line of their own between the messages. */
const noted = /^(window|ai|flow)|accepted|declined|reachable/;

/** The messages of a conversation with what happened between them. */
export function timelineOf(thread: ConversationState): readonly Item[] {
	const { messages } = thread;
	const from = hasOlderMessages.value ? (messages[0]?.at ?? "") : "";
	const own = standing.value.filter((event) => isAbout(event, thread) && event.at >= from);
	const orders = new Map<number, number>();
	for (const event of own) {
		if (isMessage(event)) orders.set(event.messageId, event.id);
	}
	// Much happens at one instant, because the clock stands still: events tell what came first.
	const ordered: { readonly order: number; readonly item: Item }[] = messages.map((message) => ({
		order: orders.get(message.id) ?? 0,
		item: { kind: "message", at: message.at, key: `m${message.id}`, message },
	}));
	for (const event of own) {
		const item = itemOf(event);
		if (item) ordered.push({ order: event.id, item });
	}
	const items: Item[] = [];
	for (const { item } of ordered.sort((a, b) => a.item.at.localeCompare(b.item.at) || a.order - b.order)) {
		const last = items.at(-1);
		if (item.kind === "note" && last?.kind === "note" && item.words.text === last.words.text)
			items[items.length - 1] = { ...item, times: last.times + 1 };
		else items.push(item);
	}
	return items;
}

/** Whether it happened in the conversation, or was asked about it by an agency that sees it. */
export const isAbout = (event: SandboxEvent, { phoneNumber, visibility }: ConversationState): boolean =>
	"contact" in event &&
	event.contact === phoneNumber &&
	(event.agencyId === null || visibility.agencyIds.includes(event.agencyId));

function itemOf(event: SandboxEvent): Item | undefined {
	const { at, type } = event;
	const key = `e${event.id}`;
	if (type === "text.replaced" || type === "text.dropped") return { kind: "lost", at, key, event };
	if (type === "request") {
		const words = problemOf(event);
		return words && { kind: "note", at, key, words, times: 1 };
	}
	return noted.test(type) ? { kind: "note", at, key, words: wordsOf(event), times: 1 } : undefined;
}

/** A send whose answer was none, or a refusal: the contact's phone shows nothing of it. */
function problemOf({ operation, status, answer, explanation }: EventOf<"request">): Words | undefined {
	if (operation !== "messages.send" || (status !== null && status < 400)) return undefined;
	const said = status === null ? "The CRM's send got no answer" : `The CRM's send was answered ${status}`;
	return { text: `${said}: ${withoutRest(explanation ?? reasonIn(answer))}`, tone: "bad" };
}

/** The newest consent template on the phone, while it waits for the contact's tap. */
export function openTemplate({ messages }: ConversationState): MessageState | undefined {
	const newest = messages
		.filter((each) => each.buttonClicked?.startsWith("consent_") || (each.author === "template" && !isLost(each)))
		.at(-1);
	return newest?.author === "template" ? newest : undefined;
}
