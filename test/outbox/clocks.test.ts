// Whose clock says when a contact said no: that of the service, that of this machine, or that of one answer which is wrong.
import { createClient } from "messaging-conversations";
import { createOutbox, type OutboxOptions } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { describe, expect, test } from "vitest";
import { memoryStore } from "./memory.ts";
import { newText } from "./store-suite.ts";
import { add, stateOf } from "./world.ts";

const minute = 60_000;
const hour = 60 * minute;

/** Anna, and an outbox whose clock is ahead of the service's by `ownMs`. Each answer has a Date, or none. */
function createClocks(options: Partial<OutboxOptions> & { ownMs?: number } = {}) {
	const { ownMs = 0, ...rest } = options;
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	const anna = agency.contact("+447700900101");
	/** How far the Date of the next answer is ahead of the service's clock; null for an answer without one. */
	const date: { aheadMs: number | null } = { aheadMs: 0 };
	const fetch: typeof globalThis.fetch = async (input, init) => {
		const response = await sandbox.fetch(input, init);
		const headers = new Headers(response.headers);
		if (date.aheadMs === null) headers.delete("date");
		else headers.set("date", new Date(sandbox.clock.now().getTime() + date.aheadMs).toUTCString());
		return new Response(response.body, { status: response.status, headers });
	};
	const client = createClient({ ...sandbox.connection, fetch, retry: false });
	const store = memoryStore();
	const now = () => sandbox.clock.now().getTime() + ownMs;
	const outbox = createOutbox({ client, store, now, ...rest });
	/** Time passes, and the outbox does what falls due on the way. */
	async function pass(ms: number): Promise<void> {
		const end = now() + ms;
		await outbox.runOnce();
		for (;;) {
			const next = await store.nextDue();
			if (next === undefined || next > end) break;
			if (next > now()) sandbox.clock.advance({ ms: next - now() });
			await outbox.runOnce();
		}
		if (end > now()) sandbox.clock.advance({ ms: end - now() });
		await outbox.runOnce();
	}
	const texts = () => anna.inbox().flatMap(({ kind, body }) => (kind === "text" ? [body] : []));
	return { sandbox, agency, anna, date, client, store, outbox, now, pass, texts };
}

const optedOut = ["cancelled", "opted_out"];

describe("a START outlives no later STOP", () => {
	test.each([
		["lags by three hours", -3 * hour],
		["is a day ahead", 24 * hour],
		["lags by two minutes", -2 * minute],
		["is missing", null],
	])("if the Date of the answer that showed the START %s", async (_, aheadMs) => {
		const world = createClocks();
		const { anna, date, pass } = world;
		anna.writes("START");
		await pass(5 * minute);
		date.aheadMs = aheadMs;
		await add(world, "welcome");
		await pass(minute);
		date.aheadMs = 0;
		expect(world.texts()).toEqual(["welcome"]);
		await pass(20 * minute);
		anna.writes("STOP");
		await pass(minute);
		for (const wait of [0, 4 * hour, 16 * hour]) {
			await pass(wait);
			await add(world, `offer ${wait}`, { purpose: "marketing" });
			await pass(minute);
			expect(await stateOf(world, `offer ${wait}`)).toEqual(optedOut);
		}
		expect(world.texts()).toEqual(["welcome"]);
	});

	test("if observe heard it on a machine whose clock is three hours ahead", async () => {
		const world = createClocks({ ownMs: 3 * hour });
		const { anna, agency, client, outbox, pass } = world;
		const tell = async () => {
			const { conversation, messagePage } = await client.agency(agency.id).conversations.get(anna.phoneNumber);
			await outbox.observe({ agencyId: agency.id, conversation, messages: messagePage.messages });
		};
		anna.writes("START");
		await tell();
		await pass(hour);
		anna.writes("STOP");
		await tell();
		await add(world, "offer", { purpose: "marketing" });
		await pass(minute);
		expect(await stateOf(world, "offer")).toEqual(optedOut);
	});
});

test.each([
	["START", "STOP", []],
	["STOP", "START", ["notice"]],
])("of %s and then %s at the same moment the later one of the list counts", async (first, second, sent) => {
	const world = createClocks();
	world.anna.writes(first);
	await add(world, "before");
	world.anna.writes(second);
	await add(world, "notice");
	await world.pass(minute);
	expect(world.texts().filter((body) => body === "notice")).toEqual(sent);
	// After both are no longer among the newest messages.
	for (let count = 0; count < 60; count++) world.anna.writes("Hello?");
	await add(world, "later");
	await world.pass(minute);
	expect(await stateOf(world, "later")).toEqual(sent.length > 0 ? ["sent", null] : optedOut);
});

