// What a No is, whoever asked: a tap on the consent template of an agency, whose names and codes the outbox has to learn.
import type { Message } from "messaging-conversations";
import { describe, expect, test } from "vitest";
import { add, createHeldMarketing, createWorld, learnYes, stateOf, type World } from "./world.ts";

const declined = ["cancelled", "earlier_text_declined"];
const perhaps = ["waiting", "perhaps_declined"];
const sent = ["sent", null];

/** What the service calls its template and its buttons. The names of the sandbox are inventions. */
const names = {
	"those of the sandbox": {},
	"other ones": { window_reopen_consent: "ct_41", consent_accept: "b1", consent_decline: "b2" },
	"the opposite ones": { consent_accept: "consent_decline", consent_decline: "consent_accept" },
	"long ones": {
		window_reopen_consent: "t".repeat(300),
		consent_accept: "y".repeat(300),
		consent_decline: "n".repeat(300),
	},
} satisfies Record<string, Record<string, string>>;
type Name = keyof typeof names;

const renamed = (body: string, to: Record<string, string>): string =>
	body.replace(/window_reopen_consent|consent_accept|consent_decline/g, (name) => to[name] ?? name);

/** Changes the messages of a conversation, the newest first. */
type Edit = (messages: Message[]) => Message[];

interface Shown {
	name?: Name;
	edit?: Edit;
	/** Whether there are older messages than those of the page. */
	hasOlder?: boolean;
	/** In place of the names. */
	names?: Record<string, string>;
}

/** Anna wrote a day ago, and the service shows what the test says. */
function createShown(
	{ name = "those of the sandbox", edit, hasOlder }: Shown = {},
	options: Parameters<typeof createWorld>[0] = {},
) {
	const shown: Shown = { ...(edit && { edit }), ...(hasOlder && { hasOlder }) };
	const world = createWorld({
		onReply: undefined,
		defaultMaxAgeMs: undefined,
		rewrite(body, url) {
			const text = renamed(body, shown.names ?? names[name]);
			if (!decodeURIComponent(url.pathname).endsWith(world.anna.phoneNumber)) return text;
			const json = JSON.parse(text);
			if (!json.messagePage) return text;
			json.messagePage.messages = shown.edit?.(json.messagePage.messages) ?? json.messagePage.messages;
			if (shown.hasOlder) Object.assign(json.messagePage, { nextCursor: "older", hasMore: true });
			return JSON.stringify(json);
		},
		...options,
	});
	world.sandbox.clock.advance({ hours: 25 });
	return { ...world, shown };
}

const later = ({ sandbox }: World, hours = 2): Date => new Date(sandbox.clock.now().getTime() + hours * 3_600_000);
const minutes = (count: number) => ({ minutes: count });
const isTap = ({ buttonClicked }: Message): boolean => buttonClicked !== null;
const isTemplate = ({ templateName }: Message): boolean => templateName !== null;
const shifted = (message: Message, ms: number): string =>
	new Date(Date.parse(message.createdAt ?? "") + ms).toISOString();

/** Names the template that each tap replies to. */
const withReplyTo: Edit = (messages) =>
	messages.map((message, at) => {
		const template = messages.slice(at).find(isTemplate);
		if (!isTap(message) || !template) return message;
		const { body, direction, createdAt, templateName } = template;
		return { ...message, replyTo: { body, direction, createdAt, templateName, hasMedia: false } };
	});

/** A colleague's text is declined that no read has seen. A notice, a reply and marketing were enqueued before, and are due later. */
async function colleagueDeclined(world: World): Promise<void> {
	for (const purpose of ["notice", "reply", "marketing"] as const)
		await add(world, purpose, { purpose, notBefore: later(world) });
	world.agency.staff.sends({ contact: world.anna, text: "A colleague's" });
	await world.pass(minutes(5));
	world.anna.declines();
	await world.pass({ hours: 3 });
}

const statesOf = async (world: World, ...ids: string[]) => Promise.all(ids.map((id) => stateOf(world, id)));

