import { operationTable } from "../../../generated/operations.ts";
import type { OperationId } from "../base/contract.ts";
import { own } from "../base/own.ts";
import { readinessOf } from "../world/consent.ts";
import { decodeCursor, listName, messagesName } from "../world/cursor.ts";
import type { Fault } from "../world/fault.ts";
import { violationMessages } from "../world/violations.ts";
import {
	type Agency,
	type Integration,
	type Key,
	type Scope,
	type Thread,
	viewOf,
	type World,
} from "../world/world.ts";

/*
 * Why a request was refused, in a sentence or two. The service keeps this to itself, and the sandbox adds it to its journal
 * and events. No sentence holds a key, a phone number or another value of the request. The only exception is an operationId
 * that was reused: its two texts are shown, because their difference is the reason.
 */

/** R12 */
export function explainPath(method: string, path: string): string {
	if (path.startsWith("/..")) return "The path is outside /api/v1, where all operations are.";
	if (/^\/api\/v1(\/|$)/.test(path)) return "The path has /api/v1 twice: the base URL ends in it already.";
	if (path === "/openapi.json") return `openapi.json takes GET, not ${own(method.slice(0, 20))}.`;
	if (path.slice(1).split("/").includes(""))
		return "A segment of the path is empty: an id is missing, or there is a slash too many.";
	const segments = path.split("/");
	const fits = (template: readonly string[]): boolean =>
		template.length === segments.length && template.every((part, at) => part.startsWith("{") || part === segments[at]);
	const methods = Object.values(operationTable).flatMap((each) => (fits(each.path.split("/")) ? [each.method] : []));
	if (methods.length === 0) return "No operation has this path.";
	return `The operation with this path takes ${methods.join(" or ")}, not ${own(method.slice(0, 20))}.`;
}

/** R69 */
export const literalPlus = {
	rule: "R69",
	message: violationMessages.R69,
	explanation: "The sandbox answers it all the same. The contract asks for %2B, because a + can be read as a space.",
};

/** R19 to R25 */
export function explainKey({ keys }: World, authorization = ""): string {
	if (authorization === "") return "The request has no Authorization header.";
	if (!/^bearer /i.test(authorization)) return 'The Authorization header does not begin with "Bearer ".';
	const [, id] = /^\S+ +[^\s.]+_live\.([^\s.]+)\.[^\s.]+ *$/.exec(authorization) ?? [];
	if (id === undefined)
		return "The text after Bearer is not an API key. A key has the form <prefix>_live.<id>.<secret>.";
	const key = keys.get(id);
	if (!key) return "The sandbox has no key with this id. Use the key that this sandbox printed or created.";
	if (key.state === "live") return `The prefix or the secret of the key ${own(key.id)} is wrong.`;
	return `The key ${own(key.id)} is ${key.state}.`;
}

/** R29, R30 */
export function explainScope({ id, scopes }: Key, operation: OperationId, needed: Scope): string {
	const has = scopes.length === 0 ? "no scope" : `the scope ${scopes.join(", ")} alone`;
	return `${operation} needs the scope ${needed}. The key ${own(id)} has ${has}.`;
}

/** R31 to R35, R38 */
export function explainAgency(world: World, key: Key, agency: Agency | undefined): string {
	const integration = world.integrations.get(key.integrationId);
	if (!agency) return "The sandbox has no agency with the id in the path. me.get lists the agencies of a key.";
	if (!integration || integration.hidden) return explainHidden(integration);
	if (agency.integrationId !== integration.id)
		return `The agency ${nameOf(agency)} belongs to another integration than ${own(integration.name)}, whose key this is.`;
	return `The agency ${nameOf(agency)} is not linked to ${own(integration.name)} any more.`;
}

/** R38 */
export function explainHidden(integration: Integration | undefined): string {
	if (!integration) return "The integration of the key is gone.";
	return `The integration ${own(integration.name)} is hidden: me.get answers 404, and every other operation 403.`;
}

/** R6: `message` is "field: rule". */
export function explainField(place: "request body" | "query", message: string): string {
	const [, field = "", rule = ""] = /^(.*): (.*)$/s.exec(message) ?? [];
	if (field === "The request body") return message.replace(": ", " ");
	return `In the ${place}, ${own(field)} ${rule}`;
}

/** R14 */
export function explainBody(body: string | Uint8Array): string {
	if (body.length === 0) return "The request has no body. This operation needs a JSON object.";
	return "The request body cannot be read as JSON in UTF-8.";
}

/** R69 to R72 */
export function explainPhone(text: string): string {
	if (/%2B/i.test(text)) return "The + of the phone number in the path is encoded twice: %252B. Write %2B.";
	return "The phone number in the path is not valid. Use E.164 (%2B, country code, number) or a Belgian local number.";
}

/** A list of the API, by its name for cursors and in words. */
interface List {
	readonly name: string;
	readonly words: string;
}

const longestCursor = 200;

/** R50, R79: the list that the cursor is of, if any. */
export function explainCursor(world: World, text: string): string {
	if (text === "") return "The cursor is empty. Leave it out for the first page.";
	if (text.length <= longestCursor) {
		for (const { name, words } of listsOf(world))
			if (decodeCursor(name, text)) return `The cursor is from another list: ${words}.`;
	}
	return "No list of this sandbox has given out this cursor. It is of another service, or was changed.";
}

