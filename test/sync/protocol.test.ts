/* Clients of other copies of the package: which the feeds take, and what they say of one that they don't. */
import { type AgencyClient, type Client, createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { changes, reconcile, watch, watchAgencies } from "messaging-conversations/sync";
import { describe, expect, test } from "vitest";
import { another, errorOf, numberless, ofNumber } from "../protocol.ts";

const sandbox = createSandbox();
const client = createClient({ ...sandbox.connection });
const agency = client.agency(sandbox.agency().id);

const feeds: [name: string, run: (agency: AgencyClient) => unknown][] = [
	["changes", (given) => changes(given, { since: "now" })],
	["watch", (given) => watch(given, { since: "now" })],
	["reconcile", (given) => reconcile(given, { stored: [] })],
];

const rebuilt = { id: agency.id, conversations: agency.conversations, messages: agency.messages };

describe.each(feeds)("%s", (operation, run) => {
	test.each([
		["of a later number", ofNumber(agency, 2), "PartnerConfigurationError", another(2)],
		["of an earlier number", ofNumber(agency, 0), "PartnerConfigurationError", another(0)],
		["of no number", rebuilt, "PartnerConfigurationError", numberless],
		["of somebody else", { conversations: {} }, "PartnerConfigurationError", numberless],
		["a client", client, "PartnerInvalidInput", "must be client.agency(id)"],
		["undefined", undefined, "PartnerInvalidInput", "must be client.agency(id)"],
	])("#49 refuses an agency that is %s, at once and with what to do", async (_name, wrong, _tag, rule) => {
		const before = sandbox.requests().length;
		const error = await errorOf(() => run(wrong as AgencyClient));
		expect(error).toMatchObject({ _tag, field: "agency", operation, rule, message: `agency: ${rule}` });
		expect(sandbox.requests()).toHaveLength(before);
	});
});

const noClient = "must be a client of createClient";

test.each([
	["of a later number", ofNumber(client, 2), "PartnerConfigurationError", another(2)],
	["of an earlier number", ofNumber(client, 0), "PartnerConfigurationError", another(0)],
	["of no number", { me: client.me, agency: client.agency }, "PartnerConfigurationError", numberless],
	["an agency", agency, "PartnerInvalidInput", noClient],
	["null", null, "PartnerInvalidInput", noClient],
	["an empty object", {}, "PartnerInvalidInput", noClient],
])("#49 watchAgencies refuses a client that is %s, at once and with what to do", async (_name, wrong, _tag, rule) => {
	const error = await errorOf(() => watchAgencies(wrong as Client, { load: () => null }));
	expect(error).toMatchObject({ _tag, field: "client", operation: "watchAgencies", rule });
});

test.each<[name: string, wrap: (agency: AgencyClient) => AgencyClient]>([
	["by a Proxy", (inner) => new Proxy(inner, {})],
	["by a spread with messages of its own", (inner) => ({ ...inner, messages: { send: inner.messages.send } })],
	[
		"by a spread with conversations of its own",
		(inner) => ({ ...inner, conversations: { ...inner.conversations, get: inner.conversations.get } }),
	],
])("an agency that is wrapped %s is polled", async (_name, wrap) => {
	const own = createSandbox();
	own.agency().contact("+447700900101").writes("Hello");
	const wrapped = wrap(createClient({ ...own.connection }).agency(own.agency().id));
	const found: unknown[] = [];
	for await (const { phoneNumber } of changes(wrapped, { since: "beginning" })) found.push(phoneNumber);
	for await (const { phoneNumber } of reconcile(wrapped, { stored: [] })) found.push(phoneNumber);
	expect(found).toEqual(["+447700900101", "+447700900101"]);
});

test.each<[name: string, wrap: (client: Client) => Client]>([
	["by a Proxy", (inner) => new Proxy(inner, {})],
	["by a spread with an agency of its own", (inner) => ({ ...inner, agency: (id) => new Proxy(inner.agency(id), {}) })],
	["by withOptions", (inner) => inner.withOptions({ headers: { "x-request-source": "night" } })],
])("a client that is wrapped %s is followed", async (_name, wrap) => {
	const own = createSandbox();
	own.agency().contact("+447700900101").writes("Hello");
	const wrapped = wrap(createClient({ ...own.connection }));
	for await (const { phoneNumber } of watchAgencies(wrapped, { load: () => null, requestsPerSecond: 1_000 })) {
		expect(phoneNumber).toBe("+447700900101");
		break;
	}
	expect(own.requests().length).toBeGreaterThan(1);
});
