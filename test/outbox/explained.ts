// Situations of a text, what people are told of it, and what happens then: a promise is compared with the event, and not with words.
import type { OutboxHealth, OutboxState, OutboxStatus } from "messaging-conversations/outbox";
import { expect } from "vitest";
import type { OutboxStore } from "./port.ts";
import { add, createWorld, type World } from "./world.ts";

/** Where people ask. */
export interface Desk {
	store: OutboxStore;
	/** The command line, on the same database: what it prints with --json at a time. */
	command?: (now: Date, ...args: string[]) => Promise<Record<string, unknown>>;
}

export interface Situation {
	title: string;
	options?: Parameters<typeof createWorld>[0];
	/** Brings the text with the id "text" into it. */
	arrange: (world: World) => Promise<unknown>;
	/** What ends the wait, if time alone doesn't. The outbox finds it when it looks next. */
	next?: (world: World) => unknown;
	/** The outbox is told of it, and need not look. */
	isTold?: true;
	/** The contact's other text that it waits for. */
	behind?: string;
	/** It goes before the text that it is said to wait for has ended. */
	passes?: true;
	/** No worker runs before that. */
	isIdle?: true;
	/** The rule that is named. */
	kind?: string;
	/** What the sentence says. */
	says?: RegExp;
	/** No attempt is promised. */
	isNotTried?: true;
	/** The outbox knows it by its options. The command line, which has none, promises less. */
	isByOptions?: true;
	/** How many texts health counts as due. */
	due?: number;
	/** What becomes of the text. By default it is sent, or held in a closed window. */
	becomes?: readonly OutboxState[];
}

const defaults = { onReply: undefined, defaultMaxAgeMs: undefined } as const;
const night = { ...defaults, quietHours: { from: "20:00", to: "08:00", timeZone: "UTC" } } as const;
const afternoon = new Date("2026-01-05T15:00Z");
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

const nowOf = ({ sandbox }: World): number => sandbox.clock.now().getTime();
const inHours = (world: World, hours: number): Date => new Date(nowOf(world) + hours * hourMs);

/** Time passes, and a worker comes every ten minutes; if it is longer, in steps that become shorter towards its end. */
async function goTo({ sandbox, outbox }: World, at: number, isIdle = false): Promise<void> {
	for (let now = sandbox.clock.now().getTime(); now < at; now = sandbox.clock.now().getTime()) {
		const step = Math.max(10 * minuteMs, Math.ceil((at - now) / 24));
		sandbox.clock.advanceTo(new Date(Math.min(at, now + step)));
		if (!isIdle) await outbox.runOnce();
	}
}
const minutes = (world: World, count: number): Promise<void> => goTo(world, nowOf(world) + count * minuteMs);
/** At a time of 6 January. Anna's window has closed at 09:00. */
const at = (world: World, time: string): Promise<void> => goTo(world, Date.parse(`2026-01-06T${time}:00Z`));

/** Adds the text, and a worker comes. */
async function text(world: World, rest: Parameters<typeof add>[2] = {}): Promise<void> {
	await add(world, "text", rest);
	await world.outbox.runOnce();
}

async function closed(world: World): Promise<void> {
	world.sandbox.clock.advance({ hours: 25 });
}

/** The service holds a notice of ours. */
async function held(world: World): Promise<void> {
	await closed(world);
	await add(world, "earlier");
	await world.outbox.runOnce();
	await minutes(world, 1);
}

/** The service holds a text of a colleague. */
async function colleague(world: World): Promise<void> {
	await closed(world);
	world.agency.staff.sends({ contact: world.anna, text: "From a colleague" });
}

const breakSends = ({ sandbox }: World, status = 500, times = 9_999) =>
	sandbox.faults.add({ operation: "messages.send", phase: "before", effect: { status }, times });
const mend = ({ sandbox }: World): void => sandbox.faults.clear();

