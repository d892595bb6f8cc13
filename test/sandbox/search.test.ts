// One search over the whole log: words and filters, all of which must match.
import { createClient } from "messaging-conversations";
import { expect, test } from "vitest";
import { createSandbox, type Found } from "../../src/sandbox/index.ts";
import { serve } from "../../src/sandbox/server.ts";

const [anna, bram] = ["+447700900101", "+447700900102"];

async function played() {
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	agency.contact(anna, { name: "Anna Peeters" }).writes("Hello");
	agency.contact(bram, { name: "Bram" });
	const client = createClient({ ...sandbox.connection, retry: false }).agency(agency.id);
	await client.messages.send({ to: anna, body: "Thursday at two", operationId: "visit-1" });
	await client.messages.send({ to: bram, body: "Friday", operationId: "visit-2" });
	await client.messages.send({ to: bram, body: "Saturday", operationId: "visit-3" });
	await client.conversations.get(anna);
	await client.conversations.list().page();
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "hang", contact: anna });
	await sandbox.request({
		method: "POST",
		path: `/agencies/${agency.id}/messages`,
		body: { to: anna, body: "Lost one" },
	});
	const { id } = sandbox.keys.create();
	const [, key] = sandbox.keys.list();
	sandbox.keys.revoke(id);
	await sandbox.request({ method: "GET", path: "/me", apiKey: key?.apiKey });
	await sandbox.request({ method: "GET", path: "/me", apiKey: "none" });
	const operations = (query: string) =>
		sandbox.search(query).events.flatMap((event) => (event.type === "request" ? [event.operation] : []));
	const bodies = (query: string) =>
		sandbox
			.search(query)
			.events.flatMap((event) => (event.type === "request" ? [Object(event.body).body ?? event.operation] : []));
	return { sandbox, operations, bodies };
}

test.each([
	["thursday", ["Thursday at two"]],
	['"at two"', ["Thursday at two"]],
	["VISIT-1", ["Thursday at two"]],
	["saturday", ["Saturday"]], // and no other request about the contact of whom this is the newest word
	["op:send", ["Thursday at two", "Friday", "Saturday", "Lost one"]],
	["op:list", ["conversations.list"]],
	["status:401", ["me.get", "me.get"]],
	["status:4xx", ["me.get", "me.get"]],
	["status:none", ["Lost one"]],
	["key:revoked", ["me.get"]],
	["key:unknown", ["me.get"]],
	["key:unknown,revoked", ["me.get", "me.get"]],
	["status:4xx,none", ["Lost one", "me.get", "me.get"]],
	["contact:+4477009001", ["Thursday at two", "Friday", "Saturday", "conversations.get", "Lost one"]],
	["contact:+7700900101", []],
	["agency:none", []],
	["outcome:fault", ["Lost one"]],
	["op:conversations.list", ["conversations.list"]],
	["contact:anna", ["Thursday at two", "conversations.get", "Lost one"]],
	["contact:900102", ["Friday", "Saturday"]],
	['contact:"anna peeters" op:get', ["conversations.get"]],
	["outcome:replaced", ["Friday"]],
	["outcome:held", ["Friday", "Saturday"]],
	["outcome:sent op:send contact:anna", ["Thursday at two", "Lost one"]],
	["outcome:refused", ["me.get", "me.get"]],
	["op:send nowhere", []],
	["status:", []],
	["constructor:x", []],
])("%s finds %j", async (query, found) => {
	const { sandbox, bodies } = await played();
	expect(bodies(query)).toEqual(found);
	expect(sandbox.search(query).count).toBe(found.length);
});

test("all are counted, the newest or the oldest are returned with what followed, and no marks or answers", async () => {
	const { sandbox } = await played();
	const oldest = sandbox.search("op:send", { limit: 1, order: "oldest" });
	expect(oldest.count).toBe(4);
	expect(oldest.events.filter(({ type }) => type === "request")).toMatchObject([{ body: { body: "Thursday at two" } }]);
	expect(oldest.events.map(({ type }) => type)).toContain("text.sent");
	const [newest] = sandbox.search("", { limit: 1 }).events.filter(({ type }) => type === "request");
	expect(newest).toMatchObject({ operation: "me.get", status: 401, answer: { _tag: "PartnerUnauthorized" } });
	expect(JSON.stringify(sandbox.search("").events)).not.toMatch(/[\ue000\ue001]/);
	expect(sandbox.search("op:list").events).toMatchObject([{ type: "request", answer: null }]);
	expect(() => sandbox.search("", { limit: 0 })).toThrow(/limit/);
	expect(() => sandbox.search(JSON.parse("7"))).toThrow(TypeError);
});

test("what became of a text comes with its request, however much later it was", async () => {
	const { sandbox } = await played();
	const later = (query: string) => {
		const { events } = sandbox.search(`op:send ${query}`);
		const last = events.findIndex(({ type }) => type === "request");
		return events.slice(last + 1).map(({ type }) => type);
	};
	expect(later("saturday")).toEqual([]);
	sandbox.agency().contact(bram).accepts();
	expect(later("saturday")).toEqual(["consent.accepted", "text.sent"]);
	sandbox.message(sandbox.agency().contact(bram).state().messages.at(-1)?.id ?? 0).read();
	expect(later("saturday")).toEqual(["consent.accepted", "text.sent", "message.status"]);
});

