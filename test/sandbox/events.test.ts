import { expect, test, vi } from "vitest";
import { createSandbox, type SandboxEvent } from "../../src/sandbox/index.ts";
import { ANNA, after, type Box, BRAM, call, me, NOW, present, send, throughEachEntryPoint } from "./entry-points.ts";

const typesOf = (events: readonly SandboxEvent[]) => events.map(({ type }) => type);
const of = <Type extends SandboxEvent["type"]>(events: readonly SandboxEvent[], type: Type) =>
	events.filter((event): event is Extract<SandboxEvent, { type: Type }> => event.type === type);

/** What happened since `act` began. */
async function during(box: Box, act: () => unknown): Promise<SandboxEvent[]> {
	const last = box.sandbox.events().at(-1)?.id ?? 0;
	await act();
	return box.sandbox.events({ after: last });
}

throughEachEntryPoint((open) => {
	test("events tell where the text had waited that a retry lets out, and the agency of a path that is encoded", async () => {
		const box = await open();
		const text = { to: ANNA, body: "Hi", operationId: "a" };
		const { queueId } = (await send(box, text)).ok();
		box.agency.contact(ANNA).writes("Hello");
		const events = await during(box, () => send(box, text));
		expect(of(events, "text.sent")).toMatchObject([{ queueId, operationId: "a" }]);
		const retried = await during(box, () => send(box, text));
		expect(of(retried, "text.sent")).toEqual([]);
		const path = `/agencies/${box.agency.id.replace("_", "%5F")}/conversations`;
		expect(await during(box, () => call(box, "GET", path))).toMatchObject([{ status: 200, agencyId: box.agency.id }]);
	});

	test("events tell of a text in the open window, and of what it did to the AI and to flows", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA, { name: "Anna" });
		anna.writes("Hello");
		const flow = box.agency.startFlow(anna);
		const events = await during(box, () => send(box, { to: ANNA, body: "Hi", operationId: "a" }));
		expect(typesOf(events)).toEqual(["text.sent", "ai.off", "flow.changed", "request"]);
		const [sent, off, changed, request] = events;
		const anna_ = { agencyId: box.agency.id, contact: ANNA, name: "Anna", at: after(0) };
		expect(sent).toMatchObject({ ...anna_, body: "Hi", operationId: "a", author: "api", queueId: null });
		expect(off).toMatchObject({ ...anna_, reason: "manual_send" });
		expect(changed).toMatchObject({ ...anna_, flowId: flow.id, status: "cancelled" });
		expect(request).toMatchObject({
			operation: "messages.send",
			method: "POST",
			agencyId: box.agency.id,
			contact: ANNA,
			status: 200,
			body: { to: ANNA, body: "Hi" },
			answer: { success: true, queued: false },
			fault: null,
		});
		const ids = new Set(events.map(({ correlationId }) => correlationId));
		expect([...ids]).toEqual([box.sandbox.requests().at(-1)?.correlationId]);
	});

	test("events tell that a second text replaced the first, which is never sent", async () => {
		const box = await open();
		await send(box, { to: ANNA, body: "Thursday?", operationId: "a" });
		box.sandbox.clock.advance({ hours: 1 });
		const events = await during(box, () => send(box, { to: ANNA, body: "Friday?", operationId: "b" }));
		expect(typesOf(events)).toEqual(["text.replaced", "request"]);
		expect(events[0]).toMatchObject({
			contact: ANNA,
			replaced: { body: "Thursday?", operationId: "a", heldAt: NOW },
			body: "Friday?",
			operationId: "b",
			held: true,
			expiresAt: after(48),
		});
		const accepted = await during(box, () => box.agency.contact(ANNA).accepts());
		expect(typesOf(accepted)).toEqual(["contact.wrote", "window.opened", "consent.accepted", "text.sent"]);
		expect(of(accepted, "text.sent")[0]).toMatchObject({
			body: "Friday?",
			queueId: present(of(events, "text.replaced")[0]).queueId,
		});
	});

	test("events tell that a text in the open window replaced a held one", async () => {
		const box = await open();
		await send(box, { to: ANNA, body: "Held" });
		box.agency.contact(ANNA).writes("Hello");
		const events = await during(box, () => send(box, { to: ANNA, body: "Now" }));
		expect(typesOf(events)).toEqual(["text.replaced", "text.sent", "request"]);
		expect(events[0]).toMatchObject({ replaced: { body: "Held" }, body: "Now", held: false, expiresAt: null });
	});

	test("events tell of consent that is asked, declined and not answered, and of the text that is dropped", async () => {
		const box = await open();
		const asked = await during(box, () => send(box, { to: ANNA, body: "One" }));
		expect(typesOf(asked)).toEqual(["consent.asked", "text.held", "ai.off", "request"]);
		expect(asked[0]).toMatchObject({ templateCode: "window_reopen_consent", language: "en" });
		expect(asked[1]).toMatchObject({ body: "One", expiresAt: after(48), author: "api" });
		const declined = await during(box, () => box.agency.contact(ANNA).declines());
		expect(typesOf(declined)).toEqual(["contact.wrote", "window.opened", "consent.declined", "text.dropped"]);
		expect(declined.at(-1)).toMatchObject({ body: "One", reason: "declined", heldAt: NOW });
		await send(box, { to: BRAM, body: "Two" });
		const expired = await during(box, () => box.sandbox.clock.advance({ hours: 50 }));
		expect(typesOf(expired)).toEqual(["window.closed", "text.dropped", "clock.moved"]);
		expect(expired[0]).toMatchObject({ contact: ANNA, at: after(24) });
		expect(expired[1]).toMatchObject({ contact: BRAM, body: "Two", reason: "expired", at: after(48) });
		expect(expired[2]).toMatchObject({ from: NOW, to: after(50) });
	});

	test("events tell of the AI that comes back, of staff, flows, statuses and readers", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		const said = await during(box, () => box.agency.staff.sends({ contact: anna, text: "This is Tom" }));
		expect(said[0]).toMatchObject({ type: "text.sent", author: "staff" });
		const { messageSid } = present(of(said, "text.sent")[0]);
		const reported = await during(box, () => {
			box.sandbox.message(messageSid).failed({ errorCode: 63016 });
			box.agency.staff.setAi({ contact: anna, on: true });
			box.agency.staff.setAi({ contact: anna, on: true });
			box.agency.ai.replies({ contact: anna, text: "Hello!" });
			box.agency.startFlow(anna).complete();
			box.agency.staff.setAi({ contact: anna, on: false });
			anna.reads();
		});
		expect(typesOf(reported)).toEqual([
			"message.status",
			"ai.on",
			"text.sent",
			"flow.started",
			"flow.changed",
			"ai.off",
			"message.status",
			"contact.read",
		]);
		expect(reported[0]).toMatchObject({ messageSid, status: "failed", errorCode: 63016 });
		expect(reported[2]).toMatchObject({ author: "ai" });
		expect(reported[5]).toMatchObject({ reason: "user_toggle" });
		expect(reported[7]).toMatchObject({ messages: 1 });
	});

	test("events tell of a request that a fault hit, and of what it did all the same", async () => {
		const box = await open();
		const fault = box.sandbox.faults.add({ operation: "messages.send", phase: "after", effect: { status: 503 } });
		const events = await during(box, () => send(box, { to: ANNA, body: "Hi" }, { check: "broken" }));
		expect(typesOf(events)).toEqual(["consent.asked", "text.held", "ai.off", "fault.hit", "request"]);
		expect(events[3]).toMatchObject({
			operation: "messages.send",
			fault: { id: fault.id, kind: "status", status: 503 },
		});
		expect(events[4]).toMatchObject({ status: 503, fault: { id: fault.id, remaining: 0, phase: "after" } });
	});

	test("events tell of refusals and violations, and never the key", async () => {
		const box = await open();
		await me(box, { key: null });
		await call(box, "GET", "/nowhere");
		const events = box.sandbox.events();
		expect(typesOf(events)).toEqual(["request", "violation", "request"]);
		expect(events[0]).toMatchObject({ operation: "me.get", status: 401, answer: { _tag: "PartnerUnauthorized" } });
		expect(events[1]).toMatchObject({ rule: "R12", path: "/nowhere" });
		expect(events[2]).toMatchObject({ operation: null, status: 501, correlationId: events[1]?.correlationId });
		await me(box);
		expect(JSON.stringify(box.sandbox.events())).not.toContain(box.key);
	});
});

