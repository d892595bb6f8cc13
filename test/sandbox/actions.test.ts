// A control may log several events. All of them are one action, and one goes back to right after the whole of it.
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { createSandbox, type Sandbox, type SandboxEvent, type SandboxOptions } from "../../src/sandbox/index.ts";
import { insideOf } from "../../src/sandbox/inside.ts";
import { serve } from "../../src/sandbox/server.ts";

const anna = "+447700900101";
const bram = "+447700900102";

/** What exists, but for the number of requests: a read changes nothing. */
const stateOf = (sandbox: Sandbox) => {
	const { counters, ...rest } = insideOf(sandbox).world();
	const agencies = rest.agencies.map(({ threads, ...agency }) => ({
		...agency,
		threads: [...threads].sort((a, b) => a.serial - b.serial),
	}));
	const operations = [...rest.operations].sort(([a], [b]) => a.localeCompare(b));
	return { ...rest, agencies, operations, counters: new Map(counters.filter(([kind]) => kind !== "request")) };
};

const newest = (sandbox: Sandbox): number => sandbox.events({ limit: 1 })[0]?.id ?? 0;

/** A world in which each control has as much to do as it can. */
async function eventful(options: SandboxOptions = {}) {
	const sandbox = createSandbox(options);
	const server = await serve(sandbox);
	onTestFinished(() => server.close());
	const agency = sandbox.agency();
	const contact = agency.contact(anna, { name: "Anna" });
	const send = (body: string) => ({
		method: "POST",
		path: `/agencies/${agency.id}/messages`,
		body: { to: anna, body, operationId: body },
	});
	contact.writes("Hello");
	await sandbox.request(send("Hi"));
	agency.startFlow(anna);
	sandbox.clock.advance({ hours: 30 });
	await sandbox.request(send("Would Thursday suit you?"));
	agency.startFlow(anna);
	contact.setReachable(false);
	for (const operation of ["conversations.list", "me.get"] as const) {
		sandbox.faults.add({ operation, effect: { status: 503 } });
		sandbox.breakpoints.add({ operation: "conversations.lookup", agencyId: agency.id });
	}
	const control = async (path: string, body: object = {}): Promise<unknown> => {
		const headers = { "x-sandbox-token": server.token };
		const init = { method: "POST", headers, body: JSON.stringify(body) };
		const response = await fetch(`${server.controlUrl}/${path}`, init);
		return response.json();
	};
	await control("snapshot");
	/** The agency of a second CRM, with which conversations are shared. */
	const other = sandbox.link({ name: "Second" }).id;
	const [list] = sandbox.requests();
	const message = contact
		.state()
		.messages.filter(({ author }) => author === "api")
		.at(-1)?.id;
	/** What each control is asked, by its route. Null: asked below, or it replaces all events. */
	const asked: Readonly<Record<string, readonly [path: string, body?: object] | null>> = {
		"contacts/{phone}": [`contacts/${anna}`, { name: "Anna B." }],
		"contacts/{phone}/writes": [`contacts/${anna}/writes`, { text: "Are you there?" }],
		"contacts/{phone}/taps": [`contacts/${anna}/taps`, { code: "visit_confirm" }],
		"contacts/{phone}/accepts": [`contacts/${anna}/accepts`],
		"contacts/{phone}/declines": [`contacts/${anna}/declines`],
		"contacts/{phone}/reads": [`contacts/${anna}/reads`],
		"contacts/{phone}/setReachable": [`contacts/${anna}/setReachable`, { on: true }],
		"contacts/{phone}/startFlow": [`contacts/${anna}/startFlow`],
		"staff/setAi": ["staff/setAi", { contact: anna, on: true }],
		"staff/sends": ["staff/sends", { contact: anna, text: "This is Tom" }],
		"ai/replies": ["ai/replies", { contact: anna, text: "Of course" }],
		...Object.fromEntries(
			["wait", "complete", "cancel", "fail", "timeout"].map((verb) => [`flows/{id}/${verb}`, [`flows/1/${verb}`]]),
		),
		"flows/{id}/set": ["flows/1/set", { status: "paused" }],
		link: ["link", { name: "Third" }],
		unlink: ["unlink"],
		rename: ["rename", { name: "Other Homes" }],
		"consent/set": ["consent/set", { languages: ["en", "nl"] }],
		"senders/set": ["senders/set", { ids: ["6f9619ff-8b86-4011-b42d-00c04fc964ff"] }],
		storesMedia: ["storesMedia", { on: true }],
		"conversations/{phone}/open": [`conversations/${bram}/open`],
		"conversations/{phone}/visibleAs": [`conversations/${anna}/visibleAs`, { reason: "tagged" }],
		"conversations/{phone}/share": [`conversations/${anna}/share`],
		"conversations/{phone}/shareWith": [`conversations/${anna}/shareWith`, { agency: other }],
		"conversations/{phone}/hide": [`conversations/${anna}/hide`],
		"conversations/{phone}/takeOver": [`conversations/${anna}/takeOver`, { times: 2 }],
		...Object.fromEntries(
			["sent", "delivered", "read", "failed", "undelivered"].map((verb) => [
				`messages/{id}/${verb}`,
				[`messages/${message}/${verb}`],
			]),
		),
		"messages/{id}/set": [`messages/${message}/set`, { status: "paused" }],
		"keys/create": ["keys/create"],
		"keys/{id}/revoke": [`keys/${list?.keyId}/revoke`],
		"keys/{id}/expire": [`keys/${list?.keyId}/expire`],
		"keys/{id}/setScopes": [`keys/${list?.keyId}/setScopes`, { scopes: ["conversations:read"] }],
		"integration/hide": ["integration/hide"],
		"integration/restore": ["integration/restore"],
		"integrations/add": ["integrations/add", { name: "Another CRM" }],
		"clock/advance": ["clock/advance", { days: 4 }],
		"clock/advanceTo": ["clock/advanceTo", { at: "2026-03-01T09:00:00Z" }],
		"faults/add": ["faults/add", { effect: "reset", phase: "after", operation: "messages.send" }],
		"faults/{id}/remove": ["faults/1/remove"],
		"faults/clear": ["faults/clear"],
		"breakpoints/add": ["breakpoints/add", { operation: "conversations.lookup" }],
		"breakpoints/{id}/remove": ["breakpoints/1/remove"],
		"breakpoints/clear": ["breakpoints/clear"],
		"held/{id}/resume": null,
		request: ["request", send("Would Friday suit you?")],
		"requests/{id}/replay": [`requests/${sandbox.requests().at(-1)?.correlationId}/replay`, { operationId: "again" }],
		observed: null,
		snapshot: ["snapshot"],
		restore: ["restore", { snapshot: "1" }],
		"snapshots/{id}/remove": ["snapshots/1/remove"],
		import: null,
		continue: null,
		"history/continueFrom": ["history/continueFrom", { event: newest(sandbox) - 1 }],
		reset: ["reset"],
		loadScenario: ["loadScenario", { scenario: "held" }],
	};
	const routes: { controls: { verb: string; path: string }[] } = await (
		await fetch(server.controlUrl, { headers: { "x-sandbox-token": server.token } })
	).json();
	const posts = routes.controls.filter(({ verb }) => verb === "POST").map(({ path }) => path);
	/** Makes a call, and returns the events that it logged. */
	const act = async (route: string): Promise<readonly SandboxEvent[]> => {
		const before = newest(sandbox);
		const call = asked[route];
		if (call) await control(...call);
		return sandbox.events({ after: before });
	};
	return { sandbox, agency, contact, control, send, asked, posts, act };
}

