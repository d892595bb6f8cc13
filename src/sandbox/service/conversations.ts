import { type E164, phoneFrom } from "../base/phone.ts";
import type { Schemas } from "../base/schemas.ts";
import { isoOrNull } from "../world/clock.ts";
import { readinessOf } from "../world/consent.ts";
import type { Rank } from "../world/conversation-index.ts";
import { placeOf } from "../world/message-ids.ts";
import type { Agency, Thread, World } from "../world/state.ts";
import { isSeen } from "../world/world.ts";
import { messageOf, queuedOf, summaryOf } from "./answers.ts";
import { encodeCursor, messagesName } from "./cursor.ts";
import { badRequest, isRefusal, notFound, type Refusal } from "./refusal.ts";
import { needleFrom } from "./search.ts";

/** A page of the list: its size, the row before it, and the search. */
export interface ListInput {
	readonly pageSize: number;
	readonly after: Rank | undefined;
	readonly search: string | undefined;
}

/** `conversations.list`: newest last message first (R45). */
export function list(
	world: World,
	agency: Agency,
	{ pageSize, after, search }: ListInput,
): Schemas["ConversationPage"] {
	let needle = search ? needleFrom(search) : undefined; // R57: empty is absent
	if (needle && needle.phones.length + needle.names.length === 0) {
		if (world.policy.shortSearch === "empty") return { conversations: [], nextCursor: null, pageSize }; // R56
		needle = undefined;
	}
	const threads = agency.index.page({ after, count: pageSize + 1, needle });
	const conversations = threads.slice(0, pageSize).map((thread) => summaryOf(agency, thread));
	// R48: null exactly when there are no more; R49: any row's cursor is the cursor of the page below it.
	const nextCursor = threads.length > pageSize ? (conversations[pageSize - 1]?.cursor ?? null) : null;
	return { conversations, nextCursor, pageSize };
}

/** `conversations.lookup`: one entry per number, in the order sent, duplicates too (R62). */
export function lookup(
	world: World,
	agency: Agency,
	{ phoneNumbers }: Schemas["LookupRequest"],
): Schemas["LookupResponse"] | Refusal {
	const results: Schemas["LookupEntry"][] = [];
	for (const phoneNumber of phoneNumbers) {
		const phone = phoneIn(agency, phoneNumber);
		// R68: one bad number does not fail 99 good ones.
		if (isRefusal(phone) && world.policy.lookupInvalid === "400")
			return badRequest(`phoneNumbers/${results.length}: is not a phone number.`);
		const thread = isRefusal(phone) ? undefined : agency.threads.get(phone);
		// R63: the number as sent; R64: null also when hidden; R65: no cursor.
		const shown = thread && isSeen(thread, agency.id);
		results.push({ phoneNumber, conversation: shown ? { ...summaryOf(agency, thread), cursor: null } : null });
	}
	return { results };
}

/** The conversation and the place of a page of messages. */
export interface MessagesInput {
	readonly phone: string;
	readonly pageSize: number;
	readonly before: number | undefined;
}

/** `conversations.get`: state, held text and newest messages. */
export function get(world: World, agency: Agency, input: MessagesInput): Schemas["ConversationWithMessages"] | Refusal {
	const thread = seen(agency, input.phone);
	if (isRefusal(thread)) return thread;
	const { enabled, reason, at } = thread.ai;
	return {
		conversation: {
			summary: { ...summaryOf(agency, thread), cursor: null }, // R76
			queuedMessages: thread.held ? [queuedOf(thread.held)] : [], // R75
			aiSettings: { enabled, disabledReason: reason, disabledAt: isoOrNull(at) }, // R169
			windowReopenReadiness: readinessOf(agency),
		},
		messagePage: pageOf(world, agency, thread, input),
	};
}

/** `conversations.listMessages`: the same page as `get` for the same arguments (R79). */
export function listMessages(world: World, agency: Agency, input: MessagesInput): Schemas["MessagePage"] | Refusal {
	const thread = seen(agency, input.phone);
	return isRefusal(thread) ? thread : pageOf(world, agency, thread, input);
}

function pageOf(
	world: World,
	agency: Agency,
	thread: Thread,
	{ pageSize, before }: MessagesInput,
): Schemas["MessagePage"] {
	// R80: a cursor is a message, not a count, so new messages shift nothing.
	const end = before === undefined ? thread.messages.length : placeOf(thread, before);
	const start = Math.max(0, end - pageSize);
	const messages: Schemas["Message"][] = [];
	for (let i = end - 1; i >= start; i--) {
		const message = thread.messages[i];
		if (message) messages.push(messageOf(world, message)); // R77: newest first
	}
	const hasMore = start > 0;
	const oldest = messages[messages.length - 1];
	const nextCursor = hasMore && oldest ? encodeCursor(messagesName(agency.id, thread.phone), [oldest.id]) : null;
	return { messages, nextCursor, pageSize, hasMore }; // R78
}

/** R73: an unknown conversation and a hidden one get the same 404. */
function seen(agency: Agency, phone: string): Thread | Refusal {
	const thread = agency.threads.get(phone);
	return thread && isSeen(thread, agency.id) ? thread : notFound("There is no such conversation.");
}

/** R70, R71: the documented spellings begin with `+`, `00` or the 0 of a Belgian local number. */
const spelling = /^[ (]*[+0][\d ./()-]*$/;

/** R67, R70, R71, R72: a phone number in a documented spelling; a control takes more (`470123456`). */
export function phoneIn(agency: Agency, text: string): E164 | Refusal {
	const known = agency.threads.get(text);
	if (known) return known.phone; // the usual case, and far cheaper
	return (spelling.test(text) && phoneFrom(text)) || badRequest("phone: is not a phone number.");
}
