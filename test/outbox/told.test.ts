// What a status and `settled` tell a support desk: the true cause, once, and as soon as it is known.
import { describe, expect, test } from "vitest";
import { add, createWorld, stateOf, type World } from "./world.ts";

const defaults = { onReply: undefined, defaultMaxAgeMs: undefined } as const;
const night = { ...defaults, quietHours: { from: "20:00", to: "08:00", timeZone: "UTC" } } as const;

/** Kind and sentence. */
async function waits({ outbox }: World, id: string) {
	const { waitsFor, description } = (await outbox.status(id)) ?? {};
	return [waitsFor?.kind, description, waitsFor?.id ?? null];
}

/** The service holds a notice of ours. */
async function withHeld(options: Parameters<typeof createWorld>[0] = {}): Promise<World> {
	const world = createWorld({ ...defaults, ...options });
	world.sandbox.clock.advance({ hours: 25 });
	await add(world, "held");
	await world.pass({ minutes: 5 });
	return world;
}

describe("a reply that need not wait for our own held text names what keeps it back", () => {
	const causes: Record<string, [kind: string, sentence: RegExp, breaks: (world: World) => unknown]> = {
		"a key that was revoked": [
			"pause",
			/refuses the API key/,
			({ sandbox }) => sandbox.keys.revoke(sandbox.connection.apiKey as string),
		],
		"an agency that is not linked": ["pause", /not linked/, ({ agency }) => agency.unlink()],
		"a hook that fails": ["hook_failed", /check of the application/, () => {}],
	};

	test.each(Object.entries(causes))("%s", async (_what, [kind, sentence, breaks]) => {
		const world = await withHeld({
			beforeSend: ({ id }) => {
				if (id === "answer") throw new Error("down");
				return "send";
			},
		});
		world.anna.writes("Who is this?");
		breaks(world);
		await add(world, "answer", { purpose: "reply" });
		await world.pass({ minutes: 15 });
		expect(await waits(world, "answer")).toEqual([kind, expect.stringMatching(sentence), null]);
	});

	test("a template that is not approved, for a text that takes the place of the held one", async () => {
		const world = await withHeld();
		world.agency.consent.set({ unapprovedTemplates: [{ templateCode: "consent", status: "pending" }] });
		await add(world, "newer", { supersedes: "held" });
		await world.pass({ minutes: 30 });
		expect((await waits(world, "newer"))[0]).toBe("consent_unavailable");
	});

	test("and the held text if nothing else does, or if it is a notice", async () => {
		const world = await withHeld();
		await add(world, "answer", { purpose: "reply" });
		await add(world, "notice");
		await world.pass({ minutes: 30 });
		const held = [expect.stringContaining("held"), "held"];
		expect(await waits(world, "answer")).toEqual(["own_held", ...held]);
		expect(await waits(world, "notice")).toEqual(["behind", ...held]);
	});
});

test("a text in doubt in the quiet hours does not say that it waits for their end alone", async () => {
	const world = createWorld(night);
	const unknown = world.agency.contact("+447700900102");
	world.sandbox.clock.advanceTo(new Date("2026-01-05T19:59:00Z"));
	world.sandbox.faults.add({ operation: "messages.send", times: 4, effect: { status: 500 } });
	await world.outbox.enqueue({ id: "notice", agencyId: world.agency.id, to: unknown.phoneNumber, body: "notice" });
	await world.pass({ minutes: 30 });
	expect(await waits(world, "notice")).toEqual([
		"quiet_hours",
		expect.stringMatching(/not known yet.*looked for again/),
		null,
	]);
	const [changed] = await world.store.unfinished({ to: unknown.phoneNumber });
	expect((await world.outbox.status("notice"))?.nextAttemptAt).toEqual(new Date(changed?.nextAt ?? 0));
});

describe("an opt-out ends at once what is due in days", () => {
	const inDays = ({ sandbox }: World) => new Date(sandbox.clock.now().getTime() + 3 * 86_400_000);

	async function withLater() {
		const world = createWorld(defaults);
		await add(world, "reminder", { notBefore: inDays(world) });
		await add(world, "answer", { purpose: "reply", notBefore: inDays(world) });
		world.sandbox.clock.advance({ minutes: 1 });
		return world;
	}
	const both = async (world: World) => [await stateOf(world, "reminder"), await stateOf(world, "answer")];
	const ended = ["cancelled", "opted_out"];

	test("by telephone, even without a worker", async () => {
		const world = await withLater();
		await world.outbox.optOut({ to: world.anna.phoneNumber });
		expect(await both(world)).toEqual([ended, ended]);
		expect(world.settled.map(({ id }) => id)).toEqual(["reminder", "answer"]);
	});

	test("of the change feed, and names the message", async () => {
		const world = await withLater();
		const { messageSid } = world.anna.writes("STOP");
		const { conversation, messagePage } = await world.client
			.agency(world.agency.id)
			.conversations.get(world.anna.phoneNumber);
		await world.outbox.observe({ agencyId: world.agency.id, conversation, messages: messagePage.messages });
		expect(await both(world)).toEqual([ended, ended]);
		expect((await world.outbox.status("reminder"))?.optOutSid).toBe(messageSid);
	});

	test("of a message that is read for another text", async () => {
		const world = await withLater();
		world.anna.writes("STOP");
		await add(world, "now");
		await world.pass({ minutes: 1 });
		expect(await both(world)).toEqual([ended, ended]);
	});

	test("but not if the contact wants texts again, and not at another agency", async () => {
		const world = await withLater();
		const other = world.sandbox.link({ name: "Other" });
		await world.outbox.optOut({ to: world.anna.phoneNumber, agencyId: other.id });
		world.anna.writes("STOP");
		world.sandbox.clock.advance({ minutes: 1 });
		world.anna.writes("START");
		await add(world, "now");
		await world.pass({ minutes: 1 });
		expect(await both(world)).toEqual([
			["waiting", null],
			["waiting", null],
		]);
	});
});