describe("an opt-in by telephone", () => {
	test.each([
		["the service's clock is the same", 0, 0, 10 * minute, true],
		["the answers have no Date", null, 0, 10 * minute, true],
		["the service's clock is two minutes behind", 0, 2 * minute, 10 * minute, true],
		["the service's clock is two minutes ahead", 0, -2 * minute, 10 * minute, true],
		["it comes within the minutes that the clocks may differ by", 0, 0, 2 * minute, false],
	])("counts as optIn returns it if %s", async (_, aheadMs, ownMs, after, counts) => {
		const world = createClocks({ ownMs });
		const { anna, agency, outbox, date, pass } = world;
		date.aheadMs = aheadMs;
		anna.writes("STOP");
		await add(world, "first");
		await pass(after);
		expect(await stateOf(world, "first")).toEqual(optedOut);
		expect(await outbox.optIn({ to: anna.phoneNumber, agencyId: agency.id })).toBe(counts);
		if (!counts) {
			await pass(5 * minute);
			expect(await outbox.optIn({ to: anna.phoneNumber, agencyId: agency.id })).toBe(true);
		}
		await add(world, "second");
		await pass(minute);
		expect(await stateOf(world, "second")).toEqual(["sent", null]);
	});

	test("of all agencies says so if a STOP at one of them still counts", async () => {
		const world = createClocks();
		const { anna, outbox, sandbox, pass } = world;
		anna.writes("STOP");
		await pass(minute);
		const notBefore = new Date(sandbox.clock.now().getTime() + hour);
		await add(world, "later", { purpose: "reply", notBefore });
		await add(world, "now");
		await pass(minute);
		expect(await stateOf(world, "now")).toEqual(optedOut);
		expect(await outbox.optIn({ to: anna.phoneNumber })).toBe(false);
		await pass(10 * minute);
		expect(await outbox.optIn({ to: anna.phoneNumber })).toBe(true);
	});

	test("does not outlive a STOP that comes minutes later on a service whose clock is behind", async () => {
		const world = createClocks({ ownMs: 3 * minute });
		const { anna, outbox, pass } = world;
		await outbox.optIn({ to: anna.phoneNumber });
		await pass(minute);
		anna.writes("STOP");
		await add(world, "offer", { purpose: "marketing" });
		await pass(minute);
		expect(await stateOf(world, "offer")).toEqual(optedOut);
	});
});

describe("a decline", () => {
	test.each([
		["two minutes behind", 2 * minute],
		["two minutes ahead", -2 * minute],
		["an hour behind", hour],
		["fifteen seconds behind", 15_000],
	])("is heard if the service's clock is %s and the outbox was given its own", async (_, ownMs) => {
		const world = createClocks({ ownMs });
		const { anna, sandbox, pass } = world;
		await add(world, "first");
		await add(world, "second");
		await pass(10_000);
		expect(await stateOf(world, "first")).toEqual(["held", null]);
		sandbox.clock.advance({ ms: 2_000 });
		anna.declines();
		await pass(30 * minute);
		expect(await stateOf(world, "first")).toEqual(["dropped", "declined"]);
		expect(await stateOf(world, "second")).toEqual(["cancelled", "earlier_text_declined"]);
		await pass(2 * hour);
		await add(world, "offer", { purpose: "marketing" });
		await add(world, "notice");
		await pass(minute);
		expect(await stateOf(world, "offer")).toEqual(["cancelled", "earlier_text_declined"]);
		expect((await world.outbox.status("notice"))?.state).toBe("sent");
	});

	test.each([
		["a day ahead", 24 * hour],
		["three hours behind", -3 * hour],
		["missing", null],
	])("is heard if the Date of one answer while the text was held is %s", async (_, aheadMs) => {
		const world = createClocks();
		const { anna, date, pass, sandbox } = world;
		await add(world, "first");
		await pass(0);
		date.aheadMs = aheadMs;
		await pass(15_000);
		date.aheadMs = 0;
		sandbox.clock.advance({ ms: 2_000 });
		anna.declines();
		await pass(30 * minute);
		expect(await stateOf(world, "first")).toEqual(["dropped", "declined"]);
	});
});

