// A request waits at a breakpoint until somebody lets it go on, or until its caller gives up.
import { setupServer } from "msw/node";
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../../src/index.ts";
import { createSandbox, type Sandbox } from "../../src/sandbox/index.ts";
import { insideOf } from "../../src/sandbox/inside.ts";
import { handlers } from "../../src/sandbox/msw.ts";
import { serve } from "../../src/sandbox/server.ts";

const anna = "+447700900101";
const bram = "+447700900102";

function play() {
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	const contact = agency.contact(anna, { name: "Anna" });
	contact.writes("Hello");
	const client = createClient({ ...sandbox.connection, retry: false });
	return { sandbox, agency, contact, api: client.agency(agency.id) };
}

const typesOf = (sandbox: Sandbox, after = 0) => sandbox.events({ after }).map(({ type }) => type);

test("a send waits, what happens meanwhile comes first, and then it is carried out", async () => {
	const { sandbox, contact, api } = play();
	const breakpoint = sandbox.breakpoints.add({ operation: "messages.send" });
	const last = sandbox.events().at(-1)?.id;
	const sending = api.messages.send({ to: anna, body: "Thursday?", operationId: "note-1" });
	const held = await sandbox.breakpoints.nextHeld();
	expect(held).toMatchObject({
		breakpointId: breakpoint.id,
		operation: "messages.send",
		method: "POST",
		contact: anna,
		agencyId: sandbox.agency().id,
		body: { to: anna, body: "Thursday?", operationId: "note-1" },
		at: "2026-01-05T09:00:00.000Z",
	});
	expect([breakpoint.hits, breakpoint.remaining]).toEqual([1, 0]);
	expect(sandbox.breakpoints.held().map(({ correlationId }) => correlationId)).toEqual([held.correlationId]);
	expect(() => sandbox.check()).toThrow(/A request still waits at a breakpoint: messages.send/);
	contact.writes("Never mind");
	expect(contact.inbox()).toEqual([]);
	held.resume();
	expect((await sending).queued).toBe(false);
	expect(contact.state().messages.map(({ body }) => body)).toEqual(["Hello", "Never mind", "Thursday?"]);
	expect(typesOf(sandbox, last)).toEqual([
		"request.held",
		"contact.wrote",
		"request.resumed",
		"text.sent",
		"ai.off",
		"request",
	]);
	expect(() => held.resume()).toThrow("does not wait any more");
	expect(sandbox.breakpoints.held()).toEqual([]);
	sandbox.check();
});

test.each([
	["a 503", { effect: { status: 503 } }, "PartnerInternalError", 0, null],
	["a lost answer", { phase: "after", effect: "reset" }, "PartnerConnectionError", 1, "sent"],
	[
		"a gateway's 404",
		{ effect: { kind: "html", status: 404, body: "default backend - 404" } },
		"PartnerGatewayError",
		0,
		null,
	],
] as const)("a request goes on with %s", async (_name, options, tag, texts, outcome) => {
	const { sandbox, contact, api } = play();
	sandbox.breakpoints.add({ contact });
	const sending = api.messages.send({ to: anna, body: "Thursday?" }).result();
	(await sandbox.breakpoints.nextHeld()).resume(options);
	const result = await sending;
	expect(result.ok ? result.data : result.error._tag).toBe(tag);
	expect(contact.inbox()).toHaveLength(texts);
	const request = sandbox.requests().at(-1);
	expect(request?.decision?.outcome ?? null).toBe(outcome);
	expect(request?.explanation).toContain("A fault that you added");
	expect(sandbox.events().at(-1)).toMatchObject({ type: "request", fault: { remaining: 0 } });
	sandbox.check();
});

test("a request can go on late, and meets the faults that wait too", async () => {
	const { sandbox, contact, api } = play();
	sandbox.breakpoints.add({ operation: "messages.send" });
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
	const sending = api.messages.send({ to: anna, body: "Thursday?" }).result();
	(await sandbox.breakpoints.nextHeld()).resume({ effect: { latencyMs: 5 } });
	expect((await sending).ok).toBe(false);
	expect(contact.inbox()).toHaveLength(1);
	sandbox.check();
});

