// Each event is a point to go back to: the world is as it was right after it.
import fc from "fast-check";
import { expect, test } from "vitest";
import { createSandbox, type Sandbox } from "../../src/sandbox/index.ts";
import { insideOf } from "../../src/sandbox/inside.ts";
import { serve } from "../../src/sandbox/server.ts";

const anna = "+447700900101";
const bram = "+447700900102";

function recorded(scenario: "fresh" | "busy" = "fresh") {
	const sandbox = createSandbox({ scenario });
	sandbox.history.record();
	const agency = sandbox.agency();
	const send = (to: string, body: string, operationId?: string) =>
		sandbox.request({ method: "POST", path: `/agencies/${agency.id}/messages`, body: { to, body, operationId } });
	return { sandbox, agency, send };
}

const newest = (sandbox: Sandbox): number => sandbox.events({ limit: 1 })[0]?.id ?? 0;

/** What exists, but for the number of requests: a read changes nothing. */
const stateOf = (sandbox: Sandbox) => {
	const { counters, ...rest } = insideOf(sandbox).world();
	const agencies = rest.agencies.map(({ threads, ...agency }) => ({
		...agency,
		threads: [...threads].sort((a, b) => a.serial - b.serial),
	}));
	const sorted = [...rest.operations].sort(([a], [b]) => a.localeCompare(b));
	return { ...rest, agencies, operations: sorted, counters: new Map(counters.filter(([kind]) => kind !== "request")) };
};

test("after each act of everybody, the state at its event is the one that was", async () => {
	const { sandbox, agency, send } = recorded();
	const contact = agency.contact(anna, { name: "Anna" });
	const states = new Map<number, unknown>();
	const acts: (() => unknown)[] = [
		() => send(anna, "Thursday?", "note-1"),
		() => send(anna, "Friday?", "note-2"),
		() => contact.accepts(),
		() => sandbox.message(contact.state().messages.at(-1)?.id ?? 0).delivered(),
		() => contact.writes({ media: [{ url: "https://files.invalid/1.jpg", contentType: "image/jpeg" }] }),
		() => agency.startFlow(contact).wait(),
		() => agency.staff.sends({ contact, text: "This is Tom" }),
		() => agency.staff.setAi({ contact, on: true }),
		() => agency.ai.replies({ contact, text: "Hello!" }),
		() => sandbox.faults.add({ operation: "me.get", effect: { status: 503 } }),
		() => sandbox.request({ method: "GET", path: "/me" }),
		() => agency.conversation(anna).takeOver({ times: 1 }),
		() => send(anna, "Taken over"),
		() => sandbox.clock.advance({ hours: 30 }),
		() => send(anna, "Held", "note-3"),
		() => contact.declines(),
		() => contact.reads(),
		() => contact.setReachable(false),
		() => agency.rename("Another name"),
		() => sandbox.keys.create(),
		() => sandbox.link({ name: "Second" }).contact(bram, { name: "Bram" }).writes("Hello"),
		() => sandbox.loadScenario("held"),
	];
	for (const act of acts) {
		await act();
		states.set(newest(sandbox), stateOf(sandbox));
	}
	expect(states.size).toBe(acts.length);
	for (const [event, state] of states) expect(stateOf(sandbox.history.at(event)), `event ${event}`).toEqual(state);
	// In between, a request changed nothing that a read would not have.
	expect(sandbox.history.first).toBeLessThan([...states.keys()][0] ?? 0);
});

test("what is read of a past sandbox is a copy, and acts in it change nothing here", async () => {
	const { sandbox, agency, send } = recorded();
	agency.contact(anna, { name: "Anna" }).writes("Hello");
	await send(anna, "Hi", "note-1");
	const [event, before] = [newest(sandbox), stateOf(sandbox)];
	agency.contact(anna).writes("Later");
	const past = sandbox.history.at(event);
	expect(
		past
			.agency()
			.contact(anna)
			.state()
			.messages.map(({ body }) => body),
	).toEqual(["Hello", "Hi"]);
	past.agency().contact(anna).writes("Elsewhere");
	past.clock.advance({ hours: 5 });
	expect(stateOf(sandbox.history.at(event))).toEqual(before);
	expect(agency.contact(anna).state().messages).toHaveLength(3);
	expect(past.requests()).toHaveLength(1);
});

test("one can continue from an event: what came later is undone, in the world and in the requests", async () => {
	const { sandbox, agency, send } = recorded();
	const contact = agency.contact(anna, { name: "Anna" });
	await send(anna, "Thursday?");
	const mistake = newest(sandbox);
	await send(anna, "Friday?", "note-2");
	await sandbox.request({ method: "GET", path: "/nowhere" });
	expect(sandbox.violations()).toHaveLength(1);
	expect(() => sandbox.check()).toThrow("replaced a held text");
	sandbox.history.continueFrom(mistake);
	expect(contact.state().held?.body).toBe("Thursday?");
	expect(sandbox.requests().map(({ body }) => body)).toMatchObject([{ body: "Thursday?" }]);
	expect(sandbox.violations()).toEqual([]);
	sandbox.check();
	expect(sandbox.events().at(-1)).toMatchObject({ type: "sandbox.restored", lastEventId: mistake });
	// The text of the undone future is a new one, its operationId too.
	expect((await send(anna, "Saturday?", "note-2")).status).toBe(200);
	const second = newest(sandbox);
	contact.accepts();
	expect(sandbox.history.at(second).agency().contact(anna).state().held?.body).toBe("Saturday?");
	const bodies = (each: Sandbox) => each.requests().map(({ body }) => Object(body).body);
	expect(bodies(sandbox.history.at(second))).toEqual(["Thursday?", "Saturday?"]);
	expect(bodies(sandbox.history.at(mistake))).toEqual(["Thursday?"]);
	expect(() => sandbox.history.at(second).check()).toThrow("replaced a held text");
	sandbox.history.at(mistake).check();
	// The undone future can be had back.
	sandbox.history.continueFrom(mistake + 2);
	expect(contact.state().held?.body).toBe("Friday?");
});

