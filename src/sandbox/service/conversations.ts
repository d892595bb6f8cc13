import { normalized } from "../../shared/normal-form.ts";
import { type E164, phoneFrom, type Schemas } from "../base/contract.ts";
import { readinessOf } from "../world/consent.ts";
import { encodeCursor, messagesName } from "../world/cursor.ts";
import { isoOrNull } from "../world/instant.ts";
import type { Policy } from "../world/policy.ts";
import { type Agency, compareRanks, isSeen, type Rank, rankOf, type Thread, type World } from "../world/world.ts";
import { explainUnseen } from "./explain.ts";
import { badRequest, isRefusal, notFound, type Refusal } from "./refusal.ts";
import { messageOf, queuedOf, summaryOf } from "./rows.ts";

/** A page of the list: its size, the place of the row before it, and the search. */
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
	const matches = search ? matcherOf(search, world.policy) : () => true; // R57: empty is absent
	const threads: Thread[] = [];
	for (const thread of agency.list) {
		if (threads.length > pageSize) break;
		const isBelow = !after || compareRanks(after, rankOf(thread)) < 0;
		if (isBelow && matches(thread) && isSeen(thread, agency.id)) threads.push(thread);
	}
	const conversations = threads.slice(0, pageSize).map((thread) => summaryOf(world, agency, thread));
	// R48: null exactly when there are no more; R49: any row's cursor is the cursor of the page below it.
	const nextCursor = threads.length > pageSize ? (conversations[pageSize - 1]?.cursor ?? null) : null;
	return { conversations, nextCursor, pageSize };
}

/** R53 to R55: digits match the number, letters the name, each counted on its own. R56: the policy decides with too few of both. */
function matcherOf(search: string, { shortSearch }: Policy): (thread: Thread) => boolean {
	const digits = search.replace(/[^0-9]/g, "");
	const letters = search.match(/\p{L}/gu)?.length ?? 0;
	const whole = fold(search.trim());
	const words = whole.replace(/[0-9+()/]/g, " ").replace(/\s+/g, " ");
	// From the first to the last sign that is neither space, dot nor dash.
	const wordsAlone = words.match(/[^\s.-](?:.*[^\s.-])?/s)?.[0] ?? "";
	const names = letters >= 3 ? [...new Set([whole, wordsAlone])].filter((name) => name.length >= 3) : [];
	if (digits.length < 3 && names.length === 0) return () => shortSearch !== "empty";
	return ({ phone, name }) => {
		if (digits.length >= 3 && phone.includes(digits)) return true;
		const folded = names.length > 0 ? fold(name ?? "") : "";
		return names.some((part) => folded.includes(part));
	};
}

/** R54: case does not count, accents do. A sigma is another letter at the end of a word, which a part of a name may cut. */
const fold = (name: string): string => normalized(name).toLowerCase().replaceAll("ς", "σ");

/** `conversations.lookup`: one entry per number, in the order sent, duplicates too (R62). */
export function lookup(
	world: World,
	agency: Agency,
	{ phoneNumbers }: Schemas["LookupRequest"],
): Schemas["LookupResponse"] | Refusal {
	const results: Schemas["LookupEntry"][] = [];
	for (const phoneNumber of phoneNumbers) {
		const phone = phoneIn(phoneNumber);
		// R68: one bad number does not fail 99 good ones.
		if (!phone && world.policy.lookupInvalid === "400")
			return badRequest(
				`phoneNumbers/${results.length}: is not a phone number.`,
				`Number ${results.length} of phoneNumbers, counted from 0, is not a phone number, and the policy lookupInvalid is 400.`,
			);
		const thread = phone && agency.threads.get(phone);
		// R63: the number as sent; R64: null, even if it is only hidden; R65: no cursor.
		const shown = thread && isSeen(thread, agency.id);
		results.push({ phoneNumber, conversation: shown ? { ...summaryOf(world, agency, thread), cursor: null } : null });
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
			summary: { ...summaryOf(world, agency, thread), cursor: null }, // R76
			queuedMessages: thread.held ? [queuedOf(thread.held)] : [], // R75
			aiSettings: { enabled, disabledReason: reason, disabledAt: isoOrNull(at) }, // R169
			windowReopenReadiness: readinessOf(agency),
		},
		messagePage: pageOf(agency, thread, input),
	};
}

/** `conversations.listMessages`: the same page as `get` for the same arguments (R79). */
export function listMessages(agency: Agency, input: MessagesInput): Schemas["MessagePage"] | Refusal {
	const thread = seen(agency, input.phone);
	return isRefusal(thread) ? thread : pageOf(agency, thread, input);
}

function pageOf(agency: Agency, thread: Thread, { pageSize, before }: MessagesInput): Schemas["MessagePage"] {
	// R80: a cursor is a message, not a count, so new messages shift nothing.
	const older = before === undefined ? thread.messages : thread.messages.filter(({ id }) => id < before);
	const messages = older.slice(-pageSize).reverse().map(messageOf); // R77: newest first
	const hasMore = older.length > pageSize;
	const oldest = messages.at(-1);
	const nextCursor = hasMore && oldest ? encodeCursor(messagesName(agency.id, thread.phone), [oldest.id]) : null;
	return { messages, nextCursor, pageSize, hasMore }; // R78
}

/** R73: an unknown conversation and a hidden one get the same 404. */
function seen(agency: Agency, phone: string): Thread | Refusal {
	const thread = agency.threads.get(phone);
	if (thread && isSeen(thread, agency.id)) return thread;
	return notFound("There is no such conversation.", explainUnseen(agency, thread));
}

/** R70, R71: the documented spellings begin with `+`, `00` or the 0 of a Belgian local number. */
const spelling = /^[ (]*[+0][\d ./()-]*$/;

/** R67, R70, R71, R72: a phone number in a documented spelling; a control takes more (`470123456`). */
export const phoneIn = (text: string): E164 | undefined => (spelling.test(text) ? phoneFrom(text) : undefined);
