// Texts of which the outbox does not know the end: what it does with them, when it stops, and what it reports.
import { createClient } from "messaging-conversations";
import { createOutbox, type Outbox, type OutboxOptions } from "messaging-conversations/outbox";
import { afterEach, describe, expect, test, vi } from "vitest";
import { changed } from "./port.ts";
import { createWorld, learnYes } from "./world.ts";

type World = ReturnType<typeof createWorld>;

const inHours = ({ sandbox }: World, hours: number): Date =>
	new Date(sandbox.clock.now().getTime() + hours * 3_600_000);

/** A world in which Anna's window is closed. */
function createClosed(options: Partial<OutboxOptions> = {}): World {
	const world = createWorld(options);
	world.sandbox.clock.advance({ hours: 30 });
	return world;
}

/** Every send is answered 500 and not taken. */
function breakSends({ sandbox }: World, times = 100_000): void {
	sandbox.faults.add({ operation: "messages.send", phase: "before", effect: { status: 500 }, times });
}

test("a held text whose conversation is hidden keeps the next one back until the contact's time is over", async () => {
	const { agency, anna, enqueue, pass, state, sends } = createClosed();
	for (const body of ["1", "2"]) await enqueue(body);
	await pass({ minutes: 1 });
	agency.conversation(anna).hide();
	await pass({ hours: 48 });
	expect([await state("note-1"), await state("note-2"), sends().length]).toEqual(["held", "waiting", 1]);
	await pass({ hours: 3 });
	expect([await state("note-1"), await state("note-2"), sends().length]).toEqual(["unknown", "held", 2]);
});

test("a text that was taken in a hidden conversation, by an answer that is broken otherwise, keeps the next one back too", async () => {
	const { sandbox, agency, anna, enqueue, restart, pass, state, sends } = createClosed();
	const fetch: typeof globalThis.fetch = async (url, init) => {
		const response = await sandbox.fetch(url, init);
		return init?.method === "POST" ? Response.json({ ...(await response.json()), windowOpen: null }) : response;
	};
	agency.conversation(anna).hide();
	for (const body of ["1", "2"]) await enqueue(body);
	await restart({ client: createClient({ ...sandbox.connection, fetch }) }).runOnce();
	await pass({ hours: 48 });
	expect([await state("note-1"), await state("note-2"), sends().length]).toEqual(["sending", "waiting", 1]);
	await pass({ hours: 3 });
	expect([await state("note-1"), await state("note-2"), sends().length]).toEqual(["unknown", "held", 2]);
});

test("a text behind one of staff's is not sent when the conversation is hidden, as long as that one can be held", async () => {
	const { agency, anna, enqueue, outbox, pass, state, sends } = createClosed();
	agency.staff.sends({ contact: anna, text: "Call me" });
	await enqueue("1");
	await pass({ minutes: 1 });
	agency.conversation(anna).hide();
	await pass({ hours: 47 });
	expect([anna.state().held?.body, sends().length]).toEqual(["Call me", 0]);
	expect((await outbox.status("note-1"))?.description).toBe(
		"Waits: the service holds a text of somebody else for the contact.",
	);
	await pass({ hours: 4 });
	expect([await state("note-1"), sends().length]).toEqual(["held", 1]);
});

test("words from before the send are no answer, even if the conversation was hidden at the send", async () => {
	const { agency, anna, enqueue, pass, state, sends } = createClosed();
	agency.conversation(anna).hide();
	await enqueue("1");
	await pass({ minutes: 1 });
	agency.conversation(anna).visibleAs("focus");
	anna.taps("visit_later");
	await pass({ hours: 1 });
	expect([await state("note-1"), sends().length]).toEqual(["held", 1]);
	anna.writes("Who is this?");
	await pass({ hours: 1 });
	expect([await state("note-1"), sends().length]).toEqual(["sent", 2]);
});