test("a repeat, a violation, and everything but reads that went well are found by outcome and agency", async () => {
	const { sandbox, bodies } = await played();
	const { id } = sandbox.agency();
	expect(bodies(`agency:${id.toUpperCase()} op:conversations.list`)).toEqual(["conversations.list"]);
	expect(bodies("outcome:any")).toEqual(["Thursday at two", "Friday", "Saturday", "Lost one", "me.get", "me.get"]);
	const [first] = sandbox.requests();
	await sandbox.replay(first?.correlationId ?? "");
	expect(bodies("outcome:repeat")).toEqual(["Thursday at two"]);
	await sandbox.request({ method: "GET", path: "/nowhere" });
	expect(sandbox.search("outcome:violation").count).toBe(1);
});

test.each([
	["foo:bar", ["There is no filter foo. There are status, op, contact, agency, outcome, key."]],
	["status:abc", ["status: takes a number such as 401 or 4xx, or none."]],
	["key:good", ["key: takes one of valid, revoked, expired, unknown, absent, or the id of a key."]],
	["key:valid status:418", []],
	["nowhere", []],
])("%s finds nothing, and says what there is: %j", async (query, hints) => {
	const { sandbox } = await played();
	expect(sandbox.search(query)).toEqual({ count: 0, events: [], hints });
	expect(sandbox.search("thursday").hints).toEqual([]);
});

test("the hints name each operation and outcome", async () => {
	const { sandbox } = await played();
	const [op, outcome] = sandbox.search("op:nothing outcome:nothing outcome:nothing").hints;
	expect(op).toContain("messages.send");
	expect(outcome).toContain("repeat");
});

test("the control searches too", async () => {
	const { sandbox } = await played();
	const server = await serve(sandbox);
	const response = await fetch(`${server.controlUrl}/search?search=outcome:held&limit=1`, {
		headers: { "x-sandbox-token": server.token },
	});
	expect(await response.json()).toMatchObject({ count: 2, events: expect.any(Array) });
	await server.close();
});

test("what a search has read is read again once it is another event", async () => {
	const { sandbox } = await played();
	const count = (query: string): number => sandbox.search(query).count;
	expect([count("declined"), count("Beatrix"), count("saturday op:send")]).toEqual([0, 0, 1]);
	// A later event, another name, and the log of another sandbox, whose events have the same numbers.
	sandbox.agency().contact(bram).declines();
	sandbox.agency().contact(bram, { name: "Beatrix" });
	expect([count("declined"), count("Beatrix"), count("contact:beatrix")]).toEqual([1, 2, 2]);
	const other = createSandbox();
	other.agency().contact(bram, { name: "Bram" }).writes("Hello");
	await createClient({ ...other.connection })
		.agency(other.agency().id)
		.messages.send({ to: bram, body: "Sunday" });
	sandbox.import(other.bug({ keepContent: true }));
	expect([count("saturday"), count("sunday"), count("")]).toEqual([0, 1, 1]);
});

test("a served sandbox answers requests while a search goes through a long log", async () => {
	const sandbox = createSandbox();
	for (let i = 0; i < 20_000; i++)
		await sandbox.request({ method: "GET", path: `/agencies/${sandbox.agency().id}/conversations?search=${i}` });
	const server = await serve(sandbox);
	try {
		const order: string[] = [];
		const searching = fetch(`${server.controlUrl}/search?search=nothing-has-this`, {
			headers: { "x-sandbox-token": server.token },
		}).then(async (response) => {
			const found: Found = await response.json();
			order.push("search");
			return found;
		});
		const headers = { authorization: `Bearer ${server.apiKey}` };
		for (let i = 0; i < 3; i++) await fetch(`${server.baseUrl}/me`, { headers }).then(() => order.push("request"));
		expect(order).toEqual(["request", "request", "request"]);
		expect((await searching).count).toBe(0);
		expect(sandbox.search("nothing-has-this").count).toBe(0);
	} finally {
		await server.close();
	}
});

test("a contact whose name has digits is found by the name, not by a number with these digits", async () => {
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	agency.contact("+447700900122", { name: "Bram" }).writes("Hello");
	agency.contact("+447700900101", { name: "Flat 122" }).writes("Hello");
	for (const to of ["+447700900122", "+447700900101"])
		await sandbox.request({ method: "POST", path: `/agencies/${agency.id}/messages`, body: { to, body: "Hi" } });
	const found = (query: string) =>
		sandbox.search(query).events.flatMap((event) => (event.type === "request" ? [event.contact] : []));
	expect(found('contact:"Flat 122"')).toEqual(["+447700900101"]);
	expect(found("contact:122")).toEqual(["+447700900122"]);
	const server = await serve(sandbox);
	try {
		const list = async (search: string) => {
			const url = `${server.controlUrl}/conversations?contacts=true&search=${encodeURIComponent(search)}`;
			const rows: { phoneNumber: string }[] = await (
				await fetch(url, { headers: { "x-sandbox-token": server.token } })
			).json();
			return rows.map(({ phoneNumber }) => phoneNumber);
		};
		expect(await list("Flat 122")).toEqual(["+447700900101"]);
		expect(await list("0900 122")).toEqual(["+447700900122"]);
		expect(await list("122")).toHaveLength(2);
	} finally {
		await server.close();
	}
});