describe("#55 a No to a colleague's text", () => {
	test.each(Object.keys(names) as Name[])(
		"ends what was enqueued before it, but for a reply, once the agency has shown its Yes. The names are %s",
		async (name) => {
			const world = createShown({ name });
			await learnYes(world);
			await colleagueDeclined(world);
			await add(world, "notice afterwards");
			await add(world, "offer afterwards", { purpose: "marketing" });
			await world.pass(minutes(10));
			expect(await statesOf(world, "notice", "marketing", "reply")).toEqual([declined, declined, sent]);
			expect(await statesOf(world, "notice afterwards", "offer afterwards")).toEqual([sent, declined]);
		},
	);

	test.each(Object.keys(names) as Name[])(
		"stops only marketing in an agency that has never shown a Yes, until the contact writes. The names are %s",
		async (name) => {
			const world = createShown({ name });
			await colleagueDeclined(world);
			expect(await statesOf(world, "notice", "marketing", "reply")).toEqual([sent, perhaps, sent]);
			world.anna.writes("Do you have something with a garden?");
			await world.pass(minutes(30));
			expect(await stateOf(world, "marketing")).toEqual(sent);
		},
	);

	test("is certain if the tap names its template", async () => {
		const world = createShown({ edit: withReplyTo });
		await learnYes(world);
		await colleagueDeclined(world);
		expect(await statesOf(world, "notice", "marketing", "reply")).toEqual([declined, declined, sent]);
	});

	test("is certain in one agency and a Yes in another one that has the same codes with the opposite meaning", async () => {
		const world = createShown(
			{},
			{
				rewrite: (body, url) =>
					url.pathname.includes(world.agency.id) ? body : renamed(body, names["the opposite ones"]),
			},
		);
		const other = world.sandbox.link({ name: "Other" });
		const there: World = { ...world, agency: other, anna: other.contact(world.anna.phoneNumber) };
		there.anna.writes("Hello");
		world.sandbox.clock.advance({ hours: 25 });
		await learnYes(world);
		await there.outbox.enqueue({ id: "there", agencyId: other.id, to: "+447700900103", body: "there" });
		await there.pass(minutes(2));
		other.contact("+447700900103").accepts();
		await there.pass(minutes(5));
		for (const each of [world, there]) {
			const id = each === world ? "here" : "notice there";
			await add(each, id, { notBefore: later(each) });
			each.agency.staff.sends({ contact: each.anna, text: "A colleague's" });
		}
		await world.pass(minutes(5));
		world.anna.declines();
		there.anna.declines();
		await world.pass({ hours: 3 });
		expect(await statesOf(world, "here", "notice there")).toEqual([declined, declined]);
	});

	test.each([true, false])(
		"is certain once the agency has shown its Yes, although it was read before. The contact has written since: %s",
		async (hasWritten) => {
			const world = createShown();
			await add(world, "notice", { notBefore: later(world) });
			await add(world, "offer", { purpose: "marketing", notBefore: later(world, 0.5) });
			await add(world, "reply", { purpose: "reply", notBefore: later(world) });
			world.agency.staff.sends({ contact: world.anna, text: "A colleague's" });
			await world.pass(minutes(5));
			world.anna.declines();
			await world.pass(minutes(40));
			expect(await stateOf(world, "offer")).toEqual(perhaps);
			if (hasWritten) world.anna.writes("Until Thursday!");
			await learnYes(world);
			await add(world, "notice afterwards");
			await world.pass({ hours: 3 });
			expect(await statesOf(world, "notice", "reply", "notice afterwards")).toEqual([declined, sent, sent]);
		},
	);

	test("is certain although this worker has looked for the agency's Yes before another one has seen it", async () => {
		const world = createShown();
		const { anna, agency, outbox, pass, restart, sandbox } = world;
		const second = restart();
		const carl = agency.contact("+447700900103");
		carl.taps("visit_confirm");
		await outbox.enqueue({ id: "to Carl", agencyId: agency.id, to: carl.phoneNumber, body: "to Carl" });
		await second.runOnce();
		await learnYes(world);
		await add(world, "notice", { notBefore: later(world) });
		agency.staff.sends({ contact: anna, text: "A colleague's" });
		await pass(minutes(5));
		anna.declines();
		sandbox.clock.advance({ hours: 3 });
		await second.runOnce();
		expect(await stateOf(world, "notice")).toEqual(declined);
	});

	test("is remembered when the conversation does not show it any more", async () => {
		const world = createShown();
		await colleagueDeclined(world);
		world.shown.edit = (messages) => messages.filter((message) => !isTap(message));
		await add(world, "another", { purpose: "marketing" });
		await world.restart().runOnce();
		await world.pass(minutes(10));
		expect(await statesOf(world, "another", "marketing")).toEqual([perhaps, perhaps]);
	});

	test("is not stored by observe, which lets the conversation be read", async () => {
		const world = createShown();
		const { anna, agency, client, outbox, sandbox, pass, store } = world;
		await learnYes(world);
		agency.staff.sends({ contact: anna, text: "A colleague's" });
		await add(world, "notice");
		await pass(minutes(30));
		anna.declines();
		sandbox.clock.advance(minutes(1));
		const { conversation, messagePage } = await client.agency(agency.id).conversations.get(anna.phoneNumber);
		const reads = () => sandbox.requests().filter(({ operation }) => operation === "conversations.get").length;
		const before = reads();
		await outbox.observe({ agencyId: agency.id, conversation, messages: messagePage.messages });
		const facts = await store.facts({ agencyId: agency.id, to: anna.phoneNumber });
		expect([facts.declined, facts.perhapsDeclined, reads()]).toEqual([undefined, undefined, before]);
		await outbox.runOnce();
		expect(reads()).toBeGreaterThan(before);
		await pass(minutes(5));
		expect(await stateOf(world, "notice")).toEqual(declined);
	});
});