test("words right after a tap are no answer by a clock that is ahead either", async () => {
	const world: World = createClosed({ now: () => inHours(world, 0.05) });
	const { client, agency, anna, enqueue, outbox, pass, sends } = world;
	await enqueue("1");
	await pass({ minutes: 20 });
	anna.taps("visit_later");
	anna.writes("Sorry");
	const { conversation } = await client.agency(agency.id).conversations.get(anna.phoneNumber);
	await outbox.observe({ agencyId: agency.id, conversation });
	await outbox.runOnce();
	expect(sends().length).toBe(1);
	await pass({ minutes: 30 });
	expect(sends().length).toBe(2);
});

test("reads that failed for hours do not shorten the day of reads of a hidden conversation", async () => {
	const { sandbox, agency, anna, enqueue, outbox, pass, state } = createWorld();
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
	await enqueue("1");
	sandbox.faults.add({ operation: "conversations.get", skip: 1, times: 100_000, effect: { status: 500 } });
	sandbox.faults.add({ operation: "messages.send", skip: 1, times: 100_000, effect: { status: 503 } });
	await outbox.runOnce();
	await pass({ hours: 2 });
	expect(await state("note-1")).toBe("sending");
	sandbox.faults.clear();
	agency.conversation(anna).hide();
	await pass({ minutes: 15 });
	expect(await state("note-1")).toBe("sending");
	agency.conversation(anna).visibleAs("focus");
	await pass({ hours: 1 });
	expect(await state("note-1")).toBe("sent");
});

test.each(["held", "sent", "unknown"] as const)(
	"a text that was tried in a hidden conversation, and is %s when that is shown again, is not sent again",
	async (end) => {
		const { sandbox, agency, anna, enqueue, pass, state, sends } = createClosed();
		agency.conversation(anna).hide();
		sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
		sandbox.faults.add({
			operation: "messages.send",
			skip: 1,
			phase: "before",
			effect: { status: 429, retryAfter: 600 },
		});
		await enqueue("1");
		await pass({ minutes: 5 });
		expect([await state("note-1"), sends().length]).toEqual(["sending", 2]);
		if (end === "sent") anna.accepts();
		if (end === "unknown") anna.declines();
		agency.conversation(anna).visibleAs("focus");
		await pass({ minutes: 10 });
		expect([await state("note-1"), sends().length]).toEqual([end, 2]);
	},
);

test("a held text whose conversation is shown again is credited", async () => {
	const { agency, anna, enqueue, pass, state, texts } = createClosed();
	await enqueue("1");
	await pass({ minutes: 1 });
	agency.conversation(anna).hide();
	await pass({ hours: 40 });
	anna.accepts();
	agency.conversation(anna).visibleAs("focus");
	await pass({ hours: 1 });
	expect([await state("note-1"), texts()]).toEqual(["sent", ["1"]]);
});

test.each(["before", "after"] as const)(
	"a text whose request was cut %s the send is unknown when the queue holds another one, and is not sent again",
	async (phase) => {
		const { sandbox, agency, anna, enqueue, outbox, pass, state, sends } = createClosed();
		sandbox.faults.add({ operation: "messages.send", phase, effect: "reset" });
		await enqueue("1");
		await outbox.runOnce();
		agency.staff.sends({ contact: anna, text: "Please call us." });
		await pass({ hours: 1 });
		expect([await state("note-1"), sends().length]).toEqual(["unknown", 1]);
	},
);

test("a text that is taken back while its conversation is read is not sent", async () => {
	const { sandbox, enqueue, outbox, state, sends } = createWorld();
	await enqueue("1");
	let isCancelled: Promise<boolean> | undefined;
	sandbox.during({ operation: "conversations.get", phase: "after" }, () => {
		isCancelled = outbox.cancel("note-1");
	});
	await outbox.runOnce();
	expect([await isCancelled, await state("note-1"), sends().length]).toEqual([true, "cancelled", 0]);
});

test("a text that cannot have been held is unknown after the last read", async () => {
	const world = createWorld({ followMs: [1_000, 2_000] });
	const { agency, anna, enqueue, outbox, pass, state, sends } = world;
	breakSends(world);
	await enqueue("1");
	await outbox.runOnce();
	agency.conversation(anna).hide();
	await pass({ hours: 1 });
	expect(await state("note-1")).toBe("unknown");
	expect(sends().length).toBeLessThanOrEqual(4);
});

