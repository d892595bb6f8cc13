// What a person asks and decides: suspend and resume, health, what a text waits for, its life, and unknown texts.
import { createClient, PartnerInvalidInput } from "messaging-conversations";
import { createOutbox, type OutboxEngine, type OutboxOptions } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { describe, expect, test } from "vitest";
import { memoryStore } from "./memory.ts";
import type { OutboxStore } from "./port.ts";
import { add, createWorld, learnYes, type World } from "./world.ts";

const minute = 60_000;

/** An outbox on two agencies, each with a contact who has just written. */
function createOffice(change: (store: OutboxStore) => Partial<OutboxStore> = () => ({})) {
	const sandbox = createSandbox();
	const agencies = [sandbox.agency(), sandbox.link({ name: "Second" })];
	const contacts = agencies.map((agency) => agency.contact("+447700900101"));
	for (const contact of contacts) contact.writes("Hello");
	const client = createClient({ ...sandbox.connection, retry: { baseDelayMs: 1 } });
	const memory = memoryStore();
	const store = { ...memory, ...change(memory) };
	const told: [string, string | undefined, string | undefined][] = [];
	const outbox = createOutbox({
		client,
		store,
		now: sandbox.clock.now,
		onPaused: ({ reason, agencyId, suspension }) => told.push([reason, agencyId, suspension?.reason]),
	});
	const enqueue = (id: string, at = 0, rest: object = {}) =>
		outbox.enqueue({ id, agencyId: agencies[at]?.id ?? "", to: "+447700900101", body: `Text ${id}`, ...rest });
	const inboxes = () => contacts.map((contact) => contact.inbox().map(({ body }) => body));
	const state = async (id: string) => (await outbox.status(id))?.state;
	return { sandbox, agencies, contacts, client, store, outbox, told, enqueue, inboxes, state };
}