test("events begin empty, are numbered from 1, and can be read after a number", () => {
	const sandbox = createSandbox({ scenario: "held" });
	expect(sandbox.events()).toEqual([]);
	sandbox.agency().contact(ANNA).writes("Hello");
	const events = sandbox.events();
	expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
	expect(sandbox.events({ after: 1 })).toEqual(events.slice(1));
	expect(sandbox.events({ after: 99 })).toEqual([]);
	expect(sandbox.events({ limit: 2 })).toEqual(events.slice(-2));
	expect(sandbox.events({ after: 0, limit: 2 })).toEqual(events.slice(0, 2));
	expect(sandbox.events({ before: 3, limit: 1 })).toEqual([events[1]]);
	expect(sandbox.events({ after: 1, before: 3 })).toEqual([events[1]]);
	expect(sandbox.events({ types: ["window.opened"] }).map(({ type }) => type)).toEqual(["window.opened"]);
	expect(sandbox.events({ types: ["contact.wrote", "window.opened"], limit: 1 })).toEqual(
		events.filter(({ type }) => type === "window.opened"),
	);
	expect(() => sandbox.events(JSON.parse('{ "types": "window.opened" }'))).toThrow("types");
	expect(() => sandbox.events({ contact: "" })).toThrow("contact");
	for (const field of ["after", "before", "limit"])
		for (const wrong of [-1, 1.5]) expect(() => sandbox.events({ [field]: wrong })).toThrow(field);
});