export const situations: Situation[] = [
	{
		title: "its turn has come, and a worker is there",
		arrange: async (world) => {
			await world.outbox.runOnce();
			await add(world, "text");
		},
	},
	{ title: "no worker runs", isIdle: true, arrange: (world) => add(world, "text") },
	{ title: "its time has not come", arrange: (world) => text(world, { notBefore: inHours(world, 5) }) },
	{
		title: "its time has not come, and the service holds another text",
		arrange: async (world) => {
			await held(world);
			world.anna.writes("Hello?");
			await text(world, { notBefore: inHours(world, 5), onHeld: "send_if_open" });
		},
	},
	{
		title: "beforeSend has put it off",
		options: {
			...defaults,
			beforeSend: (_, { now }) => (now < afternoon ? { waitUntil: afternoon, because: "Later" } : "send"),
		},
		arrange: (world) => text(world),
	},
	{
		title: "its agency is suspended",
		arrange: async (world) => {
			await world.outbox.suspend({ agencyId: world.agency.id, reason: "Wrong price" });
			await text(world);
		},
		next: ({ outbox, agency }) => outbox.resume({ agencyId: agency.id }),
		isTold: true,
	},
	{
		title: "everybody is suspended at night",
		options: night,
		arrange: async (world) => {
			await world.outbox.suspend({ reason: "Wrong price" });
			await at(world, "22:00");
			await text(world, { purpose: "reply" });
			world.anna.writes("Hello?");
		},
		next: ({ outbox }) => outbox.resume(),
		isTold: true,
	},
	{
		title: "the service takes no more requests for ten minutes",
		arrange: async (world) => {
			world.sandbox.faults.add({ operation: "messages.send", effect: { status: 429, retryAfter: 600 } });
			await add(world, "other", { to: world.agency.contact("+447700900102").phoneNumber });
			await world.outbox.runOnce();
			await text(world);
		},
	},
	{
		title: "the link of its agency has ended",
		arrange: async (world) => {
			world.agency.unlink();
			await text(world);
			await minutes(world, 5);
		},
		next: ({ agency }) => agency.link(),
	},
	{
		title: "the key may not send",
		arrange: async (world) => {
			world.sandbox.keys.setScopes(world.sandbox.integration.apiKey, ["conversations:read"]);
			await text(world);
		},
		next: ({ sandbox }) => sandbox.keys.setScopes(sandbox.integration.apiKey, ["conversations:read", "messages:write"]),
	},
	{
		title: "reads of its conversation fail",
		arrange: async (world) => {
			world.sandbox.faults.add({
				operation: "conversations.get",
				phase: "before",
				effect: { status: 500 },
				times: 9_999,
			});
			await text(world);
			await minutes(world, 60);
		},
		next: mend,
	},
	{
		title: "a text before it is being sent, and its result is not known",
		arrange: async (world) => {
			breakSends(world);
			await add(world, "earlier");
			await text(world);
		},
		behind: "earlier",
		next: mend,
	},
	{
		title: "its own result is not known",
		arrange: async (world) => {
			await closed(world);
			breakSends(world);
			await text(world);
		},
		next: mend,
	},
	{
		title: "five requests had no result",
		arrange: async (world) => {
			breakSends(world);
			await text(world);
			await minutes(world, 60);
		},
		next: mend,
	},
	{
		title: "the service holds it",
		arrange: async (world) => {
			await closed(world);
			await text(world);
		},
		next: ({ anna }) => anna.accepts(),
		becomes: ["sent", "delivered"],
	},
	{
		title: "the service holds it, and it was cancelled too late",
		options: { ...defaults, onReply: "send" },
		arrange: async (world) => {
			await closed(world);
			await text(world);
			await world.outbox.cancel("text");
		},
		next: ({ anna }) => anna.writes("Who is this?"),
		becomes: ["held"],
	},
	{
		title: "the service holds it, and it was cancelled too late: the contact consents",
		arrange: async (world) => {
			await closed(world);
			await text(world);
			await world.outbox.cancel("text");
		},
		next: ({ anna }) => anna.accepts(),
		becomes: ["sent", "delivered"],
	},
	{
		title: "the service holds it, and the contact has opted out",
		options: { ...defaults, onReply: "send" },
		arrange: async (world) => {
			await closed(world);
			await text(world);
			world.anna.writes("STOP");
			await minutes(world, 20);
		},
		next: ({ anna }) => anna.writes("Who is this?"),
		becomes: ["held"],
	},
	{
		title: "the service holds a text of ours, which the contact accepts",
		arrange: async (world) => {
			await held(world);
			await text(world);
		},
		behind: "earlier",
		next: ({ anna }) => anna.accepts(),
		becomes: ["sent", "delivered"],
	},
	{
		title: "the service holds a text of ours, which the contact declines",
		arrange: async (world) => {
			await held(world);
			await text(world);
		},
		behind: "earlier",
		next: ({ anna }) => anna.declines(),
		becomes: ["cancelled"],
	},
	{
		title: "a reply may pass the text that is held once the contact writes",
		arrange: async (world) => {
			await held(world);
			await text(world, { purpose: "reply" });
		},
		next: ({ anna }) => anna.writes("Who is this?"),
		behind: "earlier",
		passes: true,
		becomes: ["sent", "delivered"],
	},
	{
		title: "the service holds a text of a colleague, which the contact accepts",
		arrange: async (world) => {
			await colleague(world);
			await text(world);
		},
		next: ({ anna }) => anna.accepts(),
		becomes: ["sent", "delivered"],
	},
	{
		title: "the service holds a text of a colleague, and the contact lets it run out",
		arrange: async (world) => {
			await colleague(world);
			await text(world, { notAfter: inHours(world, 100) });
			await minutes(world, 47 * 60 + 55);
		},
		becomes: ["held"],
	},
	{
		title: "the service holds a text of a colleague, and another text of ours waits behind it",
		arrange: async (world) => {
			await colleague(world);
			await add(world, "earlier");
			await text(world);
			await minutes(world, 30);
		},
		behind: "earlier",
		next: ({ anna }) => anna.accepts(),
		becomes: ["sent", "delivered"],
	},
	{
		title: "it is night",
		options: night,
		arrange: async (world) => {
			await at(world, "22:00");
			await text(world);
		},
	},
	{
		title: "it is night, and it is a reply to a closed window",
		options: night,
		arrange: async (world) => {
			await at(world, "22:00");
			await text(world, { purpose: "reply" });
		},
	},
	{
		title: "it is night, and the contact writes again",
		options: night,
		arrange: async (world) => {
			await at(world, "22:00");
			await text(world, { purpose: "reply" });
		},
		next: async (world) => {
			world.anna.writes("Are you still awake?");
			const { conversation, messagePage } = await world.client
				.agency(world.agency.id)
				.conversations.get(world.anna.phoneNumber);
			await world.outbox.observe({ agencyId: world.agency.id, conversation, messages: messagePage.messages });
		},
		isTold: true,
	},
	{
		title: "it is night, and an earlier text sleeps",
		options: night,
		arrange: async (world) => {
			await at(world, "22:00");
			world.anna.writes("Hello");
			await add(world, "earlier");
			await world.outbox.runOnce();
			await minutes(world, 60);
			await text(world, { purpose: "marketing" });
		},
		behind: "earlier",
	},
	{
		title: "it is a reply to an open window, and an earlier notice sleeps",
		options: night,
		arrange: async (world) => {
			await at(world, "22:00");
			world.anna.writes("Hello");
			await add(world, "earlier");
			await world.outbox.runOnce();
			await add(world, "text", { purpose: "reply" });
		},
	},
	{
		title: "a text was put off by its time, and one of another purpose sleeps",
		options: night,
		arrange: async (world) => {
			await at(world, "22:00");
			await add(world, "earlier");
			world.anna.writes("Hello");
			await text(world, { purpose: "reply", notBefore: inHours(world, 1) });
		},
	},
	{
		title: "a request may have been taken in a conversation that is hidden",
		arrange: async (world) => {
			await closed(world);
			world.agency.conversation(world.anna).hide();
			world.sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
			await text(world);
		},
		next: ({ agency, anna }) => agency.conversation(anna).visibleAs("focus"),
		becomes: ["held"],
	},
	{
		title: "beforeSend fails",
		options: {
			...defaults,
			beforeSend: (_, { messages }) => {
				if (messages[0]?.body !== "mended") throw new Error("down");
				return "send";
			},
		},
		arrange: async (world) => {
			await text(world);
			await minutes(world, 60);
		},
		next: ({ anna }) => anna.writes("mended"),
	},
	{
		title: "the agency cannot ask for consent",
		arrange: async (world) => {
			await closed(world);
			world.agency.consent.set({ missingTemplates: ["consent"] });
			await text(world);
			await minutes(world, 10);
		},
		next: ({ agency }) => agency.consent.set({ missingTemplates: [] }),
	},
	{
		title: "the agency has two languages and no default one",
		arrange: async (world) => {
			await closed(world);
			world.agency.consent.set({ languages: ["nl", "fr"], defaultLanguage: null });
			await text(world);
			await minutes(world, 60);
		},
		next: ({ agency }) => agency.consent.set({ defaultLanguage: "nl" }),
	},
	{
		title: "the contact wrote that the number is wrong",
		arrange: async (world) => {
			world.anna.writes("Wrong number");
			await text(world);
			await minutes(world, 10);
		},
		next: ({ outbox, agency, anna }) => outbox.optIn({ agencyId: agency.id, to: anna.phoneNumber }),
		isTold: true,
	},
	{
		title: "the contact has refused something",
		arrange: async (world) => {
			world.anna.writes("Not interested");
			world.agency.staff.setAi({ contact: world.anna, on: false });
			await text(world, { purpose: "marketing" });
		},
		next: ({ anna }) => anna.writes("Is the garden big?"),
	},
	{
		title: "it is marketing, and the contact has tapped what may be a No to a colleague's text",
		arrange: async (world) => {
			await colleague(world);
			world.anna.declines();
			await minutes(world, 5);
			await text(world, { purpose: "marketing" });
		},
		next: ({ anna }) => anna.writes("Is the garden big?"),
		kind: "perhaps_declined",
		says: /tapped a button that may be a No/,
		isNotTried: true,
	},
	{
		title: "the contact has just tapped what may be a No to a colleague's text",
		arrange: async (world) => {
			await colleague(world);
			world.anna.declines();
			await text(world);
		},
		kind: "colleague_declined",
	},
	{
		title: "a flow is in progress, and ends after three minutes",
		arrange: async (world) => {
			const flow = world.agency.startFlow(world.anna);
			await text(world);
			await minutes(world, 3);
			flow.complete();
		},
		kind: "flow",
		says: /Waits for the end of a flow, .* until 2026-01-05 09:10 UTC at the latest/,
	},
	{
		title: "a flow hangs, and the command line is asked too",
		arrange: async (world) => {
			world.agency.startFlow(world.anna);
			await text(world);
			for (let minute = 0; minute < 5; minute++) {
				world.sandbox.clock.advance({ minutes: 1 });
				await world.outbox.runOnce();
			}
		},
		kind: "flow",
	},
	{
		title: "it is marketing, and the AI has just replied",
		arrange: async (world) => {
			world.agency.ai.replies({ contact: world.anna, text: "It is still free" });
			await text(world, { purpose: "marketing" });
		},
		kind: "flow",
		says: /silent for an hour/,
	},
	{
		title: "it is marketing, the AI is off, and a flow hangs",
		arrange: async (world) => {
			world.agency.staff.setAi({ contact: world.anna, on: false });
			world.agency.startFlow(world.anna);
			await text(world, { purpose: "marketing" });
		},
		kind: "flow",
	},
	{
		title: "it is marketing, the AI has just replied, and the window closes before an hour has passed",
		arrange: async (world) => {
			world.sandbox.clock.advance({ hours: 23, minutes: 30 });
			world.agency.ai.replies({ contact: world.anna, text: "Are you still there?" });
			await text(world, { purpose: "marketing" });
		},
		kind: "flow",
		becomes: ["expired"],
	},
	{
		title: "it came back with a backup, and was not sent",
		arrange: async (world) => {
			await add(world, "text", { notBefore: inHours(world, 3) });
			await world.outbox.restored({ backupAt: inHours(world, -1) });
			await world.outbox.runOnce();
		},
	},
	{
		title: "it is marked as cancelled while its request is on its way",
		arrange: async (world) => {
			breakSends(world);
			await text(world);
			await world.outbox.cancel("text");
		},
		isNotTried: true,
		next: mend,
		becomes: ["cancelled"],
	},
	{
		title: "the contact has opted out",
		arrange: async (world) => {
			world.anna.writes("STOP");
			await text(world);
		},
		next: ({ anna }) => anna.writes("START"),
		becomes: ["cancelled"],
	},
	{
		title: "the contact has declined an earlier text",
		arrange: async (world) => {
			await held(world);
			await text(world);
			world.anna.declines();
			await minutes(world, 30);
		},
		next: ({ anna }) => anna.writes("Who is this?"),
		becomes: ["cancelled"],
	},
	{
		title: "its time has passed",
		arrange: async (world) => {
			await world.outbox.suspend({ reason: "Wrong price" });
			await text(world, { notAfter: inHours(world, 1) });
			await minutes(world, 130);
		},
		next: ({ outbox }) => outbox.resume(),
		becomes: ["expired"],
	},
	{
		title: "its time ends tonight",
		options: night,
		arrange: async (world) => {
			await held(world);
			await text(world, { notAfter: "2026-01-06T22:00Z" });
			await at(world, "20:30");
		},
		next: ({ anna }) => anna.accepts(),
		becomes: ["expired"],
	},
	{
		title: "it is not to ask for consent",
		arrange: async (world) => {
			await closed(world);
			await text(world, { whenClosed: "skip" });
		},
		next: ({ anna }) => anna.writes("Hello"),
		becomes: ["expired"],
	},
	{
		title: "it is marketing, and the window has closed",
		arrange: async (world) => {
			await closed(world);
			await text(world, { purpose: "marketing" });
		},
		next: ({ anna }) => anna.writes("Hello"),
		becomes: ["expired"],
	},
	{
		title: "it is marketing, it is night, and the window closes before the morning",
		options: night,
		arrange: async (world) => {
			await at(world, "21:00");
			await text(world, { purpose: "marketing" });
			await minutes(world, 10);
		},
		becomes: ["sent", "expired"],
	},
	{
		title: "another text has taken its place",
		arrange: async (world) => {
			await add(world, "text", { notBefore: inHours(world, 1) });
			await add(world, "later", { supersedes: "text" });
			await world.outbox.runOnce();
		},
		becomes: ["cancelled"],
	},
	{
		title: "another text was taken in its place while the service held it",
		arrange: async (world) => {
			await closed(world);
			await text(world);
			await add(world, "later", { supersedes: "text" });
			await minutes(world, 20);
		},
		next: ({ anna }) => anna.accepts(),
		becomes: ["replaced"],
	},
	{
		title: "nobody knows whether it was sent",
		arrange: async (world) => {
			await closed(world);
			world.sandbox.faults.add({ operation: "messages.send", phase: "before", effect: "reset" });
			await text(world);
			world.agency.staff.sends({ contact: world.anna, text: "From a colleague" });
			await minutes(world, 60);
		},
		next: ({ anna }) => anna.accepts(),
		becomes: ["unknown"],
	},
];

