import { readFileSync } from "node:fs";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { createTransport } from "../../docs/playground/transport.ts";
import { createSandbox } from "../../src/sandbox/index.ts";
import { type SandboxServer, serve } from "../../src/sandbox/server.ts";
import { isRecord } from "./contract.ts";
import { ANNA, after, BRAM, NOW } from "./entry-points.ts";

let sandbox = createSandbox({ now: NOW });
let server: SandboxServer;

beforeEach(async () => {
	sandbox = createSandbox({ now: NOW });
	server = await serve(sandbox, { port: 0 });
});

afterEach(() => server.close());

interface Report {
	readonly status: number;
	readonly result: unknown;
}

async function control(method: "GET" | "POST", path: string, body?: object): Promise<Report> {
	const init: RequestInit = { method, headers: { authorization: `Bearer ${server.token}` } };
	if (body) init.body = JSON.stringify(body);
	const response = await fetch(`${server.controlUrl}/${path}`, init);
	return { status: response.status, result: await response.json() };
}

async function does(path: string, body?: object): Promise<unknown> {
	const { status, result } = await control("POST", path, body);
	expect(status, `${path} ${JSON.stringify(result)}`).toBe(200);
	return result;
}

async function reads(path: string): Promise<unknown> {
	const { status, result } = await control("GET", path);
	expect(status, path).toBe(200);
	return result;
}

async function service(method: string, path: string, body?: object, key = sandbox.connection.apiKey) {
	const init: RequestInit = { method, headers: { authorization: `Bearer ${key}`, "content-type": "application/json" } };
	if (body) init.body = JSON.stringify(body);
	const response = await fetch(server.baseUrl + path, init);
	return { status: response.status, body: await response.json() };
}

const conversations = () => `/agencies/${sandbox.agency().id}/conversations`;
const detail = async (phone = ANNA) =>
	(await service("GET", `${conversations()}/${encodeURIComponent(phone)}`)).body.conversation;
const send = (body: object) => service("POST", `/agencies/${sandbox.agency().id}/messages`, body);

const fieldOf = (value: unknown, name: string) => (isRecord(value) ? value[name] : undefined);

test("ai/replies takes a text, with buttons and lists or without, and nothing else", async () => {
	await does(`contacts/${ANNA}/writes`, { text: "Hello" });
	await does("ai/replies", { contact: ANNA, text: "Hi" });
	const interactiveContent = { listPicker: { items: [{ id: "mon", title: "Monday" }] } };
	await does("ai/replies", { contact: ANNA, text: "When?", interactiveContent });
	await does("ai/replies", { contact: ANNA, text: "When?", templateName: "visit_times", interactiveContent });
	const { messages } = (await service("GET", `${conversations()}/${encodeURIComponent(ANNA)}/messages`)).body;
	expect(messages[0]).toMatchObject({ body: "When?", templateName: "visit_times", interactiveContent });
	expect(messages[1]).toMatchObject({ body: "When?", templateName: null, interactiveContent });
	expect(messages).toHaveLength(4);
	for (const wrong of [
		{},
		{ body: "a" },
		{ text: "a", body: "b" },
		{ text: 5 },
		{ text: "a", interactiveContent: { list: [] } },
	])
		expect((await control("POST", "ai/replies", { contact: ANNA, ...wrong })).status, JSON.stringify(wrong)).toBe(400);
	expect(sandbox.agency().contact(ANNA).state().totalMessages).toBe(4);
});

test("control routes play the contact: writes, taps, accepts, declines, inbox", async () => {
	expect(await does(`contacts/${ANNA}`, { name: "Anna" })).toEqual({ phoneNumber: ANNA, name: "Anna" });
	expect((await send({ to: ANNA, body: "Held" })).body.queued).toBe(true);
	expect(await does(`contacts/${ANNA}/accepts`)).toEqual({ hadHeldText: true });
	expect(await does(`contacts/${encodeURIComponent(ANNA)}/declines`)).toEqual({ hadHeldText: false });
	await does(`contacts/${ANNA}/writes`, { text: "Hello" });
	await does(`contacts/${ANNA}/writes`, { media: [{ url: "https://files.invalid/1.jpg" }] });
	await does(`contacts/${ANNA}/taps`, { code: "visit_tomorrow" });
	const inbox = await reads(`contacts/${ANNA}/inbox`);
	expect(inbox).toEqual(sandbox.agency().contact(ANNA).inbox());
	expect(inbox).toMatchObject([{ kind: "template" }, { kind: "text", body: "Held" }]);
	expect((await detail()).summary).toMatchObject({
		contactName: "Anna",
		totalMessages: 7,
		lastMessageDirection: "inbound",
	});
});