test("events are bounded by number and by the text in them", async () => {
	const sandbox = createSandbox();
	const anna = sandbox.agency().contact(ANNA);
	for (let index = 0; index < 200_100; index += 1) sandbox.agency().rename(`Agency ${index}`);
	expect(sandbox.events()).toHaveLength(200_000);
	expect(sandbox.events().at(-1)?.id).toBe(200_100);
	const megabyte = "x".repeat(900_000);
	for (let index = 0; index < 60; index += 1) anna.writes(megabyte);
	expect(sandbox.events().length).toBeLessThan(60);
	expect(sandbox.events().at(-1)).toMatchObject({ type: "contact.wrote" });
});

test("a listener hears each event once, in order, until it unsubscribes", () => {
	const sandbox = createSandbox();
	const heard: SandboxEvent[] = [];
	const stop = sandbox.subscribe((event) => heard.push(event));
	const anna = sandbox.agency().contact(ANNA);
	anna.writes("Hello");
	expect(heard).toEqual(sandbox.events());
	stop();
	anna.writes("Again");
	expect(heard.length).toBeLessThan(sandbox.events().length);
});

test("a listener may act on the sandbox: it finds what it hears of complete", async () => {
	const sandbox = createSandbox();
	const anna = sandbox.agency().contact(ANNA);
	const types: string[] = [];
	sandbox.subscribe(({ type }) => types.push(type));
	sandbox.subscribe(({ type }) => {
		if (type === "consent.asked") expect(anna.accepts()).toEqual({ hadHeldText: true });
	});
	expect(sandbox.agency().staff.sends({ contact: anna, text: "Hello Anna" })).toBeNull();
	expect(anna.inbox().map(({ kind }) => kind)).toEqual(["template", "text"]);
	expect(types.slice(0, 3)).toEqual(["consent.asked", "text.held", "ai.off"]);
	expect(types).toContain("text.sent");
});