describe("suspend", () => {
	test("stops one agency in runOnce, until resume", async () => {
		const { agencies, outbox, enqueue, inboxes } = createOffice();
		const [first] = agencies;
		await outbox.suspend({ agencyId: first?.id, reason: "Wrong price", by: "Ann" });
		await enqueue("a", 0);
		await enqueue("b", 1);
		await outbox.runOnce();
		expect(inboxes()).toEqual([[], ["Text b"]]);
		expect(await outbox.resume()).toBe(false);
		await outbox.runOnce();
		expect(inboxes()).toEqual([[], ["Text b"]]);
		expect(await outbox.resume({ agencyId: first?.id })).toBe(true);
		await outbox.runOnce();
		expect(inboxes()).toEqual([["Text a"], ["Text b"]]);
	});

	test("stops everybody, and the suspension of one agency is another one", async () => {
		const { agencies, outbox, enqueue, inboxes } = createOffice();
		await outbox.suspend({ reason: "Everything" });
		await outbox.suspend({ agencyId: agencies[1]?.id, reason: "One" });
		await enqueue("a", 0);
		await enqueue("b", 1);
		await outbox.runOnce();
		expect(inboxes()).toEqual([[], []]);
		await outbox.resume();
		await outbox.runOnce();
		expect(inboxes()).toEqual([["Text a"], []]);
		await outbox.resume({ agencyId: agencies[1]?.id });
		await outbox.runOnce();
		expect(inboxes()).toEqual([["Text a"], ["Text b"]]);
	});

	test("two workers at once begin nothing of a backlog after it, and all of it after resume", async () => {
		const sandbox = createSandbox();
		const agency = sandbox.agency();
		const people = Array.from({ length: 60 }, (_, at) => agency.contact(`+4477009001${10 + at}`.slice(0, 13)));
		for (const person of people) person.writes("Hello");
		const store = memoryStore();
		let sends = 0;
		const fetch: typeof globalThis.fetch = async (url, init) => {
			if (init?.method === "POST" && String(url).includes("messages")) sends++;
			await new Promise((resolve) => setTimeout(resolve, 3));
			return sandbox.fetch(url, init);
		};
		const client = createClient({ ...sandbox.connection, fetch });
		const open = () => createOutbox({ client, store, now: sandbox.clock.now, concurrency: 4 });
		const [one, other] = [open(), open()];
		for (const { phoneNumber } of people)
			for (const part of ["1", "2"])
				await one.enqueue({ id: `${phoneNumber} ${part}`, agencyId: agency.id, to: phoneNumber, body: part });
		const stop = new AbortController();
		const working = Promise.all([one, other].map((outbox) => outbox.work({ signal: stop.signal })));
		await expect.poll(() => sends, { interval: 1 }).toBeGreaterThan(5);
		await other.suspend({ reason: "Stop" });
		// What has begun ends by itself, and nothing else begins.
		const attempted = () => store.all().filter(({ progress }) => progress.attempts > 0).length;
		const begun = attempted();
		await expect.poll(() => store.all().some(({ state }) => state === "sending")).toBe(false);
		await new Promise((resolve) => setTimeout(resolve, 1_200));
		expect([attempted(), sends, begun < 120]).toEqual([begun, begun, true]);
		await one.resume();
		await expect.poll(() => sends, { timeout: 60_000 }).toBe(120);
		stop.abort();
		await working;
		expect(people.map((person) => person.inbox().map(({ body }) => body))).toEqual(people.map(() => ["1", "2"]));
	});

	test("a text that comes between the claim and the request is not sent", async () => {
		const office: ReturnType<typeof createOffice> = createOffice((store) => ({
			async claim(options) {
				const leases = await store.claim(options);
				if (leases.length > 0 && !options.isReading) await office.outbox.suspend({ reason: "Just now" });
				return leases;
			},
		}));
		await office.enqueue("a");
		await office.outbox.runOnce();
		expect([office.inboxes()[0], await office.state("a")]).toEqual([[], "waiting"]);
		expect((await office.outbox.status("a"))?.attempts).toBe(0);
	});

	test("an engine's wake-up sends nothing", async () => {
		const sandbox = createSandbox();
		sandbox.agency().contact("+447700900101").writes("Hello");
		let wake = (): void => {};
		const engine: OutboxEngine = {
			start: async () => {},
			wake: async () => wake(),
			work: async (act) => {
				wake = act;
				return async () => {};
			},
		};
		const client = createClient(sandbox.connection);
		const outbox = createOutbox({ client, store: memoryStore(), engine, now: sandbox.clock.now });
		await outbox.suspend({ agencyId: sandbox.agency().id, reason: "Stop" });
		const stop = new AbortController();
		const working = outbox.work({ signal: stop.signal });
		await outbox.enqueue({ id: "a", agencyId: sandbox.agency().id, to: "+447700900101", body: "Hi" });
		wake();
		await new Promise((resolve) => setTimeout(resolve, 50));
		expect((await outbox.status("a"))?.state).toBe("waiting");
		await outbox.resume({ agencyId: sandbox.agency().id });
		await expect.poll(async () => (await outbox.status("a"))?.state).toBe("sent");
		stop.abort();
		await working;
	});

	test("what was sent is followed, and what is held is read, while nothing is sent", async () => {
		const { sandbox, contacts, outbox, enqueue, state, inboxes } = createOffice();
		const [anna, bert] = contacts;
		await enqueue("a", 0);
		await outbox.runOnce();
		sandbox.clock.advance({ hours: 25 });
		await enqueue("held", 1);
		await outbox.runOnce();
		expect([await state("a"), await state("held")]).toEqual(["sent", "held"]);
		await outbox.suspend({ reason: "Stop" });
		await enqueue("b", 0);
		await enqueue("c", 1);
		anna?.reads();
		bert?.declines();
		for (let at = 0; at < 40; at++) {
			sandbox.clock.advance({ ms: 10 * minute });
			await outbox.runOnce();
		}
		expect([await state("a"), await state("held")]).toEqual(["read", "dropped"]);
		expect(inboxes()[0]).toEqual(["Text a"]);
		expect(["waiting", "waiting"]).toContain(await state("b"));
	});

	test("a held text that the contact answers is not sent again until resume", async () => {
		const world = createWorld();
		const { sandbox, outbox, agency, anna, enqueue, pass, state, sends } = world;
		sandbox.clock.advance({ hours: 25 });
		await enqueue("held", { id: "held" });
		await outbox.runOnce();
		expect(await state("held")).toBe("held");
		await outbox.suspend({ agencyId: agency.id, reason: "Stop" });
		anna.writes("Who is this?");
		const [before, requests] = [sends().length, sandbox.requests().length];
		await pass({ hours: 1 });
		expect([sends().length, await state("held")]).toEqual([before, "held"]);
		// It is looked at as often as before, and not again and again.
		expect(sandbox.requests().length - requests).toBeLessThan(40);
		expect((await world.store.find("held"))?.progress.attempts).toBe(1);
		await outbox.resume({ agencyId: agency.id });
		await pass({ hours: 1 });
		expect([await state("held"), sends().length > before]).toEqual(["sent", true]);
	});

	test("texts expire meanwhile, at their time", async () => {
		const { sandbox, outbox, enqueue, state } = createOffice();
		await outbox.suspend({ reason: "Stop" });
		const now = sandbox.clock.now().getTime();
		await enqueue("a", 0, { notAfter: new Date(now + 30 * minute) });
		await enqueue("b", 0, { notAfter: new Date(now + 90 * minute) });
		await outbox.runOnce();
		sandbox.clock.advance({ ms: 31 * minute });
		await outbox.runOnce();
		expect([await state("a"), await state("b")]).toEqual(["expired", "waiting"]);
		sandbox.clock.advance({ ms: 60 * minute });
		await outbox.runOnce();
		expect([await state("b"), (await outbox.settled()).map(({ id }) => id)]).toEqual(["expired", ["a", "b"]]);
	});

	test("onPaused tells of it at once, and every 15 minutes", async () => {
		const { sandbox, agencies, outbox, told, enqueue } = createOffice();
		await outbox.suspend({ agencyId: agencies[0]?.id, reason: "Wrong price", by: "Ann" });
		await enqueue("a");
		for (let at = 0; at < 46; at++) {
			await outbox.runOnce();
			sandbox.clock.advance({ ms: minute });
		}
		const once = ["suspended", agencies[0]?.id, "Wrong price"];
		expect(told).toEqual([once, once, once, once]);
		await outbox.resume({ agencyId: agencies[0]?.id });
		await outbox.runOnce();
		await outbox.suspend({ agencyId: agencies[0]?.id, reason: "Again" });
		await outbox.runOnce();
		expect(told.slice(4)).toEqual([["suspended", agencies[0]?.id, "Again"]]);
	});

	test("a pause that ends does not lift it, and resume does not lift a pause", async () => {
		const { sandbox, agencies, outbox, enqueue, state } = createOffice();
		const [agency] = agencies;
		agency?.unlink();
		await enqueue("a");
		await outbox.runOnce();
		const health = async () => {
			const { pauses, suspensions } = await outbox.health();
			return [pauses.map(({ reason }) => reason), suspensions.map(({ reason }) => reason)];
		};
		expect(await health()).toEqual([["forbidden"], []]);
		await outbox.suspend({ agencyId: agency?.id, reason: "Stop" });
		expect(await health()).toEqual([["forbidden"], ["Stop"]]);
		await outbox.resume({ agencyId: agency?.id });
		expect(await health()).toEqual([["forbidden"], []]);
		await outbox.suspend({ agencyId: agency?.id, reason: "Stop" });
		agency?.link();
		for (let at = 0; at < 10; at++) {
			sandbox.clock.advance({ ms: minute });
			await outbox.runOnce();
		}
		expect([await state("a"), (await health())[1]]).toEqual(["waiting", ["Stop"]]);
		await outbox.resume({ agencyId: agency?.id });
		for (let at = 0; at < 10; at++) {
			sandbox.clock.advance({ ms: minute });
			await outbox.runOnce();
		}
		expect([await state("a"), await health()]).toEqual(["sent", [[], []]]);
	});

	test("a suspended agency with a backlog keeps no pause of everybody from ending", async () => {
		const { sandbox, agencies, outbox, enqueue, state } = createOffice();
		sandbox.faults.add({ operation: "conversations.get", times: 1, effect: { status: 429 } });
		await enqueue("b", 1);
		await outbox.runOnce();
		await outbox.suspend({ agencyId: agencies[0]?.id, reason: "Stop" });
		for (let at = 0; at < 5; at++) await enqueue(`a${at}`, 0);
		for (let at = 0; at < 3; at++) {
			sandbox.clock.advance({ ms: minute });
			await outbox.runOnce();
		}
		expect([await state("b"), await state("a0")]).toEqual(["sent", "waiting"]);
	});

	test.each([
		["reason", { reason: "" }],
		["reason", { reason: "  " }],
		["reason", { reason: "x".repeat(201) }],
		["reason", { reason: "two\nlines" }],
		["reason", { reason: "\u001b[2Jclear" }],
		["reason", { reason: "\u202eturned" }],
		["reason", {}],
		["by", { reason: "Stop", by: "A\u0007nn" }],
		["by", { reason: "Stop", by: "x".repeat(101) }],
		["agencyId", { reason: "Stop", agencyId: "" }],
		["options", { reason: "Stop", agency: "agy" }],
	])("a bad %s is refused before anything is stored, and is not quoted", async (field, options) => {
		const { outbox } = createOffice();
		const error = await outbox.suspend(options as never).catch((thrown: unknown) => thrown);
		expect(error).toBeInstanceOf(PartnerInvalidInput);
		expect(error).toMatchObject({ field: expect.stringContaining(field) });
		expect(String(error)).not.toMatch(/xxx|clear|turned|two/);
		expect((await outbox.health()).suspensions).toEqual([]);
	});
});

