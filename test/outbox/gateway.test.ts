/*
 * The outbox behind something that answers in place of the service: a lost answer each time, so that it reads, and then
 * decides.
 */
import { createClient } from "messaging-conversations";
import { describe, expect, test } from "vitest";
import { createWorld } from "./world.ts";

const statuses = [400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 418, 421, 425, 429, 431, 451, 499, 500, 502, 503];

describe.each([
	["before the service got it", "before"],
	["after the service took it", "after"],
] as const)("a send that a page answers, %s,", (_, phase) => {
	test.each(statuses)("reaches the contact once after a %d", async (status) => {
		const { sandbox, enqueue, pass, state, texts } = createWorld();
		sandbox.faults.add({ operation: "messages.send", phase, effect: { kind: "html", status } });
		await enqueue("1");
		await pass({ minutes: 10 });
		expect([await state("note-1"), texts()]).toEqual(["sent", ["1"]]);
	});

	test.each([403, 408, 429])("says what the phone shows when it is cancelled after a %d", async (status) => {
		const { sandbox, outbox, enqueue, pass, state, texts } = createWorld();
		sandbox.faults.add({ operation: "messages.send", phase, effect: { kind: "html", status } });
		await enqueue("1");
		await outbox.runOnce();
		await outbox.cancel("note-1");
		await pass({ minutes: 10 });
		expect([await state("note-1"), texts()]).toEqual(phase === "after" ? ["sent", ["1"]] : ["cancelled", []]);
	});

	test.each([400, 403, 404, 408, 429, 502])("is held once after a %d in a closed window", async (status) => {
		const { sandbox, anna, enqueue, pass, state, texts, templates } = createWorld();
		sandbox.clock.advance({ hours: 30 });
		sandbox.faults.add({ operation: "messages.send", phase, effect: { kind: "html", status } });
		await enqueue("1");
		await pass({ minutes: 20 });
		expect([await state("note-1"), texts(), templates()]).toEqual(["held", [], 1]);
		anna.declines();
		await pass({ hours: 1 });
		expect([await state("note-1"), texts(), templates()]).toEqual(["dropped", [], 1]);
	});
});

test.each(statuses)("a contact who wrote STOP stays one after a page with %d in place of the read", async (status) => {
	const { sandbox, anna, enqueue, pass, state, texts } = createWorld({
		beforeSend: (_, { messages }) =>
			messages.some(({ body }) => body === "STOP") ? { cancel: "They wrote STOP" } : "send",
	});
	anna.writes("STOP");
	sandbox.faults.add({ operation: "conversations.get", times: 6, effect: { kind: "html", status } });
	await enqueue("1");
	await pass({ hours: 2 });
	expect([await state("note-1"), texts()]).toEqual(["cancelled", []]);
});

test.each([403, 404, 410, 502])("a page with %d in place of the read replaces no held text", async (status) => {
	const { sandbox, agency, anna, enqueue, pass, state } = createWorld();
	sandbox.clock.advance({ hours: 30 });
	agency.staff.sends({ contact: anna, text: "Of somebody else" });
	sandbox.faults.add({ operation: "conversations.get", times: 6, effect: { kind: "html", status } });
	await enqueue("1");
	await pass({ hours: 2 });
	expect([await state("note-1"), anna.state().held?.body]).toEqual(["waiting", "Of somebody else"]);
});

test("a gateway that never lets a text pass ends it as refused, because reads prove that it was not taken", async () => {
	const { sandbox, outbox, enqueue, pass, texts } = createWorld();
	const effect = { kind: "html", status: 403 } as const;
	sandbox.faults.add({ operation: "messages.send", times: 1000, effect });
	await enqueue("1");
	await pass({ hours: 240 });
	expect(await outbox.status("note-1")).toMatchObject({ state: "refused", reason: "failing", attempts: 8 });
	expect(texts()).toEqual([]);
});

