// The end of an open window and the begin of the quiet hours, when this machine's clock is wrong, or when something takes long.
import { afterEach, describe, expect, test, vi } from "vitest";
import { add, createWorld, stateOf, type World } from "./world.ts";

const defaults = { onReply: undefined, defaultMaxAgeMs: undefined } as const;
const night = { ...defaults, quietHours: { from: "20:00", to: "08:00", timeZone: "UTC" } } as const;

afterEach(() => void vi.useRealTimers());

/** Moves the clock to a time after that at which Anna wrote, on 5 January at 09:00. */
const goTo = ({ sandbox }: World, time: string) => sandbox.clock.advanceTo(new Date(`2026-01-${time}Z`));

describe("this machine's clock is five minutes slow, so that it takes a closed window for an open one", () => {
	/** The clock of the machine. The sandbox is the service, whose clock is right. */
	function slow(world: World): void {
		vi.useFakeTimers({ toFake: ["Date"], now: world.sandbox.clock.now().getTime() - 5 * 60_000 });
	}

	test("a reply in the quiet hours waits for their end, and no request for consent rings", async () => {
		const world = createWorld({ ...night, now: undefined });
		goTo(world, "05T22:00:00");
		world.anna.writes("Hello?");
		goTo(world, "06T22:03:00");
		slow(world);
		await add(world, "answer", { purpose: "reply" });
		await world.outbox.runOnce();
		expect(await stateOf(world, "answer")).toEqual(["waiting", "quiet_hours"]);
		expect(world.sends()).toEqual([]);
	});

	test("a contact who has opted out is not asked for consent", async () => {
		const world = createWorld({ ...defaults, now: undefined });
		world.anna.writes("STOP");
		world.sandbox.clock.advance({ minutes: 1 });
		world.anna.writes("Is the other flat free?");
		goTo(world, "06T09:04:00");
		slow(world);
		await add(world, "answer", { purpose: "reply" });
		await world.outbox.runOnce();
		expect(await stateOf(world, "answer")).toEqual(["cancelled", "opted_out"]);
		expect(world.sends()).toEqual([]);
	});

	test("a reply takes the place of no held text", async () => {
		const world = createWorld({ ...defaults, now: undefined });
		goTo(world, "06T10:00:00");
		slow(world);
		await add(world, "held");
		await world.outbox.runOnce();
		goTo(world, "06T10:01:00");
		world.anna.writes("Who is this?");
		goTo(world, "07T10:04:00");
		slow(world);
		await add(world, "answer", { purpose: "reply" });
		await world.outbox.runOnce();
		expect(world.anna.state().held?.body).toBe("held");
		expect(await stateOf(world, "answer")).toEqual(["waiting", null]);
	});

	test("a text that is not to ask for consent ends", async () => {
		const world = createWorld({ ...defaults, now: undefined });
		goTo(world, "06T09:03:00");
		slow(world);
		await add(world, "notice", { whenClosed: "skip" });
		await world.outbox.runOnce();
		expect(await stateOf(world, "notice")).toEqual(["expired", "window_closed"]);
	});

	test("in a window that is open for hours a reply is sent", async () => {
		const world = createWorld({ ...night, now: undefined });
		goTo(world, "05T22:00:00");
		world.anna.writes("Hello?");
		slow(world);
		await add(world, "answer", { purpose: "reply" });
		await world.outbox.runOnce();
		expect(world.texts()).toEqual(["answer"]);
	});
});

test("this machine's clock is five minutes fast: a visit that moves rings no phone at night, because the window is open", async () => {
	const world = createWorld({ ...night, now: undefined });
	const fast = () => vi.useFakeTimers({ toFake: ["Date"], now: world.sandbox.clock.now().getTime() + 5 * 60_000 });
	goTo(world, "06T18:00:00");
	fast();
	await add(world, "at two");
	await world.outbox.runOnce();
	goTo(world, "06T21:00:00");
	world.anna.writes("When is it?");
	goTo(world, "07T20:57:00");
	fast();
	await add(world, "at three", { supersedes: "at two" });
	await world.outbox.runOnce();
	expect([await stateOf(world, "at three"), world.texts()]).toEqual([["waiting", "quiet_hours"], []]);
});