describe("status", () => {
	const waits = async ({ outbox }: Pick<ReturnType<typeof createOffice>, "outbox">, id: string) => {
		const { description, waitsFor, nextAttemptAt } = (await outbox.status(id)) ?? {};
		return [waitsFor?.kind, description, nextAttemptAt?.toISOString()];
	};

	test("names a person's suspension, its reason and since when", async () => {
		const office = createOffice();
		await office.enqueue("a");
		await office.outbox.suspend({ agencyId: office.agencies[0]?.id, reason: "Wrong price", by: "Ann" });
		await office.outbox.runOnce();
		const sentence = "Sends of the agency were suspended by Ann on 2026-01-05 09:00 UTC: Wrong price.";
		expect(await waits(office, "a")).toEqual(["suspended", sentence, undefined]);
		await office.outbox.suspend({ reason: "All stop!" });
		await office.outbox.resume({ agencyId: office.agencies[0]?.id });
		expect((await waits(office, "a"))[1]).toBe("All sends were suspended on 2026-01-05 09:00 UTC: All stop!");
	});

	test("names a pause and why, and when the next try is", async () => {
		const sandbox = createSandbox();
		const fetch: typeof globalThis.fetch = async () =>
			Response.json({ _tag: "PartnerUnauthorized", message: "No." }, { status: 401 });
		const client = createClient({ ...sandbox.connection, fetch });
		const outbox = createOutbox({ client, store: memoryStore(), now: sandbox.clock.now });
		await outbox.enqueue({ id: "a", agencyId: sandbox.agency().id, to: "+447700900101", body: "Hi" });
		await outbox.runOnce();
		const [kind, description, at] = await waits({ outbox }, "a");
		expect([kind, typeof at]).toEqual(["pause", "string"]);
		expect(description).toMatch(/^All texts are paused since .* UTC: the service refuses the API key/);
	});

	test("says that no worker is running, also beside another cause", async () => {
		const office = createOffice();
		await office.enqueue("a");
		expect(await waits(office, "a")).toEqual([
			"no_worker",
			"No worker is running: each one that ran has stopped in order, or none has run within a day. Start a process that calls work or runOnce.",
			undefined,
		]);
		await office.outbox.suspend({ reason: "Stop" });
		expect((await waits(office, "a"))[1]).toMatch(/: Stop\. Besides, no worker is running\.$/);
		const later = new Date(office.sandbox.clock.now().getTime() + 3_600_000);
		await office.outbox.resume();
		await office.enqueue("b", 1, { notBefore: later });
		expect(await waits(office, "b")).toEqual([
			"not_before",
			"Is not to be sent before 2026-01-05 10:00 UTC. Besides, no worker is running.",
			later.toISOString(),
		]);
	});

	test("names a held text, and whose it is", async () => {
		const office = createOffice();
		const { sandbox, agencies, contacts, outbox, enqueue } = office;
		sandbox.clock.advance({ hours: 25 });
		await enqueue("a", 0);
		await enqueue("b", 0);
		if (contacts[1]) agencies[1]?.staff.sends({ contact: contacts[1], text: "From a person" });
		await enqueue("c", 1);
		await outbox.runOnce();
		expect(await waits(office, "a")).toEqual(["consent", "Waits for the contact's consent.", undefined]);
		expect((await outbox.status("b"))?.waitsFor).toMatchObject({ kind: "behind", id: "a" });
		expect((await outbox.status("c"))?.waitsFor).toMatchObject({ kind: "colleague_held", id: null });
		expect((await waits(office, "c"))[1]).toBe("Waits: the service holds a text of somebody else for the contact.");
	});

	test("a worker that ends in order is gone, one that works is seen, and runOnce counts for a while", async () => {
		const { outbox, store } = createOffice();
		const alive = async () => (await outbox.health()).workers.map(({ runsOnce, isAlive }) => [runsOnce, isAlive]);
		const stop = new AbortController();
		const working = outbox.work({ signal: stop.signal });
		await expect.poll(alive).toEqual([[false, true]]);
		const [worker] = (await outbox.health()).workers;
		expect(worker).toMatchObject({
			version: expect.stringMatching(/^\d+\.\d+\.\d+/),
			id: expect.stringMatching(/^[0-9a-f-]{36}$/),
		});
		stop.abort();
		await working;
		expect(await alive()).toEqual([]);
		await outbox.runOnce();
		await outbox.runOnce();
		expect([await alive(), (await store.workers()).length]).toEqual([[[true, true]], 1]);
	});
});

