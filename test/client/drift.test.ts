import type { ContractDrift } from "messaging-conversations";
import { expect, test } from "vitest";
import { clientOf, failure, sixCalls } from "../calls.ts";
import { agencyId, conversationPage, me, messagePage, phone, sentNow, summary, text } from "../canned.ts";
import { inTurn, scripted } from "../scripted.ts";

async function driftsOf(run: (client: ReturnType<typeof clientOf>) => Promise<unknown>, json: unknown, headers = {}) {
	const service = await scripted(inTurn({ json, headers }));
	const drifts: ContractDrift[] = [];
	const data = await run(clientOf(service, { onContractDrift: (drift) => drifts.push(drift) }));
	return { drifts, data };
}

test("contract drift: nothing is reported for an answer that the contract knows", async () => {
	for (const { run, good } of sixCalls) expect((await driftsOf((client) => run(client), good)).drifts).toEqual([]);
});

test("contract drift: an extra field is reported and stays in the data", async () => {
	const json = { ...me, agencies: [{ id: agencyId, name: "A", phone: "0470123456" }] };
	const { drifts, data } = await driftsOf((client) => client.me.get(), json);
	expect(drifts).toEqual([{ operation: "me.get", path: "agencies[].phone", kind: "unknown-field" }]);
	expect(data).toEqual(json);
});

test("contract drift: a new value of a known set is reported and stays in the data", async () => {
	const odd = summary({ latestFlowStatus: "paused", visibility: { ...summary().visibility, reason: "gift" } });
	const json = { ...conversationPage([]), conversations: [odd, odd] };
	const { drifts, data } = await driftsOf((client) => client.agency(agencyId).conversations.list().page(), json);
	expect(drifts).toEqual([
		{ operation: "conversations.list", path: "conversations[].latestFlowStatus", kind: "unknown-value" },
		{ operation: "conversations.list", path: "conversations[].visibility.reason", kind: "unknown-value" },
	]);
	expect(data).toEqual(json);
});

test("contract drift: of a send too, and the send has succeeded", async () => {
	const { drifts, data } = await driftsOf(
		(client) => client.agency(agencyId).messages.send({ to: phone, body: text }),
		{ ...sentNow, status: "teleported", price: 1 },
	);
	expect(drifts.map(({ path, kind }) => `${kind} ${path}`).sort()).toEqual([
		"unknown-field price",
		"unknown-value status",
	]);
	expect(data).toMatchObject({ queued: false, status: "teleported" });
});

test("contract drift: a missing correlation id is reported", async () => {
	const { drifts } = await driftsOf((client) => client.me.get(), me, { "x-correlation-id": undefined });
	expect(drifts).toEqual([{ operation: "me.get", path: "X-Correlation-Id", kind: "missing-header" }]);
});

test("contract drift: a field that the service adds to an error is reported, and the error is the service's", async () => {
	const json = { _tag: "PartnerNotFound", message: "None.", details: { to: phone }, details2: 1, [phone]: 1 };
	const service = await scripted(inTurn({ status: 404, json }));
	const drifts: ContractDrift[] = [];
	const client = clientOf(service, { onContractDrift: (drift) => drifts.push(drift) });
	const error = await failure(() => client.agency(agencyId).conversations.get(phone));
	expect(error).toMatchObject({ _tag: "PartnerNotFound", status: 404 });
	const at = { operation: "conversations.get", kind: "unknown-field" };
	expect(drifts).toEqual([
		{ ...at, path: "PartnerNotFound.details" },
		{ ...at, path: "PartnerNotFound.details2" },
		{ ...at, path: "PartnerNotFound.?" },
	]);
});

test("contract drift: an error of something in front of the service is none", async () => {
	const json = { _tag: "PartnerForbidden", message: "No.", ray: "1" };
	const service = await scripted(inTurn({ status: 404, json }, { status: 403, json: { error: "no" } }));
	const drifts: ContractDrift[] = [];
	const client = clientOf(service, { onContractDrift: (drift) => drifts.push(drift), retry: false });
	for (const status of [404, 403])
		await expect(failure(() => client.me.get())).resolves.toMatchObject({ _tag: "PartnerGatewayError", status });
	expect(drifts).toEqual([]);
});

test("contract drift: no value and no name that could be one is reported", async () => {
	const page = messagePage([1]);
	const json = { ...page, messages: [{ ...page.messages[0], "+32470123456": "CANARYTEXT", [text]: 1 }] };
	const { drifts } = await driftsOf((client) => client.agency(agencyId).conversations.listMessages(phone).page(), json);
	expect(drifts.length).toBeGreaterThan(0);
	expect(JSON.stringify(drifts)).not.toMatch(/CANARY|470123456/);
});

test("contract drift: an answer that breaks the contract is an error and no drift", async () => {
	const service = await scripted(inTurn({ json: { ...me, scopes: "all", extra: 1 } }));
	const drifts: ContractDrift[] = [];
	const client = clientOf(service, { onContractDrift: (drift) => drifts.push(drift) });
	await expect(failure(() => client.me.get())).resolves.toMatchObject({ _tag: "PartnerUnexpectedResponse" });
	expect(drifts).toEqual([]);
});

test.for([
	"2026-01-06T09:00:00",
	"2026-01-06 09:00:00Z",
	"2026-01-06T10:00:00+01:00",
	"2026-01-06",
	"2026-13-06T09:00:00Z",
	"soon",
	"",
])(
	"contract drift: a time that is not ISO 8601 in UTC is reported, and stays in the data: %j",
	async (windowExpiresAt) => {
		const json = { ...conversationPage([]), conversations: [summary({ windowExpiresAt })] };
		const { drifts, data } = await driftsOf((client) => client.agency(agencyId).conversations.list().page(), json);
		expect(drifts).toEqual([
			{ operation: "conversations.list", path: "conversations[].windowExpiresAt", kind: "unknown-time" },
		]);
		expect(data).toEqual(json);
	},
);

test.for(["2026-01-06T09:00:00Z", "2026-01-06T09:00:00.000Z", "2026-01-06T09:00:00.123456Z", "2026-01-06T09:00+00:00"])(
	"contract drift: a time in UTC is none: %s",
	async (windowExpiresAt) => {
		const json = { ...conversationPage([]), conversations: [summary({ windowExpiresAt })] };
		const { drifts } = await driftsOf((client) => client.agency(agencyId).conversations.list().page(), json);
		expect(drifts).toEqual([]);
	},
);

test("contract drift: a whole number beyond 2^53 is reported", async () => {
	const page = messagePage([1]);
	const json = { ...page, messages: [{ ...page.messages[0], id: 2 ** 53 + 2 }] };
	const { drifts } = await driftsOf((client) => client.agency(agencyId).conversations.listMessages(phone).page(), json);
	expect(drifts).toEqual([{ operation: "conversations.listMessages", path: "messages[].id", kind: "unsafe-integer" }]);
});

test("contract drift: a name of the prototype is an unknown field like any other", async () => {
	const { drifts } = await driftsOf((client) => client.me.get(), { ...me, constructor: 1, toString: 2 });
	expect(drifts.map(({ path }) => path).sort()).toEqual(["constructor", "toString"]);
});
