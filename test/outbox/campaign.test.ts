// A campaign in the evening: quiet hours of the agency, 60 texts a minute, urgent replies, and contacts who do what people do.
import { createClient } from "messaging-conversations";
import { createOutbox, type EnqueuedText, type Outbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { expect, test } from "vitest";
import { memoryStore } from "./memory.ts";

/** 60 texts a minute. */
async function enqueueCampaign(outbox: Outbox, texts: readonly EnqueuedText[], start: number): Promise<void> {
	for (const [index, text] of texts.entries())
		await outbox.enqueue({ ...text, purpose: "marketing", notBefore: start + index * 1_000 });
}
const enqueueReply = (outbox: Outbox, text: EnqueuedText) => outbox.enqueue({ ...text, purpose: "reply" });

/** 130 contacts who have written and got an answer, at 19:58 in Brussels. */
function open() {
	const sandbox = createSandbox({ now: new Date("2026-01-05T18:58:00Z") });
	const agency = sandbox.agency();
	const contacts = Array.from({ length: 130 }, (_, index) => agency.contact(`+44770090${1000 + index}`));
	for (const contact of contacts) {
		contact.writes("Hello");
		agency.staff.sends({ contact, text: "Hello, how can I help?" });
	}
	const greeted = contacts[0]?.inbox().length ?? 0;
	/** What a contact's phone got since then: texts and requests for consent. */
	const got = (index: number) =>
		contacts[index]
			?.inbox()
			.slice(greeted)
			.map(({ kind }) => kind) ?? [];
	sandbox.clock.advance({ ms: 1_000 });
	const store = memoryStore();
	const timeZone = (id: string) => (id === agency.id ? "Europe/Brussels" : "America/New_York");
	const outbox = createOutbox({
		client: createClient({ ...sandbox.connection }),
		store,
		now: sandbox.clock.now,
		quietHours: { from: "20:00", to: "08:00", timeZone },
	});
	const texts = contacts.map(({ phoneNumber }, index) => ({
		id: `campaign-${index}`,
		agencyId: agency.id,
		to: phoneNumber,
		body: `Offer ${index}`,
	}));
	async function pass(seconds: number): Promise<void> {
		for (let passed = 0; passed < seconds; passed += 10) {
			await outbox.runOnce();
			sandbox.clock.advance({ ms: 10_000 });
		}
		await outbox.runOnce();
	}
	const sent = () => sandbox.requests().filter(({ operation }) => operation === "messages.send");
	return { sandbox, agency, contacts, store, outbox, texts, pass, sent, got };
}

test("60 texts a minute until 20:00, and the rest from 8:00 on", async () => {
	const { sandbox, outbox, texts, pass, sent, contacts } = open();
	await enqueueCampaign(outbox, texts, sandbox.clock.now().getTime());
	await pass(60);
	expect(sent().length).toBeGreaterThanOrEqual(60);
	expect(sent().length).toBeLessThanOrEqual(70);
	await pass(600);
	const evening = sent().length;
	expect(evening).toBeLessThanOrEqual(120);
	contacts[129]?.writes("Stop please");
	sandbox.clock.advanceTo("2026-01-06T07:00:00Z");
	await pass(60);
	expect(sent().length).toBe(129);
	expect((await outbox.status("campaign-129"))?.state).toBe("cancelled");
});

test("a reply does not wait for the campaign or the morning", async () => {
	const { sandbox, agency, outbox, texts, sent, contacts } = open();
	sandbox.clock.advance({ minutes: 10 });
	await enqueueCampaign(outbox, texts.slice(0, 50), sandbox.clock.now().getTime());
	const to = contacts[49]?.phoneNumber ?? "";
	await enqueueReply(outbox, { id: "reply", agencyId: agency.id, to, body: "Yes, at 14:00." });
	await outbox.runOnce();
	expect(sent().map(({ body }) => Object(body).body)).toEqual(["Yes, at 14:00."]);
});

const stops = [
	"STOP",
	"Stoppen aub",
	"Arrêt",
	"Arre\u0302t", // decomposed
	"ARRÊTEZ",
	"Baja",
	"Abmelden bitte",
	"Afmelden",
	"Désabonner",
	"  ¡cancelar!",
	"No thanks, leave me alone",
	"Nee bedankt, laat me met rust",
	"Please stop",
];

test("not even an urgent text that is held goes out because the contact answered in words", async () => {
	const { sandbox, outbox, texts, pass, contacts, got } = open();
	sandbox.clock.advanceTo("2026-01-07T09:00:00Z");
	for (const text of texts.slice(0, 2)) await enqueueReply(outbox, text);
	await pass(60);
	contacts[0]?.writes("No thanks, leave me alone");
	contacts[1]?.writes("Stoppen");
	await pass(1_800);
	expect([got(0), got(1)]).toEqual([["template"], ["template"]]);
});

test.each(stops)("a contact who wrote %j before a campaign gets none of it", async (words) => {
	const { outbox, texts, pass, contacts, got } = open();
	const [text] = texts;
	if (!text) throw new Error("no text");
	contacts[0]?.writes(words);
	await outbox.enqueue({ ...text, purpose: "marketing" });
	await pass(60);
	expect([got(0), (await outbox.status(text.id))?.reason]).toEqual([[], "opted_out"]);
});

test("who declines, does not answer or cannot be reached gets no text, and who accepts gets it", async () => {
	const { sandbox, outbox, texts, pass, contacts, got } = open();
	sandbox.clock.advanceTo("2026-01-07T09:00:00Z");
	contacts[2]?.setReachable(false);
	const [declines, , , accepts] = contacts;
	for (const text of texts.slice(0, 4)) {
		await outbox.enqueue(text);
		await outbox.enqueue({ ...text, id: `${text.id}-next`, body: "Another offer" });
	}
	await pass(60);
	declines?.declines();
	accepts?.accepts();
	await pass(1_800);
	for (const text of texts.slice(0, 1))
		await outbox.enqueue({ ...text, id: "after-no", body: "One more offer", purpose: "marketing" });
	await pass(1_800);
	sandbox.clock.advance({ hours: 49 });
	await pass(1_800);
	expect([0, 1, 2, 3].map(got)).toEqual([["template"], ["template"], [], ["template", "text", "text"]]);
});

test("quiet hours are those of the text's agency", async () => {
	const { sandbox, outbox, texts, pass, sent } = open();
	const other = sandbox.link({ name: "Other" });
	other.contact("+447700902000").writes("Hello");
	other.staff.sends({ contact: "+447700902000", text: "Hello!" });
	sandbox.clock.advance({ ms: 1_000 });
	sandbox.clock.advance({ minutes: 10 });
	for (const text of texts.slice(0, 1)) await outbox.enqueue(text);
	await outbox.enqueue({ id: "other", agencyId: other.id, to: "+447700902000", body: "Offer in New York" });
	await pass(60);
	expect(sent().map(({ body }) => Object(body).body)).toEqual(["Offer in New York"]);
	expect((await outbox.status("campaign-0"))?.reason).toBe("quiet_hours");
});

test("an erased contact is in no row", async () => {
	const { store, outbox, texts, contacts } = open();
	const [text, later] = texts;
	if (!text || !later) throw new Error("no texts");
	await outbox.enqueue(text);
	await outbox.runOnce();
	await outbox.enqueue({ ...text, id: "second" });
	await outbox.erase({ to: text.to, everyAgency: true });
	expect(JSON.stringify(store.all())).not.toContain(contacts[0]?.phoneNumber);
});