test("a held text is not sent again after notAfter, and the contact's consent still delivers it", async () => {
	const world = createClosed();
	const { anna, enqueue, pass, state, texts, sends } = world;
	await enqueue("1", { notAfter: inHours(world, 2) });
	await pass({ hours: 10 });
	anna.writes("What is it?");
	await pass({ hours: 1 });
	expect([await state("note-1"), texts(), sends().length]).toEqual(["held", [], 1]);
	anna.accepts();
	await pass({ hours: 1 });
	expect([await state("note-1"), texts()]).toEqual(["sent", ["1"]]);
});

test("a text in doubt is not sent again after notAfter: expired when it left no trace, sent when it did", async () => {
	for (const [phase, expected] of [
		["before", "expired"],
		["after", "sent"],
	] as const) {
		const { sandbox, outbox, enqueue, pass, state, sends } = createWorld();
		sandbox.faults.add({ operation: "messages.send", phase, effect: { status: 500 }, times: 3 });
		await enqueue("1", { notAfter: new Date(sandbox.clock.now().getTime() + 50) });
		await outbox.runOnce();
		sandbox.clock.advance({ ms: 51 });
		await pass({ minutes: 5 });
		expect([phase, await state("note-1"), sends().length]).toEqual([phase, expected, 1]);
	}
});

test("a text whose time passes while it is read about is not sent", async () => {
	const world = createWorld();
	const { sandbox, enqueue, restart, state, sends } = world;
	const fetch: typeof globalThis.fetch = async (url, init) => {
		const response = await sandbox.fetch(url, init);
		sandbox.clock.advance({ ms: 5_000 });
		return response;
	};
	await enqueue("1", { notAfter: new Date(sandbox.clock.now().getTime() + 2_000) });
	await restart({ client: createClient({ ...sandbox.connection, fetch }) }).runOnce();
	expect([await state("note-1"), sends()]).toEqual(["expired", []]);
});

test("a text to a conversation that was never seen is unknown and not expired or cancelled, once it was tried", async () => {
	for (const end of ["notAfter", "cancel"]) {
		const world = createWorld();
		const { agency, outbox, enqueue, pass, state } = world;
		const bert = agency.contact("+447700900102");
		breakSends(world);
		await enqueue("1", { to: bert.phoneNumber, ...(end === "notAfter" && { notAfter: inHours(world, 1) }) });
		await pass({ hours: 2 });
		if (end === "cancel") expect([await state("note-1"), await outbox.cancel("note-1")]).toEqual(["waiting", false]);
		expect(await state("note-1")).toBe("unknown");
	}
});

test.each(["open", "closed"])(
	"a text that is always answered 500 is given up after a few requests over hours, in an %s window",
	async (window) => {
		const world = window === "open" ? createWorld() : createClosed();
		const { enqueue, pass, state, sends, settled, pauses } = world;
		breakSends(world);
		for (const body of ["1", "2"]) await enqueue(body);
		await pass({ hours: 5 });
		expect([await state("note-1"), await state("note-2")]).toEqual(["waiting", "waiting"]);
		expect(sends().length).toBeLessThanOrEqual(7);
		await pass({ hours: 4 });
		// It is told again after six hours.
		expect([await state("note-1"), pauses.length]).toEqual(["refused", 2]);
		expect(settled).toMatchObject([{ id: "note-1", state: "refused", reason: "failing", attempts: 8 }]);
		const { error } = settled[0] ?? {};
		expect(error).toMatchObject({ tag: "PartnerInternalError", correlationId: expect.any(String) });
	},
);

test("a text between two tries is cancelled, and the next has its turn", async () => {
	const world = createWorld();
	const { sandbox, outbox, enqueue, pass, texts } = world;
	breakSends(world);
	for (const body of ["1", "2"]) await enqueue(body);
	await pass({ hours: 1 });
	sandbox.faults.clear();
	expect(await outbox.cancel("note-1")).toBe(true);
	await pass({ minutes: 5 });
	expect(texts()).toEqual(["2"]);
});