test("each control is one action, and back at any of its events the world is as it was after the whole of it", async () => {
	const { posts, asked } = await eventful();
	expect(Object.keys(asked).sort()).toEqual([...posts].sort());
	const several = new Set<string>();
	for (const route of posts) {
		const { sandbox, act } = await eventful();
		const logged = await act(route);
		const state = stateOf(sandbox);
		if (logged.length > 1) several.add(route);
		expect(new Set(logged.map(({ action }) => action)).size, route).toBe(logged.length > 0 ? 1 : 0);
		for (const { id, action } of logged) {
			expect(action, route).toBe(logged[0]?.id);
			expect(stateOf(sandbox.history.at(id)), `${route}, event ${id}`).toEqual(state);
		}
	}
	// What logs one event alone shows nothing.
	const must = ["accepts", "declines", "writes", "reads"].map((verb) => `contacts/{phone}/${verb}`);
	expect([...several]).toEqual(
		expect.arrayContaining([...must, "staff/sends", "clock/advance", "faults/clear", "breakpoints/clear"]),
	);
	expect([...several]).toEqual(expect.arrayContaining(["integrations/add", "request"]));
}, 600_000);

test("a text of the AI that fails at once is one action", async () => {
	const { sandbox, agency, contact, control } = await eventful();
	contact.writes("Hello again");
	agency.staff.setAi({ contact, on: true });
	const before = newest(sandbox);
	await control("ai/replies", { contact: anna, text: "Of course" });
	const logged = sandbox.events({ after: before });
	expect(logged.map(({ type, action }) => [type, action])).toEqual([
		["text.sent", before + 1],
		["message.status", before + 1],
	]);
	expect(stateOf(sandbox.history.at(before + 1))).toEqual(stateOf(sandbox));
});

test("one that continues amid a control continues after it, in the world, in the requests and in the events", async () => {
	const { sandbox, contact } = await eventful();
	contact.setReachable(true);
	contact.accepts();
	const state = stateOf(sandbox);
	const [accepted] = sandbox.events({ types: ["consent.accepted"] });
	const last = newest(sandbox);
	contact.writes("A mistake");
	sandbox.history.continueFrom(accepted?.id ?? 0);
	expect(stateOf(sandbox)).toEqual(state);
	expect(contact.inbox().at(-1)?.body).toBe("Would Thursday suit you?");
	expect(contact.state().held).toBe(null);
	expect(sandbox.events({ limit: 1 })).toMatchObject([{ type: "sandbox.restored", lastEventId: last }]);
});