test("control routes play the staff, the AI and the flows", async () => {
	await does(`contacts/${ANNA}/writes`, { text: "Hello" });
	await does("ai/replies", { contact: ANNA, text: "The AI answers" });
	const flow = await does(`contacts/${ANNA}/startFlow`);
	expect(flow).toMatchObject({ status: "active" });
	const id = fieldOf(flow, "id");
	for (const [verb, status] of [
		["wait", "waiting"],
		["complete", "completed"],
		["cancel", "cancelled"],
		["fail", "failed"],
		["timeout", "timeout"],
	]) {
		expect(await does(`flows/${id}/${verb}`)).toEqual({ status });
		expect((await detail()).summary.latestFlowStatus).toBe(status);
	}
	await does(`flows/${id}/set`, { status: "paused" });
	expect((await detail()).summary.latestFlowStatus).toBe("paused");
	await does("staff/sends", { contact: ANNA, text: "This is Tom" });
	expect((await detail()).aiSettings.disabledReason).toBe("manual_send");
	await does("staff/setAi", { contact: ANNA, on: true });
	expect((await detail()).aiSettings.enabled).toBe(true);
	await does("staff/setAi", { contact: ANNA, on: false });
	expect((await control("POST", "ai/replies", { contact: ANNA, text: "No" })).status).toBe(400);
});

test("control routes set the agency: consent, senders, media, name, link", async () => {
	const sender = "11111111-1111-4111-8111-111111111111";
	await does("consent/set", { languages: ["nl", "fr"], defaultLanguage: "fr", answerWithinHours: 2 });
	await does("senders/set", { ids: [sender] });
	expect(await reads("senders")).toEqual([sender]);
	await does("storesMedia", { on: true });
	await does(`contacts/${ANNA}/writes`, { media: [{ url: "https://files.invalid/1.jpg" }] });
	const { body } = await service("GET", `${conversations()}/${encodeURIComponent(ANNA)}/messages`);
	expect(body.messages[0].mediaStored).toHaveLength(1);
	expect((await detail()).windowReopenReadiness).toMatchObject({
		availableLanguages: ["nl", "fr"],
		defaultLanguage: "fr",
	});
	await does("rename", { name: "Renamed" });
	const second = fieldOf(await does("link", { name: "Second" }), "id");
	const agencies = async () => (await service("GET", "/me")).body.agencies.map((each: { name: string }) => each.name);
	expect(await agencies()).toEqual(["Renamed", "Second"]);
	await does(`agencies/${second}/contacts/${BRAM}/writes`, { text: "To the second" });
	expect((await service("GET", `/agencies/${second}/conversations`)).body.conversations).toHaveLength(1);
	await does(`agencies/${second}/unlink`);
	expect(await agencies()).toEqual(["Renamed"]);
	await does(`agencies/${second}/link`);
	expect(await agencies()).toEqual(["Renamed", "Second"]);
	expect(await reads(`agencies/${second}/agency`)).toEqual({ id: second, name: "Second" });
});

test("control routes set a conversation: open, visibleAs, share, hide, takeOver", async () => {
	await does(`conversations/${ANNA}/open`);
	await does(`conversations/${ANNA}/visibleAs`, { reason: "tagged" });
	await does(`conversations/${ANNA}/share`);
	expect((await detail()).summary.visibility).toMatchObject({ reason: "tagged", isShared: true });
	await does(`conversations/${ANNA}/share`, { on: false });
	expect((await detail()).summary.visibility.isShared).toBe(false);
	await does(`conversations/${ANNA}/takeOver`, { times: 2 });
	const statuses = [];
	for (let index = 0; index < 3; index += 1) statuses.push((await send({ to: ANNA, body: "Hi" })).status);
	expect(statuses).toEqual([409, 409, 200]);
	await does(`conversations/${ANNA}/hide`);
	expect((await service("GET", `${conversations()}/${encodeURIComponent(ANNA)}`)).status).toBe(404);
});

test("control routes report on messages, by either id", async () => {
	await does(`contacts/${ANNA}/writes`, { text: "Hello" });
	const sid: string = (await send({ to: ANNA, body: "Hi" })).body.messageId;
	const newest = async () =>
		(await service("GET", `${conversations()}/${encodeURIComponent(ANNA)}/messages?pageSize=1`)).body.messages[0];
	const { id } = await newest();
	for (const verb of ["sent", "delivered", "read", "failed", "undelivered"]) {
		await does(`messages/${verb === "read" ? id : sid}/${verb}`, verb === "failed" ? { errorCode: 63016 } : undefined);
		expect((await newest()).status).toBe(verb);
	}
	await does(`messages/${sid}/set`, { status: "anything", errorCode: 1 });
	expect((await newest()).status).toBe("anything");
	expect((await detail()).summary.failedMessages).toBe(1);
	expect((await control("POST", "messages/SMunknown/sent")).status).toBe(400);
});

test("control routes refuse a report of a contact's own message, and a body that is not UTF-8", async () => {
	const { id } = JSON.parse(JSON.stringify(await does(`contacts/${ANNA}/writes`, { text: "Hello" })));
	expect((await control("POST", `messages/${id}/failed`)).status).toBe(400); // R82
	const init = { method: "POST", headers: { "x-sandbox-token": server.token } };
	for (const [byte, status] of [
		[0x41, 200],
		[0xff, 400],
	] as const) {
		const body = Uint8Array.from([...new TextEncoder().encode('{"name": "'), byte, 0x22, 0x7d]);
		expect((await fetch(`${server.controlUrl}/rename`, { ...init, body })).status).toBe(status);
	}
	expect(sandbox.agency().name).toBe("A");
});