test("what is wrong is named: before anything was recorded, before the first event, and no number", () => {
	const sandbox = createSandbox();
	sandbox.agency().contact(anna).writes("Hello");
	sandbox.clock.advance({ hours: 1 });
	expect(sandbox.history.first).toBe(null);
	expect(() => sandbox.history.at(1)).toThrow("nothing was recorded");
	sandbox.history.record();
	const first = newest(sandbox);
	expect(sandbox.history.first).toBe(first);
	sandbox.history.record();
	expect(() => sandbox.history.at(first - 1)).toThrow(`the oldest state that is known is that after event ${first}`);
	expect(() => sandbox.history.continueFrom(-1)).toThrow("history.continueFrom: eventId must be a whole number");
	expect(() => sandbox.history.at("1" as never)).toThrow("history.at: eventId must be a whole number");
});

test("only so many steps are kept, the newest ones, and those are right", () => {
	const { sandbox, agency } = recorded();
	const contact = agency.contact(anna, { name: "Anna" });
	for (let i = 0; i < 21_000; i++) {
		if (i % 100 === 0) contact.writes(`line ${i}.`);
		else contact.setReachable(i % 2 === 0);
	}
	const first = sandbox.history.first ?? 0;
	expect(first).toBeGreaterThan(50);
	const at = sandbox.history.at(first).agency().contact(anna).state();
	const events = sandbox.events().filter(({ id }) => id <= first);
	expect(at.messages).toHaveLength(events.filter(({ type }) => type === "contact.wrote").length);
	const reached = events.flatMap((event) => (event.type === "contact.reachable" ? [event.reachable] : []));
	expect(at.reachable).toBe(reached.at(-1));
});

test("any order of acts, resets and restores can be gone back to", async () => {
	const act = fc.constantFrom("anna", "bram", "accept", "decline", "hour", "day", "send", "restore", "reset", "read");
	await fc.assert(
		fc.asyncProperty(fc.array(act, { minLength: 3, maxLength: 25 }), async (acts) => {
			const { sandbox, agency, send } = recorded();
			const states = new Map<number, unknown>();
			const snapshot = sandbox.snapshot();
			let number = 0;
			for (const each of acts) {
				if (each === "anna" || each === "bram") agency.contact(each === "anna" ? anna : bram).writes("Hello");
				if (each === "accept") agency.contact(anna).accepts();
				if (each === "decline") agency.contact(bram).declines();
				if (each === "hour") sandbox.clock.advance({ hours: 1 });
				if (each === "day") sandbox.clock.advance({ hours: 25 });
				if (each === "send") await send(number % 2 ? anna : bram, `Text ${number}`, `note-${number % 3}`);
				if (each === "restore") sandbox.restore(snapshot);
				if (each === "reset") sandbox.reset();
				if (each === "read") agency.contact(anna).reads();
				number++;
				states.set(newest(sandbox), stateOf(sandbox));
			}
			for (const [event, state] of states) expect(stateOf(sandbox.history.at(event))).toEqual(state);
		}),
		{ numRuns: 60 },
	);
});

test("over HTTP each read takes a moment, and one can continue from it", async () => {
	const sandbox = createSandbox();
	const server = await serve(sandbox);
	const control = async (method: string, path: string, body?: object) => {
		const headers = { "x-sandbox-token": server.token };
		const response = await fetch(`${server.controlUrl}/${path}`, {
			method,
			headers,
			body: body ? JSON.stringify(body) : null,
		});
		return response.json();
	};
	try {
		const contact = sandbox.agency().contact(anna, { name: "Anna" });
		contact.writes("Hello");
		const event = newest(sandbox);
		sandbox.clock.advance({ hours: 2 });
		contact.writes("Later");
		expect(await control("GET", "history")).toEqual({ first: 0, last: newest(sandbox) });
		const state = await control("GET", `conversations/${anna}?at=${event}`);
		expect(state.messages.map(({ body }: { body: string }) => body)).toEqual(["Hello"]);
		expect(await control("GET", `conversations?at=${event}&limit=5`)).toMatchObject([
			{ lastMessage: { body: "Hello" } },
		]);
		expect(await control("GET", `clock?at=${event}`)).toEqual({ now: "2026-01-05T09:00:00.000Z" });
		expect(await control("GET", "conversations?at=0")).toEqual([]);
		expect(await control("GET", "clock?at=x")).toMatchObject({ message: "at must be the number of an event." });
		expect(await control("POST", "history/continueFrom", { event })).toBe(null);
		expect(contact.state().messages).toHaveLength(1);
		expect(await control("POST", "history/continueFrom", { event: "x" })).toMatchObject({ _tag: "SandboxBadRequest" });
	} finally {
		await server.close();
	}
});