test("that no worker is running is said once", async () => {
	const world = createWorld(defaults);
	await add(world, "first");
	await add(world, "second");
	const [, sentence = ""] = await waits(world, "second");
	expect(sentence?.match(/no worker is running/gi)).toHaveLength(1);
});

describe("settled({ held: true })", () => {
	const told = async ({ outbox }: World) => {
		const changes = await outbox.settled({ held: true });
		await outbox.acknowledge(changes);
		return changes.map(({ id, description }) => `${id}: ${description}`);
	};

	test("lists a held text again when the request for consent has failed, and says so", async () => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		world.anna.setReachable(false);
		await add(world, "notice");
		await world.outbox.runOnce();
		expect(await told(world)).toEqual(["notice: Waits for the contact's consent."]);
		await world.pass({ hours: 2 });
		expect(await told(world)).toEqual(["notice: The request for the contact's consent did not reach the phone."]);
		await world.pass({ hours: 20 });
		expect(await told(world)).toEqual([]);
	});

	test("says what to do about a notice whose place a reply took", async () => {
		const world = await withHeld();
		world.anna.writes("Who is this?");
		await add(world, "answer", { purpose: "reply" });
		await world.pass({ hours: 1 });
		const sentence =
			"Not delivered: another text of yours (answer) took its place while it waited for consent. If it is still needed, enqueue it with a new id.";
		expect(await told(world)).toContain(`held: ${sentence}`);
	});
});

describe("a text that the service drops says what the contact did", () => {
	type Told = [reason: string, description: RegExp];
	const out: Told = ["opted_out", /^Not delivered: the contact asked for no more texts/];
	const wrong: Told = ["wrong_number", /number is wrong.*optIn/];
	const colleague = (world: World) => world.agency.staff.sends({ contact: world.anna, text: "Good morning" });
	const later = (world: World) => world.sandbox.clock.advance({ minutes: 3 });
	const acts: Record<string, [act: (world: World) => unknown, ...Told]> = {
		STOP: [({ anna }) => anna.writes("STOP"), ...out],
		"STOP in another language": [({ anna }) => anna.writes("Désabonnez-moi s'il vous plaît"), ...out],
		"STOP, and then a question": [
			(world) => {
				world.anna.writes("STOP");
				later(world);
				world.anna.writes("Who are you anyway?");
			},
			...out,
		],
		"STOP, and a colleague writes": [
			(world) => {
				world.anna.writes("STOP");
				later(world);
				colleague(world);
			},
			...out,
		],
		"a tap on No, and STOP": [
			({ anna }) => {
				anna.declines();
				anna.writes("STOP");
			},
			...out,
		],
		"STOP by telephone": [
			({ outbox, agency, anna }) => outbox.optOut({ agencyId: agency.id, to: anna.phoneNumber }),
			...out,
		],
		"a wrong number": [({ anna }) => anna.writes("Wrong number"), ...wrong],
		"a wrong number, in another language": [({ anna }) => anna.writes("Verkeerd nummer, sorry"), ...wrong],
		"a tap on No": [({ anna }) => anna.declines(), "declined", /seems to have declined/],
		words: [({ anna }) => anna.writes("Who is this?"), "answered_in_words", /answered in words/],
		"STOP, and then START": [
			(world) => {
				world.anna.writes("STOP");
				later(world);
				world.anna.writes("START");
			},
			"answered_in_words",
			/answered in words/,
		],
		nothing: [() => {}, "no_answer", /did not answer in time/],
	};

	test.each(Object.entries(acts))("%s", async (_what, [act, reason, description]) => {
		const world = await withHeld();
		later(world);
		await act(world);
		await world.pass({ minutes: 5 });
		// Held texts are read less often then.
		for (let day = 0; day < 3; day++) {
			world.sandbox.clock.advance({ hours: 20 });
			await world.pass({ minutes: 5 });
		}
		const status = await world.outbox.status("held");
		expect([status?.state, status?.reason, status?.description]).toEqual([
			"dropped",
			reason,
			expect.stringMatching(description),
		]);
	});

	test("nothing, because the request for consent did not reach the phone", async () => {
		const world = createWorld(defaults);
		world.sandbox.clock.advance({ hours: 25 });
		world.anna.setReachable(false);
		await add(world, "held");
		await world.pass({ hours: 2 });
		world.sandbox.clock.advance({ hours: 50 });
		await world.pass({ minutes: 5 });
		expect(await world.outbox.status("held")).toMatchObject({
			state: "dropped",
			consentFailed: true,
			description: "Not delivered: the request for the contact's consent did not reach the phone.",
		});
	});

	test("a No beside STOP still keeps back what is for later once they want texts again", async () => {
		const world = await withHeld();
		later(world);
		world.anna.declines();
		world.anna.writes("STOP");
		await world.pass({ minutes: 10 });
		expect(await stateOf(world, "held")).toEqual(["dropped", "opted_out"]);
		const [known] = (await world.store.contactsOf([world.anna.phoneNumber])).map(({ contact }) => contact);
		expect(known?.facts.map(({ fact }) => fact)).toEqual(expect.arrayContaining(["declined", "optedOut"]));
	});
});
