import { type AgencyClient, type Client, createClient, isWindowOpen } from "messaging-conversations";
import { type Contact, createSandbox, type Policy, type Sandbox } from "messaging-conversations/sandbox";
import { expect, test } from "vitest";
import { failure, quick } from "./calls.ts";
import { isLong } from "./length.ts";

// Where the specification is silent, the live service may do either, and may vary what callers must not rely on. The client
// must behave the same under all of it.

// Of every policy its other interpretation: a new one does not compile without.
const others: Policy = {
	shortSearch: "unfiltered",
	lookupInvalid: "400",
	templateOnReplace: true,
	declineOpensWindow: false,
	inboundFlushesQueue: true,
	openSendWhileHeld: "keep",
	consentFlowCounts: true,
	sendOverridesToggle: true,
	retryAfterDelivery: "resend",
	retryAfterDrop: "replay",
	retryAfterReplace: "replay",
	operationIdTtlHours: 48,
};
const interpretations: Partial<Policy>[] = [{}, ...Object.entries(others).map(([name, value]) => ({ [name]: value }))];

const variations = ["one", "two", "three", "four", "five"];
// In short, the default policy plays under each variation, and each other policy under one.
const worlds = variations.flatMap((variation, at) =>
	interpretations
		.filter((_, index) => isLong || index === 0 || index % variations.length === at)
		.map((policy) => [JSON.stringify(policy), variation, policy] as const),
);

test.for(worlds)("the client behaves the same under policy %s and variation %s", async ([, variation, policy]) => {
	const sandbox = createSandbox({ scenario: "busy", now: "2026-01-05T09:00:00Z", variation, policy });
	const drift: string[] = [];
	const client = createClient({
		...sandbox.connection,
		retry: quick,
		onContractDrift: ({ kind, path }) => drift.push(`${kind} ${path}`),
	});
	const [first] = (await client.me.get()).agencies;
	const { conversations, messages } = client.agency(first?.id ?? "");

	const listed = await conversations.list().toArray();
	expect(new Set(listed.map(({ phoneNumber }) => phoneNumber)).size).toBe(250);
	const [longest] = [...listed].sort((a, b) => b.totalMessages - a.totalMessages);
	const read = await conversations.listMessages(longest?.phoneNumber ?? "").toArray();
	expect(new Set(read.map(({ id }) => id)).size).toBe(longest?.totalMessages);

	const anna = sandbox.agency().contact("+32470123456", { name: "Anna" });
	anna.writes("Is the flat still free?");
	const entries = await conversations.lookup(["0470/12.34.56", "n/a", "+32470123456"]);
	expect(entries.map(({ conversation }) => conversation?.contactName ?? null)).toEqual(["Anna", null, "Anna"]);

	sandbox.faults.add({ operation: "messages.send", times: 1, phase: "after", effect: "reset" });
	const sent = await messages.send({ to: "0470 12 34 56", body: "It is." });
	expect(sent).toMatchObject({ queued: false, queueId: null });

	sandbox.clock.advance({ hours: 25 });
	sandbox.faults.add({ operation: "messages.send", times: 1, phase: "after", effect: "reset" });
	const held = await messages.send({ to: anna.phoneNumber, body: "Would Friday suit you?" });
	expect(held).toMatchObject({ queued: true, messageId: null });
	const { conversation } = await conversations.get(anna.phoneNumber);
	expect(conversation.queuedMessages.map(({ id, body }) => [id, body])).toEqual([
		[held.queueId, "Would Friday suit you?"],
	]);
	anna.accepts();
	const texts = anna.inbox().filter(({ kind }) => kind === "text");
	expect(texts.map(({ body }) => body)).toEqual(["It is.", "Would Friday suit you?"]);

	const unknown = await failure(() => conversations.get("+447700900999"));
	expect(unknown._tag).toBe("PartnerNotFound");
	expect(sandbox.violations()).toEqual([]);
	expect(drift.length).toBeGreaterThan(0);
	expect(drift.every((one) => /^unknown-(field|value) /.test(one))).toBe(true);
});

interface Place {
	sandbox: Sandbox;
	client: Client;
	agency: AgencyClient;
	anna: Contact;
}

