// A CRM's own tests, as its developers would write them: the service is the sandbox, its clock and its people are theirs.
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { remind, unanswered, type Visit } from "../crm/crm.ts";

function open() {
	const sandbox = createSandbox({ now: "2026-01-05T09:00:00Z" });
	const client = createClient({ ...sandbox.connection, retry: { attempts: 2, baseDelayMs: 1 } });
	const anna = sandbox.agency().contact("+447700900101", { name: "Anna" });
	return { sandbox, client, anna, agency: client.agency(sandbox.agency().id) };
}

const visit: Visit = {
	id: "visit-1",
	phone: "+44 7700 900101",
	at: new Date("2026-01-06T14:00:00Z"),
	address: "Kerkstraat 12",
};
const text = "Your visit of Kerkstraat 12 is at 14:00 (UTC).";

/** Anna has written today, and somebody has answered. */
function talk(): void {
	world.anna.writes("See you tomorrow");
	world.sandbox.agency().staff.sends({ contact: world.anna, text: "Until then!" });
}

/** What she got after that answer. */
const inbox = () => world.anna.inbox().slice(1);

let world: ReturnType<typeof open>;
beforeEach(() => {
	world = open(); // cheap, and nothing is shared between tests
});
afterEach(() => {
	expect(world.sandbox.violations()).toEqual([]); // what a good client does not do
	expect(world.sandbox.faults.unused()).toEqual([]); // a fault that hit nothing tests nothing
});

describe("a reminder", () => {
	test("goes out at once to somebody who wrote today", async () => {
		const { agency } = world;
		talk();
		expect(await remind(agency, visit)).toBe("sent");
		expect(inbox()).toMatchObject([{ kind: "text", body: text }]);
	});

	test("waits for the consent of somebody who did not", async () => {
		const { agency, anna } = world;
		expect(await remind(agency, visit)).toBe("waits for consent");
		expect(anna.inbox()).toMatchObject([{ kind: "template" }]);
		anna.accepts();
		expect(anna.inbox().at(-1)).toMatchObject({ kind: "text", body: text });
	});

	test("does not replace a text that waits for consent", async () => {
		const { agency, anna } = world;
		await agency.messages.send({ to: anna.phoneNumber, body: "Your offer was accepted." });
		expect(await remind(agency, visit)).toBe("another text waits");
		expect(anna.state().held).toMatchObject({ body: "Your offer was accepted." });
	});

	test.each(["No thanks", "Nee bedankt", "Annuler", "Laissez-moi réfléchir", "Who is this?"])(
		"does not go to somebody who wrote %j and has no answer",
		async (words) => {
			const { agency, anna } = world;
			anna.writes(words);
			expect(await remind(agency, visit)).toBe("answer them first");
			expect(anna.inbox()).toEqual([]);
		},
	);

	test.each([
		"Stop!",
		"Uitschrijven",
		"Arrêtez de m'écrire",
		"Lassen Sie mich in Ruhe",
		"¡Baja!",
		"Non scrivetemi più",
		"Pare de me mandar mensagens",
		"Nie piszcie do mnie więcej",
	])("does not go to somebody who wrote %j, answered or not, until they write START", async (words) => {
		const { sandbox, agency, anna } = world;
		anna.writes(words);
		expect(await remind(agency, visit)).toBe("opted out");
		sandbox.agency().staff.sends({ contact: anna, text: "We will stop." });
		expect(await remind(agency, visit)).toBe("opted out");
		expect(inbox()).toEqual([]);
		anna.writes("START");
		sandbox.agency().staff.sends({ contact: anna, text: "Welcome back!" });
		expect(await remind(agency, visit)).toBe("sent");
	});

	test("does not go to somebody who has declined", async () => {
		const { agency, anna } = world;
		await remind(agency, visit);
		anna.declines();
		expect(await remind(agency, { ...visit, id: "visit-2" })).toBe("answer them first");
		expect(anna.inbox()).toMatchObject([{ kind: "template" }]);
	});

	test("is dropped when nobody answers for two days", async () => {
		const { sandbox, agency, anna } = world;
		await remind(agency, visit);
		sandbox.clock.advance({ hours: 49 });
		expect(anna.accepts().hadHeldText).toBe(false);
	});

	test("is sent once, although its answers were lost and the job ran again", async () => {
		const { sandbox, agency } = world;
		talk();
		sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset", times: 2 });
		expect(await remind(agency, visit)).toBe("ask again later");
		expect(await remind(agency, visit)).toBe("sent");
		expect(inbox()).toHaveLength(1);
	});

	test("is not called sent when the answer does not say whether it waits", async () => {
		const { sandbox, agency, anna } = world;
		sandbox.faults.add({ operation: "messages.send", effect: { kind: "missing-field", field: "queueId" } });
		expect(await remind(agency, visit)).toBe("sent, or waits for consent");
		expect(anna.state().held).toMatchObject({ body: text });
	});

	test("is asked for again when somebody takes over the conversation meanwhile", async () => {
		const { sandbox, agency, anna } = world;
		talk();
		sandbox.agency().conversation(anna).takeOver();
		expect(await remind(agency, visit)).toBe("ask again later");
		expect(await remind(agency, visit)).toBe("sent");
	});

	test("stops the job when the key is revoked, rather than have everybody called", async () => {
		const { sandbox, agency } = world;
		sandbox.keys.revoke(sandbox.connection.apiKey);
		await expect(remind(agency, visit)).rejects.toMatchObject({ _tag: "PartnerUnauthorized" });
	});

	test("stops the job when there is no key, rather than have everybody called", async () => {
		const { sandbox, agency } = world;
		const keyless = createClient({ ...sandbox.connection, apiKey: undefined }).agency(agency.id);
		await expect(remind(keyless, visit)).rejects.toMatchObject({ _tag: "PartnerConfigurationError" });
	});

	test("is another one when the visit moves", async () => {
		const { agency } = world;
		talk();
		await remind(agency, visit);
		await remind(agency, { ...visit, at: new Date("2026-01-06T16:30:00Z") });
		expect(inbox().map(({ body }) => body)).toEqual([text, text.replace("14:00", "16:30")]);
	});

	test("becomes a phone call where the agency may not ask for consent", async () => {
		const { sandbox, agency } = world;
		sandbox.agency().consent.set({ missingTemplates: ["consent"] });
		expect(await remind(agency, visit)).toBe("call them instead");
	});

	test("becomes a phone call where the number is none, and asks the service nothing", async () => {
		const { sandbox, agency } = world;
		expect(await remind(agency, { ...visit, phone: "see notes" })).toBe("call them instead");
		expect(sandbox.requests()).toEqual([]);
	});

	test("turns the AI off, as every send does, until the contact writes a day later", async () => {
		const { sandbox, agency, anna } = world;
		talk();
		await remind(agency, visit);
		const ai = async () => (await agency.conversations.get(visit.phone)).conversation.aiSettings;
		expect(await ai()).toMatchObject({ enabled: false, disabledReason: "manual_send" });
		sandbox.clock.advance({ hours: 25 });
		anna.writes("I was there!");
		expect(await ai()).toMatchObject({ enabled: true, disabledReason: null });
	});
});