test("only what fits is held: the operation, the contact, the agency, and so often", async () => {
	const { sandbox, agency, api } = play();
	agency.contact(bram, { name: "Bram" }).writes("Hello");
	const other = sandbox.link({ name: "Second" });
	sandbox.breakpoints.add({ contact: "0044 7700 900 101", agencyId: agency.id, times: 2 });
	await api.conversations.list().page();
	await api.messages.send({ to: bram, body: "Hi" });
	await sandbox.request({ method: "GET", path: `/agencies/${other.id}/conversations/%2B447700900101` });
	expect(sandbox.breakpoints.held()).toEqual([]);
	const reading = api.conversations.get(anna);
	const sending = api.messages.send({ to: anna, body: "Hi" });
	await expect
		.poll(() => sandbox.breakpoints.held().map(({ operation }) => operation))
		.toEqual(["conversations.get", "messages.send"]);
	await api.conversations.get(anna);
	for (const held of sandbox.breakpoints.held()) held.resume();
	await Promise.all([reading, sending]);
	expect(sandbox.breakpoints.list()).toMatchObject([{ id: "1", contact: anna, hits: 2, remaining: 0 }]);
});

test("a breakpoint can be taken back, and check names one that held nothing", async () => {
	const { sandbox, api } = play();
	const one = sandbox.breakpoints.add({ operation: "me.get" });
	const two = sandbox.breakpoints.add({ times: Number.POSITIVE_INFINITY });
	expect([one.remaining, two.remaining]).toEqual([1, Number.POSITIVE_INFINITY]);
	expect(() => sandbox.check()).toThrow(/A breakpoint held no request: me.get.\n- A breakpoint held no request: any/);
	sandbox.breakpoints.get(two.id).remove();
	two.remove();
	expect([two.hits, two.remaining]).toEqual([0, 0]);
	await api.conversations.list().page();
	sandbox.breakpoints.clear();
	sandbox.check();
	expect(typesOf(sandbox).filter((type) => type.startsWith("breakpoint"))).toEqual([
		"breakpoint.added",
		"breakpoint.added",
		"breakpoint.removed",
		"breakpoint.removed",
	]);
	expect(() => sandbox.breakpoints.get("9")).toThrow("The sandbox has no breakpoint 9.");
});

test("what is wrong is named, and the request goes on waiting", async () => {
	const { sandbox, api } = play();
	const wrong = (options: object, words: string) => expect(() => sandbox.breakpoints.add(options)).toThrow(words);
	wrong({ operation: "send" }, "breakpoints.add: operation must be");
	wrong({ times: 0 }, "breakpoints.add: times must be a whole number, at least 1, or Infinity");
	wrong({ contact: "nobody" }, "contact must be a phone number");
	wrong({ agencyId: "agy_0" }, "The sandbox has no agency");
	wrong({ phase: "after" }, "It has a field that it does not take: phase");
	expect(sandbox.breakpoints.list()).toEqual([]);
	sandbox.breakpoints.add();
	const listing = api.conversations.list().page();
	const held = await sandbox.breakpoints.nextHeld();
	const refused = (options: object, words: string) => expect(() => held.resume(options)).toThrow(words);
	refused({ effect: "boom" }, "resume: effect must be");
	refused({ phase: "after" }, "resume: phase needs an effect");
	refused({ effect: { kind: "missing-field", field: "x" }, phase: "before" }, 'resume: phase must be "after"');
	refused({ times: 2 }, "It has a field that it does not take: times");
	held.resume();
	await listing;
});

test("a time limit of the caller ends the wait, and nothing was done", async () => {
	const { sandbox, contact, agency } = play();
	sandbox.breakpoints.add({ operation: "messages.send" });
	const api = createClient({ ...sandbox.connection, retry: false, timeoutMs: 50 }).agency(agency.id);
	const result = await api.messages.send({ to: anna, body: "Thursday?" }).result();
	expect(result.ok ? null : result.error._tag).toBe("PartnerTimeoutError");
	await expect.poll(() => sandbox.breakpoints.held()).toEqual([]);
	expect(contact.inbox()).toEqual([]);
	const explanation = "The caller gave up while a breakpoint held the request, so the operation did not run.";
	expect(sandbox.requests().at(-1)).toMatchObject({ status: null, explanation, decision: null });
	expect(sandbox.events().at(-1)).toMatchObject({ type: "request", status: null, explanation });
});