describe("a No after which a colleague writes before the outbox reads", () => {
	const all = ["notice", "reply", "marketing"] as const;
	type Step = (world: World) => Promise<unknown>;

	/** What the feed shows of the conversation, given to the outbox. */
	async function observe({ client, agency, anna, outbox }: World, of = agency): Promise<void> {
		const { conversation, messagePage } = await client.agency(of.id).conversations.get(anna.phoneNumber);
		await outbox.observe({ agencyId: of.id, conversation, messages: messagePage.messages });
	}

	/** Anna declines a colleague's text. No text of ours is due, so that nothing is read until a colleague has written. */
	async function hidden(world: World, between: Step, minutesLater = 10): Promise<void> {
		const { anna, agency, sandbox, pass } = world;
		agency.staff.sends({ contact: anna, text: "A colleague's" });
		sandbox.clock.advance(minutes(5));
		anna.declines();
		sandbox.clock.advance({ ms: 1_000 });
		await between(world);
		sandbox.clock.advance(minutes(minutesLater));
		agency.staff.sends({ contact: anna, text: "Sorry to hear that" });
		await pass({ hours: 3 });
	}

	const steps: Record<string, Step> = {
		"observe tells of it": observe,
		"observe tells of it, and the workers run": async (world) => {
			await observe(world);
			await world.outbox.runOnce();
		},
		"observe tells of it, and the workers are down for an hour": async (world) => {
			await observe(world);
			world.sandbox.clock.advance({ hours: 1 });
		},
		"nothing tells of it": async () => {},
		"observe tells of it twice, and a colleague writes more than once": async (world) => {
			await observe(world);
			await observe(world);
			world.sandbox.clock.advance(minutes(10));
			world.agency.staff.sends({ contact: world.anna, text: "One more thing" });
		},
	};

	test.each(Object.keys(steps))("ends what is due later, once the agency has shown its Yes: %s", async (how) => {
		const world = createShown();
		await learnYes(world);
		for (const purpose of all) await add(world, purpose, { purpose, notBefore: later(world) });
		await hidden(world, steps[how] ?? observe);
		expect(await statesOf(world, ...all)).toEqual([declined, sent, declined]);
	});

	test.each(Object.keys(steps))("keeps back marketing that is due later, if it may be a No: %s", async (how) => {
		const world = createShown();
		for (const purpose of all) await add(world, purpose, { purpose, notBefore: later(world) });
		await hidden(world, steps[how] ?? observe);
		expect(await statesOf(world, ...all)).toEqual([sent, sent, perhaps]);
		world.anna.writes("Do you have something with a garden?");
		await observe(world);
		await world.pass(minutes(10));
		expect(await stateOf(world, "marketing")).toEqual(sent);
	});

	test("keeps back marketing to a contact who had no text then", async () => {
		const world = createShown();
		await hidden(world, observe);
		await add(world, "offer", { purpose: "marketing" });
		await world.pass(minutes(10));
		expect(await stateOf(world, "offer")).toEqual(perhaps);
	});

	test("keeps back marketing if the colleague writes at once, and another button is the agency's Yes", async () => {
		const world = createShown();
		await learnYes(world);
		await add(world, "marketing", { purpose: "marketing", notBefore: later(world) });
		await hidden(world, observe, 0.5);
		expect(await stateOf(world, "marketing")).toEqual(perhaps);
	});

	test("is none that is kept if the colleague writes at once, and the agency has shown no Yes: a Yes looks the same", async () => {
		const world = createShown();
		await add(world, "marketing", { purpose: "marketing", notBefore: later(world) });
		await hidden(world, observe, 0.5);
		const facts = await world.store.facts({ agencyId: world.agency.id, to: world.anna.phoneNumber });
		expect([await stateOf(world, "marketing"), facts.perhapsDeclined]).toEqual([sent, undefined]);
	});

	test("is one to the agency that asked, and not to another that sees the contact", async () => {
		const world = createShown();
		const second = world.sandbox.link({ name: "Second" });
		second.contact(world.anna.phoneNumber).writes("Hello");
		const offer = { body: "offer", to: world.anna.phoneNumber, purpose: "marketing", notBefore: later(world) } as const;
		await add(world, "marketing", { purpose: "marketing", notBefore: later(world) });
		await world.outbox.enqueue({ ...offer, id: "of the second", agencyId: second.id });
		await hidden(world, async () => {
			await observe(world);
			await observe(world, second);
		});
		expect(await statesOf(world, "marketing", "of the second")).toEqual([perhaps, sent]);
	});

	test("ends what waits behind our own text that was declined", async () => {
		const world = createShown();
		const { anna, agency, sandbox, pass } = world;
		await learnYes(world);
		await add(world, "first");
		await pass(minutes(1));
		await add(world, "notice", { notBefore: later(world, 20) });
		anna.declines();
		sandbox.clock.advance(minutes(10));
		agency.staff.sends({ contact: anna, text: "Sorry to hear that" });
		await pass({ hours: 21 });
		expect(await stateOf(world, "notice")).toEqual(declined);
	});

	test.each([
		["I don't want this any more", ["sent", null], ["waiting", "refusal"]],
		["Wrong number", ["waiting", "wrong_number"], ["waiting", "wrong_number"]],
		["STOP", ["cancelled", "opted_out"], ["cancelled", "opted_out"]],
	])("in words, which observe tells of, holds: %s", async (words, notice, marketing) => {
		const world = createWorld({ onReply: undefined });
		const { anna, agency, sandbox, pass } = world;
		for (const purpose of ["notice", "marketing"] as const)
			await add(world, purpose, { purpose, notBefore: later(world) });
		sandbox.clock.advance(minutes(1));
		anna.writes(words);
		sandbox.clock.advance({ ms: 1_000 });
		await observe(world);
		sandbox.clock.advance(minutes(10));
		for (let count = 0; count < 60; count++) agency.staff.sends({ contact: anna, text: `Sorry ${count}` });
		await pass({ hours: 3 });
		expect(await statesOf(world, "notice", "marketing")).toEqual([notice, marketing]);
	});
});