test("the same gateway leaves a text unknown whose conversation no read could see", async () => {
	const { sandbox, agency, anna, outbox, enqueue, pass } = createWorld();
	agency.conversation(anna).hide();
	const effect = { kind: "html", status: 403 } as const;
	sandbox.faults.add({ operation: "messages.send", times: 1000, effect });
	await enqueue("1");
	await pass({ hours: 240 });
	expect(await outbox.status("note-1")).toMatchObject({ state: "unknown", reason: "unreadable" });
});

test("a 429 never moves a text towards unknown", async () => {
	const { sandbox, enqueue, pass, texts, pauses } = createWorld();
	sandbox.faults.add({ operation: "messages.send", times: 12, effect: { kind: "html", status: 429 } });
	await enqueue("1");
	await pass({ hours: 20 });
	expect(texts()).toEqual(["1"]);
	expect(pauses.map(({ reason }) => reason)).toContain("rate_limited");
});

test.each([401, 403])("a page with %d is neither a bad key nor an agency that is not linked", async (status) => {
	const { sandbox, outbox, enqueue, pauses } = createWorld();
	sandbox.faults.add({ operation: "messages.send", effect: { kind: "html", status } });
	await enqueue("1");
	await outbox.runOnce();
	const reasons = pauses.map(({ reason }) => reason);
	expect(reasons).not.toContain("key");
	expect(reasons).not.toContain("forbidden");
});