test("control routes rule keys and integrations", async () => {
	const made = await does("keys/create", { scopes: ["conversations:read"] });
	const [id, key] = [String(fieldOf(made, "id")), String(fieldOf(made, "apiKey"))];
	const scopes = async () => (await service("GET", "/me", undefined, key)).body.scopes;
	expect(await scopes()).toEqual(["conversations:read"]);
	await does(`keys/${id}/setScopes`, { scopes: [] });
	expect(await scopes()).toEqual([]);
	await does(`keys/${id}/expire`);
	expect((await service("GET", "/me", undefined, key)).status).toBe(401);
	const second = await does("keys/create");
	await does(`keys/${fieldOf(second, "id")}/revoke`);
	expect((await service("GET", "/me", undefined, String(fieldOf(second, "apiKey")))).status).toBe(401);
	expect(JSON.stringify(await reads("keys"))).toContain(id);
	await does("integration/hide");
	expect((await service("GET", "/me")).status).toBe(404);
	await does("integration/restore");
	expect((await service("GET", "/me")).status).toBe(200);
	const other = await does("integrations/add", { name: "Other CRM" });
	const theirs = (await service("GET", "/me", undefined, String(fieldOf(other, "apiKey")))).body;
	expect(theirs.integration.name).toBe("Other CRM");
});

test("control routes move the clock, forward only", async () => {
	expect(await reads("clock")).toEqual({ now: NOW });
	expect(await does("clock/advance", { hours: 1, minutes: 1, ms: 1 })).toEqual({ now: after(1, 60_001) });
	expect(await does("clock/advanceTo", { at: after(5) })).toEqual({ now: after(5) });
	expect((await control("POST", "clock/advanceTo", { at: NOW })).status).toBe(400);
	expect((await control("POST", "clock/advance", { hours: -1 })).status).toBe(400);
	expect(await reads("clock")).toEqual({ now: after(5) });
});

test("control routes add, count and remove faults", async () => {
	const options = { operation: "me.get", times: 2, phase: "before", effect: { status: 503, retryAfter: 1 } };
	const added = await does("faults/add", options);
	const id = fieldOf(added, "id");
	expect(added).toMatchObject({ hits: 0, remaining: 2 });
	expect((await service("GET", "/me")).status).toBe(503);
	expect(await reads(`faults/${id}`)).toMatchObject({ hits: 1, remaining: 1 });
	expect(await reads("faults")).toHaveLength(1);
	await does(`faults/${id}/remove`);
	expect((await service("GET", "/me")).status).toBe(200);
	await does("faults/add", { ...options, times: null });
	for (let index = 0; index < 3; index += 1) expect((await service("GET", "/me")).status).toBe(503);
	await does("faults/clear");
	expect((await service("GET", "/me")).status).toBe(200);
	expect((await control("POST", "faults/add", { effect: "explode" })).status).toBe(400);
});

test("control routes keep the state: snapshot, restore, bug, import, continue, reset, tell", async () => {
	await does(`contacts/${ANNA}/writes`, { text: "Hello" });
	const rows = async () => (await service("GET", conversations())).body.conversations.length;
	const snapshot = fieldOf(await does("snapshot"), "snapshot");
	const file = Object(await reads("bug?keepContent=true"));
	await does(`contacts/${BRAM}/writes`, { text: "Hello" });
	expect(await rows()).toBe(2);
	await does("restore", { snapshot });
	expect(await rows()).toBe(1);
	await does("reset");
	expect(await rows()).toBe(0);
	await does("import", file);
	await does("continue");
	expect(await rows()).toBe(1);
	await does("loadScenario", { scenario: "held" });
	const { body } = await service("GET", conversations());
	expect(body.conversations.map((row: { queuedMessages: number }) => row.queuedMessages)).toContain(1);
	expect(await reads("violations")).toEqual([]);
	await service("GET", "/nowhere");
	expect(await reads("violations")).toEqual(sandbox.violations());
	expect(await reads("requests")).toEqual(sandbox.requests());
});

test("POST import of a file of GET bug with a later number says to update the package", async () => {
	await does(`contacts/${ANNA}/writes`, { text: "Hello" });
	const before = JSON.stringify(sandbox.snapshot().world);
	const { status, result } = await control("POST", "import", { ...Object(await reads("bug")), version: 2 });
	expect([status, fieldOf(result, "_tag")]).toEqual([400, "SandboxBadRequest"]);
	expect(fieldOf(result, "message")).toMatch(/made by a later version .*\. Update the package in this program/);
	expect(JSON.stringify(sandbox.snapshot().world)).toBe(before);
	expect(await reads("shown")).toEqual({ isReadOnly: false, bug: null });
});

test("no control route gives a key's secret with the world, and none takes a world that is no bug file", async () => {
	expect(await control("GET", "export")).toMatchObject({ status: 404 });
	const { world } = sandbox.snapshot();
	const { status, result } = await control("POST", "import", world);
	expect([status, fieldOf(result, "message")]).toEqual([400, expect.stringMatching(/^import takes format, version, /)]);
	expect(await reads("shown")).toEqual({ isReadOnly: false, bug: null });
	expect(JSON.stringify(sandbox.snapshot().world)).toBe(JSON.stringify(world));
});