describe("it is not certain", () => {
	test("if the tap came after the drop, and may be the first Yes of the agency", async () => {
		const world = createShown();
		await add(world, "first");
		await world.pass({ hours: 49 });
		await add(world, "reminder", { notBefore: later(world) });
		world.anna.accepts();
		await world.pass(minutes(5));
		await add(world, "offer", { purpose: "marketing" });
		await world.pass({ hours: 3 });
		expect(await statesOf(world, "first", "reminder", "offer")).toEqual([["dropped", "no_answer"], sent, perhaps]);
	});

	test("if the first Yes of the agency releases a colleague's text late", async () => {
		const world = createShown();
		await add(world, "reminder", { notBefore: later(world) });
		await add(world, "offer", { purpose: "marketing", notBefore: later(world) });
		world.agency.staff.sends({ contact: world.anna, text: "A colleague's" });
		await world.pass(minutes(5));
		world.anna.accepts();
		// The text does not show.
		world.shown.edit = (messages) =>
			messages.filter((message) => isTemplate(message) || message.direction === "inbound");
		await world.pass({ hours: 3 });
		expect(await statesOf(world, "reminder", "offer")).toEqual([sent, perhaps]);
		world.shown.edit = (messages) => messages;
		await world.pass(minutes(30));
		expect(await stateOf(world, "offer")).toEqual(sent);
	});

	test("if the template does not offer a button that has released a text: codes may differ each time", async () => {
		const world = createShown();
		await learnYes(world);
		const own = { consent_accept: "yes-7", consent_decline: "no-7" };
		world.shown.edit = (messages) => JSON.parse(renamed(JSON.stringify(messages), own));
		await colleagueDeclined(world);
		expect(await statesOf(world, "notice", "marketing")).toEqual([sent, perhaps]);
	});

	test("if its code has released a text of another template", async () => {
		const world = createShown();
		const { agency, outbox, pass, shown } = world;
		await learnYes(world);
		shown.names = { window_reopen_consent: "second", ...names["the opposite ones"] };
		const carl = agency.contact("+447700900103");
		await outbox.enqueue({ id: "to Carl", agencyId: agency.id, to: carl.phoneNumber, body: "to Carl" });
		await pass(minutes(2));
		carl.accepts();
		await pass(minutes(5));
		delete shown.names;
		await colleagueDeclined(world);
		expect(await statesOf(world, "notice", "marketing")).toEqual([sent, perhaps]);
	});

	test("if only another template has released a text", async () => {
		const world = createShown();
		await learnYes(world);
		world.shown.edit = (messages) =>
			JSON.parse(renamed(JSON.stringify(messages), { window_reopen_consent: "reminder" }));
		await colleagueDeclined(world);
		expect(await statesOf(world, "notice", "marketing")).toEqual([sent, perhaps]);
	});
});