test("pauses between tries are kept by a new process, and when the change feed wakes the queue", async () => {
	const world = createWorld({ engine: undefined });
	const { agency, anna, client, enqueue, outbox, pass, sends, store, sandbox } = world;
	breakSends(world);
	await enqueue("1");
	await pass({ hours: 1 });
	const before = sends().length;
	const { conversation } = await client.agency(agency.id).conversations.get(anna.phoneNumber);
	for (let restarts = 0; restarts < 5; restarts++) {
		await store.recover(sandbox.clock.now().getTime());
		await outbox.observe({ agencyId: agency.id, conversation });
		await outbox.runOnce();
	}
	expect(sends().length).toBe(before);
});

test("a held text whose second send is always answered 500 waits for the consent in the end", async () => {
	const world = createClosed();
	const { anna, enqueue, pass, state, texts, sends } = world;
	await enqueue("1");
	await pass({ minutes: 1 });
	breakSends(world);
	anna.writes("What is it?");
	await pass({ hours: 23 });
	expect(await state("note-1")).toBe("held");
	expect(sends().length).toBeLessThanOrEqual(9);
	anna.accepts();
	await pass({ hours: 1 });
	expect([await state("note-1"), texts()]).toEqual(["sent", ["1"]]);
});

test("an outage of reads and sends for a day makes no text unknown", async () => {
	const { sandbox, enqueue, pass, state, texts } = createWorld();
	sandbox.faults.add({ effect: { status: 503 }, times: 100_000 });
	await enqueue("1");
	await pass({ hours: 20 });
	sandbox.faults.clear();
	await pass({ hours: 1 });
	expect([await state("note-1"), texts()]).toEqual(["sent", ["1"]]);
});

test("a service whose reads are slow is sent to all the same", async () => {
	const { sandbox, enqueue, restart, state, sends } = createWorld();
	let reads = 0;
	const fetch: typeof globalThis.fetch = async (url, init) => {
		if (init?.method !== "POST" && ++reads > 50) throw new Error("It does not come to an end.");
		const response = await sandbox.fetch(url, init);
		if (init?.method !== "POST") sandbox.clock.advance({ ms: 12_000 });
		return response;
	};
	await enqueue("1");
	await restart({ client: createClient({ ...sandbox.connection, fetch }) }).runOnce();
	expect([await state("note-1"), sends().length]).toEqual(["sent", 1]);
});

test("with onHeld replace a text is not called replaced by one that was refused", async () => {
	const { sandbox, anna, enqueue, pass, state } = createClosed({ onHeld: "replace" });
	await enqueue("1");
	await pass({ minutes: 1 });
	sandbox.faults.add({ operation: "messages.send", phase: "before", effect: { status: 400 } });
	await enqueue("2");
	await pass({ minutes: 1 });
	expect([await state("note-1"), await state("note-2")]).toEqual(["held", "refused"]);
	anna.declines();
	await pass({ hours: 1 });
	expect(await state("note-1")).toBe("dropped");
});

test("a text that took the place of a held one is not sent again after the contact has declined it", async () => {
	const { sandbox, anna, enqueue, outbox, pass, state, sends, texts } = createClosed({ onHeld: "replace" });
	await enqueue("1");
	await pass({ minutes: 15 });
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
	await enqueue("2");
	await outbox.runOnce();
	expect(anna.state().held?.body).toBe("2");
	sandbox.clock.advance({ ms: 5_001 });
	anna.declines();
	await pass({ hours: 1 });
	expect([await state("note-2"), texts(), sends().length]).toEqual(["unknown", [], 2]);
});