test("a check that outlasts the evening begins no request", async () => {
	const world: World = createWorld({
		...night,
		beforeSend: () => {
			world.sandbox.clock.advance({ ms: 4_000 });
			return "send";
		},
	});
	goTo(world, "05T19:59:58");
	await add(world, "text");
	await world.pass({ minutes: 1 });
	const steps = (await world.outbox.explain("text"))?.steps.map(({ sentence }) => sentence).join(" ");
	expect(steps).toMatch(/because of quiet_hours/);
	expect(steps).not.toMatch(/Request/);
});

/** What takes four seconds between the read and the request. */
const slowly: Record<string, (options?: Parameters<typeof createWorld>[0]) => World> = {
	"a check before sending": (options) => {
		const world: World = createWorld({
			...options,
			beforeSend: () => {
				world.sandbox.clock.advance({ ms: 4_000 });
				return "send";
			},
		});
		return world;
	},
	"the statement that begins a request": (options) => {
		const world = createWorld(options);
		const { save } = world.store;
		world.store.save = async (text, how) => {
			if (how?.lease) world.sandbox.clock.advance({ ms: 4_000 });
			return save(text, how);
		};
		return world;
	},
};

describe.each(Object.entries(slowly))("%s takes four seconds", (_what, createSlow) => {
	test.each(["notice", "marketing"] as const)("%s: the quiet hours have begun", async (purpose) => {
		const world = createSlow(night);
		goTo(world, "05T19:59:58");
		await add(world, "text", { purpose });
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "text")).toEqual(["waiting", "quiet_hours"]);
		expect(world.sends()).toEqual([]);
		await world.pass({ hours: 12 });
		expect(world.texts()).toEqual(["text"]);
	});

	test("a reply whose window has closed at night waits for the morning", async () => {
		const world = createSlow(night);
		goTo(world, "05T23:00:00");
		world.anna.writes("Hello?");
		goTo(world, "06T22:59:52");
		await add(world, "answer", { purpose: "reply" });
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "answer")).toEqual(["waiting", "quiet_hours"]);
		expect(world.sends()).toEqual([]);
	});

	test("a reply to a contact who has opted out asks for no consent", async () => {
		const world = createSlow(defaults);
		world.anna.writes("STOP");
		world.sandbox.clock.advance({ minutes: 1 });
		world.anna.writes("Is the other flat free?");
		goTo(world, "06T09:00:52");
		await add(world, "answer", { purpose: "reply" });
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "answer")).toEqual(["cancelled", "opted_out"]);
		expect(world.sends()).toEqual([]);
	});

	test("a text that is not to ask for consent ends", async () => {
		const world = createSlow(defaults);
		goTo(world, "06T08:59:52");
		await add(world, "notice", { whenClosed: "skip" });
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "notice")).toEqual(["expired", "window_closed"]);
		expect(world.sends()).toEqual([]);
	});

	test("a reply takes the place of no held text, whoever it is of", async () => {
		for (const whose of ["ours", "a colleague's"]) {
			const world = createSlow(defaults);
			goTo(world, "06T10:00:00");
			if (whose === "ours") await add(world, whose);
			else world.agency.staff.sends({ contact: world.anna, text: whose });
			await world.pass({ minutes: 1 });
			world.anna.writes("Who is this?");
			world.sandbox.clock.advance({ hours: 23, minutes: 59, ms: 52_000 });
			await add(world, "answer", { purpose: "reply", onHeld: "send_if_open" });
			await world.pass({ minutes: 1 });
			expect(world.anna.state().held?.body).toBe(whose);
			expect((await stateOf(world, "answer"))[0]).toBe("waiting");
		}
	});

	test("notAfter has passed", async () => {
		const world = createSlow(defaults);
		goTo(world, "05T10:00:00");
		await add(world, "notice", { notAfter: new Date("2026-01-05T10:00:02Z") });
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "notice")).toEqual(["expired", "too_old"]);
		expect(world.sends()).toEqual([]);
	});
});
