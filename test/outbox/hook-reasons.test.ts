// Why a hook keeps a text back, or cancels it: whoever asks about the text can read it.
import type { BeforeSend, BeforeSendVerdict, OnReply } from "messaging-conversations/outbox";
import { describe, expect, test } from "vitest";
import { add, createWorld, type World } from "./world.ts";

const defaults = { onReply: undefined, defaultMaxAgeMs: undefined } as const;
const sold = "The flat of +32 470 12 34 56 is sold";
const at = (time: string) => new Date(`2026-01-05T${time}:00Z`);

/** What people read of a text. */
async function told({ outbox }: World, id = "text") {
	const explained = await outbox.explain(id);
	const status = await outbox.status(id);
	const steps = explained?.steps.map(({ sentence }) => sentence).join(" ") ?? "";
	return { hookReason: status?.hookReason, says: status?.description ?? "", steps };
}

describe("the reason of a hook", () => {
	test.each(["notice", "reply", "marketing"] as const)(
		"that cancels a %s is in its status and its steps",
		async (purpose) => {
			const world = createWorld({ ...defaults, beforeSend: async () => ({ cancel: sold }) });
			// The AI may answer Anna within the hour.
			world.sandbox.clock.advance({ hours: 1, minutes: 1 });
			await add(world, "text", { purpose });
			await world.pass({ minutes: 1 });
			const status = await world.outbox.status("text");
			expect(status).toMatchObject({ state: "cancelled", reason: "before_send", hookReason: sold });
			const { says, steps } = await told(world);
			expect(says).toBe(`Not sent: a check of the application cancelled it: ${sold}.`);
			expect(steps).toContain(sold);
			expect(world.settled.at(-1)).toMatchObject({ hookReason: sold });
			expect((await world.outbox.settled())[0]).toMatchObject({ hookReason: sold });
			expect(world.sends()).toEqual([]);
		},
	);

	test("that lets a text wait is in its status until it goes, and then no longer", async () => {
		const beforeSend: BeforeSend = (_, { now }) =>
			now < at("15:00") ? { waitUntil: at("15:00"), because: "The office is closed" } : "send";
		const world = createWorld({ ...defaults, beforeSend });
		await add(world, "text");
		await world.pass({ minutes: 1 });
		const waiting = await told(world);
		expect(waiting.hookReason).toBe("The office is closed");
		expect(waiting.says).toBe(
			"Is not to be sent before 2026-01-05 15:00 UTC, as a check of the application said: The office is closed.",
		);
		expect((await world.outbox.status("text"))?.waitsFor).toMatchObject({ kind: "before_send", until: at("15:00") });
		await world.pass({ hours: 7 });
		const sent = await told(world);
		expect([sent.hookReason, sent.says, world.texts()]).toEqual([null, "Sent.", ["text"]]);
		expect(sent.steps).toContain("The office is closed");
	});

	test("that gives another reason later is the newest one, and a cancel of yours has none", async () => {
		const beforeSend: BeforeSend = (_, { now }) =>
			now < at("12:00")
				? { waitUntil: at("12:00"), because: "Lunch" }
				: { waitUntil: at("18:00"), because: "The afternoon off" };
		const world = createWorld({ ...defaults, beforeSend });
		await add(world, "text");
		await world.pass({ minutes: 1 });
		expect((await told(world)).hookReason).toBe("Lunch");
		await world.pass({ hours: 4 });
		expect((await told(world)).hookReason).toBe("The afternoon off");
		await world.outbox.cancel("text");
		const cancelled = await world.outbox.status("text");
		expect(cancelled).toMatchObject({ state: "cancelled", reason: "requested", hookReason: null });
		expect(cancelled?.description).not.toContain("afternoon");
	});

	/** The service holds a text, and the contact has answered in words. */
	async function createAnswered(options: { onReply: OnReply | "send"; beforeSend?: BeforeSend }) {
		const world = createWorld({ ...defaults, ...options });
		world.sandbox.clock.advance({ hours: 25 });
		await add(world, "text");
		await world.pass({ minutes: 1 });
		world.anna.writes("Who is this?");
		await world.pass({ minutes: 30 });
		return world;
	}

	test("that cancels a held text stays in its status while the service holds it, and goes when it arrives all the same", async () => {
		for (const options of [
			{ onReply: () => ({ cancel: sold }) },
			{ onReply: "send" as const, beforeSend: isOpenOnly(() => ({ cancel: sold })) },
		]) {
			const world = await createAnswered(options);
			await world.pass({ hours: 2 });
			expect(await world.outbox.status("text")).toMatchObject({
				state: "held",
				cancelRequested: true,
				hookReason: sold,
				description: expect.stringContaining(`A check of the application said: ${sold}.`),
			});
			world.anna.accepts();
			await world.pass({ hours: 1 });
			expect(await world.outbox.status("text")).toMatchObject({ state: "sent", hookReason: null });
		}
	});

	test("that lets a held text wait is in its status", async () => {
		const until = new Date("2026-01-06T16:00:00Z");
		const beforeSend = isOpenOnly((_, { now }) =>
			now < until ? { waitUntil: until, because: "The office is closed" } : "send",
		);
		const world = await createAnswered({ onReply: "send", beforeSend });
		const { hookReason, says } = await told(world);
		expect([hookReason, says]).toEqual([
			"The office is closed",
			expect.stringMatching(/not sent again before 2026-01-06 16:00 UTC.*said: The office is closed\./),
		]);
		await world.pass({ hours: 8 });
		expect([world.texts(), (await told(world)).hookReason]).toEqual([["text"], null]);
	});

	test("that lets a held text wait is no reason of a cancel of yours that comes too late", async () => {
		const later = { waitUntil: new Date("2026-01-07T16:00:00Z"), because: "The office is closed" };
		const world = await createAnswered({ onReply: "send", beforeSend: isOpenOnly(() => later) });
		expect((await told(world)).hookReason).toBe("The office is closed");
		await world.outbox.cancel("text");
		expect(await world.outbox.status("text")).toMatchObject({ state: "held", cancelRequested: true, hookReason: null });
	});

	test.each<[string, unknown]>([
		["has more than 200 characters", "x".repeat(201)],
		["is empty", ""],
		["is blank", "  \t"],
		["has several lines", "Sold\nto Anna"],
		["steers a terminal", "Sold \u001b[2J"],
		["turns the direction of what follows", "Sold \u202e"],
		["cannot be stored", "Sold \ud800"],
		["is a number", 7],
		["is missing", undefined],
		["is an object", { text: "Sold" }],
	])("that %s is none: the text waits, and a sentence says what a hook returns", async (_, reason) => {
		const canary = typeof reason === "string" ? reason : "unlikely";
		for (const verdict of [{ cancel: reason }, { waitUntil: at("15:00"), because: reason }]) {
			const world = createWorld({ ...defaults, beforeSend: () => verdict as BeforeSendVerdict });
			await add(world, "text");
			await world.pass({ minutes: 1 });
			const status = await world.outbox.status("text");
			expect(status).toMatchObject({ state: "waiting", reason: "hook_failed", hookReason: null });
			expect(status?.error?.message).toMatch(/beforeSend.*\{ cancel: reason \}.*one line of 1 to 200 characters/);
			expect(world.pauses).toMatchObject([{ reason: "hook_failed", id: "text" }]);
			if (canary.trim())
				expect(JSON.stringify([status, world.pauses])).not.toContain(JSON.stringify(canary).slice(1, -1));
			expect(world.sends()).toEqual([]);
		}
	});

	test("takes 200 characters, and loses the space around it", async () => {
		const reason = "é".repeat(200);
		const world = createWorld({ ...defaults, beforeSend: () => ({ cancel: ` ${reason} ` }) });
		await add(world, "text");
		await world.pass({ minutes: 1 });
		expect((await told(world)).hookReason).toBe(reason);
	});

	test.each(["cancel", { waitUntil: at("15:00") }, { because: "Later" }, { cancel: "No", toJSON: 1 }] as const)(
		"belongs to every answer but send: %j",
		async (verdict) => {
			const world = createWorld({ ...defaults, beforeSend: () => verdict as BeforeSendVerdict });
			await add(world, "text");
			await world.pass({ minutes: 1 });
			const expected = typeof verdict === "object" && "cancel" in verdict ? "before_send" : "hook_failed";
			expect((await world.outbox.status("text"))?.reason).toBe(expected);
		},
	);

	test("stops the text if it names a time and a language beside it", async () => {
		const verdict = { cancel: "No", waitUntil: at("15:00"), because: "Later", consentLanguage: "en" };
		const world = createWorld({ ...defaults, beforeSend: () => verdict });
		await add(world, "text");
		await world.pass({ minutes: 1 });
		expect(await world.outbox.status("text")).toMatchObject({ state: "cancelled", hookReason: "No" });
	});

	test("is erased with the contact, and is in no pause, request or log", async () => {
		const beforeSend: BeforeSend = ({ id }) =>
			id === "text" ? { cancel: sold } : { waitUntil: at("15:00"), because: sold };
		const world = createWorld({ ...defaults, beforeSend });
		await add(world, "text");
		await add(world, "other");
		await world.pass({ minutes: 1 });
		expect(JSON.stringify([world.pauses, world.sandbox.requests(), await world.outbox.health()])).not.toContain(sold);
		await world.outbox.erase({ to: world.anna.phoneNumber, everyAgency: true });
		expect(JSON.stringify(world.store.all())).not.toContain(sold);
		for (const id of ["text", "other"]) {
			expect((await world.outbox.status(id))?.hookReason).toBeNull();
			expect(JSON.stringify(await world.outbox.explain(id))).not.toContain(sold);
		}
	});
});