test("a listener's control is an action of its own, also amid the events of another", async () => {
	const { sandbox, contact } = await eventful();
	contact.setReachable(true);
	const states = new Map<number, unknown>();
	sandbox.subscribe((event) => {
		if (event.type !== "consent.accepted") return;
		states.set(newest(sandbox), stateOf(sandbox));
		contact.writes("First");
		states.set(newest(sandbox), stateOf(sandbox));
		sandbox.clock.advance({ hours: 25 });
		states.set(newest(sandbox), stateOf(sandbox));
	});
	contact.accepts();
	expect(states.size).toBe(3);
	const [first = 0] = [...states.keys()];
	for (const { id, action } of sandbox.events({ after: first - 1 })) {
		const end =
			sandbox
				.events()
				.filter((event) => event.action === action)
				.at(-1)?.id ?? 0;
		expect(stateOf(sandbox.history.at(id))).toEqual(states.get(end));
	}
});

test("a scenario that is loaded is one action: no moment shows half of it", async () => {
	const { sandbox, control, agency } = await eventful();
	// A read is the newest event, and it changed nothing.
	await sandbox.request({ method: "GET", path: `/agencies/${agency.id}/conversations/${encodeURIComponent(anna)}` });
	const [event, before] = [newest(sandbox), stateOf(sandbox)];
	await control("loadScenario", { scenario: "held" });
	expect(stateOf(sandbox)).not.toEqual(before);
	expect(stateOf(sandbox.history.at(event))).toEqual(before);
});

test("a request that waits is two actions, and what happens meanwhile is one between them", async () => {
	const { sandbox, contact, send, control } = await eventful();
	sandbox.breakpoints.add({ operation: "messages.send" });
	const sending = sandbox.request(send("Would Friday suit you?"));
	const held = await sandbox.breakpoints.nextHeld();
	const meanwhile = stateOf(sandbox);
	contact.declines();
	const declined = stateOf(sandbox);
	await control(`held/${held.correlationId}/resume`, { phase: "after", effect: "hang" });
	await sending;
	const own = sandbox.events().filter(({ correlationId }) => correlationId === held.correlationId);
	expect(own.map(({ type }) => type)).toEqual(expect.arrayContaining(["request.held", "request.resumed", "request"]));
	const [first] = own;
	expect(stateOf(sandbox.history.at(first?.id ?? 0))).toEqual(meanwhile);
	for (const { id } of sandbox.events({
		types: ["contact.wrote", "consent.declined", "text.dropped"],
		after: first?.id,
	}))
		expect(stateOf(sandbox.history.at(id))).toEqual(declined);
	const ran = own.filter(({ type }) => type === "request" || type === "fault.hit" || type === "text.sent");
	for (const { id } of ran) expect(stateOf(sandbox.history.at(id))).toEqual(stateOf(sandbox));
});

test("a bug file keeps actions: who opens it and goes back amid one sees the whole of it", async () => {
	const { sandbox, contact } = await eventful();
	contact.setReachable(true);
	contact.accepts();
	const [accepted] = sandbox.events({ types: ["consent.accepted"] });
	sandbox.clock.advance({ hours: 1 });
	const opened = createSandbox({ from: JSON.stringify(sandbox.bug({ keepContent: true })) });
	const past = opened.history
		.at(accepted?.id ?? 0)
		.agency()
		.contact(anna);
	expect(past.state().held).toBe(null);
	expect(past.inbox().at(-1)?.body).toBe("Would Thursday suit you?");
});

const without = /^(reset|restore|history|snapshots|import|continue|held|observed|keys|integration\/hide|unlink)/;

test("in any order of controls and under any policy, back and branch gives the world that was recorded then", async () => {
	const { posts } = await eventful();
	const routes = posts.filter((path) => !without.test(path));
	const policy = fc.record({
		inboundFlushesQueue: fc.boolean(),
		templateOnReplace: fc.boolean(),
		declineOpensWindow: fc.boolean(),
	});
	await fc.assert(
		fc.asyncProperty(
			policy,
			fc.array(fc.constantFrom(...routes), { minLength: 2, maxLength: 10 }),
			fc.nat(),
			async (policy, chosen, pick) => {
				const { sandbox, act } = await eventful({ policy });
				const states = new Map<number, ReturnType<typeof stateOf>>();
				for (const route of chosen)
					for (const [{ id }, state] of (await act(route)).map((event) => [event, stateOf(sandbox)] as const))
						states.set(id, state);
				for (const [id, state] of states) expect(stateOf(sandbox.history.at(id)), `event ${id}`).toEqual(state);
				const [id, state] = [...states][pick % Math.max(1, states.size)] ?? [];
				if (id === undefined) return;
				sandbox.history.continueFrom(id);
				expect(stateOf(sandbox)).toEqual(state);
				// The branch is a world like any other.
				await act("contacts/{phone}/accepts");
				const branched = stateOf(sandbox);
				expect(stateOf(sandbox.history.at(newest(sandbox)))).toEqual(branched);
				for (const [id, state] of states) expect(stateOf(sandbox.history.at(id)), `event ${id}`).toEqual(state);
			},
		),
		{ numRuns: 25 },
	);
}, 600_000);