test("a listener that throws does not stop the others", async () => {
	const sandbox = createSandbox();
	const heard: string[] = [];
	const thrown: unknown[] = [];
	const queue = vi.spyOn(globalThis, "queueMicrotask").mockImplementation((act) => {
		try {
			act();
		} catch (error) {
			thrown.push(error);
		}
	});
	sandbox.subscribe(() => {
		throw new Error("mine");
	});
	sandbox.subscribe(({ type }) => heard.push(type));
	sandbox.agency().contact(ANNA).writes("Hello");
	queue.mockRestore();
	expect(heard).toEqual(["contact.wrote", "window.opened"]);
	expect(thrown).toHaveLength(2);
});

test("a restore names the last event that it does not undo; a snapshot of another sandbox has none", () => {
	const sandbox = createSandbox();
	const empty = sandbox.snapshot();
	sandbox.agency().contact(ANNA).writes("Hello");
	const last = present(sandbox.events().at(-1)).id;
	const snapshot = sandbox.snapshot();
	sandbox.agency().contact(ANNA).writes("Hello again");
	for (const [given, lastEventId] of [
		[snapshot, last],
		[empty, 0],
		[createSandbox().snapshot(), 0],
	] as const) {
		sandbox.restore(given);
		expect(sandbox.events().at(-1)).toMatchObject({ type: "sandbox.restored", lastEventId });
	}
});

test("reset, restore, import and scenarios are events, and numbers continue", () => {
	const sandbox = createSandbox();
	const snapshot = sandbox.snapshot();
	sandbox.agency().contact(ANNA).writes("Hello");
	sandbox.restore(snapshot);
	sandbox.import(sandbox.bug());
	sandbox.loadScenario("held");
	expect(typesOf(sandbox.events()).slice(2)).toEqual(["sandbox.restored", "sandbox.opened", "scenario.loaded"]);
	const last = present(sandbox.events().at(-1)).id;
	sandbox.reset();
	expect(sandbox.events()).toMatchObject([{ type: "sandbox.reset", id: last + 1 }]);
});

test("steps of a running clock are kept as one, and longer ones each", () => {
	const sandbox = createSandbox({ now: NOW });
	for (let index = 0; index < 50; index += 1) sandbox.clock.advance({ ms: 100 });
	expect(sandbox.events()).toMatchObject([{ type: "clock.moved", from: NOW, to: after(0, 5_000) }]);
	sandbox.clock.advance({ hours: 1 });
	sandbox.clock.advance({ hours: 1 });
	expect(sandbox.events()).toHaveLength(3);
});

test("what controls change is an event too, so that two observers see the same", () => {
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	agency.contact(ANNA, { name: "Anna" });
	agency.conversation(ANNA).hide();
	agency.rename("Renamed");
	sandbox.keys.create();
	sandbox.faults.add({ effect: "reset" }).remove();
	agency.contact(ANNA).setReachable(false);
	expect(typesOf(sandbox.events())).toEqual([
		"contact.named",
		"conversation.changed",
		"agency.changed",
		"access.changed",
		"fault.added",
		"fault.removed",
		"contact.reachable",
	]);
});

test("R92 a window that ends is an event at its own instant, even if a scenario of the past has moved its end", () => {
	const sandbox = createSandbox({ now: NOW });
	const anna = sandbox.agency().contact(ANNA);
	anna.writes("Hello");
	sandbox.loadScenario("unlinked"); // she writes as if it were an hour ago
	sandbox.clock.advance({ hours: 30 });
	const closed = sandbox.events().filter(({ type }) => type === "window.closed");
	expect(closed).toMatchObject([{ at: after(23), contact: ANNA }]);
});