test("the to-do list has who wrote and got no answer, the oldest first", async () => {
	const { sandbox, agency, anna } = world;
	const contact = (phone: string, name: string) => sandbox.agency().contact(phone, { name });
	contact("+447700900102", "Bert, too long ago").writes("Hello?");
	sandbox.clock.advance({ hours: 25 });
	contact("+447700900103", "Chloé").writes("Is it still free?");
	sandbox.clock.advance({ minutes: 5 });
	anna.writes("When can I come?");
	const dirk = contact("+447700900104", "Dirk, answered");
	dirk.writes("Hello");
	sandbox.agency().ai.replies({ contact: dirk, text: "Hello! How can I help?" });
	const names = async () => (await unanswered(agency, sandbox.clock.now())).map(({ contactName }) => contactName);
	expect(await names()).toEqual(["Chloé", "Anna"]);
	await agency.messages.send({ to: anna.phoneNumber, body: "Tomorrow at two?" });
	expect(await names()).toEqual(["Chloé"]);
});

test("the to-do list goes past conversations without a message, which the service may list first", async () => {
	const { sandbox, anna } = world;
	anna.writes("Hello");
	sandbox.agency().conversation("+447700900105").open();
	const reversing: typeof fetch = async (input, init) => {
		const page = await (await sandbox.fetch(input, init)).json();
		return Response.json({ ...page, conversations: page.conversations.reverse() });
	};
	const client = createClient({ ...sandbox.connection, fetch: reversing });
	const waiting = await unanswered(client.agency(sandbox.agency().id), sandbox.clock.now());
	expect(waiting.map(({ contactName }) => contactName)).toEqual(["Anna"]);
});

test("the staging system writes to nobody but its testers", async () => {
	const { sandbox, anna } = world;
	const staging = createClient({ ...sandbox.connection, allowRecipients: ["+447700900199"] });
	expect(await remind(staging.agency(sandbox.agency().id), visit)).toBe("call them instead");
	expect(anna.inbox()).toEqual([]);
});
