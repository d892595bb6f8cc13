import type { AgencyControl } from "../controls/agency.ts";
import type { ConversationRow, ConversationState } from "../controls/state.ts";
import type { SandboxEvent } from "../world/event.ts";

/** Which conversations of an agency to list. */
interface Listing {
	/** Only names and numbers with this text. */
	readonly search?: string | undefined;
	/** Adds contacts without a conversation, after the others. */
	readonly contacts?: "true" | undefined;
	/** How many to leave out at the top. */
	readonly offset?: string | undefined;
	readonly limit?: string | undefined;
	/** Only these contacts, known or not. Numbers with commas between. */
	readonly phones?: string | undefined;
}

/** The conversations that a listing asks for, the newest message first. */
export function listed(agency: AgencyControl, { search, contacts, offset, limit, phones }: Listing): ConversationRow[] {
	if (phones !== undefined) return phones.split(",").map((phone) => rowOf(agency.conversation(phone).state()));
	const rows = agency.conversations();
	if (contacts) {
		const known = new Set(rows.map(({ phoneNumber }) => phoneNumber));
		const others = agency.contacts().filter(({ phoneNumber }) => !known.has(phoneNumber));
		rows.push(...others.map((contact) => rowOf(contact.state())));
	}
	const found = search === undefined ? rows : rows.filter(isFound(search));
	const first = Number(offset ?? 0);
	return found.slice(first, limit === undefined ? undefined : first + Number(limit));
}

const rowOf = ({ flows: _, messages: __, ...row }: ConversationState): ConversationRow => row;

/** Whether a name holds the text, or a number its digits. */
function isFound(search: string): (row: ConversationRow) => boolean {
	const text = search.trim().toLowerCase();
	// Digits in a text with letters are of a name, such as "Flat 12".
	const digits = /\p{L}/u.test(text) ? "" : text.replace(/\D/g, "").replace(/^0+/, "");
	return ({ name, phoneNumber }) =>
		Boolean(name?.toLowerCase().includes(text)) || (digits.length > 1 && phoneNumber.includes(digits));
}

/** Which messages of a conversation to show. */
interface Excerpt {
	/** Only these messages: ids with commas between. */
	readonly messages?: string | undefined;
	/** Only messages before the one with this id. */
	readonly before?: string | undefined;
	/** Only so many, the newest ones. */
	readonly limit?: string | undefined;
}

/** A conversation with only some of its messages. */
export function excerpt(state: ConversationState, { messages: ids, before, limit }: Excerpt): ConversationState {
	const wanted = ids === undefined ? undefined : new Set(ids.split(",").map(Number));
	const end = before === undefined ? -1 : state.messages.findIndex(({ id }) => id === Number(before));
	const messages = state.messages.slice(0, end < 0 ? undefined : end).filter(({ id }) => wanted?.has(id) ?? true);
	return { ...state, messages: newest(messages, limit) };
}

/** A request without the answer of the service, unless that is a refusal: pages of conversations are long. */
export const withoutAnswer = (event: SandboxEvent): SandboxEvent =>
	event.type === "request" && event.status !== null && event.status < 400 ? { ...event, answer: null } : event;

function newest<Item>(items: readonly Item[], limit: string | undefined): Item[] {
	return items.slice(limit === undefined ? 0 : Math.max(items.length - Number(limit), 0));
}