test("control routes refuse what they do not know, and change nothing by it", async () => {
	expect(await control("POST", "explode")).toMatchObject({ status: 404, result: { _tag: "SandboxNotFound" } });
	expect(await control("GET", "reset")).toMatchObject({ status: 404 });
	expect(await control("POST", "agencies/agy_0/unlink")).toMatchObject({ status: 400 });
	expect(await control("POST", "contacts/abc/writes", { text: "Hello" })).toMatchObject({ status: 400 });
	expect(await control("POST", `contacts/${ANNA}/writes`, { text: 1 })).toMatchObject({ status: 400 });
	expect(await control("POST", "staff/setAi", { contact: ANNA, on: "yes" })).toMatchObject({ status: 400 });
	expect(await control("POST", "consent/set", { languages: "nl" })).toMatchObject({ status: 400 });
	expect(await control("POST", `conversations/${ANNA}/visibleAs`, { reason: "any" })).toMatchObject({ status: 400 });
	expect(await control("POST", "keys/create", { scopes: ["everything"] })).toMatchObject({ status: 400 });
	expect(await control("POST", "constructor", {})).toMatchObject({ status: 404 });
	for (const [path, body, named] of [
		["clock/advance", { weeks: 1 }, "weeks"],
		["clock/advance", { hours: "1" }, "hours"],
		["clock/advanceTo", { to: after(1) }, "to"],
		["faults/add", { op: "me.get", phase: "before", effect: "reset" }, "op"],
		["faults/add", { operation: "me", effect: "reset" }, "operation"],
		["reset", { now: NOW }, "now"],
		["link", { title: "Second" }, "title"],
		["link", { storesMedia: true }, "name"],
		["import", { agencies: [{}] }, "agencies"],
		["import", { format: "messaging-conversations-sandbox", version: 1 }, "this is not a bug file"],
		[`contacts/${ANNA}/writes`, { text: "Hello", medias: [] }, "medias"],
		[`conversations/${ANNA}/takeOver`, { times: "2" }, "times"],
	] as const) {
		const { status, result } = await control("POST", path, body);
		expect([status, fieldOf(result, "_tag")], path).toEqual([400, "SandboxBadRequest"]);
		expect(fieldOf(result, "message"), path).toContain(named);
	}
	expect((await service("GET", conversations())).body.conversations).toEqual([]);
	expect((await service("GET", "/me")).body.agencies).toHaveLength(1);
	expect(sandbox.keys.list()).toHaveLength(1);
	expect(sandbox.faults.unused()).toEqual([]);
	expect(await reads("clock")).toEqual({ now: NOW });
});

test("control routes name the field that is not what it must be, each field of each, and change nothing by it", async () => {
	sandbox.agency().contact(ANNA).writes("Hello");
	const { id } = sandbox.agency().ai.replies({ contact: ANNA, text: "Hi" });
	await does(`contacts/${ANNA}/startFlow`);
	await does("snapshot");
	await does("breakpoints/add", { operation: "me.get" });
	const waiting = service("GET", "/me");
	const held = await sandbox.breakpoints.nextHeld();
	const before = JSON.stringify(sandbox.snapshot().world);
	const good = {
		name: "A",
		text: "A",
		contact: ANNA,
		on: true,
		status: "odd",
		effect: "reset",
		method: "GET",
		path: "/me",
		source: "process-1",
		outboxes: 0,
		unreadable: 0,
		texts: [],
		polls: [],
	};
	const { controls } = Object(await reads(""));
	let fields = 0;
	for (const { verb, path, takes } of controls) {
		const placed = path.startsWith("messages")
			? id
			: path.startsWith("flows")
				? 1
				: path.startsWith("held")
					? held.correlationId
					: ANNA;
		const target = path.replace("keys/{id}", `keys/${sandbox.keys.list()[0]?.id}`).replace(/\{\w+\}/, placed);
		for (const field of takes) {
			if (path === "import") continue; // it is checked as a whole
			if (field === "search") continue; // any text can be searched for
			if (path === "request" && field === "body") continue; // any value can be a body
			fields += 1;
			const rest = Object.fromEntries(Object.entries(good).filter(([name]) => takes.includes(name)));
			const { status, result } = await (verb === "GET"
				? control(verb, `${target}?${field}=odd`) // fetch sends no body with it
				: control(verb, target, { ...rest, [field]: { odd: 1 } }));
			expect([status, fieldOf(result, "_tag")], `${path} ${field}`).toEqual([400, "SandboxBadRequest"]);
			expect(fieldOf(result, "message"), path).toContain(field);
			expect(JSON.stringify(sandbox.snapshot().world), `${path} ${field}`).toBe(before);
		}
		if (verb === "GET") continue;
		const { status, result } = await control(verb, target, { unheard: 1 });
		expect([status, fieldOf(result, "message")], path).toEqual([
			400,
			expect.stringContaining("does not take: unheard"),
		]);
	}
	expect(fields).toBeGreaterThan(30);
	held.resume();
	await waiting;
});

