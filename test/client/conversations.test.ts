import { expect, test } from "vitest";
import { clientOf, failure, sixCalls } from "../calls.ts";
import { agencyId, conversationPage, messagePage, summary, withMessages } from "../canned.ts";
import { eventually } from "../eventually.ts";
import { inTurn, refusal, scripted } from "../scripted.ts";

const beneath = `/api/v1/agencies/${agencyId}/conversations`;
const hostile = "a&b=c d+e%2F#?é😀/../x";

test("reads carry no body and ask for JSON", async () => {
	const service = await scripted((_seen, index) => ({ json: sixCalls[index]?.good }));
	const client = clientOf(service);
	for (const { run } of sixCalls) await run(client);
	const gets = service.requests.filter(({ method }) => method === "GET");
	expect(gets).toHaveLength(4);
	for (const { body, headers } of gets) {
		expect(body).toBe("");
		expect(headers["content-type"]).toBeUndefined();
		expect(headers.accept).toContain("application/json");
	}
});

// Numbers that the service gives

const given = ["+5215512345678", "+999123456789", "+3247012345", "+320470123456", "+1234567", "+123456789012345"];

test.for(given)("a conversation that the service lists as %s is read under that number", async (number) => {
	const service = await scripted(({ url, body }) => {
		if (url.includes("/lookup"))
			return { json: { results: [{ phoneNumber: JSON.parse(body).phoneNumbers[0], conversation: null }] } };
		return { json: url.includes("/messages") ? messagePage([]) : withMessages };
	});
	const { conversations } = clientOf(service).agency(agencyId);
	await conversations.get(number);
	await conversations.listMessages(number).page();
	const [entry] = await conversations.lookup([number]);
	expect(entry?.phoneNumber).toBe(number);
	const path = `${beneath}/${encodeURIComponent(number)}`;
	expect(service.requests.map(({ url }) => url)).toEqual([path, `${path}/messages`, `${beneath}/lookup`]);
});

// conversations.list

test("list is GET …/conversations, without a query when nothing is asked for", async () => {
	const service = await scripted(inTurn({ json: conversationPage([]) }));
	const { conversations } = clientOf(service).agency(agencyId);
	await conversations.list().page();
	await conversations.list({}).page();
	await conversations.list({ pageSize: undefined, cursor: undefined, search: undefined }).page();
	expect(service.requests.map(({ method, url }) => `${method} ${url}`)).toEqual(Array(3).fill(`GET ${beneath}`));
});

test("list sends pageSize, cursor and search as they are given, whatever they contain", async () => {
	const service = await scripted(inTurn({ json: conversationPage([]) }));
	const { conversations } = clientOf(service).agency(agencyId);
	await conversations.list({ pageSize: 100, cursor: hostile, search: hostile }).page();
	const url = new URL(service.requests[0]?.url ?? "", service.origin);
	expect(url.pathname).toBe(beneath);
	expect(url.hash).toBe("");
	expect([...url.searchParams].sort()).toEqual([
		["cursor", hostile],
		["pageSize", "100"],
		["search", hostile],
	]);
});

test.for([1, 100])("list takes a pageSize of %d", async (pageSize) => {
	const service = await scripted(inTurn({ json: { ...conversationPage([]), pageSize } }));
	await clientOf(service).agency(agencyId).conversations.list({ pageSize }).page();
	expect(service.requests[0]?.url).toBe(`${beneath}?pageSize=${pageSize}`);
});

test("list searches for a number as it is written: the service matches parts", async () => {
	const service = await scripted(inTurn({ json: conversationPage([]) }));
	const { conversations } = clientOf(service).agency(agencyId);
	await conversations.list({ search: "0470 12" }).page();
	await conversations.list({ search: "+32470" }).page();
	const searches = service.requests.map(({ url }) => new URL(url, service.origin).searchParams.get("search"));
	expect(searches).toEqual(["0470 12", "+32470"]);
});

