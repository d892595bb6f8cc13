import { basePath } from "../base/call.ts";

/** A refusal of the service: its status and the two fields of every error body (R4). */
export interface Refusal {
	readonly status: number;
	readonly tag: string;
	readonly message: string;
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

const refuse = (status: number, message: string): Refusal => ({ status, tag: tagOf(status), message });

/** R6: the message names the failing field or rule. */
export const badRequest = (message: string): Refusal => refuse(400, message);

/** R24, R35, R7: one text each, so that a refusal does not reveal its cause. */
export const unauthorized: Refusal = refuse(401, "The API key is missing, malformed, wrong, revoked or expired.");
export const forbidden: Refusal = refuse(403, "The key cannot reach this agency.");
export const internalError: Refusal = refuse(500, "Something went wrong. Try again later.");

export const lacksScope = (scope: string): Refusal => refuse(403, `The key lacks the scope ${scope}.`);
export const notFound = (message: string): Refusal => refuse(404, message);
export const conflict: Refusal = refuse(409, "The conversation changed during the request. Read it, then try again.");

/** R12: a 404 would read as "no such conversation". */
export const unsupported: Refusal = {
	status: 501,
	tag: "SandboxUnsupported",
	message: `The service has no such path or method. Its operations are below ${basePath}; a server has its controls below /_sandbox.`,
};

/** By the tag: the answer to a send has a status too. */
export function isRefusal(value: unknown): value is Refusal {
	return typeof value === "object" && value !== null && "tag" in value;
}