const isMended = ({ messages }: { messages: readonly { body: string | null }[] }): boolean =>
	messages.some(({ body }) => body === "mended");
const failsFor =
	(id: string): NonNullable<Situation["options"]>["beforeSend"] =>
	(text, context) => {
		if (text.id === id && !isMended(context)) throw new Error("down");
		return "send";
	};
const writes =
	(body: string) =>
	({ anna }: World): unknown =>
		anna.writes(body);
const resume = ({ outbox }: World): Promise<boolean> => outbox.resume();
const refuseKey = ({ sandbox }: World): void => {
	for (const operation of ["conversations.get", "conversations.lookup", "messages.send"] as const)
		sandbox.faults.add({ operation, phase: "before", effect: { status: 401 }, times: 9_999 });
};
const elsewhere = ({ agency }: World) => ({ to: agency.contact("+447700900102").phoneNumber });

/** A notice was tried at one minute to eight in the evening, and sleeps since. */
async function triedAsleep(world: World): Promise<void> {
	await at(world, "19:59");
	world.sandbox.faults.add({ operation: "messages.send", phase: "before", effect: { status: 500 }, times: 1 });
	world.anna.writes("Hello");
	await add(world, "earlier");
	await world.outbox.runOnce();
	await minutes(world, 3);
}

