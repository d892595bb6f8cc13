import { violationMessages } from "../world/violations.ts";

/** A refusal of the service: its status and the two fields of every error body (R4). */
export interface Refusal {
	readonly status: number;
	readonly tag: string;
	readonly message: string;
	/** Why, in a sentence or two: for the journal and the events, never for the answer. */
	readonly explanation: string;
	/** Set if a good client does not make such a request. */
	readonly violation?: { readonly rule: string; readonly message: string };
}

/** R5: one tag for each status. */
const tags: Readonly<Record<number, string>> = {
	400: "PartnerBadRequest",
	401: "PartnerUnauthorized",
	403: "PartnerForbidden",
	404: "PartnerNotFound",
	409: "PartnerConflict",
	500: "PartnerInternalError",
};

/** The tag of a status; every 5xx is an internal error, and what the contract does not list is the sandbox's own. */
export function tagOf(status: number): string {
	return tags[status] ?? (status >= 500 ? "PartnerInternalError" : "SandboxFault");
}

const refuse = (status: number, message: string, explanation: string): Refusal => ({
	status,
	tag: tagOf(status),
	message,
	explanation,
});

/** R6: the message names the failing field or rule. */
export const badRequest = (message: string, explanation: string): Refusal => refuse(400, message, explanation);

/** R24, R35, R7: one text each, so that a refusal does not reveal its cause. */
export const unauthorized = (explanation: string): Refusal =>
	refuse(401, "The API key is missing, malformed, wrong, revoked or expired.", explanation);
export const forbidden = (explanation: string): Refusal =>
	refuse(403, "The key cannot reach this agency.", explanation);
export const internalMessage = "Something went wrong. Try again later.";

export const lacksScope = (scope: string, explanation: string): Refusal =>
	refuse(403, `The key lacks the scope ${scope}.`, explanation);
export const notFound = (message: string, explanation: string): Refusal => refuse(404, message, explanation);
export const conflict = (explanation: string): Refusal =>
	refuse(409, "The conversation changed during the request. Read it, then try again.", explanation);

/** R134: the service answers 500 to an operationId that comes back with another payload. */
export const reusedId = (explanation: string): Refusal => ({
	...refuse(500, internalMessage, explanation),
	violation: { rule: "R134", message: violationMessages.R134 },
});

export const unsupportedStatus = 501;

/** R12: a 404 would read as "no such conversation". */
export function unsupported(explanation: string): Refusal {
	const message = violationMessages.R12;
	return {
		status: unsupportedStatus,
		tag: "SandboxUnsupported",
		message,
		explanation,
		violation: { rule: "R12", message },
	};
}

/** By the tag: the answer to a send has a status too. */
export function isRefusal(value: unknown): value is Refusal {
	return typeof value === "object" && value !== null && "tag" in value;
}