/** Asks a hook while the window is open. */
function isOpenOnly(hook: BeforeSend): BeforeSend {
	return (text, context) =>
		Date.parse(context.conversation?.summary.windowExpiresAt ?? "") > context.now.getTime()
			? hook(text, context)
			: "send";
}

describe("everyday conversations around a visit, without a check of the application", () => {
	const day = 24 * 3_600_000;
	test.each<[string, (world: World) => unknown]>([
		["thanks", ({ anna }) => anna.writes("Thanks!")],
		[
			"asks, and a colleague answers",
			(world) => {
				world.anna.writes("Where do I park?");
				world.agency.staff.sends({ contact: world.anna, text: "In front" });
			},
		],
		["sends a thumb", ({ anna }) => anna.writes("👍")],
		["says nothing", () => {}],
	])("the contact %s: the confirmation and the reminder go out", async (_, happens) => {
		const world = createWorld(defaults);
		const visitAt = world.sandbox.clock.now().getTime() + day + 8 * 3_600_000;
		await add(world, "confirmation", { notAfter: new Date(visitAt) });
		await add(world, "reminder", { notBefore: new Date(visitAt - 10 * 3_600_000), notAfter: new Date(visitAt) });
		await world.pass({ hours: 1 });
		happens(world);
		await world.pass({ hours: 22 });
		expect(world.texts().filter((body) => body !== "In front")).toEqual(["confirmation", "reminder"]);
	});
});
