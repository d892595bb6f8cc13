import { limits } from "../../generated/operations.ts";
import { requests } from "../../generated/requests.ts";
import { type ListInput, type MessagesInput, phoneIn } from "./conversations.ts";
import { type Cursor, decodeCursor } from "./cursor.ts";
import { cursorProper } from "./latitude.ts";
import type { SendInput } from "./messages.ts";
import { badRequest, isRefusal, type Refusal } from "./refusal.ts";
import type { Agency, Schemas, World } from "./state.ts";

/*
 * What a request asks for, or the 400 that names the failing field (R6).
 */

export function listInput(world: World, agency: Agency, query: URLSearchParams): ListInput | Refusal {
	const repeated = twice(query, ["pageSize", "cursor", "search"]);
	const pageSize = pageSizeFrom(query);
	const cursor = cursorFrom(world, query);
	if (repeated) return repeated;
	if (isRefusal(pageSize)) return pageSize;
	if (isRefusal(cursor)) return cursor;
	if (cursor && (cursor.kind !== "conversations" || cursor.agencyId !== agency.id)) return badCursor; // R50
	return { pageSize, after: cursor, search: query.get("search") ?? undefined };
}

export function messagesInput(
	world: World,
	agency: Agency,
	segment: string,
	query: URLSearchParams,
): MessagesInput | Refusal {
	const repeated = twice(query, ["pageSize", "cursor"]);
	const phone = phoneFromPath(agency, segment);
	const pageSize = pageSizeFrom(query);
	const cursor = cursorFrom(world, query);
	if (repeated) return repeated;
	if (isRefusal(phone)) return phone;
	if (isRefusal(pageSize)) return pageSize;
	if (isRefusal(cursor)) return cursor;
	// R79: a message cursor is bound to its conversation.
	if (cursor && (cursor.kind !== "messages" || cursor.agencyId !== agency.id || cursor.phone !== phone))
		return badCursor;
	return { phone, pageSize, before: cursor?.messageId };
}

/** R61 */
export function lookupInput(
	headers: Readonly<Record<string, string>>,
	body: string,
): Schemas["LookupRequest"] | Refusal {
	const value = jsonFrom<Schemas["LookupRequest"]>(headers, body, requests.LookupRequest);
	return value;
}

/** R94 to R98, R107 */
export function sendInput(
	agency: Agency,
	headers: Readonly<Record<string, string>>,
	body: string,
): SendInput | Refusal {
	const value = jsonFrom<Schemas["SendMessageRequest"]>(headers, body, requests.SendMessageRequest);
	if (isRefusal(value)) return value;
	const to = phoneIn(agency, value.to);
	if (isRefusal(to)) return badRequest("to: is not a phone number.");
	if (value.body.trim() === "") return badRequest("body: must not be empty.");
	if (value.operationId === "") return badRequest("operationId: must not be empty.");
	return {
		to,
		body: value.body,
		operationId: value.operationId,
		subaccountId: value.subaccountId?.toLowerCase() ?? null,
		consentLanguage: value.consentLanguage,
	};
}

const badCursor = badRequest("cursor: is not a cursor of this list.");

/** R14 */
function jsonFrom<Body extends object>(
	headers: Readonly<Record<string, string>>,
	body: string,
	check: (value: unknown) => string | undefined,
): Body | Refusal {
	const type = headers["content-type"];
	if (type !== undefined && !/^\s*application\/([\w.+-]+\+)?json\s*(;|$)/i.test(type))
		return badRequest("content-type: must be application/json.");
	let value: Body;
	try {
		value = JSON.parse(body);
	} catch {
		return badRequest("body: is not JSON.");
	}
	const failure = check(value);
	return failure === undefined ? value : badRequest(`${failure.replace(/^\//, "").replace(/^:/, "body:")}.`);
}

/** R13: a known parameter given twice. Unknown ones are ignored. */
function twice(query: URLSearchParams, known: readonly string[]): Refusal | undefined {
	const repeated = known.find((name) => query.getAll(name).length > 1);
	return repeated === undefined ? undefined : badRequest(`${repeated}: is given twice.`);
}

/** R46 */
function pageSizeFrom(query: URLSearchParams): number | Refusal {
	const text = query.get("pageSize");
	const { min, max, default: preset } = limits.pageSize;
	if (text === null) return preset;
	const size = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
	return size >= min && size <= max ? size : badRequest(`pageSize: must be an integer from ${min} to ${max}.`);
}

function cursorFrom(world: World, query: URLSearchParams): Cursor | undefined | Refusal {
	const text = query.get("cursor");
	if (text === null) return undefined;
	return decodeCursor(cursorProper(world, text)) ?? badCursor;
}

/** R69: `%2B`, or a literal `+`; what is still encoded after decoding once is no phone number. */
function phoneFromPath(agency: Agency, segment: string): string | Refusal {
	let text: string;
	try {
		text = decodeURIComponent(segment);
	} catch {
		return badRequest("phone: is not a phone number.");
	}
	return phoneIn(agency, text);
}
