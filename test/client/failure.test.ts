import { inspect } from "node:util";
import { type Fetch, isPartnerError, PartnerConfigurationError, PartnerTimeoutError } from "messaging-conversations";
import { expect, test } from "vitest";
import { callOf, clientOf, failure, jsonResponse } from "../calls.ts";
import { agencyId, apiKey, conversationPage, operationId, phone, text } from "../canned.ts";

const baseUrl = "https://messaging.example/api/v1";
const refusing: Fetch = async () => jsonResponse({ _tag: "PartnerForbidden", message: "No." }, { status: 403 });

test("an error of a send has each fact of its call, and no field that is undefined", async () => {
	const { send } = clientOf({ baseUrl }, { fetch: refusing }).agency(agencyId).messages;
	const error = await failure(() => send({ to: phone, body: text, operationId }));
	expect({ ...error }).toEqual({
		_tag: "PartnerForbidden",
		operation: "messages.send",
		agencyId,
		status: 403,
		correlationId: "cor-1",
		attempts: 1,
		retryable: false,
		operationId,
		outcome: "not_sent",
	});
	expect(JSON.parse(JSON.stringify(error))).toEqual({ ...error, message: error.message });
	expect(error.message).toBe("messages.send: refused with 403: No.");
	expect(Object.keys(error)).not.toContain("cause");
});

test("an error of a read has neither an id nor an outcome, and one of no agency has no agency", async () => {
	const client = clientOf({ baseUrl }, { fetch: refusing });
	const read = await failure(() => client.agency(agencyId).conversations.get(phone));
	expect({ ...read }).toEqual({
		_tag: "PartnerForbidden",
		operation: "conversations.get",
		agencyId,
		status: 403,
		correlationId: "cor-1",
		attempts: 1,
		retryable: false,
	});
	expect(await failure(() => client.me.get())).not.toHaveProperty("agencyId");
});

test("a number that a lookup refuses has its field and rule, beside the facts of the call", async () => {
	const { lookup } = clientOf({ baseUrl }, { fetch: refusing }).agency(agencyId).conversations;
	const bad: unknown[] = [phone, 5];
	const error = await failure(() => lookup(bad as string[]));
	expect({ ...error }).toEqual({
		_tag: "PartnerInvalidInput",
		operation: "conversations.lookup",
		agencyId,
		field: "phoneNumbers[1]",
		rule: "must be a string, null or undefined",
		attempts: 0,
		retryable: false,
	});
	expect(error.message).toBe("phoneNumbers[1]: must be a string, null or undefined");
});

test("a lost connection has name, code and syscall of its fault as its cause, and nothing else", async () => {
	const fetch: Fetch = async () => {
		const cause = Object.assign(new Error(`canary ${text}`), { code: "ECONNRESET", syscall: "read", socket: { text } });
		throw new TypeError("fetch failed", { cause });
	};
	const error = await failure(() => callOf("messages.send").run(clientOf({ baseUrl }, { fetch, retry: false })));
	expect(error.cause).toStrictEqual({ name: "Error", code: "ECONNRESET", syscall: "read" });
	expect(inspect(error, { depth: 10, showHidden: true })).not.toMatch(/canary/i);
});

test("a deadline has the complete last error as its cause", async () => {
	let asked = 0;
	const fetch: Fetch = () => (asked++ === 0 ? refused500() : new Promise(() => {}));
	const refused500 = async () => jsonResponse({ _tag: "PartnerInternalError", message: "No." }, { status: 500 });
	const { send } = clientOf({ baseUrl }, { fetch }).agency(agencyId).messages;
	const error = await failure(() => send({ to: phone, body: text, operationId }, { deadline: 3_000 }));
	expect(error).toBeInstanceOf(PartnerTimeoutError);
	expect(error).toMatchObject({ attempts: 2, outcome: "unknown", retryable: true, operationId });
	expect(isPartnerError(error.cause)).toBe(true);
	expect({ ...Object(error.cause) }).toEqual({
		_tag: "PartnerInternalError",
		operation: "messages.send",
		agencyId,
		status: 500,
		correlationId: "cor-1",
		attempts: 1,
		retryable: true,
		operationId,
		outcome: "unknown",
	});
});

test("a key function that fails is one error of the configuration, with the name of what it threw and no more", async () => {
	const key = () => Promise.reject(Object.assign(new RangeError(`canary ${apiKey}`), { code: "CANARY" }));
	const { send } = clientOf({ baseUrl }, { apiKey: key, fetch: refusing }).agency(agencyId).messages;
	const error = await failure(() => send({ to: phone, body: text, operationId }));
	expect(error).toBeInstanceOf(PartnerConfigurationError);
	expect({ ...error }).toEqual({
		_tag: "PartnerConfigurationError",
		operation: "messages.send",
		agencyId,
		field: "apiKey",
		rule: "its function failed (RangeError)",
		attempts: 0,
		retryable: true,
		operationId,
		outcome: "not_sent",
	});
	expect(error.cause).toStrictEqual({ name: "RangeError" });
	expect(inspect(error, { depth: 10, showHidden: true })).not.toMatch(/canary/i);
});

test("a page that fails says where it began and how many items came before it", async () => {
	const fetch: Fetch = async (url, init) =>
		url.includes("cursor") ? refusing(url, init) : jsonResponse(conversationPage(["Anna", "Bert"], "next"));
	const list = clientOf({ baseUrl }, { fetch }).agency(agencyId).conversations.list();
	const error = await failure(() => list.toArray());
	expect(error).toMatchObject({ cursor: "next", itemsRead: 2 });
	expect(JSON.stringify(error)).not.toContain("next");
});

test("an engine without Error.captureStackTrace makes the same error", async () => {
	const { captureStackTrace } = Error;
	Reflect.deleteProperty(Error, "captureStackTrace");
	try {
		const { get } = clientOf({ baseUrl }, { fetch: refusing }).agency(agencyId).conversations;
		expect(await failure(() => get(phone))).toMatchObject({ _tag: "PartnerForbidden", status: 403, attempts: 1 });
	} finally {
		Object.assign(Error, { captureStackTrace });
	}
});