test("a body without fields links the agency that the path names, and makes none", async () => {
	const { id } = sandbox.agency();
	await does(`agencies/${id}/unlink`);
	expect((await service("GET", "/me")).body.agencies).toEqual([]);
	await does(`agencies/${id}/link`);
	expect((await service("GET", "/me")).body.agencies).toHaveLength(1);
	const second = await does("link", { name: null, storesMedia: true, consent: { languages: ["nl", "fr"] } });
	expect(second).toEqual({ id: expect.stringMatching(/^agy_/), name: null });
	await does(`agencies/${fieldOf(second, "id")}/contacts/${ANNA}/writes`, { text: "Hello" });
	const path = `/agencies/${fieldOf(second, "id")}/conversations/${encodeURIComponent(ANNA)}`;
	const { conversation } = (await service("GET", path)).body;
	expect(conversation.windowReopenReadiness.availableLanguages).toEqual(["nl", "fr"]);
});

test("ids of what was made are strings, and a fault taken back has nothing left", async () => {
	expect(await does(`contacts/${ANNA}/startFlow`)).toEqual({ id: "1", status: "active" });
	expect(await does("faults/add", { times: 2, effect: "reset" })).toEqual({ id: "1", hits: 0, remaining: 2 });
	await does("faults/1/remove");
	expect(await reads("faults/1")).toEqual({ id: "1", hits: 0, remaining: 0 });
	expect(await does("faults/add", { times: null, effect: "reset" })).toEqual({ id: "2", hits: 0, remaining: null });
	expect(await does("snapshot")).toEqual({ snapshot: "1" });
});

test("snapshots are listed with their names, and outlive a reset", async () => {
	expect(await reads("snapshots")).toEqual([]);
	await does("snapshot", { name: "Before the send" });
	await does("clock/advance", { hours: 1 });
	await does("snapshot");
	await does("reset");
	expect(await reads("snapshots")).toEqual([
		{ snapshot: "1", name: "Before the send", at: NOW },
		{ snapshot: "2", name: null, at: after(1) },
	]);
	await does("restore", { snapshot: "2" });
	expect(await reads("clock")).toEqual({ now: after(1) });
	expect((await control("POST", "restore", { snapshot: "3" })).status).toBe(400);
});