/** Each was told wrongly once, with what is near it. */
const once: Situation[] = [
	{
		title: "a check fails for a reply, and a notice that was tried sleeps",
		options: { ...night, beforeSend: failsFor("text") },
		arrange: async (world) => {
			await triedAsleep(world);
			world.anna.writes("Hello");
			await text(world, { purpose: "reply" });
		},
		kind: "hook_failed",
		next: writes("mended"),
	},
	{
		title: "a check fails for marketing that waits behind a notice that was tried and sleeps",
		options: { ...night, beforeSend: failsFor("text") },
		arrange: async (world) => {
			await triedAsleep(world);
			await text(world, { purpose: "marketing" });
		},
		kind: "behind",
		behind: "earlier",
		next: writes("mended"),
	},
	{
		title: "a check fails for a notice that may pass a held text by the outbox's own onHeld",
		options: { ...defaults, onHeld: "send_if_open", beforeSend: failsFor("text") },
		arrange: async (world) => {
			await held(world);
			world.anna.writes("Hello");
			await text(world);
			await minutes(world, 15);
		},
		kind: "hook_failed",
		next: writes("mended"),
	},
	{
		title: "a notice may pass a held text by the outbox's own onHeld once the contact writes",
		options: { ...defaults, onHeld: "send_if_open" },
		arrange: async (world) => {
			await held(world);
			await text(world);
		},
		kind: "own_held",
		says: /may go before that one/,
		behind: "earlier",
		passes: true,
		next: writes("Who is this?"),
	},
	{
		title: "its result is not known, and its agency is suspended",
		arrange: async (world) => {
			breakSends(world);
			await text(world);
			await world.outbox.suspend({ agencyId: world.agency.id, reason: "Wrong price" });
		},
		kind: "result",
		says: /Wrong price/,
		isNotTried: true,
		isTold: true,
		next: async (world) => {
			mend(world);
			await world.outbox.resume({ agencyId: world.agency.id });
		},
	},
	{
		title: "its result is not known, and the key may not send any more",
		arrange: async (world) => {
			breakSends(world);
			await text(world);
			mend(world);
			world.sandbox.keys.setScopes(world.sandbox.integration.apiKey, ["conversations:read"]);
			await add(world, "other", elsewhere(world));
			await world.outbox.runOnce();
		},
		kind: "result",
		isNotTried: true,
		next: ({ sandbox }) => sandbox.keys.setScopes(sandbox.integration.apiKey, ["conversations:read", "messages:write"]),
	},
	...[5, 6, 7].map(
		(count): Situation => ({
			title: `${count} requests had no result, and the last one has just been made`,
			arrange: async (world) => {
				breakSends(world);
				await text(world);
				for (let step = 0; step < 2_000 && (await world.outbox.status("text"))?.attempts !== count; step++)
					await minutes(world, 1);
			},
			kind: "result",
			next: mend,
		}),
	),
	{
		title: "its time ends during a pause",
		arrange: async (world) => {
			world.sandbox.faults.add({ operation: "messages.send", effect: { status: 429, retryAfter: 600 } });
			await add(world, "other", elsewhere(world));
			await world.outbox.runOnce();
			await text(world, { notAfter: inHours(world, 1 / 12) });
		},
		kind: "pause",
		says: /it expires, and is not sent/,
		isNotTried: true,
		becomes: ["expired"],
	},
	{
		title: "its time ends before the next try of a check that fails",
		options: { ...defaults, beforeSend: failsFor("text") },
		arrange: async (world) => {
			await add(world, "text", { notAfter: inHours(world, 1) });
			await minutes(world, 55);
		},
		kind: "hook_failed",
		becomes: ["expired"],
	},
	{
		title: "the held text that it waits behind is due to be read",
		arrange: async (world) => {
			await held(world);
			await text(world);
			await minutes(world, 30);
			world.sandbox.clock.advance({ minutes: 11 });
		},
		kind: "behind",
		behind: "earlier",
		due: 0,
		next: ({ anna }) => anna.accepts(),
		becomes: ["sent", "delivered"],
	},
	{
		title: "the held text that it waits behind is due to be read, and so is one of another contact",
		arrange: async (world) => {
			await held(world);
			await text(world);
			await minutes(world, 30);
			await add(world, "other", elsewhere(world));
			world.sandbox.clock.advance({ minutes: 11 });
		},
		behind: "earlier",
		due: 1,
		next: ({ anna }) => anna.accepts(),
		becomes: ["sent", "delivered"],
	},
	{
		title: "a cron job alone calls runOnce, a while ago",
		arrange: async (world) => {
			await world.outbox.runOnce();
			world.sandbox.clock.advance({ minutes: 5 });
			await add(world, "text");
		},
		kind: "reading",
		says: /runOnce is called next/,
		due: 1,
	},
	{
		title: "no worker runs, and it is night",
		isByOptions: true,
		options: night,
		isIdle: true,
		arrange: async (world) => {
			world.sandbox.clock.advanceTo(new Date("2026-01-06T22:00:00Z"));
			await add(world, "text", { notAfter: inHours(world, 40) });
		},
		kind: "quiet_hours",
		says: /no worker is running/,
	},
];

