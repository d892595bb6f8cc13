import { createClient, type Fetch } from "messaging-conversations";
import { expect, test } from "vitest";
import { callOf, clientOf, failure, jsonResponse, sixCalls, wrong } from "../calls.ts";
import { agencyId, apiKey, operationId, phone, sentNow, text } from "../canned.ts";
import { expectRefusal } from "../refusals.ts";

// What the client limits is refused before any request, with a message that names the field and the rule and never the value.

const baseUrl = "https://messaging.example/api/v1";

const loneSurrogate = "CANARY\ud83d";

// Phone numbers

const noPhones = [
	"",
	"   ",
	"CANARY",
	"112",
	"+0123456789",
	"+999 123 456 789",
	"+123456",
	"tel:tel:+32470123456",
	"0470 12 34 56 ext 5",
	"0470123456, 0470123457",
	"+32470123456;ext=5",
	"call me 0470123456 now",
	"%2B32470123456",
	"+3247012345\ud83d",
	"+",
	5,
	null,
	undefined,
	["+32470123456"],
];

test.for(noPhones)("S10 %j is not a phone number: get, listMessages, send", async (given) => {
	const number: string = wrong(given);
	await expectRefusal((client) => client.agency(agencyId).conversations.get(number), /phone/, given);
	await expectRefusal((client) => client.agency(agencyId).conversations.listMessages(number).page(), /phone/, given);
	await expectRefusal((client) => client.agency(agencyId).messages.send({ to: number, body: text }), /to/, given);
});

test("a field whose name can be a phone number is refused without its name", async () => {
	for (const name of ["tel0470123456", "_32470123456", "+32470123456"]) {
		const message: { to: string; body: string } = wrong({ to: phone, body: text, [name]: "x" });
		await expectRefusal((client) => client.agency(agencyId).messages.send(message), /does not take$/, "70123456");
	}
});

test("the rule names each unknown field that looks like one, and no other name", async () => {
	const fields = { line2: "x", "no field": "x", tags: [], "2nd": "x" };
	const message: { to: string; body: string } = wrong({ to: phone, body: text, ...fields });
	const error = await failure(() => createClient({ baseUrl, apiKey }).agency(agencyId).messages.send(message));
	const known = "to, body, operationId, subaccountId, consentLanguage, ifHeld";
	expect(error.rule).toBe(`takes ${known}. It has a field that it does not take: line2, tags`);
});

test("a field of an option is named by its path", async () => {
	const retry = { attempts: 0 };
	const error = await failure(() => createClient({ baseUrl, apiKey }).me.get({ retry }));
	expect(error.field).toBe("retry.attempts");
});

// Lookup

test.for([0, -1, 1.5, Number.NaN, "4", null])("lookup concurrency %j is not a count", async (given) => {
	const concurrency: number = wrong(given);
	await expectRefusal(
		(client) => client.agency(agencyId).conversations.lookup([phone], { concurrency }),
		/concurrency/,
	);
});

test.for([5, null, undefined, {}, "+32470123456", [5], ["+32470123456", { toString: () => "+32470123457" }]])(
	"lookup refuses %j: an iterable of strings is asked for",
	async (given) => {
		await expectRefusal(
			(client) => client.agency(agencyId).conversations.lookup(wrong(given)),
			/phoneNumbers/,
			"32470",
		);
	},
);

// Sends

const badMessages: [string, unknown, RegExp][] = [
	["to missing", { body: text }, /to/],
	["body missing", { to: phone }, /body/],
	["body empty", { to: phone, body: "" }, /body/],
	["body blank", { to: phone, body: " \t\r\n\u00a0" }, /body/],
	["body no text", { to: phone, body: 5 }, /body/],
	["body null", { to: phone, body: null }, /body/],
	["body with a lone surrogate", { to: phone, body: `${text}\ud83d` }, /body/],
	["operationId empty", { to: phone, body: text, operationId: "" }, /operationId/],
	["operationId blank", { to: phone, body: text, operationId: "  " }, /operationId/],
	["operationId null", { to: phone, body: text, operationId: null }, /operationId/],
	["operationId no text", { to: phone, body: text, operationId: 5 }, /operationId/],
	["operationId with a lone surrogate", { to: phone, body: text, operationId: "half\ud83d" }, /operationId/],
	["subaccountId no UUID", { to: phone, body: text, subaccountId: "CANARY" }, /subaccountId/],
	["subaccountId empty", { to: phone, body: text, subaccountId: "" }, /subaccountId/],
	["subaccountId no text", { to: phone, body: text, subaccountId: 5 }, /subaccountId/],
	["consentLanguage null", { to: phone, body: text, consentLanguage: null }, /consentLanguage/],
	["consentLanguage no text", { to: phone, body: text, consentLanguage: 5 }, /consentLanguage/],
	[
		"consentLanguage with a lone surrogate",
		{ to: phone, body: text, consentLanguage: loneSurrogate },
		/consentLanguage/,
	],
	["an excess field", { to: phone, body: text, attachments: ["CANARY"] }, /attachments/],
	["an excess field that is a secret", { to: phone, body: text, [text]: 1 }, /message/],
	["nothing at all", undefined, /message/],
	["null", null, /message/],
	["a text", "CANARY", /message/],
	["an array", [phone, text], /message/],
];

