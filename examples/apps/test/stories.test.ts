// The three stories of docs/stories.md on a PostgreSQL server, with contacts who do the unexpected. The page says what a status says.
import { readFileSync } from "node:fs";
import { createClient } from "messaging-conversations";
import { createOutbox, postgresStore } from "messaging-conversations/outbox";
import { type Contact, createSandbox } from "messaging-conversations/sandbox";
import postgres from "postgres";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { type Server, startServer } from "../../../test/postgres.ts";
import { announceFlats } from "../stories/campaign.ts";
import { callOff, move } from "../stories/moved-visit.ts";
import { book } from "../stories/visit.ts";

const page = readFileSync(new URL("../../../docs/stories.md", import.meta.url), "utf8").replaceAll("\n", " ");
const closing: (() => unknown)[] = [];
afterEach(async () => {
	for (const close of closing.splice(0).reverse()) await close();
});
let server: Server | undefined;
afterAll(() => server?.close());

/** A CRM with its outbox, and Anna, who wrote on Monday. It is Wednesday, eleven o'clock in Brussels. */
async function open() {
	server ??= await startServer(import.meta.url);
	const sandbox = createSandbox({ now: "2026-03-09T09:00:00Z" });
	const sql = postgres(await server.create(), { onnotice() {} });
	closing.push(() => sql.end());
	await sql.file(new URL("../stories/schema.sql", import.meta.url));
	const outbox = createOutbox({
		client: createClient({ ...sandbox.connection }),
		store: postgresStore(sql, { prefix: "messaging.outbox" }),
		quietHours: { from: "20:00", to: "08:00", timeZone: "Europe/Brussels" },
		now: sandbox.clock.now,
	});
	await outbox.migrate();
	const agency = sandbox.agency();
	const anna = agency.contact("+447700900101", { name: "Anna" });
	anna.writes("Is the flat still free?");
	sandbox.clock.advanceTo("2026-03-11T10:00:00Z");
	const visit = {
		id: "v1",
		agencyId: agency.id,
		to: anna.phoneNumber,
		flat: "Kerkstraat 12",
		at: new Date("2026-03-13T13:00:00Z"),
	};
	/** Works at this time, and again when what was sent a moment ago can be followed. */
	async function until(time: string) {
		sandbox.clock.advanceTo(time);
		for (const ms of [0, 15_000, 120_000]) {
			sandbox.clock.advance({ ms });
			await outbox.runOnce();
		}
	}
	/** The state of a text and its reason. The page has the sentence that a support desk reads. */
	async function told(id: string) {
		const status = await outbox.status(id);
		if (!status) throw new Error(`There is no text ${id}.`);
		const { state, reason, description } = status;
		// It names texts of its own in sentences that go on.
		expect(page).toContain(`"${description.replace(/ If it is still needed.*/, "")}`);
		return reason ? `${state}, ${reason}` : state;
	}
	return { sandbox, agency, sql, outbox, anna, visit, until, told };
}

const textsOf = (contact: Contact) => contact.inbox().flatMap(({ kind, body }) => (kind === "text" ? [body] : []));
const confirmed = "See you at Kerkstraat 12: Friday 13 March at 14:00.";
const moved = "New time for Kerkstraat 12: Saturday 14 March at 10:00.";
const saturday = new Date("2026-03-14T09:00:00Z");