/** Several causes at once: the wait that ends last is told, and a pause beside it. */
const several: Situation[] = [
	{
		title: "it is night, and the key is refused",
		options: night,
		arrange: async (world) => {
			await at(world, "19:59");
			refuseKey(world);
			await text(world, { notAfter: inHours(world, 40) });
			await minutes(world, 60);
		},
		kind: "quiet_hours",
		says: /refuses the API key/,
		next: mend,
	},
	{
		title: "the key is refused until the morning of a text that sleeps, and one of another purpose is behind it",
		options: night,
		arrange: async (world) => {
			await at(world, "21:00");
			await add(world, "earlier", { notAfter: inHours(world, 40) });
			await world.outbox.runOnce();
			refuseKey(world);
			await add(world, "other", { ...elsewhere(world), purpose: "reply" });
			await text(world, { purpose: "marketing", notAfter: inHours(world, 40) });
		},
		kind: "behind",
		behind: "earlier",
		says: /refuses the API key/,
		next: (world) => {
			mend(world);
			world.anna.writes("Hello");
		},
	},
	{
		title: "everybody is suspended, its time has passed, and no worker runs",
		isIdle: true,
		arrange: async (world) => {
			await world.outbox.suspend({ reason: "Wrong price" });
			await add(world, "text", { notAfter: inHours(world, 1) });
			world.sandbox.clock.advance({ hours: 2 });
		},
		kind: "too_old",
		isNotTried: true,
		becomes: ["expired"],
	},
	{
		title: "its agency is suspended at night, and its time has not come",
		isByOptions: true,
		options: night,
		arrange: async (world) => {
			await at(world, "21:00");
			await world.outbox.suspend({ agencyId: world.agency.id, reason: "Wrong price" });
			await text(world, { notBefore: inHours(world, 3), notAfter: inHours(world, 40) });
		},
		kind: "suspended",
		isNotTried: true,
		next: ({ outbox, agency }) => outbox.resume({ agencyId: agency.id }),
		isTold: true,
		becomes: ["waiting"],
	},
	{
		title: "its time is within the quiet hours",
		isByOptions: true,
		options: night,
		arrange: (world) => text(world, { notBefore: "2026-01-05T23:00Z" }),
	},
	{
		title: "beforeSend has put it off to a time within the quiet hours",
		isByOptions: true,
		options: {
			...night,
			beforeSend: (_, { now }) =>
				now < new Date("2026-01-05T19:00Z") ? { waitUntil: new Date("2026-01-05T21:00Z"), because: "Later" } : "send",
		},
		arrange: (world) => text(world),
	},
	{
		title: "the link of its agency has ended, and its time has not come",
		arrange: async (world) => {
			world.agency.unlink();
			await add(world, "other", elsewhere(world));
			await text(world, { notBefore: inHours(world, 3) });
			await minutes(world, 5);
		},
		kind: "not_before",
		says: /not linked/,
		next: ({ agency }) => agency.link(),
	},
	{
		title: "it came back with a backup, and an earlier text is held",
		arrange: async (world) => {
			await held(world);
			await add(world, "text", { purpose: "reply" });
			await world.outbox.restored({ backupAt: inHours(world, -1) });
			await world.outbox.runOnce();
		},
		behind: "earlier",
		next: ({ anna }) => anna.accepts(),
		becomes: ["sent", "delivered", "unknown", "cancelled"],
	},
	{
		title: "it came back with a backup while its agency was suspended",
		arrange: async (world) => {
			await world.outbox.suspend({ reason: "Wrong price" });
			await add(world, "text");
			await world.outbox.restored({ backupAt: inHours(world, -1) });
			await world.outbox.runOnce();
		},
		kind: "suspended",
		next: resume,
		isTold: true,
	},
	{
		title: "it slept, came back with a backup, and no worker has come since",
		options: night,
		arrange: async (world) => {
			await at(world, "22:00");
			await text(world, { notAfter: inHours(world, 40) });
			await world.outbox.restored({ backupAt: inHours(world, -1) });
		},
		kind: "quiet_hours",
	},
	{
		title: "the number is wrong, and its time has not come",
		arrange: async (world) => {
			world.anna.writes("Wrong number");
			await add(world, "other");
			await world.outbox.runOnce();
			await text(world, { notBefore: inHours(world, 20) });
		},
		kind: "wrong_number",
		isNotTried: true,
		next: ({ outbox, agency, anna }) => outbox.optIn({ agencyId: agency.id, to: anna.phoneNumber }),
		isTold: true,
		becomes: ["waiting"],
	},
	{
		title: "it is a reply that sleeps, and a second reply has come since",
		options: night,
		arrange: async (world) => {
			await at(world, "22:00");
			await text(world, { purpose: "reply" });
			await minutes(world, 30);
			world.anna.writes("Are you still awake?");
			await add(world, "second", { purpose: "reply" });
		},
		kind: "reading",
	},
	{
		title: "three texts of three purposes sleep, and it is the last one",
		options: night,
		arrange: async (world) => {
			await at(world, "22:00");
			await add(world, "reply", { purpose: "reply" });
			await add(world, "earlier");
			await text(world, { purpose: "marketing" });
			await minutes(world, 60);
		},
		behind: "reply",
		next: writes("Hello"),
	},
	{
		title: "it takes the place of a held text, and the template is not approved any more",
		arrange: async (world) => {
			await held(world);
			world.agency.consent.set({ missingTemplates: ["consent"] });
			await add(world, "text", { supersedes: "earlier" });
			await minutes(world, 30);
		},
		kind: "consent_unavailable",
		next: ({ agency }) => agency.consent.set({ missingTemplates: [] }),
	},
	{
		title: "it was cancelled in a transaction while a check kept it back",
		options: { ...defaults, beforeSend: failsFor("text") },
		arrange: async (world) => {
			await text(world);
			await minutes(world, 10);
			await world.outbox.cancel("text");
		},
		becomes: ["cancelled"],
	},
	{
		title: "a request without a result is over, and the next one waits",
		arrange: async (world) => {
			breakSends(world);
			await text(world);
			await minutes(world, 120);
		},
		next: mend,
	},
	{
		title: "the service holds it, and the key is refused",
		arrange: async (world) => {
			await closed(world);
			await text(world);
			refuseKey(world);
			await minutes(world, 30);
		},
		kind: "consent",
		says: /refuses the API key/,
		next: (world) => {
			mend(world);
			world.anna.accepts();
		},
		becomes: ["sent", "delivered"],
	},
	{
		title: "the time zone is the answer of a function, and its time is within the quiet hours",
		options: { ...defaults, quietHours: { from: "20:00", to: "08:00", timeZone: () => "UTC" } },
		arrange: (world) => text(world, { notBefore: "2026-01-05T23:00Z" }),
	},
	{
		title: "reads fail for a text that is behind another one whose reads fail",
		arrange: async (world) => {
			world.sandbox.faults.add({
				operation: "conversations.get",
				phase: "before",
				effect: { status: 500 },
				times: 9_999,
			});
			await add(world, "earlier");
			await text(world);
			await minutes(world, 30);
		},
		behind: "earlier",
		next: mend,
	},
];

