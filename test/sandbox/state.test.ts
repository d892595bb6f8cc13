import { expect, test } from "vitest";
import { createSandbox, type Snapshot } from "../../src/sandbox/index.ts";
import {
	ANNA,
	after,
	type Box,
	BRAM,
	call,
	get,
	list,
	lookup,
	me,
	messages,
	NOW,
	send,
	summaryOf,
	throughEachEntryPoint,
} from "./entry-points.ts";

/** Calls and acts of every sort; each answer as its bytes. */
async function episode(box: Box): Promise<string[]> {
	const reported: string[] = [];
	const note = (answer: { status: number; headers: Headers; text: string }) =>
		reported.push(`${answer.status} ${answer.headers.get("x-correlation-id")} ${answer.text}`);
	const anna = box.agency.contact(ANNA, { name: "Anna" });
	anna.writes("Hello");
	note(await send(box, { to: ANNA, body: "Hi", operationId: "a" }));
	note(await send(box, { to: ANNA, body: "Hi", operationId: "a" }));
	note(await send(box, { to: BRAM, body: "Held", operationId: "b" }));
	note(await send(box, { to: BRAM, body: "Other", operationId: "b" }));
	box.sandbox.clock.advance({ hours: 30 });
	box.agency.contact(BRAM).accepts();
	note(await send(box, { to: ANNA, body: "Late" }));
	const { apiKey } = box.sandbox.keys.create({ scopes: ["conversations:read"] });
	const second = box.sandbox.link({ name: "Second" });
	note(await me(box, { key: apiKey }));
	note(await list(box, { pageSize: 1 }));
	note(await list(box, {}, { agencyId: second.id }));
	note(await lookup(box, [ANNA, BRAM]));
	note(await get(box, ANNA));
	note(await messages(box, BRAM, { pageSize: 1 }));
	note(await get(box, "abc"));
	reported.push(JSON.stringify(box.agency.contact(BRAM).inbox()));
	return reported;
}

const look = async (box: Box) => [
	box.sandbox.clock.now().toISOString(),
	(await me(box)).text,
	(await list(box)).text,
	(await get(box, ANNA)).text,
	(await get(box, BRAM)).text,
	JSON.stringify(box.agency.contact(ANNA).inbox()),
	JSON.stringify(box.agency.contact(BRAM).inbox()),
];