describe("health", () => {
	test("counts what is not finished and unknown, what is due and since when", async () => {
		const { sandbox, outbox, enqueue, store } = createOffice();
		const empty = await outbox.health();
		expect(empty).toMatchObject({ texts: { waiting: 0, sending: 0, held: 0, unknown: 0 }, due: 0, oldestDueAt: null });
		await enqueue("a", 0);
		sandbox.clock.advance({ ms: minute });
		await enqueue("b", 0);
		await enqueue("c", 1, { notBefore: new Date(sandbox.clock.now().getTime() + minute) });
		const row = await store.find("b");
		if (row) await store.save({ ...row, state: "unknown", nextAt: null });
		expect(await outbox.health()).toMatchObject({
			at: sandbox.clock.now(),
			texts: { waiting: 2, sending: 0, held: 0, unknown: 1 },
			due: 1,
			oldestDueAt: new Date(sandbox.clock.now().getTime() - minute),
			pauses: [],
			suspensions: [],
		});
	});
});

describe("health sees what is not sent", () => {
	const late = async ({ outbox }: Pick<World, "outbox">) => {
		const { at, due, oldestDueAt } = await outbox.health();
		return [due, oldestDueAt && (at.getTime() - oldestDueAt.getTime()) / minute];
	};
	const fail = (operation: "conversations.get" | "messages.send", status: number) => (world: World) =>
		void world.sandbox.faults.add({ operation, times: 9_999, phase: "before", effect: { status } });
	const get = (status: number) => fail("conversations.get", status);
	const causes: [cause: string, break_: (world: World) => void, options?: Partial<OutboxOptions>][] = [
		["every read is answered 500", get(500)],
		["the key is refused", get(401)],
		["every send is answered 500", fail("messages.send", 500)],
		["every send is answered 429", fail("messages.send", 429)],
		[
			"the template is not approved",
			({ agency }) => void agency.consent.set({ unapprovedTemplates: ["window_reopen"] }),
		],
		["a hook throws", () => {}, { beforeSend: () => Promise.reject(new Error("x")) }],
		["optOut throws", ({ anna }) => void anna.writes("Hi"), { optOut: () => JSON.parse("") }],
	];
	test.each(causes)("%s", async (_, breakIt, options) => {
		const world = createWorld({ onReply: undefined, defaultMaxAgeMs: undefined, ...options });
		world.sandbox.clock.advance({ hours: 25 });
		breakIt(world);
		await add(world, "a");
		await world.pass({ hours: 3 });
		expect(await late(world)).toEqual([1, 180]);
	});

	test("a text of an agency whose link has ended is late at each moment, also right after a try", async () => {
		const world = createWorld({ onReply: undefined, defaultMaxAgeMs: undefined });
		world.agency.unlink();
		await add(world, "a");
		await world.outbox.runOnce();
		for (let step = 1; step <= 12; step++) {
			world.sandbox.clock.advance({ ms: 20_000 });
			await world.outbox.runOnce();
			expect(await late(world)).toEqual([1, step / 3]);
		}
	});

	test("texts of a suspended agency are not late, those of another one are", async () => {
		const world = createWorld({ onReply: undefined, defaultMaxAgeMs: undefined });
		const other = world.sandbox.link({ name: "Other" });
		await world.outbox.suspend({ agencyId: other.id, reason: "wrong price" });
		await world.outbox.enqueue({ id: "b", agencyId: other.id, to: world.anna.phoneNumber, body: "Hi" });
		await world.pass({ hours: 1 });
		expect((await late(world))[0]).toBe(0);
		get(500)(world);
		await add(world, "a");
		await world.pass({ hours: 1 });
		expect(await late(world)).toEqual([1, 60]);
	});

	test("what sleeps until the morning is not late", async () => {
		const quietHours = { from: "20:00", to: "08:00", timeZone: "UTC" };
		const world = createWorld({ onReply: undefined, defaultMaxAgeMs: undefined, quietHours });
		world.sandbox.clock.advanceTo(new Date("2026-01-06T21:00:00Z"));
		for (const id of ["a", "b", "c"]) await add(world, id, id === "c" ? { purpose: "marketing" } : {});
		await world.pass({ hours: 3 });
		expect(await late(world)).toEqual([0, null]);
		world.anna.writes("Hello?");
		await world.pass({ hours: 12 });
		expect(world.texts()).toEqual(["a", "b", "c"]);
	});

	test("what slept until the morning is late since then, also what was enqueued behind it at night", async () => {
		const quietHours = { from: "20:00", to: "08:00", timeZone: "UTC" };
		const world = createWorld({ onReply: undefined, defaultMaxAgeMs: undefined, quietHours });
		world.sandbox.clock.advanceTo(new Date("2026-01-05T22:00:00Z"));
		for (const id of ["a", "b"]) await add(world, id);
		await world.outbox.runOnce();
		world.sandbox.clock.advance({ hours: 1 });
		await add(world, "c");
		await add(world, "d", { purpose: "marketing" });
		await world.outbox.runOnce();
		expect(await late(world)).toEqual([0, null]);
		// No worker comes at eight.
		world.sandbox.clock.advanceTo(new Date("2026-01-06T08:05:00Z"));
		expect(await late(world)).toEqual([4, 5]);
		world.anna.writes("Hello?");
		await world.outbox.runOnce();
		expect(await late(world)).toEqual([0, null]);
	});

	test("what has a time is late since then, and what beforeSend has put off since the time that it named", async () => {
		const at = (hour: number) => new Date(Date.UTC(2026, 0, 5, hour));
		const world = createWorld({
			onReply: undefined,
			defaultMaxAgeMs: undefined,
			beforeSend: ({ id }, { now }) =>
				id === "put off" && now < at(15) ? { waitUntil: at(15), because: "Later" } : "send",
		});
		await add(world, "put off", { notBefore: at(12) });
		world.sandbox.clock.advanceTo(new Date(at(12).getTime() + 7 * minute));
		expect(await late(world)).toEqual([1, 7]);
		await world.outbox.runOnce();
		expect(await late(world)).toEqual([0, null]);
		world.sandbox.clock.advanceTo(new Date(at(15).getTime() + 9 * minute));
		expect(await late(world)).toEqual([1, 9]);
		await world.outbox.runOnce();
		expect(await late(world)).toEqual([0, null]);
	});
});