situations.push(...once, ...several);

const went: readonly OutboxState[] = ["sent", "delivered", "read", "held"];

/** The requests of the text. */
const requestsOf = (world: World): number => world.sends().filter(({ body }) => Object(body).body === "text").length;

/** What is told of the text. Each place says the same. */
async function ask(world: World, { command }: Desk, isByOptions = false): Promise<OutboxStatus> {
	const { outbox, sandbox } = world;
	const now = sandbox.clock.now();
	const status = await outbox.status("text");
	if (!status) throw new Error("There is no text");
	const explained = await outbox.explain("text");
	expect(explained?.status).toEqual(status);
	const { state, reason, waitsFor, nextAttemptAt } = status;
	if (command) {
		const said: object = JSON.parse(JSON.stringify({ state, reason, waitsFor, nextAttemptAt }));
		const listed: object = Object(await command(now, "explain", "text")).status;
		if (isByOptions) {
			expect(listed).toMatchObject({ state, reason });
			const { until } = Object(Object(listed).waitsFor);
			expect(Date.parse(until ?? now)).toBeLessThanOrEqual((waitsFor?.until ?? now).getTime());
		} else expect(listed).toMatchObject(said);
		if (waitsFor || state === "unknown")
			expect(await command(now, "list", "--state", state)).toMatchObject({
				texts: expect.arrayContaining([expect.objectContaining({ id: "text", ...listed })]),
			});
		const health = JSON.parse(JSON.stringify(await outbox.health()));
		const { texts, due, oldestDueAt, suspensions } = health;
		expect(await command(now, "health")).toMatchObject({ health: { texts, due, oldestDueAt, suspensions } });
	}
	return status;
}