test.for(badMessages)("a send with %s is refused, and says that nothing was sent", async ([, message, field]) => {
	await expectRefusal((client) => client.agency(agencyId).messages.send(wrong(message)), field, "CANARY");
	const client = createClient({ baseUrl, apiKey });
	const error = await failure(() => client.agency(agencyId).messages.send(wrong(message)));
	expect(error).toMatchObject({ operation: "messages.send", outcome: "not_sent" });
	expect(error.operationId).toBeTypeOf("string");
	for (const shown of [error.message, error.stack, JSON.stringify(error)]) expect(shown).not.toContain(phone);
});

test("a send takes what the contract takes: null and undefined where they are allowed", async () => {
	const fetch: Fetch = async () => jsonResponse(sentNow);
	const { messages } = createClient({ baseUrl, apiKey, fetch }).agency(agencyId);
	await messages.send({ to: phone, body: text, subaccountId: null });
	await messages.send({ to: phone, body: text, subaccountId: "0B5A3D9E-0000-4000-8000-000000000000" });
	await messages.send({
		to: phone,
		body: text,
		operationId: undefined,
		subaccountId: undefined,
		consentLanguage: undefined,
	});
	await messages.send({ to: phone, body: "😀", operationId: "not a uuid, and the caller's own" });
});

test("an operation names itself in the error", async () => {
	for (const { operation, run } of sixCalls) {
		const error = await failure(() => run(createClient({ baseUrl, apiKey }), { timeoutMs: 0 }));
		expect(error.operation).toBe(operation);
	}
});

test("a number that is not a phone names its operation too", async () => {
	const { conversations, messages } = clientOf({ baseUrl }).agency(agencyId);
	expect((await failure(() => conversations.get("CANARY"))).operation).toBe("conversations.get");
	expect((await failure(() => conversations.listMessages("CANARY").page())).operation).toBe(
		"conversations.listMessages",
	);
	expect((await failure(() => conversations.lookup(wrong([5])))).operation).toBe("conversations.lookup");
	expect((await failure(() => messages.send({ to: "CANARY", body: text }))).operation).toBe("messages.send");
});

test("an absent key names the operation that missed it", async () => {
	const client = createClient({ baseUrl, apiKey: undefined });
	for (const { operation } of sixCalls) {
		expect((await failure(() => callOf(operation).run(client))).operation).toBe(operation);
	}
});

test("a reused operationId with another body is PartnerInvalidInput", async () => {
	const fetch: Fetch = async () => jsonResponse(sentNow);
	const { messages } = createClient({ baseUrl, apiKey, fetch }).agency(agencyId);
	await messages.send({ to: phone, body: text, operationId });
	const error = await failure(() => messages.send({ to: phone, body: "another", operationId }));
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", attempts: 0, operationId, outcome: "not_sent" });
	expect(error.message).toContain("operationId");
});

test("a host's own zod is left as it is: no copy of zod in the process is configured", () => {
	expect(Reflect.get(globalThis, "__zod_globalConfig")).toEqual({});
});

// Agency ids

const badAgencyIds: [string, unknown][] = [
	["empty", ""],
	["a dot", "."],
	["two dots", ".."],
	["encoded dots", "%2e%2e"],
	["a slash", "agy_canary/x"],
	["a climb", "../../agy_canary"],
	["a backslash", "agy_canary\\x"],
	["a query", "agy_canary?x"],
	["a fragment", "agy_canary#f"],
	["NUL", "agy_canary\0"],
	["a line break", "agy_canary\r\n"],
	["a line feed at the end", "agy_canary\n"],
	["a lone surrogate", "agy_canary\ud83d"],
	["a space", " agy_canary"],
	["a letter outside ASCII", "agy_canáry"],
	["129 characters", `agy_canary${"a".repeat(119)}`],
	["undefined", undefined],
	["null", null],
	["an array", ["agy_canary"]],
	["an object", { id: "agy_canary", toString: () => "agy_canary" }],
	["a number", 5],
];

test.for(badAgencyIds)("S9 agency id: %s is refused", async ([, id]) => {
	await expectRefusal(async (client) => client.agency(wrong(id)).conversations.get(phone), /agencyId/, id);
	await expectRefusal(async (client) => client.agency(wrong(id)).messages.send({ to: phone, body: text }), /agencyId/);
});

test("S9 agency id: 128 letters, digits, - and _ are taken", async () => {
	const urls: string[] = [];
	const fetch: Fetch = async (url) => {
		urls.push(url);
		return jsonResponse(sentNow);
	};
	const id = `Agy-_9${"a".repeat(122)}`;
	await createClient({ baseUrl, apiKey, fetch }).agency(id).messages.send({ to: phone, body: text });
	expect(urls).toEqual([`${baseUrl}/agencies/${id}/messages`]);
});
