import { type CallOptions, createClient, type Fetch } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { expect, test } from "vitest";
import { jsonResponse, sixCalls, wrong } from "../calls.ts";
import { agencyId, apiKey, phone } from "../canned.ts";
import { expectRefusal, notMilliseconds, notRetry } from "../refusals.ts";

const baseUrl = "https://messaging.example/api/v1";

const loneSurrogate = "CANARY\ud83d";

type Bad = [field: string, value: unknown];
const badCallOptions: Bad[] = [
	...notMilliseconds.map((value): Bad => ["timeoutMs", value]),
	...notMilliseconds.map((value): Bad => ["deadline", value]),
	...notRetry.map((value): Bad => ["retry", value]),
	...[{}, "abort", 5, null, new AbortController(), new EventTarget(), () => {}].map((value): Bad => ["signal", value]),
	["timeout", 5000],
];

test.for(sixCalls)("bad time, retry, signal or excess field in the options of $operation", async ({ run }) => {
	for (const [field, value] of badCallOptions) {
		const options: CallOptions = { [field]: wrong(value) };
		await expectRefusal((client) => run(client, options), new RegExp(field), JSON.stringify(value));
	}
});

test.for(sixCalls)("$operation refuses what is not an object in place of its options", async ({ run }) => {
	for (const value of [5, "canary", true, null]) await expectRefusal((client) => run(client, wrong(value)), /options/);
});

test.for(sixCalls)("$operation takes the options at their bounds, and undefined", async ({ run, good }) => {
	const fetch: Fetch = async () => jsonResponse(good);
	const client = createClient({ baseUrl, apiKey, fetch });
	const signal = new AbortController().signal;
	await run(client, { timeoutMs: 2 ** 31 - 1, deadline: 2 ** 31 - 1, signal, retry: { attempts: 6 } });
	await run(client, { timeoutMs: undefined, deadline: undefined, signal: undefined, retry: undefined });
	await run(client, { retry: { attempts: undefined, baseDelayMs: undefined } });
});

// Pages

const badPageSizes = [0, -1, 101, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "50", null, {}];

test.for(badPageSizes)("pageSize %j is outside 1 to 100: list, get, listMessages", async (given) => {
	const pageSize: number = wrong(given);
	await expectRefusal((client) => client.agency(agencyId).conversations.list({ pageSize }).page(), /pageSize/);
	await expectRefusal((client) => client.agency(agencyId).conversations.get(phone, { pageSize }), /pageSize/);
	await expectRefusal(
		(client) => client.agency(agencyId).conversations.listMessages(phone, { pageSize }).page(),
		/pageSize/,
	);
});

test.for([5, null, loneSurrogate, {}, ["CANARY"]])(
	"cursor %j is not a cursor: list, get, listMessages",
	async (given) => {
		const cursor: string = wrong(given);
		const canary = typeof given === "string" ? "CANARY" : undefined;
		await expectRefusal((client) => client.agency(agencyId).conversations.list({ cursor }).page(), /cursor/, canary);
		await expectRefusal((client) => client.agency(agencyId).conversations.get(phone, { cursor }), /cursor/, canary);
		await expectRefusal(
			(client) => client.agency(agencyId).conversations.listMessages(phone, { cursor }).page(),
			/cursor/,
		);
	},
);

test.for([5, null, loneSurrogate, {}])("search %j is not text", async (given) => {
	const search: string = wrong(given);
	await expectRefusal((client) => client.agency(agencyId).conversations.list({ search }).page(), /search/, "CANARY");
});

test.for([5, "no", null])("readAhead %j is neither true nor false", async (given) => {
	const readAhead: boolean = wrong(given);
	await expectRefusal((client) => client.agency(agencyId).conversations.list({ readAhead }).toArray(), /readAhead/);
	await expectRefusal(
		(client) => client.agency(agencyId).conversations.listMessages(phone, { readAhead }).toArray(),
		/readAhead/,
	);
});

test.for([-1, 1.5, Number.NaN, "3", null])("toArray limit %j is not a count", async (given) => {
	const limit: number = wrong(given);
	await expectRefusal((client) => client.agency(agencyId).conversations.list().toArray({ limit }), /limit/);
});

test("a list with bad options fails where it is used, in every form of use", async () => {
	const bad = { pageSize: 0 };
	await expectRefusal((client) => client.agency(agencyId).conversations.list(bad).toArray(), /pageSize/);
	await expectRefusal((client) => client.agency(agencyId).conversations.list(bad).pages().next(), /pageSize/);
	await expectRefusal(async (client) => {
		for await (const row of client.agency(agencyId).conversations.list(bad)) return row;
	}, /pageSize/);
	await expectRefusal(
		(client) => client.agency(agencyId).conversations.listMessages("CANARY").toArray(),
		/phone/,
		"CANARY",
	);
});

test("a field that a read does not take is refused", async () => {
	const options = { pageSize: 10, pageSise: 10 };
	await expectRefusal(
		(client) =>
			client
				.agency(agencyId)
				.conversations.list({ ...options })
				.page(),
		/pageSise/,
	);
	await expectRefusal((client) => client.agency(agencyId).conversations.get(phone, { ...options }), /pageSise/);
	await expectRefusal(
		(client) => client.agency(agencyId).conversations.lookup([phone], { concurrency: 1, ...options }),
		/pageSi[sz]e/,
	);
});

// Headers

test("headers that the caller changes between two pages stay as they were", async () => {
	const sandbox = createSandbox();
	const seen: (string | undefined)[] = [];
	const fetch: Fetch = (url, init) => {
		seen.push(init.headers["x-request-source"]);
		return sandbox.connection.fetch(url, init);
	};
	for (const number of [1, 2, 3]) sandbox.agency().contact(`+44770090010${number}`).writes("Hello");
	const headers = { "X-Request-Source": " nightly " };
	const { conversations } = createClient({ ...sandbox.connection, fetch }).agency(sandbox.agency().id);
	for await (const _ of conversations.list({ pageSize: 1, readAhead: false, headers }))
		headers["X-Request-Source"] = "changed";
	expect(new Set(seen)).toEqual(new Set(["nightly"]));
	expect(seen.length).toBeGreaterThan(2);
});

test.for([5, "CANARY", ["x-a"], null])(
	"withOptions refuses headers %j, beside headers of the client",
	async (given) => {
		const client = createClient({ baseUrl, apiKey, headers: { "x-request-source": "crm" } });
		expect(() => client.withOptions({ headers: wrong(given) })).toThrow(/headers: must be an object/);
	},
);
