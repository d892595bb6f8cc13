// The program of the guide: quiet hours, opt-outs, priority, 60 texts a minute and erasure, with contacts who do what people do.
import { readFileSync } from "node:fs";
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { expect, test } from "vitest";
import { enqueueCampaign, enqueueReply, openOutbox } from "./crm-rules.ts";
import { memoryStore } from "./memory.ts";

const code = readFileSync(new URL("./crm-rules.ts", import.meta.url), "utf8");

test("it is the program of the guide, in at most 40 lines", () => {
	const guide = readFileSync(new URL("../../docs/outbox-recipes.md", import.meta.url), "utf8");
	// The guide has narrower lines.
	const bare = (text: string) => text.replace(/[\s,]/g, "");
	expect(bare(guide)).toContain(bare(code));
	expect(code.trimEnd().split("\n").length).toBeLessThanOrEqual(40);
});

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
	const optedOut = new Set<string>();
	const outbox = openOutbox(createClient({ ...sandbox.connection }), {
		store,
		now: sandbox.clock.now,
		timeZoneOf: (id) => (id === agency.id ? "Europe/Brussels" : "America/New_York"),
		hasOptedOut: async (to) => optedOut.has(to),
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
	return { sandbox, agency, contacts, store, optedOut, outbox, texts, pass, sent, got };
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

/** What a contact says who does not agree, or not to this text. */
const refusals = [
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
	"Who is this?",
	"👎",
];

test.each(refusals)("a contact who answers a request for consent with %j gets no text", async (words) => {
	const { sandbox, outbox, texts, pass, contacts, got } = open();
	sandbox.clock.advanceTo("2026-01-07T09:00:00Z");
	const [text] = texts;
	if (!text) throw new Error("no text");
	await outbox.enqueue(text);
	await outbox.enqueue({ ...text, id: "next", body: "Another offer" });
	await pass(60);
	contacts[0]?.writes(words);
	await pass(1_800);
	sandbox.clock.advance({ hours: 49 });
	await pass(1_800);
	await outbox.enqueue({ ...text, id: "later", body: "One more offer" });
	await pass(1_800);
	expect(got(0)).toEqual(["template"]);
});

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

test.each(refusals)("a contact who wrote %j before a campaign gets none of it", async (words) => {
	const { outbox, texts, pass, contacts, got } = open();
	const [text] = texts;
	if (!text) throw new Error("no text");
	contacts[0]?.writes(words);
	await outbox.enqueue(text);
	await pass(60);
	expect(got(0)).toEqual([]);
	// What is no request to stop is a question that nobody has answered.
	const isOptOut = !["Who is this?", "👎"].includes(words);
	expect((await outbox.status(text.id))?.reason).toBe(isOptOut ? "opted_out" : "before_send");
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
	for (const text of texts.slice(0, 1)) await outbox.enqueue({ ...text, id: "after-no", body: "One more offer" });
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

test("an answer of a colleague cancels what waits, and an earlier text of the outbox does not", async () => {
	const { sandbox, agency, contacts, optedOut, outbox, texts, pass, sent } = open();
	const [first, second, third] = texts;
	if (!first || !second || !third) throw new Error("no texts");
	await outbox.enqueue(first);
	await outbox.enqueue({ ...first, id: "reminder", body: "Reminder" });
	await outbox.enqueue({ ...second, notBefore: Date.parse("2026-01-05T18:59:00Z") });
	await outbox.enqueue({ ...third, notBefore: Date.parse("2026-01-05T18:59:00Z") });
	optedOut.add(third.to);
	sandbox.clock.advance({ ms: 1_000 });
	await pass(10);
	if (contacts[1]) agency.staff.sends({ contact: contacts[1], text: "I'll call you." });
	await pass(80);
	expect(sent().map(({ body }) => Object(body).body)).toEqual([first.body, "Reminder"]);
	expect((await outbox.status("campaign-1"))?.reason).toBe("before_send");
	expect((await outbox.status("campaign-2"))?.reason).toBe("before_send");
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