test("a template of a flow does not make a text dropped that was never taken", async () => {
	const { sandbox, enqueue, restart, state, sends } = createClosed();
	let shown: string | undefined;
	const fetch: typeof globalThis.fetch = async (url, init) => {
		const response = await sandbox.fetch(url, init);
		if (shown === undefined || init?.method === "POST") return response;
		const body = await response.json();
		const reminder = { ...body.messagePage.messages[0], id: 999, messageSid: "MM1", direction: "outbound" };
		body.messagePage.messages.unshift({ ...reminder, createdAt: shown, templateName: "visit_reminder" });
		return Response.json(body, { headers: response.headers });
	};
	const outbox = restart({ client: createClient({ ...sandbox.connection, fetch }) });
	sandbox.faults.add({ operation: "messages.send", phase: "before", effect: { status: 500 } });
	await enqueue("1");
	await outbox.runOnce();
	shown = new Date(sandbox.clock.now().getTime() + 1_000).toISOString();
	for (let minute = 0; minute < 5; minute++) {
		sandbox.clock.advance({ minutes: 1 });
		await outbox.runOnce();
	}
	expect([await state("note-1"), sends().length]).toEqual(["unknown", 1]);
});

describe("a machine whose clock is wrong by some seconds", () => {
	afterEach(() => {
		vi.useRealTimers();
	});

	/** An outbox that goes by the clock of the system, which is right on one machine and wrong on another. */
	async function createMachines(wrongByMs: number) {
		const world = createClosed();
		const { sandbox, client, store, agency, anna } = world;
		vi.useFakeTimers({ toFake: ["Date"] });
		// A short one, which is no slack for the clocks.
		const outbox = createOutbox({ client, store, settleMs: 5_000 });
		const at = (aheadMs: number) => vi.setSystemTime(sandbox.clock.now().getTime() + aheadMs);
		const runOnce = async (aheadMs: number, seconds: number) => {
			for (let passed = 0; passed < seconds; passed += 5) {
				sandbox.clock.advance({ ms: 5_000 });
				at(aheadMs);
				await outbox.runOnce();
			}
		};
		const enqueue = async (id: string, purpose?: "reply" | "marketing") => {
			at(0);
			await outbox.enqueue({ id, agencyId: agency.id, to: anna.phoneNumber, body: id, ...(purpose && { purpose }) });
		};
		return { ...world, outbox, enqueue, right: runOnce.bind(null, 0), wrong: runOnce.bind(null, wrongByMs) };
	}

	/** Which of the two machines reads before the decline, and which after it. */
	const orders = {
		"reads after the decline": ["right", "wrong"],
		"reads before the decline": ["wrong", "right"],
		"reads before and after it": ["wrong", "wrong"],
	} as const;
	const skews = [-30_000, -8_000, 8_000, 30_000];
	const cases = skews.flatMap((ms) => Object.entries(orders).map(([when, order]) => [ms, when, ...order] as const));
	const reasons = (outbox: Outbox, ...ids: string[]) =>
		Promise.all(ids.map(async (id) => (await outbox.status(id))?.reason));

	test.each(cases)("by %s ms, which %s, sends nothing that waited then", async (ms, _, first, then) => {
		const world = await createMachines(ms);
		const { anna, outbox, enqueue, texts, templates } = world;
		await enqueue("first");
		await world[first](60);
		expect((await outbox.status("first"))?.state).toBe("held");
		await enqueue("second");
		await enqueue("third", "reply");
		await world[first](15);
		anna.declines();
		await world[then](600);
		await world.right(600);
		const earlier = "earlier_text_declined";
		expect(await reasons(outbox, "first", "second", "third")).toEqual(["declined", earlier, null]);
		expect([texts(), templates()]).toEqual([["third"], 1]);
	});

	test.each(cases)(
		"by %s ms, which %s, sends nothing that waited behind a colleague's text",
		async (ms, _, first, then) => {
			const world = await createMachines(ms);
			const { agency, anna, outbox, enqueue, right, texts, templates } = world;
			await right(5);
			await learnYes({ agency, outbox, pass: async ({ minutes = 0 }) => right(60 * minutes) });
			agency.staff.sends({ contact: anna, text: "From a person" });
			await enqueue("first");
			await world[first](60);
			anna.declines();
			await world[then](600);
			await world.right(600);
			expect(await reasons(outbox, "first")).toEqual(["earlier_text_declined"]);
			expect([texts(), templates()]).toEqual([[], 1]);
		},
	);

	test.each(skews)("and is set by %s ms right after an answer, sends nothing that waited then", async (ms) => {
		const { sandbox, client, store, anna, outbox, enqueue, right, texts, templates } = await createMachines(0);
		const claimed: typeof store.claimed = (recipient) => {
			vi.setSystemTime(sandbox.clock.now().getTime() + ms);
			return store.claimed(recipient);
		};
		const stepped = createOutbox({ client, store: changed(store, { claimed }), settleMs: 5_000 });
		await enqueue("first");
		await enqueue("second");
		for (let seconds = 0; seconds < 60; seconds += 5) {
			sandbox.clock.advance({ ms: 5_000 });
			vi.setSystemTime(sandbox.clock.now());
			await stepped.runOnce();
		}
		anna.declines();
		await right(1_200);
		expect(await reasons(outbox, "first", "second")).toEqual(["declined", "earlier_text_declined"]);
		expect([texts(), templates()]).toEqual([[], 1]);
	});

	test("takes no words from before a decline for an answer to it", async () => {
		const { sandbox, anna, outbox, enqueue, right, wrong, texts, templates } = await createMachines(8_000);
		await enqueue("first");
		await right(60);
		anna.writes("Who is this?");
		sandbox.clock.advance({ ms: 3_000 });
		anna.declines();
		await right(600);
		expect((await outbox.status("first"))?.reason).toBe("declined");
		await enqueue("campaign", "marketing");
		await wrong(600);
		expect((await outbox.status("campaign"))?.reason).toBe("earlier_text_declined");
		expect([texts(), templates()]).toEqual([[], 1]);
	});
});