describe("a sentence says what keeps a text", () => {
	const describeAll = ({ outbox }: World, ...ids: string[]) =>
		Promise.all(ids.map(async (id) => (await outbox.status(id))?.description ?? ""));
	const plain = { onReply: undefined, defaultMaxAgeMs: undefined };

	test("that is being sent, and the one behind it, while the key is refused", async () => {
		const world = createWorld(plain);
		world.sandbox.faults.add({ operation: "messages.send", times: 1, phase: "before", effect: { status: 500 } });
		world.sandbox.faults.add({
			operation: "conversations.get",
			skip: 1,
			times: 999,
			phase: "before",
			effect: { status: 401 },
		});
		await add(world, "a");
		await add(world, "b");
		await world.pass({ minutes: 30 });
		for (const sentence of await describeAll(world, "a", "b")) expect(sentence).toContain("refuses the API key");
	});

	test("that waits to be certain that a colleague's text was declined", async () => {
		const world = createWorld(plain);
		world.sandbox.clock.advance({ hours: 25 });
		await learnYes(world);
		world.agency.staff.sends({ contact: world.anna, text: "From a colleague" });
		await add(world, "a");
		await world.pass({ minutes: 1 });
		expect((await describeAll(world, "a"))[0]).toContain("holds a text of somebody else");
		world.anna.declines();
		const said = new Set<string>();
		// The reading right after the tap: the feed has seen it.
		const { conversation, messagePage } = await world.client
			.agency(world.agency.id)
			.conversations.get(world.anna.phoneNumber);
		await world.outbox.observe({ agencyId: world.agency.id, conversation, messages: messagePage.messages });
		for (let step = 0; step < 120; step++) {
			await world.pass({ ms: 10_000 });
			for (const sentence of await describeAll(world, "a")) said.add(sentence);
		}
		expect([...said]).toEqual([
			expect.stringContaining("Waits to be certain: the contact has tapped a button"),
			expect.stringContaining("the contact declined an earlier text"),
		]);
	});

	test("that is held while the key is refused, or was cancelled too late", async () => {
		const world = createWorld(plain);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "a");
		await world.pass({ minutes: 1 });
		await world.outbox.cancel("a");
		expect((await describeAll(world, "a"))[0]).toContain("cancelled too late");
		const [change] = await world.outbox.settled({ held: true });
		expect(change?.description).toContain("cancelled too late");
		world.sandbox.faults.add({ operation: "conversations.get", times: 999, phase: "before", effect: { status: 401 } });
		world.anna.writes("Hello");
		await world.pass({ hours: 1 });
		expect((await describeAll(world, "a"))[0]).toContain("refuses the API key");
	});

	test("whose reads fail after it has waited behind a colleague's text", async () => {
		const world = createWorld(plain);
		world.sandbox.clock.advance({ hours: 25 });
		world.agency.staff.sends({ contact: world.anna, text: "From a colleague" });
		await add(world, "a");
		await world.pass({ minutes: 20 });
		world.anna.accepts();
		world.sandbox.faults.add({ operation: "conversations.get", times: 999, phase: "before", effect: { status: 500 } });
		await world.pass({ minutes: 30 });
		expect((await describeAll(world, "a"))[0]).toMatch(/next attempt.* PartnerInternalError/);
	});

	test("that is held and that a STOP has ended: a step of explain tells of it", async () => {
		const world = createWorld(plain);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "a");
		await world.pass({ minutes: 1 });
		world.anna.writes("STOP");
		await world.pass({ minutes: 20 });
		const steps = (await world.outbox.explain("a"))?.steps.map(({ sentence }) => sentence).join("\n");
		expect(steps).toContain("The outbox will not send it.");
	});

	test("whose hook fails: the error names the hook and what it threw, and not its message", async () => {
		const beforeSend = () => Promise.reject(new TypeError("no row for +447700900101"));
		const world = createWorld({ ...plain, beforeSend });
		await add(world, "a");
		await world.pass({ minutes: 1 });
		const status = await world.outbox.status("a");
		expect(status).toMatchObject({ waitsFor: { kind: "hook_failed" }, error: { tag: "PartnerConfigurationError" } });
		expect(status?.error?.message).toMatch(/beforeSend.*TypeError/);
		expect(JSON.stringify(await world.outbox.explain("a"))).not.toContain("no row");
	});

	test("words that the AI has answered are an answer", async () => {
		const world = createWorld(plain);
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "a");
		await world.pass({ hours: 30 });
		world.anna.writes("Yes please, send it!");
		world.agency.staff.setAi({ contact: world.anna, on: true });
		world.agency.ai.replies({ contact: world.anna, text: "One moment" });
		await world.pass({ hours: 25 });
		expect(await world.outbox.status("a")).toMatchObject({ state: "dropped", reason: "answered_in_words" });
	});
});