test("list gives the page as the service does: unknown fields and values are kept", async () => {
	const odd = {
		...summary(),
		latestFlowStatus: "paused",
		visibility: { ...summary().visibility, reason: "gift" },
		mood: 1,
	};
	const json = { conversations: [odd], nextCursor: null, pageSize: 50, total: 1 };
	const service = await scripted(inTurn({ json }));
	await expect(clientOf(service).agency(agencyId).conversations.list().page()).resolves.toEqual(json);
});

test("list takes a summary in which everything that may be null is null", async () => {
	const bare = summary({
		contactName: null,
		lastMessageAt: null,
		lastMessagePreview: null,
		lastMessageDirection: null,
		latestFlowStatus: null,
		lastInboundAt: null,
		windowExpiresAt: null,
		cursor: null,
	});
	const service = await scripted(inTurn({ json: { conversations: [bare], nextCursor: null, pageSize: 50 } }));
	await expect(clientOf(service).agency(agencyId).conversations.list().toArray()).resolves.toEqual([bare]);
});

// conversations.get

test.for([
	["+32470123456", "%2B32470123456"],
	["0470 12 34 56", "%2B32470123456"],
	["0032 470/12.34.56", "%2B32470123456"],
	["+32 (0)470 12 34 56", "%2B32470123456"],
	["+44 7700 900101", "%2B447700900101"],
] as const)("get of %s is GET …/conversations/%s", async ([given, wire]) => {
	const service = await scripted(inTurn({ json: withMessages }));
	await expect(clientOf(service).agency(agencyId).conversations.get(given)).resolves.toEqual(withMessages);
	expect(service.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([`GET ${beneath}/${wire}`]);
});

test("get sends pageSize and cursor of its message page", async () => {
	const service = await scripted(inTurn({ json: withMessages }));
	await clientOf(service).agency(agencyId).conversations.get("+32470123456", { pageSize: 10, cursor: hostile });
	const url = new URL(service.requests[0]?.url ?? "", service.origin);
	expect(url.pathname).toBe(`${beneath}/%2B32470123456`);
	expect([...url.searchParams].sort()).toEqual([
		["cursor", hostile],
		["pageSize", "10"],
	]);
});

test("get: 404 is PartnerNotFound and is not asked twice", async () => {
	const service = await scripted(inTurn(refusal(404)));
	const error = await failure(() => clientOf(service).agency(agencyId).conversations.get("+32470123456"));
	expect(error).toMatchObject({ _tag: "PartnerNotFound", operation: "conversations.get", attempts: 1 });
	expect(service.requests).toHaveLength(1);
});

// conversations.listMessages

test("listMessages is GET …/conversations/%2B…/messages", async () => {
	const service = await scripted(inTurn({ json: messagePage([2, 1]) }));
	const { conversations } = clientOf(service).agency(agencyId);
	await expect(conversations.listMessages("0470 12 34 56").page()).resolves.toEqual(messagePage([2, 1]));
	await conversations.listMessages("+32470123456", { pageSize: 7, cursor: hostile }).page();
	expect(service.requests[0]).toMatchObject({ method: "GET", url: `${beneath}/%2B32470123456/messages` });
	const url = new URL(service.requests[1]?.url ?? "", service.origin);
	expect(url.pathname).toBe(`${beneath}/%2B32470123456/messages`);
	expect([...url.searchParams].sort()).toEqual([
		["cursor", hostile],
		["pageSize", "7"],
	]);
});

test("listMessages gives messages as the service does, with everything that is optional and without it", async () => {
	const full = {
		...messagePage([1]).messages[0],
		body: null,
		status: "teleported",
		media: [
			{ url: "https://files.example/1" },
			{ url: "https://files.example/2", index: 1, content_type: "image/png" },
		],
		mediaStored: [
			{
				size: 10,
				stored_url: "https://store.example/1",
				content_type: "image/png",
				original_url: "https://files.example/1",
				storage_path: "a/b",
				downloaded_at: "2026-01-05T09:00:00Z",
			},
		],
		interactiveContent: {
			quickReplies: [{ code: "yes", text: "Yes" }],
			listPicker: { items: [{ id: "1", title: "One" }] },
			ctaButtons: [{ type: "URL", title: "Open", url: null }],
		},
		replyTo: { body: null, direction: null, createdAt: null, templateName: null, hasMedia: null },
	};
	const json = { messages: [full], nextCursor: null, pageSize: 50, hasMore: false };
	const service = await scripted(inTurn({ json }));
	await expect(
		clientOf(service).agency(agencyId).conversations.listMessages("+32470123456").toArray(),
	).resolves.toEqual([full]);
});

// conversations.lookup

test("lookup is POST …/conversations/lookup with phoneNumbers in E.164, and no other field", async () => {
	const service = await scripted(inTurn({ json: { results: [{ phoneNumber: "+32470123456", conversation: null }] } }));
	await clientOf(service).agency(agencyId).conversations.lookup(["0470 12 34 56"]);
	expect(service.requests[0]).toMatchObject({ method: "POST", url: `${beneath}/lookup` });
	expect(service.requests[0]?.headers["content-type"]).toContain("application/json");
	expect(service.requests[0]?.body).toBe('{"phoneNumbers":["+32470123456"]}');
});

test("each agency's calls stay beneath its own path", async () => {
	const service = await scripted(inTurn({ json: conversationPage([]) }));
	const client = clientOf(service);
	const [one, two] = [client.agency("agy_1"), client.agency("agy_2")];
	await one.conversations.list().page();
	await two.conversations.list().page();
	await one.conversations.list().page();
	expect(service.requests.map(({ url }) => url.split("/")[4])).toEqual(["agy_1", "agy_2", "agy_1"]);
});

test("a number that is none is named with its operation and agency, before any request", async () => {
	const service = await scripted(inTurn({ json: {} }));
	const { conversations } = clientOf(service).agency(agencyId);
	const refused = { _tag: "PartnerInvalidInput", agencyId, field: "phone", attempts: 0 };
	const got = await failure(() => conversations.get("n/a"));
	expect(got).toMatchObject({ ...refused, operation: "conversations.get" });
	const listed = await failure(() => conversations.listMessages("n/a").toArray());
	expect(listed).toMatchObject({ ...refused, operation: "conversations.listMessages", cursor: null, itemsRead: 0 });
	expect(service.requests).toEqual([]);
});

test("an error repeats neither the search nor the cursor of its request", async () => {
	const [search, cursor] = ["Vandenberghe garden", "eyJwYWdlIjoiYWJj"];
	const service = await scripted(({ url }) => {
		const asked = new URL(url, "http://service").searchParams;
		const message = `Nothing for ${asked.get("search") ?? asked.get("cursor")}`;
		return { status: 400, json: { _tag: "PartnerBadRequest", message } };
	});
	const { conversations } = clientOf(service).agency(agencyId);
	const errors = [
		await failure(() => conversations.list({ search }).page()),
		await failure(() => conversations.list({ cursor }).page()),
		await failure(() => conversations.listMessages("0470 12 34 56", { cursor }).page()),
		await failure(() => conversations.get("0470 12 34 56", { cursor })),
	];
	for (const { message } of errors) {
		expect(message).toContain("[hidden]");
		expect(message).not.toContain(search);
		expect(message).not.toContain(cursor);
	}
});

test("listMessages requests the next page once past the middle, unless readAhead is false", async () => {
	const service = await scripted(inTurn({ json: messagePage([4, 3, 2, 1], "older") }));
	const { conversations } = clientOf(service).agency(agencyId);
	for await (const { id } of conversations.listMessages("+32470123456", { readAhead: false })) if (id === 1) break;
	expect(service.requests).toHaveLength(1);
	for await (const { id } of conversations.listMessages("+32470123456")) {
		if (id > 2) continue;
		await eventually(() => expect(service.requests).toHaveLength(3));
		break;
	}
});
