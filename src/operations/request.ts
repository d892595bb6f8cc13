import { type Facts, PartnerInvalidInput, type RequestError } from "../errors.ts";
import type { Parameters } from "../http/request.ts";
import type { Transport } from "../http/transport.ts";
import { type CallOptions, checkOptions, optionSchemas } from "../input/call-options.ts";
import { agencyIdText, anything, checkInput, isWellFormed, object, optional, rule } from "../input/validate.ts";
import { longestSecret } from "../observe/redact.ts";
import { type Call, createCall } from "./call.ts";

/** A request that this package has no method for. */
export interface CustomRequest {
	/** Only `GET` is tried again. */
	method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
	/** Path template below the base URL, such as `/agencies/{agencyId}/tags`. Never a URL. */
	path: string;
	/** Value of `{agencyId}` in the path. */
	agencyId?: string | undefined;
	/** Values of the other `{names}` in the path. */
	params?: Readonly<Record<string, string>> | undefined;
	/** Query parameters. Undefined ones are left out. */
	query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
	/** Body, sent as JSON. */
	body?: unknown;
}

/** Sends a {@link CustomRequest}. */
export type SendRequest = (request: CustomRequest, options?: CallOptions) => Call<unknown, RequestError>;

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

const isText = (value: unknown): boolean => typeof value === "string" && value !== "" && isWellFormed(value);
const isValue = (value: unknown): boolean =>
	value === undefined ||
	typeof value === "boolean" ||
	Number.isFinite(value) ||
	(typeof value === "string" && isWellFormed(value));

const isRecordOf = (test: (value: unknown) => boolean) => (value: unknown) =>
	typeof value === "object" &&
	value !== null &&
	Object.entries(value).every(([name, each]) => isWellFormed(name) && test(each));

const requestSchema = object({
	method: rule<CustomRequest["method"]>(
		(value) => methods.some((method) => method === value),
		`must be one of ${methods.join(", ")}`,
	),
	path: rule<string>(
		(value) => typeof value === "string" && /^(\/([\w.~-]+|\{\w+\}))+$/.test(value) && !/\/\.\.?(\/|$)/.test(value),
		"must be a path template such as /agencies/{agencyId}/tags, without a query",
	),
	agencyId: optional(agencyIdText),
	params: optional(
		rule<Readonly<Record<string, string>>>(isRecordOf(isText), "must be an object of texts that are not empty"),
	),
	query: optional(
		rule<NonNullable<CustomRequest["query"]>>(isRecordOf(isValue), "must be an object of texts, numbers and booleans"),
	),
	body: optional(anything),
});

/** An endpoint outside the contract: any JSON of a 2xx is valid. */
const unlisted = {
	operation: "request",
	refusals: [400, 401, 403, 404, 409],
	schema: undefined,
	isBroken: () => false,
} as const;

/** @param isLimited whether the client may send to some numbers only */
export function createSendRequest(transport: Transport, isLimited: boolean): SendRequest {
	return (request, options) =>
		createCall(() => {
			// Before the request is checked, so that the error of a bad one has it too.
			const isRead = request?.method === "GET";
			const facts: Facts = { operation: "request", outcome: isRead ? undefined : "not_sent" };
			const call = checkOptions(optionSchemas.call, options, facts);
			const { method, path, agencyId, params, query, body } = checkInput(requestSchema, request, "request", facts);
			const values: Record<string, string> = { ...params, ...(agencyId !== undefined && { agencyId }) };
			const target = path.replace(/\{(\w+)\}/g, (_, name: string) => segmentOf(values, name, facts));
			if (isLimited && !isRead && /^\/agencies\/[^/]+\/messages$/i.test(target)) {
				const rule = "is that of messages.send, which checks allowRecipients";
				throw new PartnerInvalidInput({ ...facts, field: "path", rule });
			}
			if (body !== undefined && isRead) {
				throw new PartnerInvalidInput({ ...facts, field: "body", rule: "must be absent for a GET" });
			}
			const { text, texts } = jsonOf(body, facts);
			const words = Object.values(query ?? {}).filter((value) => typeof value === "string");
			const secrets = [...Object.values(params ?? {}), ...words, ...texts, text];
			return transport<unknown, Parameters>(
				{ ...unlisted, method, path },
				{ path: values, query, body: text },
				{ ...call, retry: isRead ? call.retry : false, isWrite: !isRead, secrets },
			);
		});
}

/** The value that fills exactly one segment of a path. */
function segmentOf(values: Readonly<Record<string, string>>, name: string, facts: Facts): string {
	// Own values only, because each object inherits a `constructor`.
	const value = Object.hasOwn(values, name) ? values[name] : undefined;
	if (value !== undefined && value !== "." && value !== "..") return value;
	const field = name === "agencyId" ? name : `params.${name}`;
	throw new PartnerInvalidInput({ ...facts, field, rule: "must be the text of one path segment" });
}

/** The body as JSON, and its texts as they were before JSON escaped them. */
function jsonOf(body: unknown, facts: Facts): { text: string | undefined; texts: readonly string[] } {
	if (body === undefined) return { text: undefined, texts: [] };
	const texts: string[] = [];
	try {
		const text: string | undefined = JSON.stringify(body, (_, value) => {
			if (typeof value === "string") texts.push(value);
			return value;
		});
		// A message about a longer body is withheld without a look at its texts, of which there can be many.
		if (text !== undefined) return { text, texts: text.length > longestSecret ? [] : texts };
	} catch {
		// A cycle or a BigInt. The original error can quote the value.
	}
	throw new PartnerInvalidInput({ ...facts, field: "body", rule: "must be JSON" });
}