test("a tap on a button that the template of our held text does not offer hides no No to that text", async () => {
	const world = createShown();
	const { anna, sandbox, pass } = world;
	await add(world, "held");
	await pass(minutes(1));
	await add(world, "notice", { notBefore: later(world, 3) });
	anna.declines();
	sandbox.clock.advance({ ms: 30_000 });
	anna.taps("visit_confirm");
	await pass({ hours: 4 });
	expect(await statesOf(world, "held", "notice")).toEqual([["dropped", "declined"], declined]);
});

describe("no No is", () => {
	/** The edit, after the agency has shown its Yes. */
	const shown: Record<string, Shown> = {
		"a tap on a template that went out less than a day after a message of the contact": {
			edit: (messages) =>
				messages.flatMap((message) => {
					const words = {
						...message,
						id: 1,
						messageSid: "SM-words",
						direction: "inbound" as const,
						templateName: null,
					};
					const { interactiveContent: _, ...written } = words;
					return isTemplate(message)
						? [message, { ...written, createdAt: shifted(message, -23 * 3_600_000) }]
						: [message];
				}),
		},
		"a tap on a template of which the page does not show the day before": {
			edit: (messages) => messages.slice(0, messages.map(isTemplate).lastIndexOf(true) + 1),
			hasOlder: true,
		},
		"a tap whose reply names another template": {
			edit: (messages) =>
				withReplyTo(messages).map((message) =>
					message.replyTo ? { ...message, replyTo: { ...message.replyTo, templateName: "visit" } } : message,
				),
		},
		"a tap whose reply names a template of another time": {
			edit: (messages) =>
				withReplyTo(messages).map((message) =>
					message.replyTo
						? { ...message, replyTo: { ...message.replyTo, createdAt: shifted(message, -9 * 86_400_000) } }
						: message,
				),
		},
		"a tap on a button that no template offers": {
			edit: (messages) =>
				messages.map((message) => (isTap(message) ? { ...message, buttonClicked: "maybe" } : message)),
		},
		"a tap without a time": {
			edit: (messages) => messages.map((message) => (isTap(message) ? { ...message, createdAt: null } : message)),
		},
	};
	test.each(Object.entries(shown))("%s", async (_, change) => {
		const world = createShown();
		await learnYes(world);
		Object.assign(world.shown, change);
		await colleagueDeclined(world);
		expect(await statesOf(world, "notice", "marketing", "reply")).toEqual([sent, sent, sent]);
	});

	test("a tap of a booking whose buttons look the same, although a request for consent is on the phone too", async () => {
		const world = createShown();
		const { anna, agency, sandbox, pass } = world;
		await learnYes(world);
		agency.staff.sends({ contact: anna, text: "A colleague's" });
		await pass({ hours: 49 });
		await add(world, "notice", { notBefore: later(world) });
		await add(world, "offer", { purpose: "marketing", notBefore: later(world) });
		anna.writes("I'd like to visit");
		sandbox.clock.advance({ ms: 1_000 });
		const quickReplies = ["accept", "decline"].map((code) => ({ code: `consent_${code}`, text: code }));
		agency.ai.replies({
			contact: anna,
			text: "Thursday?",
			templateName: "visit",
			interactiveContent: { quickReplies },
		});
		sandbox.clock.advance({ ms: 1_000 });
		anna.declines();
		await pass({ hours: 4 });
		expect(await statesOf(world, "notice", "offer")).toEqual([sent, sent]);
	});

	test("a Yes that is known, tapped after the drop", async () => {
		const world = createShown();
		const { anna, agency, pass } = world;
		await learnYes(world);
		agency.staff.sends({ contact: anna, text: "A colleague's" });
		await pass({ hours: 49 });
		await add(world, "notice", { notBefore: later(world) });
		anna.accepts();
		await pass(minutes(5));
		await add(world, "offer", { purpose: "marketing" });
		await pass({ hours: 3 });
		expect(await statesOf(world, "notice", "offer")).toEqual([sent, sent]);
	});

	test.each(["held again", "answered by a colleague"])("a tap after which a text is %s", async (how) => {
		const world = createShown();
		const { anna, agency, sandbox, pass } = world;
		await learnYes(world);
		agency.staff.sends({ contact: anna, text: "A colleague's" });
		await pass(minutes(5));
		await add(world, "notice", { notBefore: later(world, 50) });
		anna.declines();
		sandbox.clock.advance({ ms: 10_000 });
		if (how === "held again") sandbox.clock.advance({ hours: 25 });
		agency.staff.sends({ contact: anna, text: "Sorry" });
		await pass(minutes(5));
		if (how === "held again") anna.accepts();
		await pass({ hours: 51 });
		expect((await stateOf(world, "notice"))[0]).not.toBe("cancelled");
	});

	test("what an agency shows of a booking beside a held text, whichever button is tapped", async () => {
		const booking = (messages: Message[]): Message[] =>
			messages.flatMap((message) => {
				if (message.templateName !== "window_reopen_consent") return [message];
				const quickReplies = ["visit_yes", "visit_no"].map((code) => ({ code, text: code }));
				const beside = {
					...message,
					id: message.id + 1_000,
					messageSid: `${message.messageSid}b`,
					templateName: "visit",
				};
				return [{ ...beside, interactiveContent: { quickReplies } }, message];
			});
		// The service takes any tap for a Yes.
		const world = createShown({ edit: booking }, { policy: { inboundFlushesQueue: true } });
		const { anna, agency, pass } = world;
		agency.staff.sends({ contact: anna, text: "A colleague's" });
		await add(world, "behind");
		await pass(minutes(5));
		anna.taps("visit_yes");
		await pass(minutes(30));
		expect(await stateOf(world, "behind")).toEqual(sent);
		world.sandbox.clock.advance({ hours: 25 });
		agency.staff.sends({ contact: anna, text: "Another one" });
		await pass({ hours: 49 });
		await add(world, "notice", { notBefore: later(world) });
		world.sandbox.clock.advance({ ms: 1_000 });
		anna.taps("visit_no");
		await pass({ hours: 3 });
		expect(await stateOf(world, "notice")).not.toEqual(declined);
		expect(await world.store.consent(agency.id)).toMatchObject({ consent: null, revision: 0 });
	});
});