describe("a visit", () => {
	test("Anna consents, gets the confirmation, and the reminder on the day before", async () => {
		const { sql, outbox, anna, visit, until, told } = await open();
		for (let click = 0; click < 2; click++) await book(sql, outbox, visit);
		await until("2026-03-11T10:01:00Z");
		expect([await told("v1:0"), textsOf(anna)]).toEqual(["held", []]);
		anna.accepts();
		await until("2026-03-11T10:10:00Z");
		expect([await told("v1:0"), textsOf(anna)]).toEqual(["sent", [confirmed]]);
		await until("2026-03-12T12:00:00Z");
		expect(await told("v1:0:reminder")).toBe("waiting");
		anna.writes("Looking forward to it!");
		await until("2026-03-12T13:01:00Z");
		expect(textsOf(anna)).toEqual([confirmed, "Reminder: Kerkstraat 12, Friday 13 March at 14:00."]);
	});

	test.each<[string, (anna: Contact) => unknown, [string, string], [string, string]]>([
		[
			"answers in words",
			(anna) => anna.writes("Who is this?"),
			["held", "waiting"],
			["dropped, answered_in_words", "held"],
		],
		[
			"says no in words",
			(anna) => anna.writes("Nee, het hoeft niet meer"),
			["held", "waiting"],
			["dropped, answered_in_words", "held"],
		],
		[
			"taps No",
			(anna) => anna.declines(),
			["dropped, declined", "cancelled, earlier_text_declined"],
			["dropped, declined", "cancelled, earlier_text_declined"],
		],
		[
			"writes STOP in French",
			(anna) => anna.writes("Arrêtez de m'écrire"),
			["held", "cancelled, opted_out"],
			["dropped, opted_out", "cancelled, opted_out"],
		],
		["never answers", () => {}, ["held", "waiting"], ["dropped, no_answer", "cancelled, earlier_text_unanswered"]],
	])("Anna %s", async (_what, act, soon, later) => {
		const { sql, outbox, anna, visit, until, told } = await open();
		await book(sql, outbox, visit);
		await until("2026-03-11T10:01:00Z");
		act(anna);
		await until("2026-03-11T10:15:00Z");
		const both = async () => [await told("v1:0"), await told("v1:0:reminder")];
		expect(await both()).toEqual(soon);
		await until("2026-03-12T13:30:00Z");
		await until("2026-03-13T11:00:00Z");
		expect([await both(), textsOf(anna)]).toEqual([later, []]);
	});

	test("Anna can't be reached: the question for her consent doesn't arrive", async () => {
		const { sql, outbox, anna, visit, until, told } = await open();
		anna.setReachable(false);
		await book(sql, outbox, visit);
		await until("2026-03-11T10:01:00Z");
		await until("2026-03-11T10:15:00Z");
		expect(await told("v1:0")).toBe("held");
		expect(await outbox.status("v1:0")).toMatchObject({ consentFailed: true });
	});
});

describe("a visit that moves", () => {
	test("before its text went out: Anna gets one text, with the new time", async () => {
		const { sql, outbox, anna, visit, until, told } = await open();
		await until("2026-03-11T20:00:00Z"); // at night
		anna.writes("Can I see it?");
		await book(sql, outbox, visit);
		await until("2026-03-11T20:10:00Z");
		for (let click = 0; click < 2; click++) await move(sql, outbox, visit, saturday);
		expect(await told("v1:0")).toBe("cancelled, superseded");
		await until("2026-03-12T07:01:00Z");
		expect(textsOf(anna)).toEqual([moved]);
	});

	test("while Anna is asked: she says Yes once, and gets the new time alone", async () => {
		const { sql, outbox, anna, visit, until, told } = await open();
		await book(sql, outbox, visit);
		await until("2026-03-11T10:01:00Z");
		await move(sql, outbox, visit, saturday);
		await until("2026-03-11T10:10:00Z");
		expect([await told("v1:0"), await told("v1:1")]).toEqual(["replaced", "held"]);
		anna.accepts();
		await until("2026-03-11T10:20:00Z");
		expect(textsOf(anna)).toEqual([moved]);
	});

	test("after Anna asked for it in words: she gets the new time at once", async () => {
		const { sql, outbox, anna, visit, until, told } = await open();
		await book(sql, outbox, visit);
		await until("2026-03-11T10:01:00Z");
		anna.writes("Can we make it Saturday?");
		await until("2026-03-11T10:10:00Z");
		await move(sql, outbox, visit, saturday);
		await until("2026-03-11T10:20:00Z");
		expect([await told("v1:0"), await told("v1:1")]).toEqual(["held", "sent"]);
		expect(textsOf(anna)).toEqual([moved]);
		anna.accepts();
		await until("2026-03-11T10:30:00Z");
		expect([await told("v1:0"), textsOf(anna)]).toEqual(["replaced", [moved]]);
	});

	test("the reminder moves too, and goes out on the day before the new time", async () => {
		const { sql, outbox, anna, visit, until } = await open();
		anna.writes("Can I see it?");
		await book(sql, outbox, visit);
		await until("2026-03-11T10:05:00Z");
		await move(sql, outbox, visit, saturday);
		await until("2026-03-11T10:10:00Z");
		await until("2026-03-12T13:30:00Z");
		expect(textsOf(anna)).toEqual([confirmed, moved]);
		anna.writes("See you on Saturday");
		await until("2026-03-13T09:05:00Z");
		expect(textsOf(anna)).toEqual([confirmed, moved, "Reminder: Kerkstraat 12, Saturday 14 March at 10:00."]);
	});

	test("while the reminder is held: the new time takes its place", async () => {
		const { sql, outbox, anna, visit, until, told } = await open();
		anna.writes("Can I see it?");
		await book(sql, outbox, visit);
		await until("2026-03-11T10:05:00Z");
		await until("2026-03-12T13:05:00Z");
		expect([await told("v1:0:reminder"), textsOf(anna)]).toEqual(["held", [confirmed]]);
		await move(sql, outbox, visit, saturday);
		await until("2026-03-12T13:15:00Z");
		expect([await told("v1:0:reminder"), await told("v1:1")]).toEqual(["replaced", "held"]);
		anna.accepts();
		await until("2026-03-12T13:25:00Z");
		expect(textsOf(anna)).toEqual([confirmed, moved]);
	});

	test.each<[string, (anna: Contact) => unknown, string]>([
		["taps No", (anna) => anna.declines(), "dropped, declined"],
		["writes STOP in German", (anna) => anna.writes("Bitte keine Nachrichten mehr"), "dropped, opted_out"],
		["never answers", () => {}, "dropped, no_answer"],
	])("while Anna is asked, and then she %s", async (_what, act, end) => {
		const { sql, outbox, anna, visit, until, told } = await open();
		await book(sql, outbox, visit);
		await until("2026-03-11T10:01:00Z");
		await move(sql, outbox, visit, saturday);
		await until("2026-03-11T10:10:00Z");
		act(anna);
		await until("2026-03-11T10:20:00Z");
		await until("2026-03-13T11:00:00Z");
		expect([await told("v1:1"), textsOf(anna)]).toEqual([end, []]);
	});

	test("after Anna has the earlier text: she gets both, and then that it's called off", async () => {
		const { sql, outbox, anna, visit, until, told } = await open();
		anna.writes("Can I see it?");
		await book(sql, outbox, visit);
		await until("2026-03-11T10:05:00Z");
		await move(sql, outbox, visit, saturday);
		await until("2026-03-11T10:10:00Z");
		for (let click = 0; click < 2; click++) await callOff(sql, outbox, visit);
		await until("2026-03-11T10:15:00Z");
		expect(textsOf(anna)).toEqual([confirmed, moved, "The visit of Kerkstraat 12 is called off."]);
		expect([await told("v1:0:reminder"), await told("v1:1:reminder")]).toEqual([
			"cancelled, requested",
			"cancelled, requested",
		]);
		await until("2026-03-13T14:00:00Z");
		expect(textsOf(anna)).toHaveLength(3);
	});
});