test.each(["reset", "restore", "import"] as const)("%s ends the wait as a lost connection", async (how) => {
	const { sandbox, api } = play();
	const before = sandbox.snapshot();
	const file = sandbox.bug();
	sandbox.breakpoints.add({ times: 2 });
	const sending = api.messages.send({ to: anna, body: "Thursday?" }).result();
	const held = await sandbox.breakpoints.nextHeld();
	if (how === "reset") sandbox.reset();
	else if (how === "restore") sandbox.restore(before);
	else sandbox.import(file);
	const result = await sending;
	expect(result.ok ? null : result.error._tag).toBe("PartnerConnectionError");
	expect(sandbox.breakpoints.held()).toEqual([]);
	expect(sandbox.breakpoints.list()).toEqual([]);
	expect(() => held.resume()).toThrow("does not wait any more");
});

test("over HTTP a request waits, is listed, goes on by a control call, and ends when its caller hangs up", async () => {
	const sandbox = createSandbox();
	const server = await serve(sandbox);
	onTestFinished(() => server.close());
	const control = async (method: string, path: string, body?: object) => {
		const headers = { "x-sandbox-token": server.token };
		const response = await fetch(`${server.controlUrl}/${path}`, {
			method,
			headers,
			body: body ? JSON.stringify(body) : null,
		});
		return response.json();
	};
	const me = (signal: AbortSignal | null = null) =>
		fetch(`${server.baseUrl}/me`, { headers: { authorization: `Bearer ${server.apiKey}` }, signal });
	expect(await control("POST", "breakpoints/add", { operation: "me.get", times: null })).toEqual({
		id: "1",
		hits: 0,
		remaining: null,
	});
	const asking = me();
	await expect.poll(() => control("GET", "held")).toMatchObject([{ operation: "me.get", path: "/me", body: null }]);
	const [held] = await control("GET", "held");
	expect(Object.keys(held)).not.toContain("resume");
	expect(await control("POST", "held/sandbox-ffffffff/resume")).toMatchObject({ _tag: "SandboxBadRequest" });
	expect(await control("POST", `held/${held.correlationId}/resume`, { effect: { status: 503 } })).toBe(null);
	expect((await asking).status).toBe(503);
	const end = new AbortController();
	const given = me(end.signal).catch(() => "gave up");
	await expect.poll(() => control("GET", "held")).toHaveLength(1);
	end.abort();
	expect(await given).toBe("gave up");
	await expect.poll(() => control("GET", "held")).toEqual([]);
	expect(sandbox.requests().at(-1)?.explanation).toContain("The caller gave up");
	expect(await control("GET", "breakpoints")).toMatchObject([{ id: "1", hits: 2, remaining: null }]);
	await control("POST", "breakpoints/1/remove");
	expect(await control("GET", "breakpoints")).toEqual([]);
	await control("POST", "breakpoints/add");
	await control("POST", "breakpoints/clear");
	expect((await me()).status).toBe(200);
});

test("behind msw, by sandbox.request, and with an adapter that knows only waitMs, a request waits too", async () => {
	const sandbox = createSandbox();
	const msw = setupServer(...handlers(sandbox));
	msw.listen();
	onTestFinished(() => msw.close());
	const { baseUrl, apiKey } = sandbox.connection;
	sandbox.breakpoints.add({ times: 3 });
	const next = async () => (await sandbox.breakpoints.nextHeld()).resume();
	const headers = { authorization: `Bearer ${apiKey}` };
	const asked = fetch(`${baseUrl}/me`, { headers });
	await next();
	expect((await asked).status).toBe(200);
	const performed = sandbox.request({ method: "GET", path: "/me" });
	await next();
	expect((await performed).status).toBe(200);
	let reply = insideOf(sandbox).answer({ method: "GET", target: "/me", headers, body: "" });
	const resumed = next();
	while ("waitMs" in reply) {
		await new Promise((resolve) => setTimeout(resolve, 1));
		reply = reply.resume();
	}
	await resumed;
	expect(reply.status).toBe(200);
});