describe("the newest tap on a template counts", () => {
	/** Anna consents to a text, and says No two minutes later. A notice, a reply and marketing were enqueued before. */
	async function yesThenNo(world: World): Promise<void> {
		await add(world, "first");
		for (const purpose of ["notice", "reply", "marketing"] as const)
			await add(world, purpose, { purpose, notBefore: later(world, 0.5) });
		await world.pass(minutes(2));
		world.anna.accepts();
		await world.pass(minutes(2));
		world.anna.declines();
		await world.pass(minutes(4));
	}

	test.each([true, false])(
		"a No after the text was released stops marketing alone. The agency's Yes is known: %s",
		async (isKnown) => {
			const world = createShown();
			if (isKnown) await learnYes(world);
			await yesThenNo(world);
			await add(world, "notice afterwards");
			await add(world, "offer afterwards", { purpose: "marketing" });
			await world.pass({ hours: 1 });
			expect(await statesOf(world, "first", "notice", "reply", "marketing")).toEqual([sent, sent, sent, perhaps]);
			expect(await statesOf(world, "notice afterwards", "offer afterwards")).toEqual([sent, perhaps]);
		},
	);

	test("a Yes after that takes it back", async () => {
		const world = createShown();
		await yesThenNo(world);
		await add(world, "offer", { purpose: "marketing" });
		await world.pass(minutes(5));
		expect(await stateOf(world, "offer")).toEqual(perhaps);
		world.anna.accepts();
		await world.pass(minutes(30));
		expect(await statesOf(world, "offer", "marketing")).toEqual([sent, sent]);
	});

	test("a second Yes is no No", async () => {
		const world = createShown();
		await add(world, "first");
		await world.pass(minutes(2));
		world.anna.accepts();
		await world.pass(minutes(2));
		world.anna.accepts();
		await add(world, "offer", { purpose: "marketing" });
		await world.pass(minutes(10));
		expect(await stateOf(world, "offer")).toEqual(sent);
	});

	test.each(["ours", "a colleague's"])("a Yes takes back a certain No to a text of %s", async (whose) => {
		const world = createShown();
		await learnYes(world);
		if (whose === "ours") await add(world, "first");
		else world.agency.staff.sends({ contact: world.anna, text: "A colleague's" });
		await world.pass(minutes(5));
		world.anna.declines();
		await add(world, "early", { purpose: "marketing" });
		await world.pass(minutes(5));
		expect(await stateOf(world, "early")).toEqual(declined);
		world.anna.accepts();
		await world.pass(minutes(5));
		await add(world, "offer", { purpose: "marketing" });
		await world.pass(minutes(10));
		expect(await stateOf(world, "offer")).toEqual(sent);
	});

	test.each([
		[true, sent, sent],
		[false, sent, perhaps],
	])(
		"a No and a Yes before the next read end nothing. The agency's Yes is known: %s",
		async (isKnown, notice, offer) => {
			const world = createShown();
			const { anna, sandbox, pass } = world;
			if (isKnown) await learnYes(world);
			await add(world, "first");
			await pass(minutes(30));
			await add(world, "notice", { notBefore: later(world) });
			anna.declines();
			sandbox.clock.advance({ ms: 5_000 });
			anna.accepts();
			await pass(minutes(30));
			await add(world, "offer", { purpose: "marketing" });
			await pass({ hours: 2 });
			expect((await stateOf(world, "first"))[0]).toBe("dropped");
			expect(await statesOf(world, "notice", "offer")).toEqual([notice, offer]);
		},
	);

	test("a No on the template of a text that a colleague's has displaced stops marketing alone", async () => {
		const world = createShown();
		const { anna, agency, sandbox, pass } = world;
		await learnYes(world);
		await add(world, "first");
		await add(world, "notice", { notBefore: later(world, 0.5) });
		await add(world, "offer", { purpose: "marketing", notBefore: later(world, 0.5) });
		await pass(minutes(2));
		anna.writes("Who is this?");
		sandbox.clock.advance({ ms: 1_000 });
		agency.staff.sends({ contact: anna, text: "The agency" });
		await pass(minutes(3));
		anna.declines();
		await pass({ hours: 1 });
		expect(await statesOf(world, "notice", "offer")).toEqual([sent, perhaps]);
	});

	test.each(["before", "after"])(
		"a No to marketing that was held ends no notice. The agency shows its Yes %s that",
		async (when) => {
			const world = await createHeldMarketing("offer");
			if (when === "before") await learnYes(world);
			await add(world, "notice", { notBefore: later(world) });
			world.anna.declines();
			await world.pass(minutes(30));
			if (when === "after") await learnYes(world);
			await world.pass({ hours: 3 });
			expect(await statesOf(world, "offer", "notice")).toEqual([["dropped", "declined"], sent]);
		},
	);
});