test.each([
	["conversation", { conversation: "+447700900101 hello" }],
	["messages", { messages: null }],
	["messages[0]", { messages: [null] }],
	["messages", { messages: 5 }],
	["agencyId", { agencyId: 42 }],
	["conversation.phoneNumber", { conversation: { phoneNumber: 42 } }],
])("observe refuses a bad %s, and does not show it", async (field, change) => {
	const { outbox } = createWorld();
	const error = await outbox.observe(change as never).catch((thrown: unknown) => thrown);
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", field, operation: "observe" });
	expect(String(error)).not.toMatch(/447700900101|hello/);
});

describe("resolve", () => {
	async function createUnknown() {
		const office = createOffice();
		await office.enqueue("a");
		const row = await office.store.find("a");
		if (row) await office.store.save({ ...row, state: "unknown", reason: "ambiguous", nextAt: null });
		return office;
	}

	test("makes an unknown text sent, once", async () => {
		const { outbox } = await createUnknown();
		expect(await outbox.resolve("a", "sent", { by: "Ann" })).toBe(true);
		expect(await outbox.status("a")).toMatchObject({ state: "sent", reason: "resolved" });
		expect(await outbox.resolve("a", "not_sent")).toBe(false);
		expect((await outbox.settled()).map(({ id, state }) => [id, state])).toEqual([["a", "sent"]]);
		expect((await outbox.explain("a"))?.steps.at(-1)?.sentence).toContain("as Ann said");
	});

	test("ends an unknown text as cancelled, which is never sent under its id", async () => {
		const { outbox, enqueue, inboxes } = await createUnknown();
		expect(await outbox.resolve("a", "not_sent")).toBe(true);
		expect(await outbox.status("a")).toMatchObject({ state: "cancelled", reason: "resolved" });
		expect((await enqueue("a")).state).toBe("cancelled");
		await outbox.runOnce();
		expect(inboxes()[0]).toEqual([]);
	});

	test("is false for any other state and for an unknown id, and of two at once one wins", async () => {
		const { outbox, enqueue } = await createUnknown();
		await enqueue("b", 1);
		expect([await outbox.resolve("b", "sent"), await outbox.resolve("none", "sent")]).toEqual([false, false]);
		const both = await Promise.all([outbox.resolve("a", "sent"), outbox.resolve("a", "not_sent")]);
		expect(both.filter(Boolean)).toHaveLength(1);
		await expect(outbox.resolve("b", "maybe" as never)).rejects.toThrow(/outcome: must be "sent" or "not_sent"/);
		await expect(outbox.resolve("b", "sent", { by: "A\nB" })).rejects.toThrow(/by: must be one line/);
	});
});