test("the page of controls names every control and every field that it takes, and no other", async () => {
	const headers = { "x-sandbox-token": server.token };
	const { controls } = await (await fetch(server.controlUrl, { headers })).json();
	const known = controls.map((each: { verb: string; path: string; takes: string[] }) =>
		[each.verb, each.path, ...each.takes.sort()].join(" "),
	);
	const guide = readFileSync(new URL("../../docs/sandbox-routes.md", import.meta.url), "utf8");
	const documented = [...guide.matchAll(/^\| `(GET|POST) ([^`]+)` +\| ([^|]*)\|/gm)].map(([, verb, path, body = ""]) =>
		[verb, path, ...[...body.matchAll(/`(\w+)`/g)].map((match) => match[1]).sort()].join(" "),
	);
	expect(documented.sort()).toEqual(known.sort());
	expect(known.length).toBeGreaterThan(50);
});

test("a CRM that was added gets agencies and keys of its own over HTTP", async () => {
	const other = await does("integrations/add", { name: "Other CRM" });
	const [id, key] = [fieldOf(other, "id"), String(fieldOf(other, "apiKey"))];
	const theirs = fieldOf(await does(`integrations/${id}/link`, { name: "Theirs" }), "id");
	expect((await service("GET", "/me", undefined, key)).body.agencies).toEqual([{ id: theirs, name: "Theirs" }]);
	expect((await service("GET", "/me")).body.agencies).toHaveLength(1);
	await does(`agencies/${theirs}/contacts/${ANNA}/writes`, { text: "Hello" });
	expect((await service("GET", `/agencies/${theirs}/conversations`, undefined, key)).body.conversations).toHaveLength(
		1,
	);
	const made = await does(`integrations/${id}/keys/create`, { scopes: [] });
	expect(await reads(`integrations/${id}/keys`)).toHaveLength(2);
	expect(await reads("keys")).toHaveLength(1);
	await does(`integrations/${id}/keys/${fieldOf(made, "id")}/revoke`);
	await does(`integrations/${id}/integration/hide`);
	expect((await service("GET", "/me", undefined, key)).status).toBe(404);
	expect((await service("GET", "/me")).status).toBe(200);
	expect(await reads("integrations")).toMatchObject([{ hidden: false }, { id, hidden: true, apiKey: key }]);
	expect((await control("POST", "integrations/none/link", { name: "B" })).status).toBe(400);
});

test("what faults lists can be removed, and no handle outlives a reset or an import", async () => {
	await does("faults/add", { effect: "reset" });
	const [listed] = Object(await reads("faults"));
	expect(listed).toMatchObject({ id: "1", phase: "before", remaining: 1 });
	await does(`faults/${listed.id}/remove`);
	expect(await reads("faults")).toEqual([]);
	await does("faults/add", { effect: "reset" });
	const flow = fieldOf(await does(`contacts/${ANNA}/startFlow`), "id");
	const file = Object(await reads("bug"));
	await does("reset");
	expect((await control("GET", "faults/2")).status).toBe(400);
	expect((await control("POST", `flows/${flow}/wait`)).status).toBe(400);
	await does("import", file);
	await does("continue");
	expect(await reads("faults/2")).toEqual({ id: "2", hits: 0, remaining: 1 });
	expect(await does(`flows/${flow}/wait`)).toEqual({ status: "waiting" });
});

test("reading a contact of whom nothing is known makes none, and shifts no later id", async () => {
	const before = sandbox.snapshot().world;
	expect(await reads(`contacts/${ANNA}/inbox`)).toEqual([]);
	expect(await reads(`contacts/${ANNA}`)).toMatchObject({ exists: false, messages: [] });
	expect(await reads(`conversations/${ANNA}`)).toMatchObject({ exists: false });
	expect(await reads("contacts")).toEqual([]);
	expect(sandbox.snapshot().world).toEqual(before);
});

test("a clock control without arguments does not move the clock, and says what it needs", async () => {
	expect(await control("POST", "clock/advance")).toMatchObject({
		status: 400,
		result: { message: "clock.advance must have days, hours, minutes or ms." },
	});
	expect(await control("POST", "clock/advance", {})).toMatchObject({ status: 400 });
});

test("a refusal says how to go further: an unknown scenario, a body that is not JSON, an unknown control", async () => {
	const messageOf = async (path: string, body?: object) =>
		fieldOf((await control("POST", path, body)).result, "message");
	expect(await messageOf("loadScenario", { scenario: "quiet" })).toMatch(
		/no scenario "quiet"; there are fresh, busy, closed/,
	);
	expect(await messageOf("explode")).toMatch(/no control POST \/explode\. GET \/_sandbox lists all/);
	const init = { method: "POST", headers: { "x-sandbox-token": server.token }, body: "{" };
	const broken = await fetch(`${server.controlUrl}/rename`, init);
	expect(await broken.json()).toMatchObject({ message: "The request body is not JSON." });
});

test("a file in another encoding is refused with the way out, and a byte order mark is none of its text", async () => {
	const file = JSON.stringify(createSandbox({ scenario: "held" }).bug({ keepContent: true }));
	const sends = async (body: Uint8Array<ArrayBuffer>) => {
		const headers = { authorization: `Bearer ${server.token}` };
		const response = await fetch(`${server.controlUrl}/import`, { method: "POST", headers, body });
		return { status: response.status, result: await response.json() };
	};
	const utf16 = "The request body is in UTF-16. Save it as UTF-8.";
	for (const [bytes, message] of [
		[Buffer.from(`\ufeff${file}`, "utf16le"), utf16],
		[Buffer.from(file, "utf16le"), utf16],
		[Buffer.from(file.replace("Anna", "Anaïs"), "latin1"), "The request body is not in UTF-8. Save it as UTF-8."],
	] as const)
		expect(await sends(bytes)).toEqual({ status: 400, result: { _tag: "SandboxBadRequest", message } });
	expect(await sends(Buffer.from(`\ufeff${file}`))).toEqual({ status: 200, result: null });
	expect(sandbox.agency().contact(ANNA).state().held).not.toBe(null);
});

test("of a revoked key and a good one, programs are given the good one", async () => {
	const first = sandbox.connection.apiKey;
	sandbox.keys.revoke(first);
	expect(await reads("connection")).toMatchObject({ apiKey: first });
	const { apiKey } = sandbox.keys.create();
	sandbox.keys.create();
	expect(await reads("connection")).toMatchObject({ apiKey });
	expect(await reads("integrations")).toMatchObject([{ apiKey }]);
	expect(sandbox.integration.apiKey).toBe(apiKey);
});

test("control routes read everything that a page shows", async () => {
	await does(`contacts/${ANNA}`, { name: "Anna" });
	await does(`contacts/${ANNA}/writes`, { text: "Hello" });
	await send({ to: BRAM, body: "Held" });
	const agency = sandbox.agency();
	expect(await reads("connection")).toEqual({
		baseUrl: server.baseUrl,
		apiKey: sandbox.connection.apiKey,
		agencyId: agency.id,
	});
	expect(await reads("agencies")).toEqual([agency.state()]);
	expect(await reads("contacts")).toEqual([
		{ phoneNumber: ANNA, name: "Anna" },
		{ phoneNumber: BRAM, name: null },
	]);
	expect(await reads("conversations")).toEqual(agency.conversations());
	expect(await reads(`conversations/${BRAM}`)).toEqual(agency.conversation(BRAM).state());
	expect(await reads(`contacts/${BRAM}`)).toMatchObject({ held: { body: "Held" } });
	expect(await reads("policy")).toEqual(sandbox.policy);
	expect(await reads("scenarios")).toContain("busy");
	expect(await reads("check")).toEqual({ ok: true, message: null });
	await service("GET", "/nowhere");
	expect(await reads("check")).toEqual({ ok: false, message: expect.stringContaining("R12") });
	await does(`contacts/${BRAM}/setReachable`, { on: false });
	await does(`contacts/${ANNA}/reads`);
	expect(agency.contact(BRAM).state().reachable).toBe(false);
	const second = fieldOf(await does("link", { name: "Second" }), "id");
	await does(`conversations/${ANNA}/shareWith`, { agency: second, reason: "unknown" });
	expect(await reads(`agencies/${second}/conversations`)).toMatchObject([{ phoneNumber: ANNA }]);
});

test("conversations are listed page by page, by a search, and by their numbers", async () => {
	const agency = sandbox.agency();
	for (let i = 0; i < 5; i++) agency.contact(`+44770090020${i}`, { name: `Person ${i}` }).writes("Hello");
	agency.contact(BRAM, { name: "Bram" });
	const numbers = async (query: string): Promise<unknown[]> => {
		const rows: unknown = await reads(`conversations?${query}`);
		return Array.isArray(rows) ? rows.map((row) => fieldOf(row, "phoneNumber")) : [];
	};
	expect(await numbers("limit=2")).toEqual(["+447700900204", "+447700900203"]);
	expect(await numbers("offset=4&limit=2")).toEqual(["+447700900200"]);
	expect(await numbers("contacts=true&offset=4&limit=2")).toEqual(["+447700900200", BRAM]);
	expect(await numbers("search=PERSON%203")).toEqual(["+447700900203"]);
	expect(await numbers("search=07700%20900202")).toEqual(["+447700900202"]);
	expect(await numbers("search=bram")).toEqual([]);
	expect(await numbers("contacts=true&search=bram")).toEqual([BRAM]);
	expect(await reads("conversations?phones=%2B447700900203")).toEqual([
		agency.conversations().find(({ name }) => name === "Person 3"),
	]);
	expect(await reads(`conversations?phones=${encodeURIComponent(`${ANNA},${BRAM}`)}`)).toMatchObject([
		{ phoneNumber: ANNA, name: null, exists: false },
		{ phoneNumber: BRAM, name: "Bram", exists: false },
	]);
	expect(agency.contacts()).toHaveLength(6);
});

test("a conversation is read with some of its messages", async () => {
	const anna = sandbox.agency().contact(ANNA);
	const ids = ["one", "two", "three", "four", "five"].map((text) => anna.writes(text).id);
	const bodies = async (query: string): Promise<unknown[]> => {
		const { messages, totalMessages } = Object(await reads(`conversations/${ANNA}?${query}`));
		expect(totalMessages).toBe(5);
		return messages.map((message: { body: string }) => message.body);
	};
	expect(await bodies("limit=2")).toEqual(["four", "five"]);
	expect(await bodies(`limit=2&before=${ids[3]}`)).toEqual(["two", "three"]);
	expect(await bodies(`before=${ids[0]}`)).toEqual([]);
	expect(await bodies(`messages=${ids[0]},${ids[3]}`)).toEqual(["one", "four"]);
	expect(await bodies("limit=0")).toEqual([]);
});

test("events are read page by page, and without long answers", async () => {
	await does(`contacts/${ANNA}/writes`, { text: "Hello" });
	await service("GET", conversations());
	await service("GET", "/nowhere");
	const all: unknown = JSON.parse(JSON.stringify(sandbox.events()));
	const events = Array.isArray(all) ? all : [];
	expect(await reads("events?limit=2")).toEqual(events.slice(-2));
	expect(await reads("events?before=3&limit=1")).toEqual([events[1]]);
	expect(await reads("events?after=1&limit=2")).toEqual(events.slice(1, 3));
	expect(await reads("events?after=1&before=3&limit=2")).toEqual([events[1]]);
	expect(await reads("events?limit=0")).toEqual([]);
	await send({ to: BRAM, body: "Hi" });
	const ofBram = JSON.parse(JSON.stringify(sandbox.events())).filter(
		(event: { contact?: string }) => event.contact === BRAM,
	);
	expect(ofBram.map(({ type }: { type: string }) => type)).toEqual(["consent.asked", "text.held", "ai.off", "request"]);
	expect(await reads(`events?contact=${encodeURIComponent(BRAM)}`)).toEqual(ofBram);
	expect(await reads(`events?types=consent.asked,request&after=3&contact=${encodeURIComponent(BRAM)}&limit=1`)).toEqual(
		[ofBram[0]],
	);
	const brief = events.map((event) => (event.status === 200 ? { ...event, answer: null } : event));
	expect(await reads(`events?brief=true&before=${ofBram[0].id}`)).toEqual(brief);
	expect(brief).not.toEqual(events);
	expect(brief.at(-1).answer).toMatchObject({ message: expect.any(String) });
});

test("events are read over HTTP, from the start and after a number", async () => {
	await does(`contacts/${ANNA}/writes`, { text: "Hello" });
	await send({ to: ANNA, body: "Hi" });
	expect(await reads("events")).toEqual(JSON.parse(JSON.stringify(sandbox.events())));
	expect(await reads("events?after=2")).toEqual(JSON.parse(JSON.stringify(sandbox.events({ after: 2 }))));
	expect((await control("GET", "events?after=x")).status).toBe(400);
});

/** Reads a stream of events until `until` of them came. */
async function streamed(query: string, until: number, headers: Record<string, string> = {}): Promise<unknown[]> {
	const controller = new AbortController();
	const init = { headers: { "x-sandbox-token": server.token, accept: "text/event-stream", ...headers } };
	const response = await fetch(`${server.controlUrl}/events${query}`, { ...init, signal: controller.signal });
	expect(response.headers.get("content-type")).toBe("text/event-stream");
	let text = "";
	const events = () => [...text.matchAll(/^id: (\d+)\ndata: (.*)\n\n/gm)];
	const reader = response.body?.getReader();
	while (events().length < until) text += new TextDecoder().decode((await reader?.read())?.value);
	controller.abort();
	for (const [, id, data = ""] of events()) expect(JSON.parse(data).id).toBe(Number(id));
	return events().map(([, , data = ""]) => JSON.parse(data));
}

test("events are streamed as they happen, and a reader resumes after the last number", async () => {
	await does(`contacts/${ANNA}/writes`, { text: "Hello" });
	const reading = streamed("", 5);
	await new Promise((resolve) => setTimeout(resolve, 50));
	await send({ to: ANNA, body: "Hi" });
	const events = JSON.parse(JSON.stringify(sandbox.events()));
	expect(events).toHaveLength(5);
	expect(await reading).toEqual(events);
	expect(await streamed("?after=3", 2)).toEqual(events.slice(3));
	expect(await streamed("?after=1", 1, { "last-event-id": "4" })).toEqual(events.slice(4));
	const init = { headers: { accept: "text/event-stream" } };
	expect((await fetch(`${server.controlUrl}/events`, init)).status).toBe(401);
});

test("a reader that resumes after a number of an earlier sandbox gets every event of this one", async () => {
	sandbox.agency().contact(ANNA).writes("Hello");
	const events = sandbox.events();
	const [newest] = sandbox.events({ limit: 1 });
	for (const beyond of [500, (newest?.id ?? 0) + 1])
		expect(await streamed("", events.length, { "last-event-id": String(beyond) })).toEqual(events);
	const reading = streamed(`?after=${newest?.id}`, 1);
	await new Promise((resolve) => setTimeout(resolve, 50));
	sandbox.agency().contact(ANNA).writes("Again");
	expect(await reading).toEqual(sandbox.events().slice(-1));
});

test("a stream reports a running clock once a second, and leaves out long answers if asked to", async () => {
	const reading = streamed("?brief=true", 4);
	await new Promise((resolve) => setTimeout(resolve, 50));
	for (let i = 0; i < 50; i++) sandbox.clock.advance({ ms: 100 });
	await service("GET", conversations());
	await service("GET", "/nowhere");
	expect(await reading).toMatchObject([
		{ type: "clock.moved", to: after(0, 5_000) },
		{ type: "request", status: 200, answer: null },
		{ type: "violation" },
		{ type: "request", status: 501, answer: { message: expect.any(String) } },
	]);
	const step = streamed(`?after=${sandbox.events().at(-1)?.id}`, 1);
	await new Promise((resolve) => setTimeout(resolve, 50));
	sandbox.clock.advance({ ms: 100 });
	expect(await step).toMatchObject([{ type: "clock.moved", to: after(0, 5_100) }]);
});

test.each([
	"events?types=request",
	"events?brief=true&after=0&types=request",
	`events?types=request&contact=${encodeURIComponent(ANNA)}&limit=5000`,
	`events?contact=${encodeURIComponent(BRAM)}`,
])("requests are answered while GET %s goes through a long log, which has nothing of them", async (path) => {
	const send = { method: "POST", path: `/agencies/${server.agencyId}/messages`, body: { to: ANNA, body: "Hello" } };
	for (let sent = 0; sent < 3_000; sent += 1) await sandbox.request(send);
	const before = path.includes(encodeURIComponent(BRAM)) ? 0 : 3_000;
	// Two parts of the work take longer than requests may wait.
	const { performance } = globalThis;
	let now = performance.now();
	vi.stubGlobal("performance", { now: () => (now += 5) });
	onTestFinished(() => void vi.unstubAllGlobals());
	let hasBegun = false;
	const reading = fetch(`${server.controlUrl}/${path}`, { headers: { "x-sandbox-token": server.token } }).finally(
		() => (hasBegun = true),
	);
	let answered = 0;
	while (!hasBegun) {
		const response = await fetch(`${server.baseUrl}/me`, { headers: { authorization: `Bearer ${server.apiKey}` } });
		await response.text();
		answered++;
	}
	expect(answered).toBeGreaterThan(3);
	const { length } = await (await reading).json();
	// One of them may have come before.
	expect(length - before).toBeOneOf([0, 1]);
});

test.each([
	["GET", "events"],
	["GET", "events?limit=1&brief=true"],
	["GET", "requests"],
	["GET", "bug"],
] as const)("the playground answers %s %s as the server does", async (method, path) => {
	sandbox.agency().contact(ANNA).writes("Hello");
	await fetch(`${server.baseUrl}/me`, { headers: { authorization: `Bearer ${server.apiKey}` } });
	const answered = await createTransport(sandbox)(`/_sandbox/${path}`, { method });
	const [own, { status, result }] = [await answered.json(), await control(method, path)];
	// Each file says when it was taken.
	const taken = isRecord(own) && isRecord(result) ? { takenAt: own.takenAt } : {};
	expect([answered.status, own]).toEqual([status, isRecord(result) ? { ...result, ...taken } : result]);
	expect(JSON.stringify(own)).not.toMatch(/^(\[\]|\{\})$/);
});