/** What comes of a few calls that the two interpretations of a policy answer differently. */
const episodes: Record<keyof Policy, (place: Place) => unknown> = {
	shortSearch: async ({ agency }) => (await agency.conversations.list({ search: "an" }).toArray()).length,
	async lookupInvalid({ client, agency }) {
		const path = "/agencies/{agencyId}/conversations/lookup";
		const body = { phoneNumbers: ["abc"] };
		return (await client.request({ method: "POST", path, agencyId: agency.id, body }).result()).ok;
	},
	async templateOnReplace({ agency, anna, sandbox }) {
		sandbox.clock.advance({ hours: 25 });
		for (const body of ["One", "Two"]) await agency.messages.send({ to: anna.phoneNumber, body });
		return templates(anna);
	},
	async declineOpensWindow({ agency, anna, sandbox }) {
		sandbox.clock.advance({ hours: 25 });
		await agency.messages.send({ to: anna.phoneNumber, body: "One" });
		anna.declines();
		return isWindowOpen((await agency.conversations.get(anna.phoneNumber)).conversation, sandbox.clock.now());
	},
	async inboundFlushesQueue({ agency, anna, sandbox }) {
		sandbox.clock.advance({ hours: 25 });
		await agency.messages.send({ to: anna.phoneNumber, body: "One" });
		anna.writes("Hello");
		return texts(anna);
	},
	async openSendWhileHeld({ agency, anna, sandbox }) {
		sandbox.clock.advance({ hours: 25 });
		await agency.messages.send({ to: anna.phoneNumber, body: "One" });
		anna.writes("Hello");
		await agency.messages.send({ to: anna.phoneNumber, body: "Two" });
		return held(agency, anna);
	},
	async consentFlowCounts({ agency, anna, sandbox }) {
		sandbox.clock.advance({ hours: 25 });
		await agency.messages.send({ to: anna.phoneNumber, body: "One" });
		return (await agency.conversations.get(anna.phoneNumber)).conversation.summary.activeFlows;
	},
	async sendOverridesToggle({ agency, anna, sandbox }) {
		sandbox.agency().staff.setAi({ contact: anna, on: false });
		await agency.messages.send({ to: anna.phoneNumber, body: "One" });
		return (await agency.conversations.get(anna.phoneNumber)).conversation.aiSettings.disabledReason;
	},
	async retryAfterDelivery({ agency, anna, sandbox }) {
		const message = { to: anna.phoneNumber, body: "One", operationId: "a" };
		sandbox.clock.advance({ hours: 25 });
		await agency.messages.send(message);
		anna.accepts();
		await agency.messages.send(message);
		return texts(anna);
	},
	async retryAfterDrop({ agency, anna, sandbox }) {
		const message = { to: anna.phoneNumber, body: "One", operationId: "a" };
		sandbox.clock.advance({ hours: 25 });
		await agency.messages.send(message);
		sandbox.clock.advance({ hours: 48 });
		await agency.messages.send(message);
		return templates(anna);
	},
	async retryAfterReplace({ agency, anna, sandbox }) {
		const message = { to: anna.phoneNumber, body: "One", operationId: "a" };
		sandbox.clock.advance({ hours: 25 });
		for (const next of [message, { ...message, body: "Two", operationId: "b" }, message])
			await agency.messages.send(next);
		return held(agency, anna);
	},
	async operationIdTtlHours({ agency, anna, sandbox }) {
		const message = { to: anna.phoneNumber, body: "One", operationId: "a" };
		await agency.messages.send(message);
		sandbox.clock.advance({ hours: 100 });
		anna.writes("Hello");
		await agency.messages.send(message);
		return texts(anna);
	},
};

const texts = (contact: Contact): number => contact.inbox().filter(({ kind }) => kind === "text").length;
const templates = (contact: Contact): number => contact.inbox().filter(({ kind }) => kind === "template").length;
const held = async ({ conversations }: AgencyClient, { phoneNumber }: Contact): Promise<string[]> =>
	(await conversations.get(phoneNumber)).conversation.queuedMessages.map(({ body }) => body);

test.for(Object.entries(episodes))(
	"the client shows both interpretations of policy %s, under each variation",
	async ([name, episode]) => {
		for (const variation of variations) {
			const shown: unknown[] = [];
			for (const policy of [{}, { [name]: Reflect.get(others, name) }]) {
				const sandbox = createSandbox({ variation, policy });
				const client = createClient({ ...sandbox.connection, retry: quick });
				const anna = sandbox.agency().contact("+32470123456", { name: "Anna" });
				anna.writes("Is the flat still free?");
				shown.push(await episode({ sandbox, client, agency: client.agency(sandbox.agency().id), anna }));
			}
			expect(shown[0], variation).not.toEqual(shown[1]);
		}
	},
);

test("each variation answers the same request in its own way", async () => {
	const answers = variations.map(async (variation) => {
		const { baseUrl, apiKey, fetch } = createSandbox({ scenario: "busy", variation }).connection;
		return (await fetch(`${baseUrl}/me`, { headers: { authorization: `Bearer ${apiKey}` } })).text();
	});
	expect(new Set(await Promise.all(answers)).size).toBe(variations.length);
});