describe("explain", () => {
	test("tells the life of a text, with no number and no body", async () => {
		const world = createWorld();
		const { sandbox, outbox, anna, enqueue, pass } = world;
		sandbox.clock.advance({ hours: 25 });
		await enqueue("Secret words");
		await pass({ hours: 3 });
		anna.accepts();
		await pass({ hours: 1 });
		const found = await outbox.explain("note-1");
		const told = found?.steps.map(({ sentence }) => sentence) ?? [];
		expect(told[0]).toBe("Enqueued (notice).");
		// A step that was found again is no second send.
		expect(told.filter((sentence) => /times/.test(sentence))).toEqual(
			told.filter((sentence) => /Checked \d+ times\.$/.test(sentence)),
		);
		expect(told.join(" ")).toMatch(/Checked \d+ times\./);
		expect(told[1]).toMatch(/^It is not in the conversation. The window is closed. Request 1 begins.$/);
		expect(told[2]).toMatch(/^It is held until the contact consents. Next check at /);
		expect(told.join("\n")).toMatch(/It is (sent|delivered)|It was delivered/);
		expect(JSON.stringify([found?.steps, (await world.store.find("note-1"))?.progress.journal])).not.toMatch(
			/Secret|447700/,
		);
		expect(await outbox.explain("none")).toBeUndefined();
	});

	test("is capped, keeps how it began, and counts what repeats itself", async () => {
		const { sandbox, outbox, enqueue, store } = createOffice();
		sandbox.clock.advance({ hours: 25 });
		await enqueue("a");
		for (let at = 0; at < 60; at++) {
			await outbox.runOnce();
			sandbox.clock.advance({ ms: 10 * minute });
		}
		const journal = (await store.find("a"))?.progress.journal ?? [];
		expect(journal.length).toBeLessThanOrEqual(32);
		expect(journal.some(({ times = 0 }) => times > 10)).toBe(true);
		expect(journal[0]).toMatchObject({ request: 1, state: "sending", read: "none", isOpen: false });
		let row = await store.find("a");
		for (let at = 0; at < 50 && row; at++) {
			await outbox.cancel("a");
			sandbox.faults.add({ operation: "conversations.get", times: 4, effect: { status: at % 2 ? 503 : 500 } });
			sandbox.clock.advance({ hours: 9 });
			await outbox.runOnce();
			row = await store.find("a");
		}
		const last = (await store.find("a"))?.progress.journal ?? [];
		expect(last.length).toBeLessThanOrEqual(32);
		expect(last[0]).toMatchObject({ request: 1 });
	});

	test.each([
		[{}, "Enqueued (notice)."],
		[{ notBefore: "2026-01-05T10:00:00Z" }, "Enqueued (notice), not to be sent before 2026-01-05 10:00 UTC."],
		[{ notAfter: "2026-01-05T17:30:00Z" }, "Enqueued (notice), not to be sent after 2026-01-05 17:30 UTC."],
		[
			{ notBefore: "2026-01-05T10:00:00Z", notAfter: "2026-01-05T17:30:00Z" },
			"Enqueued (notice), not to be sent before 2026-01-05 10:00 UTC or after 2026-01-05 17:30 UTC.",
		],
	])("says when a text may be sent: %o", async (times, sentence) => {
		const { outbox, enqueue } = createOffice();
		await enqueue("a", 0, times);
		expect((await outbox.explain("a"))?.steps[0]?.sentence).toBe(sentence);
	});

	test("is erased by erase", async () => {
		const { outbox, enqueue, store } = createOffice();
		await enqueue("a");
		await outbox.runOnce();
		expect((await outbox.explain("a"))?.steps.length).toBeGreaterThan(2);
		await outbox.erase({ to: "+447700900101", everyAgency: true });
		expect((await outbox.explain("a"))?.steps.map(({ sentence }) => sentence)).toEqual(["Enqueued (notice)."]);
		expect((await store.find("a"))?.progress.journal).toBeUndefined();
	});

	test("tells of a request that failed, and of a cancellation that came too late", async () => {
		const { sandbox, outbox, enqueue } = createOffice();
		sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
		await enqueue("a");
		await outbox.runOnce();
		await outbox.cancel("a");
		const told = (await outbox.explain("a"))?.steps.map(({ sentence }) => sentence) ?? [];
		expect(told.join("\n")).toMatch(/A call failed with PartnerConnectionError/);
	});
});