test("a campaign reaches those who wrote within a day, and nobody who said no", async () => {
	const { agency, sql, outbox, visit, until, told } = await open();
	const leads = [
		{ id: "Anna", phone: "+447700900200" },
		{ id: "Bram", phone: "+447700900201" },
		{ id: "Cleo", phone: "+447700900202" },
		{ id: "Dirk", phone: "+447700900203" },
		{ id: "Eva", phone: "+447700900204" },
		{ id: "Finn", phone: "+447700900205" },
		{ id: "Gus", phone: "+447700900206" },
		{ id: "Hans", phone: "+447700900207" },
	];
	const [anna, bram, cleo, dirk, eva, finn, gus] = leads.map(({ phone, id }) => agency.contact(phone, { name: id }));
	if (!anna || !bram || !cleo || !dirk || !eva || !finn || !gus) throw new Error("Somebody is missing.");
	// Dirk said No to the confirmation of a visit.
	await book(sql, outbox, { ...visit, to: dirk.phoneNumber });
	await until("2026-03-11T10:01:00Z");
	dirk.declines();
	await until("2026-03-11T10:10:00Z");
	anna.writes("Do you have other flats?");
	bram.writes("Uitschrijven");
	cleo.writes("Genoeg!");
	finn.writes("Hello");
	finn.setReachable(false);
	gus.writes("Sorry, verkeerd nummer");
	await until("2026-03-11T11:20:00Z");
	eva.writes("I'd like to see the one in Kerkstraat");
	const flow = agency.startFlow(eva.phoneNumber);
	for (let run = 0; run < 2; run++) await announceFlats(outbox, agency.id, leads);
	await until("2026-03-11T11:25:00Z");
	const all = async () => {
		const found: string[] = [];
		for (const { id } of leads) found.push(`${id}: ${await told(`flats-june:${id}`)}`);
		return found;
	};
	expect(await all()).toEqual([
		"Anna: sent",
		"Bram: cancelled, opted_out",
		"Cleo: waiting, refusal",
		"Dirk: cancelled, earlier_text_declined",
		"Eva: waiting, flow",
		"Finn: failed",
		"Gus: waiting, wrong_number",
		"Hans: expired, window_closed",
	]);
	flow.complete();
	cleo.writes("But the one with the garden was nice");
	await until("2026-03-11T12:35:00Z");
	await until("2026-03-11T13:00:00Z");
	expect([(await all())[2], (await all())[4]]).toEqual(["Cleo: sent", "Eva: sent"]);
	const reached = [anna, bram, cleo, dirk, eva, finn, gus].map((contact) => textsOf(contact).length);
	expect(reached).toEqual([1, 0, 1, 0, 1, 0, 0]);
});