describe("a person who says by optIn that the contact wants texts", () => {
	const wants = ({ outbox, agency, anna }: World) => outbox.optIn({ agencyId: agency.id, to: anna.phoneNumber });

	/** A text is declined. */
	async function declinedText(world: World, whose: string): Promise<void> {
		if (whose === "ours") await add(world, "first");
		else world.agency.staff.sends({ contact: world.anna, text: "A colleague's" });
		await world.pass(minutes(5));
		world.anna.declines();
		await world.pass(minutes(10));
	}

	test.each(["ours", "a colleague's"])("takes back a No to a text of %s, and nothing that has ended", async (whose) => {
		const world = createShown();
		await learnYes(world);
		await declinedText(world, whose);
		await add(world, "early", { purpose: "marketing" });
		await world.pass(minutes(10));
		expect(await wants(world)).toBe(true);
		await add(world, "late", { purpose: "marketing" });
		await world.pass(minutes(10));
		expect(await statesOf(world, "early", "late")).toEqual([declined, sent]);
	});

	test("ends what may be a No, which is none either once the agency has shown its Yes", async () => {
		const world = createShown();
		await add(world, "notice", { notBefore: later(world) });
		await add(world, "offer", { purpose: "marketing", notBefore: later(world, 0.1) });
		await declinedText(world, "a colleague's");
		expect(await stateOf(world, "offer")).toEqual(perhaps);
		await wants(world);
		await learnYes(world);
		await world.pass({ hours: 3 });
		expect(await statesOf(world, "offer", "notice")).toEqual([sent, sent]);
	});

	test("has not said so of a No that came later", async () => {
		const world = createShown();
		await learnYes(world);
		await wants(world);
		await world.pass(minutes(10));
		await declinedText(world, "ours");
		await add(world, "offer", { purpose: "marketing" });
		await world.pass(minutes(10));
		expect(await stateOf(world, "offer")).toEqual(declined);
	});
});

describe("a reply", () => {
	test("is ended by a No to itself", async () => {
		const world = createShown();
		await add(world, "answer", { purpose: "reply" });
		await world.pass(minutes(5));
		world.anna.declines();
		await world.pass(minutes(30));
		expect([await stateOf(world, "answer"), world.texts()]).toEqual([["dropped", "declined"], []]);
	});

	test.each([true, false])(
		"is not ended by a No to another text of ours. The agency's Yes is known: %s",
		async (isKnown) => {
			const world = createShown();
			if (isKnown) await learnYes(world);
			await add(world, "first");
			await world.pass(minutes(1));
			await add(world, "answer", { purpose: "reply" });
			await add(world, "notice");
			await world.pass(minutes(5));
			world.anna.declines();
			await world.pass(minutes(30));
			expect(await statesOf(world, "first", "answer", "notice")).toEqual([["dropped", "declined"], sent, declined]);
		},
	);
});
