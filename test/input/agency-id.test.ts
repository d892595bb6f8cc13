import { createClient, type Fetch } from "messaging-conversations";
import { expect, test } from "vitest";
import { jsonResponse, wrong } from "../calls.ts";
import { apiKey, phone, sentNow, text } from "../canned.ts";
import { expectRefusal } from "../refusals.ts";

const baseUrl = "https://messaging.example/api/v1";

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