throughEachEntryPoint((open) => {
	test("two sandboxes answer the same calls with the same bytes", async () => {
		const one = await open();
		const reported = await episode(one);
		await one.close();
		const two = await open();
		expect(await episode(two)).toEqual(reported);
	});

	test("two sandboxes share nothing", async () => {
		const one = await open();
		const untouched = createSandbox({ now: NOW });
		const before = JSON.stringify(untouched.snapshot().world);
		await episode(one);
		one.sandbox.faults.add({ times: 5, phase: "before", effect: { status: 500 } });
		expect(JSON.stringify(untouched.snapshot().world)).toBe(before);
		expect(untouched.requests()).toEqual([]);
	});

	test("snapshot and restore bring back the world, its clock and what was due", async () => {
		const box = await open();
		await episode(box);
		await send(box, { to: ANNA, body: "Held at 30", operationId: "c" });
		const before = await look(box);
		const snapshot = box.sandbox.snapshot();
		box.sandbox.clock.advance({ hours: 100 });
		box.agency.contact(ANNA).writes("Later");
		await send(box, { to: ANNA, body: "Later", operationId: "d" });
		box.agency.unlink();
		box.sandbox.restore(snapshot);
		box.correlationIds.clear();
		expect(await look(box)).toEqual(before);
		(await send(box, { to: ANNA, body: "Another", operationId: "c" })).refused(500);
		expect((await summaryOf(box, ANNA)).queuedMessages).toBe(1);
		box.sandbox.clock.advance({ hours: 48 });
		expect((await summaryOf(box, ANNA)).queuedMessages).toBe(0);
		expect((await send(box, { to: ANNA, body: "Free after all", operationId: "d" })).status).toBe(200);
	});

	test("restore can be done twice, and brings the same future each time", async () => {
		const box = await open();
		await episode(box);
		const snapshot = box.sandbox.snapshot();
		const future = async () => {
			box.agency.contact(ANNA).writes("Later");
			box.sandbox.clock.advance({ hours: 1 });
			const sent = await send(box, { to: ANNA, body: "Later" });
			return [sent.text, ...(await look(box))];
		};
		const first = await future();
		box.sandbox.restore(snapshot);
		box.correlationIds.clear();
		expect(await future()).toEqual(first);
		box.sandbox.restore(snapshot);
		box.correlationIds.clear();
		expect(await future()).toEqual(first);
	});

	test("a control made before a restore acts on the restored world", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Before");
		const snapshot = box.sandbox.snapshot();
		anna.writes("Lost");
		box.sandbox.restore(snapshot);
		box.correlationIds.clear();
		anna.writes("After");
		expect((await messages(box, ANNA)).ok().messages.map((message) => message.body)).toEqual(["After", "Before"]);
	});

	test("a snapshot carries the world into another sandbox, as JSON", async () => {
		const one = await open();
		await episode(one);
		await send(one, { to: ANNA, body: "Held at 30", operationId: "c" });
		const before = await look(one);
		const snapshot = JSON.parse(JSON.stringify(one.sandbox.snapshot()));
		await one.close();
		const two = await open({ now: "2031-01-01T00:00:00.000Z" });
		two.sandbox.restore(snapshot);
		two.correlationIds.clear();
		expect(await look(two)).toEqual(before);
		(await send(two, { to: ANNA, body: "Another", operationId: "c" })).refused(500);
		two.sandbox.clock.advance({ hours: 48 });
		expect((await summaryOf(two, ANNA)).queuedMessages).toBe(0);
		expect((await summaryOf(two, ANNA)).windowExpiresAt).toBe(after(24));
	});

	test("the snapshot of a sandbox that became a copy of another one is that of the other one", async () => {
		const [one, other] = [createSandbox({ scenario: "held" }), createSandbox()];
		const text = JSON.stringify(one.snapshot());
		other.restore(JSON.parse(text));
		expect(JSON.stringify(other.snapshot())).toBe(text);
	});

	test("a snapshot is of its moment: a request that was under way then is under way in it", async () => {
		const box = await open();
		const breakpoint = box.sandbox.breakpoints.add({ operation: "me.get" });
		const asking = me(box);
		const held = await box.sandbox.breakpoints.nextHeld();
		const before = box.sandbox.snapshot();
		held.resume();
		(await asking).ok();
		expect(breakpoint.hits).toBe(1);
		const entriesOf = (snapshot: Snapshot) => JSON.parse(JSON.stringify(snapshot)).journal.entries;
		expect(entriesOf(before)).toMatchObject([{ operation: "me.get", status: null }]);
		expect(entriesOf(box.sandbox.snapshot())).toMatchObject([{ operation: "me.get", status: 200 }]);
	});

	test("import refuses what is not a bug file", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		const { world } = box.sandbox.snapshot();
		const wrong: unknown[] = [null, {}, [], "x", { version: -1 }, world, JSON.stringify(world)];
		for (const each of wrong) {
			const refused = () => Reflect.apply(box.sandbox.import, box.sandbox, [each]);
			expect(refused, JSON.stringify(each)).toThrow(new TypeError("bug: this is not a bug file."));
		}
		expect((await list(box)).ok().conversations).toHaveLength(1);
	});

	test("restore says of a world of a later number to update the package", async () => {
		const { sandbox } = await open();
		const { world, journal } = sandbox.snapshot();
		const later = { ...world, version: 2, agencies: "in another form" };
		const update = /^world: it was made by a later version of messaging-conversations\. Update the package/;
		expect(() => Reflect.apply(sandbox.restore, sandbox, [{ world: later, journal }])).toThrow(update);
	});

	test("reset makes the sandbox as new, counters too", async () => {
		const box = await open();
		const reported = await episode(box);
		box.sandbox.faults.add({ times: 5, phase: "before", effect: { status: 500 } });
		await call(box, "GET", "/nowhere");
		box.sandbox.reset();
		box.correlationIds.clear();
		expect(box.sandbox.requests()).toEqual([]);
		expect(box.sandbox.violations()).toEqual([]);
		expect(box.sandbox.clock.now().toISOString()).toBe(NOW);
		expect(await episode(box)).toEqual(reported);
	});

	test("reset goes back to the scenario that the sandbox was made with", async () => {
		const box = await open({ scenario: "held" });
		const before = (await list(box)).text;
		box.sandbox.clock.advance({ hours: 100 });
		box.sandbox.reset();
		box.correlationIds.clear();
		expect((await list(box)).text).toBe(before);
	});

	test("requests tell what came, in order, and what was answered, without the key", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		await send(box, { to: ANNA, body: "Hi", operationId: "a" }, { headers: { "x-trace": "t1" } });
		await get(box, ANNA, { pageSize: 5 });
		await me(box, { key: null });
		const [sent, read, refused] = box.sandbox.requests();
		expect(sent).toMatchObject({
			operation: "messages.send",
			method: "POST",
			path: `/agencies/${box.agency.id}/messages`,
			status: 200,
			body: { to: ANNA, body: "Hi", operationId: "a" },
		});
		expect(sent?.headers["x-trace"]).toBe("t1");
		expect(read).toMatchObject({
			operation: "conversations.get",
			method: "GET",
			query: "pageSize=5",
			status: 200,
			body: null,
		});
		expect(refused).toMatchObject({ operation: "me.get", status: 401 });
		expect(box.sandbox.requests()).toHaveLength(3);
		expect(JSON.stringify(box.sandbox.requests())).not.toContain(box.key);
	});

	test("violations tell what the live service would not take, by rule", async () => {
		const box = await open();
		await list(box);
		expect(box.sandbox.violations()).toEqual([]);
		box.agency.contact(ANNA).writes("Hello");
		await call(box, "GET", "/nowhere");
		await call(box, "GET", `/agencies/${box.agency.id}/conversations/${ANNA}`);
		expect(box.sandbox.violations().map((each) => each.rule)).toEqual(["R12", "R69"]);
	});

	test("what requests and snapshots hand out does not reach back into the sandbox", async () => {
		const box = await open();
		await episode(box);
		const before = await look(box);
		for (const list of [box.sandbox.requests(), box.sandbox.violations(), box.agency.contact(ANNA).inbox()]) {
			Reflect.apply(Array.prototype.splice, list, [0, list.length]);
		}
		expect(await look(box)).toEqual(before);
		expect(box.sandbox.requests().length).toBeGreaterThan(0);
	});
});