function* listsOf({ agencies }: World): Generator<List> {
	for (const agency of agencies.values())
		yield { name: listName(agency.id), words: `the conversations of ${nameOf(agency)}` };
	for (const agency of agencies.values()) {
		const words = `the messages of another conversation of ${nameOf(agency)}`;
		for (const phone of agency.threads.keys()) yield { name: messagesName(agency.id, phone), words };
	}
}

/** R73 */
export function explainUnseen(agency: Agency, thread: Thread | undefined): string {
	if (thread?.opened && viewOf(thread, agency.id)?.hidden)
		return `The conversation exists, but it is hidden from ${nameOf(agency)}. Hiding it does not affect sends.`;
	const send = readinessOf(agency).eligibleForManualSend
		? "A send would begin one."
		: `A send would be refused: ${incomplete(agency)}.`;
	return `${nameOf(agency)} has no conversation with this number. ${send}`;
}

/** R98 */
export function explainSender(agency: Agency): string {
	const { length } = agency.senders;
	return `${nameOf(agency)} has ${counted(length, "sender")}, and subaccountId names none of them. Leave it out for the default one.`;
}

/** R104 to R106 */
export function explainIneligible(agency: Agency): string {
	return `The window is closed, and ${incomplete(agency)}.`;
}

function incomplete(agency: Agency): string {
	const { configured, availableLanguages, missingFlowCodes, missingTemplates, unapprovedTemplates } =
		readinessOf(agency);
	const reasons = [
		...(configured ? [] : ["it is not configured"]),
		...missingFlowCodes.map((code) => `the flow ${own(code)} is missing`),
		...missingTemplates.map((code) => `the template ${own(code)} is missing`),
		...unapprovedTemplates.map(
			({ templateCode, status }) =>
				`the template ${own(templateCode)} is not approved${status === null ? "" : ` (${own(status)})`}`,
		),
		...(availableLanguages.length > 0 ? [] : ["it has no language"]),
	];
	return `the consent flow of ${nameOf(agency)} is not complete: ${reasons.join(", ")}`;
}

/** R100, R101 */
export function explainLanguage(languages: readonly string[]): string {
	return `The window is closed, so the text needs consent in a language of the agency. consentLanguage must be one of ${languages.map(own).join(", ")}.`;
}

/** R116: `conflicts` is what is left of them. */
export function explainTakeOver({ conflicts }: Thread): string {
	const next = conflicts === 0 ? "The next send is carried out" : `${counted(conflicts, "more send")} will be refused`;
	return `Another party took the conversation over (takeOver). ${next}.`;
}

/** The fields of a send that an operationId identifies. */
export interface Payload {
	readonly to: string;
	readonly body: string;
	readonly subaccountId: string | null;
	readonly consentLanguage?: string | null | undefined;
}

/** R134 to R138 */
export function explainReuse(first: Payload, now: Payload): string {
	const others = [
		...(first.to === now.to ? [] : ["another recipient"]),
		...(first.subaccountId === now.subaccountId ? [] : ["another subaccountId"]),
		...((first.consentLanguage ?? null) === (now.consentLanguage ?? null) ? [] : ["another consentLanguage"]),
	];
	if (first.body === now.body)
		return `The operationId was used before with ${others.join(" and ")}. Use a new one for each message.`;
	const what = ["another text", ...others].join(" and ");
	const from = quoteFrom(first.body, now.body);
	return `The operationId was used before with ${what}. First: ${quoted(first.body, from)}. Now: ${quoted(now.body, from)}.`;
}

const longestQuote = 200;

const beforeDifference = 40;

/** Where the quotes of two texts begin, so that they show the first difference. */
function quoteFrom(first: string, now: string): number {
	let at = 0;
	while (at < first.length && first[at] === now[at]) at++;
	if (at <= longestQuote - beforeDifference) return 0;
	const from = at - beforeDifference;
	return /[\udc00-\udfff]/.test(first[from] ?? "") ? from - 1 : from; // no emoji is cut in two
}

function quoted(text: string, from: number): string {
	const letters = Array.from(text.slice(from, from + 2 * longestQuote + 2));
	const shown = letters.slice(0, longestQuote).join("");
	// As JSON, so that texts that differ in their white space look different.
	return own(JSON.stringify(`${from > 0 ? "…" : ""}${shown}${letters.length > longestQuote ? "…" : ""}`));
}

/** What a fault did, and when it hits again. */
export function explainFault({ phase, effect, remaining }: Fault): string {
	const { kind, status, latencyMs, field } = effect;
	const did = {
		status: `status ${status}`,
		reset: "the connection cut",
		hang: "no answer",
		latency: `an answer ${latencyMs} ms late`,
		html: `what something in front of the service answers, with status ${status ?? 502}`,
		empty: "an empty answer",
		truncated: "half of the answer",
		"not-json": "an answer that is not JSON",
		redirect: "a redirect as the answer",
		"missing-field": `an answer without ${field === null ? "a field that callers need" : own(field)}`,
	}[kind];
	const when = kind === "latency" ? "" : `, ${phase} the operation ran`;
	const left =
		remaining === null
			? " It hits every time."
			: remaining > 0
				? ` It will hit ${counted(remaining, "more request")}.`
				: "";
	return `A fault that you added: ${did}${when}.${left}`;
}

const nameOf = ({ name, id }: Agency): string => own(name ?? id);

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;