/** What health says of what is due, and what a worker finds then. */
async function expectHealth(world: World): Promise<OutboxHealth> {
	const { outbox } = world;
	const health = await outbox.health();
	const { due, oldestDueAt } = health;
	const before = world.sends().length;
	if (due === 0) {
		expect(oldestDueAt).toBeNull();
		await outbox.runOnce();
		expect(world.sends().length).toBe(before);
	} else {
		expect(oldestDueAt?.getTime()).toBeLessThanOrEqual(nowOf(world));
	}
	return health;
}

/** Asks what a text waits for, and watches whether it is so. */
export async function expectKept({ options = defaults, ...situation }: Situation, desk: Desk): Promise<void> {
	const world = createWorld({ ...options, store: desk.store });
	const { next, isTold = false, isIdle = false, behind = null, passes = false, becomes = went } = situation;
	await situation.arrange(world);
	const { kind, says, isNotTried = false, due } = situation;
	const { state, waitsFor, nextAttemptAt } = await ask(world, desk, situation.isByOptions);
	if (waitsFor) expect(waitsFor.id).toBe(behind);
	if (kind !== undefined) expect(waitsFor?.kind).toBe(kind);
	if (says) expect(waitsFor?.sentence).toMatch(says);
	expect(nextAttemptAt === null).toBe(isNotTried || (waitsFor?.until ?? null) === null);
	if (due !== undefined) expect((await world.outbox.health()).due).toBe(due);
	if (!isIdle) await expectHealth(world);
	const asked = nowOf(world);
	const made = requestsOf(world);
	if (!waitsFor) {
		await next?.(world);
		await goTo(world, asked + 60 * hourMs);
		expect(await world.state("text")).toBe(state);
		expect(requestsOf(world)).toBe(made);
	} else if (waitsFor.until && !isTold && !isIdle) {
		await next?.(world);
		for (let round = 0; round < 8 && !becomes.includes(await stateOf(world)); round++)
			await expectSilence(world, desk, situation.isByOptions);
	} else {
		if (waitsFor.until) expect(waitsFor.until.getTime()).toBeGreaterThan(asked);
		const silent = waitsFor.until ? Math.floor((asked + waitsFor.until.getTime()) / 2) : asked + 2 * hourMs;
		await goTo(world, silent, isIdle);
		expect(requestsOf(world)).toBe(made);
		expect((await ask(world, desk, situation.isByOptions)).waitsFor).toMatchObject({
			id: waitsFor.id,
			until: waitsFor.until,
		});
		if (next) await next(world);
		else if (waitsFor.until) await goTo(world, waitsFor.until.getTime(), isIdle);
		await world.outbox.runOnce();
		if (waitsFor.id !== null && !passes) await expectBehind(world, waitsFor.id, made);
		await goTo(world, nowOf(world) + (isTold ? 2 : 20) * minuteMs);
	}
	expect(becomes).toContain(await stateOf(world));
	await ask(world, desk, situation.isByOptions);
}

