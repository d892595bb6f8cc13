import {
	anything,
	isRecord,
	isWellFormed,
	object,
	oneOf,
	optional,
	ownField,
	rule,
	type Schema,
} from "../shared/validation.ts";
import { type Call, createCall } from "./call.ts";
import { agencyIdText, type CallOptions, checkInput, checkOptions, optionSchemas } from "./client-options.ts";
import { type Facts, PartnerInvalidInput, type RequestError } from "./errors.ts";
import { type Executor, querySerializer, type RequestOnce } from "./execute.ts";
import { numbersIn } from "./redact.ts";

/** A request that this package has no method for. */
export interface CustomRequest {
	/** Only `GET` is retried. */
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

const isText = (value: unknown): boolean => typeof value === "string" && isWellFormed(value);
const isSegment = (value: unknown): boolean => isText(value) && value !== "";
const isParameter = (value: unknown): boolean =>
	value === undefined || typeof value === "boolean" || Number.isFinite(value) || isText(value);

/** An object whose values pass a test. */
function record<Value>(test: (value: unknown) => boolean, words: string): Schema<Readonly<Record<string, Value>>> {
	const isField = ([name, value]: [string, unknown]): boolean => isWellFormed(name) && test(value);
	return rule((value) => isRecord(value) && Object.entries(value).every(isField), words);
}

const requestSchema = object({
	method: oneOf("GET", "POST", "PUT", "PATCH", "DELETE"),
	path: rule<string>(
		(value) =>
			typeof value === "string" &&
			value.length <= 2000 &&
			/^(\/([\w.~-]+|\{\w+\}))+$/.test(value) &&
			!/\/\.\.?(\/|$)/.test(value),
		"must be a path template such as /agencies/{agencyId}/tags, without a query",
	),
	agencyId: optional(agencyIdText),
	params: optional(record<string>(isSegment, "must be an object of texts that are not empty")),
	query: optional(
		record<string | number | boolean | undefined>(isParameter, "must be an object of texts, numbers and booleans"),
	),
	body: optional(anything),
});

/** @param isLimited whether the client may send to some numbers only */
export function createSendRequest(
	{ api, run }: Executor,
	baseUrl: string,
	isLimited: boolean,
): (request: CustomRequest, options?: CallOptions) => Call<unknown, RequestError> {
	return (request, options) =>
		createCall(() => {
			// Before the request is checked, so that the error of a bad one has it too.
			const isRead = ownField(request, "method") === "GET";
			const facts: Facts = { operation: "request", outcome: isRead ? undefined : "not_sent" };
			const refuse = (field: string, rule: string) => new PartnerInvalidInput({ ...facts, field, rule });
			const call = checkOptions(optionSchemas.call, options, facts);
			const { method, path, agencyId, params, query = {}, body } = checkInput(requestSchema, request, "request", facts);

			const values = new Map(Object.entries({ ...params, ...(agencyId !== undefined && { agencyId }) }));
			const target = path.replace(/\{(\w+)\}/g, (_, name: string) => {
				const value = values.get(name);
				if (value !== undefined && value !== "." && value !== "..") return encodeURIComponent(value);
				const rule = "must be the text of one path segment, because the path names it";
				throw refuse(name === "agencyId" ? name : `params.${name}`, rule);
			});
			// Wherever a gateway mounts the service.
			if (isLimited && !isRead && mayReachMessages(baseUrl + target)) {
				throw refuse("path", "belongs to messages.send, which checks allowRecipients: call agency.messages.send");
			}
			if (isRead && body !== undefined) throw refuse("body", "must be absent for a GET, which takes a query");
			// Written now, because the caller may change its objects before a retry.
			const search = querySerializer(query);
			const { json, texts } = jsonOf(body);
			if (json === undefined && body !== undefined)
				throw refuse("body", "must be JSON: no function, no BigInt and no cycle");

			const words = Object.values(query).filter((value) => typeof value === "string");
			const secrets = [...Object.values(params ?? {}), ...words, ...texts, ...numbersIn(target), search, json];
			// The contract does not know the path, so that its types end here.
			const anyApi = api as unknown as {
				request: (method: string, path: string, init: object) => ReturnType<RequestOnce>;
			};
			return run<unknown>(
				{
					operation: "request",
					route: { method, path },
					agencyId: values.get("agencyId"),
					isWrite: !isRead,
					secrets,
				},
				isRead ? call : { ...call, retry: false },
				(init) =>
					anyApi.request(method, search ? `${target}?${search}` : target, {
						...init,
						body: json,
						bodySerializer: () => json,
					}),
			);
		});
}

/**
 * Whether a gateway may take a path for messages.send: whether a segment below an agency begins with `messages`. A
 * gateway may decode a path more than once, take a backslash for a slash, resolve dots, and remove what is not a letter.
 */
function mayReachMessages(path: string): boolean {
	let plain = path;
	for (let before = ""; plain !== before; ) {
		before = plain;
		// One escape at a time, because others may not be UTF-8.
		plain = plain.replace(/(?:%[\da-f]{2})+/gi, unescaped).normalize("NFKC");
	}
	const letters = plain.replace(/[\p{C}\p{Z}\p{M}]/gu, "").toLowerCase();
	return /[\\/]agencies[^\\/]*[\\/].*?(?:[\\/]|^)[^a-z0-9\\/]*messages/s.test(letters);
}

function unescaped(escapes: string): string {
	const bytes = escapes
		.split("%")
		.slice(1)
		.map((pair) => Number.parseInt(pair, 16));
	return new TextDecoder().decode(new Uint8Array(bytes));
}

/** A body as JSON, and its texts as they were before JSON escaped them. No JSON when it cannot be written as such. */
function jsonOf(body: unknown): { json: string | undefined; texts: readonly string[] } {
	const texts: string[] = [];
	try {
		const json: string | undefined = JSON.stringify(body, (_, value) => {
			if (typeof value === "string") texts.push(value);
			return value;
		});
		return { json, texts: [...new Set(texts)] };
	} catch {
		// A cycle or a BigInt. The error itself can quote the value.
		return { json: undefined, texts };
	}
}
