import { limits } from "../../../generated/operations.ts";
import { requests } from "../../../generated/requests.ts";
import { type Call, decoded, textIn } from "../base/call.ts";
import type { Schemas } from "../base/contract.ts";
import { masked } from "../base/mask.ts";
import { decodeCursor, listName, messagesName } from "../world/cursor.ts";
import type { Agency, World } from "../world/world.ts";
import { type ListInput, type MessagesInput, phoneIn } from "./conversations.ts";
import { explainBody, explainCursor, explainField, explainPhone } from "./explain.ts";
import type { SendInput } from "./messages.ts";
import { badRequest, isRefusal, type Refusal } from "./refusal.ts";
import { cursorProper } from "./variation.ts";

/*
 * Reads the input of an operation from its request, or refuses it with a 400 that names the failing field (R6).
 */

export function listInput(world: World, agency: Agency, query: URLSearchParams): ListInput | Refusal {
	const repeated = twice(query, ["pageSize", "cursor", "search"]);
	const pageSize = pageSizeFrom(query);
	const position = positionFrom(world, listName(agency.id), query);
	if (repeated) return repeated;
	if (isRefusal(pageSize)) return pageSize;
	if (isRefusal(position)) return position;
	const [at, messageId, serial] = position;
	const known = at !== undefined && messageId !== undefined && serial !== undefined;
	return { pageSize, after: known ? [at, messageId, serial] : undefined, search: query.get("search") ?? undefined };
}

export function messagesInput(
	world: World,
	agency: Agency,
	segment: string,
	query: URLSearchParams,
): MessagesInput | Refusal {
	const repeated = twice(query, ["pageSize", "cursor"]);
	const text = decoded(segment); // R69: what is still encoded after decoding once is no phone number
	const phone = phoneIn(text);
	const pageSize = pageSizeFrom(query);
	if (repeated) return repeated;
	if (!phone) return badRequest("phone: is not a phone number.", explainPhone(text));
	if (isRefusal(pageSize)) return pageSize;
	const position = positionFrom(world, messagesName(agency.id, phone), query);
	if (isRefusal(position)) return position;
	return { phone, pageSize, before: position[0] };
}

/** R61 */
export function lookupInput(headers: Call["headers"], body: Call["body"]): Schemas["LookupRequest"] | Refusal {
	return jsonFrom<Schemas["LookupRequest"]>(headers, body, requests.LookupRequest);
}

/** R94 to R98, R107 */
export function sendInput(headers: Call["headers"], body: Call["body"]): SendInput | Refusal {
	const value = jsonFrom<Schemas["SendMessageRequest"]>(headers, body, requests.SendMessageRequest);
	if (isRefusal(value)) return value;
	const to = phoneIn(value.to);
	if (!to) return inBody("to: is not a phone number.");
	if (value.body.trim() === "") return inBody("body: must not be empty.");
	if (value.operationId === "") return inBody("operationId: must not be empty.");
	return {
		to,
		body: value.body,
		operationId: value.operationId,
		subaccountId: value.subaccountId ?? null,
		consentLanguage: value.consentLanguage,
	};
}

/** R14 */
function jsonFrom<Body extends object>(
	headers: Call["headers"],
	body: Call["body"],
	check: (value: unknown) => string | undefined,
): Body | Refusal {
	const type = headers["content-type"];
	if (type !== undefined && !/^\s*application\/([\w.+-]+\+)?json\s*(;|$)/i.test(type))
		return badRequest(
			"content-type: must be application/json.",
			"The header content-type does not say that the body is JSON. It must be application/json.",
		);
	let value: Body;
	try {
		value = withoutPrototype(JSON.parse(textIn(body)));
	} catch {
		return badRequest("The request body is not JSON.", explainBody(body));
	}
	const failure = check(value);
	return failure === undefined ? value : inBody(shown(failure));
}

/** An object has only the fields of the body then, and none that a library has added to `Object.prototype`. */
function withoutPrototype<Body>(json: Body): Body {
	const isObject = typeof json === "object" && json !== null && !Array.isArray(json);
	return isObject ? Object.assign(Object.create(null), json) : json;
}

/** R6: a field of the body and its rule. */
const inBody = (message: string): Refusal => badRequest(message, explainField("request body", message));
/** R6: a parameter of the query and its rule. */
const inQuery = (message: string): Refusal => badRequest(message, explainField("query", message));

const longestName = 64;

/** "field: rule". The field may be a name of the caller's own making: it is masked, cut, and bare of control characters. */
function shown(failure: string): string {
	const colon = failure.lastIndexOf(": ");
	const place = failure.slice(0, colon);
	if (place === "") return `The request body${failure}.`;
	const name = Array.from(masked(place.slice(1)).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ""));
	const cut = name.length > longestName ? `${name.slice(0, longestName).join("")}…` : name.join("");
	return `${cut || '""'}${failure.slice(colon)}.`;
}

/** R13: a known parameter given twice. Unknown ones are ignored. */
function twice(query: URLSearchParams, known: readonly string[]): Refusal | undefined {
	const repeated = known.find((name) => query.getAll(name).length > 1);
	return repeated === undefined ? undefined : inQuery(`${repeated}: is given twice.`);
}

/** R46 */
function pageSizeFrom(query: URLSearchParams): number | Refusal {
	const text = query.get("pageSize");
	const { min, max, default: preset } = limits.pageSize;
	if (text === null) return preset;
	const size = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
	return size >= min && size <= max ? size : inQuery(`pageSize: must be an integer from ${min} to ${max}.`);
}

/** R50: the position of a cursor of the list; empty without one. */
function positionFrom(world: World, list: string, query: URLSearchParams): readonly number[] | Refusal {
	const text = query.get("cursor");
	if (text === null) return [];
	const cursor = cursorProper(world, text);
	return (
		decodeCursor(list, cursor) ?? badRequest("cursor: is not a cursor of this list.", explainCursor(world, cursor))
	);
}