const stateOf = async (world: World): Promise<OutboxState> => (await world.state("text")) ?? "unknown";

/** Nothing is sent before the time that is told. Then something happens to the text, or another time is told. */
async function expectSilence(world: World, desk: Desk, isByOptions?: true): Promise<void> {
	const { waitsFor, nextAttemptAt } = await ask(world, desk, isByOptions);
	const before = nowOf(world);
	// Nothing is promised of one that ends, or whose request is under way.
	const until = Math.max(waitsFor?.until?.getTime() ?? before, nextAttemptAt?.getTime() ?? before);
	expect(until).toBeGreaterThanOrEqual(before);
	const made = requestsOf(world);
	if (until > before) {
		await goTo(world, until - 1);
		expect(requestsOf(world)).toBe(made);
	}
	await goTo(world, until > before ? until : before + 2 * hourMs);
	await world.outbox.runOnce();
}

/** A text that waits for another one is not sent before that has ended. */
async function expectBehind(world: World, id: string, made: number): Promise<void> {
	for (let step = 0; step < 200 && (await world.outbox.status(id))?.waitsFor; step++) {
		expect(requestsOf(world)).toBe(made);
		await minutes(world, 10);
	}
	expect((await world.outbox.status(id))?.waitsFor).toBeNull();
}