test.each([
	["a day ahead", 24 * hour],
	["three hours behind", -3 * hour],
	["missing", null],
])(
	"a contact who writes after a text without an answer gets what was enqueued before, if the Date is %s",
	async (_, ms) => {
		const world = createClocks();
		const { anna, agency, date, pass, store } = world;
		await add(world, "first");
		await pass(hour);
		const createdAt = world.now();
		await pass(49 * hour);
		expect(await stateOf(world, "first")).toEqual(["dropped", "no_answer"]);
		const late = { ...newText, agencyId: agency.id, to: anna.phoneNumber, createdAt, notAfter: world.now() + hour };
		// Both were enqueued in transactions that are committed now.
		await store.insert({ ...late, id: "before they write" }, undefined);
		await pass(minute);
		anna.writes("Sorry, I was away");
		date.aheadMs = ms;
		await store.insert({ ...late, id: "after they write" }, undefined);
		await pass(minute);
		expect(await stateOf(world, "before they write")).toEqual(["cancelled", "earlier_text_unanswered"]);
		expect((await world.outbox.status("after they write"))?.state).toBe("sent");
	},
);

describe("nodes whose clocks differ by 15 s, and one that says tomorrow", () => {
	const nodes = [-15_000, 0, 24 * hour];

	test.each([
		[0, undefined],
		[1, undefined],
		[2, undefined],
		[0, "skip"],
		[1, "skip"],
		[2, "skip"],
	] as const)("keep back no text, beginning with node %s, whenClosed: %s", async (first, whenClosed) => {
		const sandbox = createSandbox();
		let count = first;
		const fetch: typeof globalThis.fetch = async (input, init) => {
			const response = await sandbox.fetch(input, init);
			const headers = new Headers(response.headers);
			const aheadMs = nodes[count++ % nodes.length] ?? 0;
			headers.set("date", new Date(sandbox.clock.now().getTime() + aheadMs).toUTCString());
			return new Response(response.body, { status: response.status, headers });
		};
		const client = createClient({ ...sandbox.connection, fetch, retry: false });
		const agency = sandbox.agency();
		const anna = agency.contact("+447700900101");
		const store = memoryStore();
		const outbox = createOutbox({ client, store, now: sandbox.clock.now });
		const world = { outbox, agency, anna };
		anna.writes("STOP");
		sandbox.clock.advance({ minutes: 10 });
		anna.writes("START");
		const ids: string[] = [];
		for (let round = 0; round < 12; round++) {
			sandbox.clock.advance({ minutes: 20 });
			anna.writes("Is the flat still free?");
			sandbox.clock.advance({ minutes: 2 });
			for (const purpose of ["reply", "notice", "marketing"] as const) {
				const id = `${purpose} ${round}`;
				ids.push(id);
				await add(world, id, { purpose, ...(whenClosed && { whenClosed }) });
			}
			await outbox.runOnce();
			for (let tries = 0; tries < 60; tries++) {
				sandbox.clock.advance({ ms: 1_000 });
				await outbox.runOnce();
			}
		}
		const states = await Promise.all(ids.map(async (id) => [id, (await outbox.status(id))?.state]));
		expect(states.filter(([, state]) => !["sent", "delivered", "read"].includes(String(state)))).toEqual([]);
		expect(anna.inbox().filter(({ kind }) => kind === "text")).toHaveLength(ids.length);
	});
});

test("window_unclear: at night a reply waits for another answer, and not for the morning, if the Date of one says tomorrow", async () => {
	const world = createClocks({ quietHours: { from: "20:00", to: "08:00", timeZone: "UTC" } });
	const { anna, date, pass, sandbox } = world;
	sandbox.clock.advanceTo(new Date("2026-01-05T22:00:00Z"));
	anna.writes("Are you there?");
	date.aheadMs = 24 * hour;
	await add(world, "answer", { purpose: "reply" });
	await world.outbox.runOnce();
	date.aheadMs = 0;
	await pass(minute);
	expect(world.texts()).toEqual(["answer"]);
});

test("opt_out_unclear: a reply to what the contact wrote after STOP waits for another answer if the Date of one is far off", async () => {
	const world = createClocks();
	const { anna, date, pass } = world;
	anna.writes("STOP");
	await pass(hour);
	anna.writes("Do you still have my keys?");
	await pass(30 * minute);
	for (const aheadMs of [-3 * hour, 24 * hour]) {
		date.aheadMs = aheadMs;
		await add(world, `answer ${aheadMs}`, { purpose: "reply" });
		await world.outbox.runOnce();
		expect((await world.outbox.status(`answer ${aheadMs}`))?.state).toBe("waiting");
		date.aheadMs = 0;
		await pass(5 * minute);
		expect((await world.outbox.status(`answer ${aheadMs}`))?.state).toBe("sent");
	}
});