test.each([
	["a captive portal's success", { success: true, errors: [], messages: [], result: null }],
	["an empty object", {}],
	["a gateway that queues", { success: true, queued: true, queueId: 7 }],
	["a page", "<html>Accept the terms</html>"],
])("a text whose send was answered with %s is sent once the way is free", async (_, answer) => {
	const { sandbox, anna, enqueue, restart, pass, state, texts } = createWorld();
	let isCaught = true;
	const fetch: typeof globalThis.fetch = async (url, init) => {
		if (init?.method !== "POST" || !isCaught) return sandbox.fetch(url, init);
		return typeof answer === "string" ? new Response(answer) : Response.json(answer);
	};
	await enqueue("Friday at two?");
	const behindPortal = restart({ client: createClient({ ...sandbox.connection, fetch }) });
	await behindPortal.runOnce();
	expect(anna.inbox()).toEqual([]);
	isCaught = false;
	await pass({ minutes: 10 });
	expect([await state("note-1"), texts()]).toEqual(["sent", ["Friday at two?"]]);
});

test("an error with one more field is the service's, so that a new contact is still texted", async () => {
	const { sandbox, agency, store, outbox, restart } = createWorld();
	const fetch: typeof globalThis.fetch = async (url, init) => {
		const response = await sandbox.fetch(url, init);
		if (response.status !== 404) return response;
		return Response.json({ ...(await response.json()), requestId: "r-1" }, { status: 404 });
	};
	const to = "+447700900199";
	await outbox.enqueue({ id: "new", agencyId: agency.id, to, body: "Welcome" });
	await restart({ client: createClient({ ...sandbox.connection, fetch }) }).runOnce();
	expect((await store.find("new"))?.state).toBe("held");
});

test.each([
	["whose tag is that of another status", { _tag: "PartnerForbidden", message: "No." }],
	["without a message", { _tag: "PartnerNotFound" }],
	["whose message is no text", { _tag: "PartnerNotFound", message: 404 }],
])("a 404 %s is not the service's, so that nobody is taken for a new contact", async (_, body) => {
	const { sandbox, anna, enqueue, restart } = createWorld();
	const fetch: typeof globalThis.fetch = async (url, init) =>
		init?.method === "POST" ? sandbox.fetch(url, init) : Response.json(body, { status: 404 });
	await enqueue("Hi");
	await restart({ client: createClient({ ...sandbox.connection, retry: false, fetch }) }).runOnce();
	expect(anna.inbox()).toEqual([]);
});