describe("a firewall that refuses", () => {
	const page = (): Response => new Response("<h1>Forbidden</h1>", { status: 403, headers: { server: "waf" } });

	/** An outbox behind a firewall, people who have just written, and hours that pass minute by minute. */
	function createBehind(refuses: (request: Request, body: string) => boolean, errorBodies?: "any") {
		const world = createWorld();
		const { sandbox, agency } = world;
		const people = Array.from({ length: 20 }, (_, at) => agency.contact(`+4477009002${10 + at}`));
		for (const person of people) person.writes("Hello");
		let isUp = true;
		let refused = 0;
		const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
			const request = new Request(input, init);
			if (!isUp || !refuses(request, await request.clone().text())) return sandbox.connection.fetch(request);
			refused++;
			return page();
		};
		const outbox = world.restart({ client: createClient({ ...sandbox.connection, fetch, retry: false, errorBodies }) });
		const enqueue = (at: number, body = "Hi", id = `${at}`) =>
			outbox.enqueue({ id, agencyId: agency.id, to: people[at]?.phoneNumber ?? "", body });
		const minutes = async (count: number, each?: (minute: number) => Promise<unknown>) => {
			for (let minute = 0; minute < count; minute++) {
				await each?.(minute);
				await outbox.runOnce();
				sandbox.clock.advance({ minutes: 1 });
			}
			await outbox.runOnce();
		};
		const end = () => {
			isUp = false;
		};
		return { ...world, people, outbox, enqueue, minutes, end, refusals: () => refused };
	}

	test.each([undefined, "any" as const])(
		"one text ends that one as blocked after three rounds that count, and the others are sent (errorBodies: %s)",
		async (errorBodies) => {
			const { outbox, enqueue, minutes, pauses, people } = createBehind(
				(_, body) => body.includes("<script>"),
				errorBodies,
			);
			await enqueue(0, "<script>", "bad");
			await minutes(300, (minute) => enqueue(1 + (minute % 19), `Text ${minute}`, `good ${minute}`));
			expect(await outbox.status("bad")).toMatchObject({
				state: "refused",
				reason: "blocked",
				description: expect.stringContaining("firewall"),
			});
			expect((await outbox.status("bad"))?.attempts).toBeLessThan(8);
			expect(people[0]?.inbox()).toEqual([]);
			expect(people.flatMap((person) => person.inbox().filter(({ kind }) => kind === "text"))).toHaveLength(300);
			expect(pauses[0]).toMatchObject({ reason: "gateway" });
		},
	);

	test.each([
		["a read", ({ method }: Request) => method === "GET"],
		["a send of another text", ({ method }: Request) => method === "POST"],
	])("one text each time, and now and then %s too, is one of several nodes, and ends none", async (_, isOther) => {
		let calls = 0;
		const { outbox, enqueue, minutes, people, end } = createBehind(
			(request, body) => body.includes("unlucky") || (isOther(request) && calls++ % 4 === 0),
		);
		await enqueue(0, "unlucky", "bad");
		await minutes(90, (minute) => enqueue(1 + (minute % 19), `Text ${minute}`, `good ${minute}`));
		const status = await outbox.status("bad");
		expect(["waiting", "sending"]).toContain(status?.state);
		expect(status?.attempts).toBeGreaterThan(3);
		end();
		await minutes(12 * 60);
		expect(people[0]?.inbox().map(({ body }) => body)).toEqual(["unlucky"]);
	});

	test("everything pauses all texts, is asked for all of them together, and ends none", async () => {
		const { outbox, enqueue, minutes, pauses, people, end, refusals } = createBehind(() => true);
		for (const at of people.keys()) await enqueue(at);
		await minutes(12 * 60);
		// And again after six hours.
		expect(pauses).toMatchObject([{ reason: "gateway" }, { reason: "gateway" }]);
		for (const at of people.keys()) expect(await outbox.status(`${at}`)).toMatchObject({ state: "waiting" });
		// Pauses of up to a quarter of an hour, in which the four texts under way and one question are refused.
		expect(refusals()).toBeLessThan(5 * 70);
		end();
		await minutes(30);
		for (const person of people) expect(person.inbox().map(({ body }) => body)).toEqual(["Hi"]);
	});

	test("a text that was held before is no proof that others pass", async () => {
		let isUp = false;
		const world = createBehind(({ method }) => {
			// A send takes time, so that its success is later than its beginning.
			world.sandbox.clock.advance({ ms: 100 });
			return isUp && method === "POST";
		});
		const { sandbox, outbox, agency, minutes, pauses } = world;
		const contact = agency.contact("+447700900299");
		contact.writes("Hello");
		sandbox.clock.advance({ hours: 30 });
		await outbox.enqueue({ id: "held", agencyId: agency.id, to: contact.phoneNumber, body: "Hi" });
		await minutes(2);
		expect(await outbox.status("held")).toMatchObject({ state: "held" });
		isUp = true;
		contact.writes("Yes?");
		await minutes(30);
		expect(pauses[0]).toMatchObject({ reason: "gateway" });
	});

	test("every POST, and lets reads pass: the queue pauses, and each text is sent once it is gone", async () => {
		const { enqueue, minutes, pauses, people, end } = createBehind(({ method }) => method === "POST");
		for (const at of people.keys()) await enqueue(at);
		await minutes(120);
		expect(pauses).toMatchObject([{ reason: "gateway" }]);
		end();
		await minutes(12 * 60);
		for (const person of people) expect(person.inbox().map(({ body }) => body)).toEqual(["Hi"]);
	});
});

test.each([
	["a text", "the vault is away"],
	["nothing", undefined],
	["a redirect", { status: 302 }],
])("a key function that throws %s pauses the outbox as a bad key does, and does not end it", async (_, thrown) => {
	const { sandbox, restart, agency, anna, pauses, texts } = createWorld();
	let isAway = true;
	const apiKey = () => {
		if (isAway) throw thrown;
		return sandbox.connection.apiKey;
	};
	const outbox = restart({ client: createClient({ ...sandbox.connection, apiKey, retry: false }) });
	await outbox.enqueue({ id: "1", agencyId: agency.id, to: anna.phoneNumber, body: "Hi" });
	await outbox.runOnce();
	expect(pauses).toMatchObject([{ reason: "key", error: { _tag: "PartnerConfigurationError" } }]);
	expect(JSON.stringify(pauses)).not.toContain("vault");
	isAway = false;
	sandbox.clock.advance({ minutes: 2 });
	await outbox.runOnce();
	expect(texts()).toEqual(["Hi"]);
});
