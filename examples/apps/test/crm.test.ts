// The whole CRM on a PostgreSQL server, against the sandbox's server: visits, a campaign, the inbox, audit and erasure, with
// contacts who do the unexpected, and with workers that are killed.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Contact, createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { afterAll, afterEach, expect, test } from "vitest";
import { isLong } from "../../../test/length.ts";
import { type Server, startServer } from "../../../test/postgres.ts";
import { quickCopy } from "../../../test/quick.ts";
import { openCrm } from "../crm/crm.ts";

const folder = fileURLToPath(new URL("../crm/", import.meta.url));
const phone = "+447700900101";
const hourMs = 3_600_000;

const closing: (() => unknown)[] = [];
afterEach(async () => {
	for (const close of closing.splice(0).reverse()) await close();
});
let server: Server | undefined;
afterAll(() => server?.close());

/** The CRM with a new database. With `isReal` by the real clock, as its workers; otherwise by the sandbox's. */
async function open({ isReal = false } = {}) {
	server ??= await startServer(import.meta.url);
	// Winter in Brussels, and at noon. The database compares reminders with its own time, so it lies ahead of that.
	const sandbox = createSandbox({ now: isReal ? new Date() : new Date(Date.UTC(2090, 0, 9, 11)) });
	const service = await serve(sandbox, { follow: isReal });
	closing.push(service.close);
	process.env.DATABASE_URL = await server.create();
	process.env.MESSAGING_BASE_URL = service.baseUrl;
	process.env.MESSAGING_API_KEY = service.apiKey;
	const crm = openCrm(isReal ? {} : { now: sandbox.clock.now });
	closing.push(() => crm.sql.end());
	await crm.migrate();
	const { agencyId } = service;
	const anna = sandbox.agency().contact(phone, { name: "Anna" });
	const book = (id: string, at: string, to = phone) =>
		crm.book({ id, agencyId, phone: to, name: "Anna", flat: "Kerkstraat 12", at }, "Ann");
	/** Lets time pass in steps, in each of which the worker does what is due. */
	async function pass(hours: number) {
		for (let hour = 0; hour < hours; hour++) {
			sandbox.clock.advance({ hours: 1 });
			await crm.outbox.runOnce();
		}
	}
	const bodies = () => anna.inbox().flatMap(({ kind, body }) => (kind === "text" ? [body] : []));
	const state = async (id: string) => {
		const status = await crm.outbox.status(id);
		return [status?.state, status?.reason];
	};
	return { sandbox, service, agencyId, crm, anna, book, pass, bodies, state };
}

test("the CRM has at most 220 lines of TypeScript, which fit into 80 columns", () => {
	const files = readdirSync(folder).filter((file) => file.endsWith(".ts") && !file.startsWith("."));
	const lines = files.flatMap((file) =>
		readFileSync(folder + file, "utf8")
			.trimEnd()
			.split("\n"),
	);
	expect(files.sort()).toEqual(["crm.ts", "main.ts", "worker.ts"]);
	expect(lines.length).toBeLessThanOrEqual(220);
	expect(lines.filter((line) => line.replaceAll("\t", "  ").length > 80)).toEqual([]);
});

test("a visit is confirmed, moved and called off, and a click that is repeated changes nothing", async () => {
	const { crm, anna, book, bodies, state, agencyId } = await open();
	anna.writes("Can I see it?");
	for (let click = 0; click < 2; click++) await book("v", "2090-01-13T13:00:00Z");
	await crm.outbox.runOnce();
	await book("v", "2090-01-13T13:00:00Z");
	for (let click = 0; click < 2; click++) await crm.move("v", "2090-01-14T15:30:00Z", "Bo");
	await crm.outbox.runOnce();
	await crm.move("v", "2090-01-14T15:30:00Z", "Bo");
	await crm.outbox.runOnce();
	for (let click = 0; click < 2; click++) await crm.callOff("v", "Bo");
	await crm.move("v", "2090-01-15T15:30:00Z", "Bo");
	await crm.outbox.runOnce();
	expect(bodies()).toEqual([
		"Your visit of Kerkstraat 12 is on 13/01 at 14:00.",
		"Your visit of Kerkstraat 12 is on 14/01 at 16:30.",
		"Your visit of Kerkstraat 12 is called off: 14/01 at 16:30.",
	]);
	expect(await state("v:0:reminder")).toEqual(["cancelled", "requested"]);
	expect(await state("v:1:reminder")).toEqual(["cancelled", "requested"]);
	// Who texted her, and why?
	const audit = await crm.audit(agencyId, "+44 (0)7700 900101");
	expect(audit.filter(({ sentAt }) => sentAt).map(({ by, why }) => `${by}: ${why}`)).toEqual([
		"Bo: The visit was called off",
		"Bo: The visit was moved",
		"Ann: The visit was booked",
	]);
});

test("a visit that moves before its text went out is one text, with the new time", async () => {
	const { crm, anna, book, bodies } = await open();
	anna.writes("Can I see it?");
	await book("v", "2090-01-13T13:00:00Z");
	await crm.move("v", "2090-01-14T15:30:00Z", "Bo");
	// And back
	await crm.move("v", "2090-01-13T13:00:00Z", "Bo");
	await crm.outbox.runOnce();
	expect(bodies()).toEqual(["Your visit of Kerkstraat 12 is on 13/01 at 14:00."]);
});

test("a visit that can't be stored sends nothing, and neither does a change of one that is not there", async () => {
	const { crm, book, agencyId } = await open();
	await expect(book("v", "2090-01-13T13:00:00Z", "see notes")).rejects.toMatchObject({ _tag: "PartnerInvalidInput" });
	await expect(book("v", "next week")).rejects.toThrow();
	await expect(crm.move("v", "2090-01-13T13:00:00Z", "Bo")).rejects.toThrow("no such visit");
	expect([...(await crm.visits(agencyId))]).toEqual([]);
	expect(await crm.outbox.list()).toEqual([]);
});

test.each([
	["early in the morning", "2090-01-13T07:00:00Z", "13/01 at 08:00"],
	["late in the evening", "2090-01-13T21:00:00Z", "13/01 at 22:00"],
])("the reminder of a visit %s goes out at 10:00 on the day before", async (_when, at, time) => {
	const { sandbox, crm, anna, book, bodies } = await open();
	await book("v", at);
	sandbox.clock.advanceTo("2090-01-12T08:00:00Z");
	anna.writes("Hello");
	await crm.outbox.runOnce();
	sandbox.clock.advanceTo("2090-01-12T08:59:00Z");
	await crm.outbox.runOnce();
	expect(bodies()).not.toContain(`Reminder: Kerkstraat 12, ${time}.`);
	sandbox.clock.advanceTo("2090-01-12T09:01:00Z");
	await crm.outbox.runOnce();
	expect(bodies().at(-1)).toBe(`Reminder: Kerkstraat 12, ${time}.`);
});

test("a visit within a day has no reminder, and one that moves there loses its own", async () => {
	const { crm, book, agencyId, state } = await open({ isReal: true });
	await book("v", inDays(0.5));
	await book("w", inDays(9));
	await crm.move("w", inDays(0.5), "Bo");
	expect((await crm.visits(agencyId)).map(({ text }) => text).sort()).toEqual(["v:0", "w:0", "w:0:reminder", "w:1"]);
	expect(await state("w:0:reminder")).toEqual(["cancelled", "requested"]);
});

test("nobody is texted at night: a visit booked at 22:00 is confirmed at 08:00", async () => {
	const { sandbox, crm, anna, book, bodies } = await open();
	sandbox.clock.advanceTo("2090-01-09T21:00:00Z");
	anna.writes("Can I see it?");
	await book("v", "2090-01-13T13:00:00Z");
	await crm.outbox.runOnce();
	sandbox.clock.advanceTo("2090-01-10T06:59:00Z");
	await crm.outbox.runOnce();
	expect(bodies()).toEqual([]);
	sandbox.clock.advanceTo("2090-01-10T07:01:00Z");
	await crm.outbox.runOnce();
	expect(bodies()).toHaveLength(1);
});

test("a visit moves while its text waits for consent: only the new time arrives", async () => {
	const { crm, anna, book, pass, bodies } = await open();
	await book("v", "2090-01-13T13:00:00Z");
	await crm.outbox.runOnce();
	expect(anna.state().held?.body).toContain("13/01");
	await crm.move("v", "2090-01-14T15:30:00Z", "Bo");
	await pass(1);
	anna.accepts();
	await pass(1);
	expect(bodies()).toEqual(["Your visit of Kerkstraat 12 is on 14/01 at 16:30."]);
});

test("a visit is called off while its reminder waits for consent: the reminder never arrives", async () => {
	const { sandbox, crm, anna, book, pass, bodies } = await open();
	anna.writes("Can I see it?");
	await book("v", "2090-01-13T13:00:00Z");
	await crm.outbox.runOnce();
	sandbox.clock.advanceTo("2090-01-12T09:01:00Z");
	await crm.outbox.runOnce();
	expect(anna.state().held?.body).toContain("Reminder");
	await crm.callOff("v", "Bo");
	await pass(1);
	anna.accepts();
	await pass(1);
	expect(bodies().slice(1)).toEqual(["Your visit of Kerkstraat 12 is called off: 13/01 at 14:00."]);
});

test("a contact who declines gets nothing more of this visit", async () => {
	const { crm, anna, book, pass, bodies, state } = await open();
	await book("v", "2090-01-13T13:00:00Z");
	await crm.outbox.runOnce();
	anna.declines();
	await pass(72);
	expect(bodies()).toEqual([]);
	expect(await state("v:0")).toEqual(["dropped", "declined"]);
	expect(await state("v:0:reminder")).toEqual(["cancelled", "earlier_text_declined"]);
});

test("a contact who never answers gets nothing more of this visit", async () => {
	const { crm, anna, book, pass, bodies, state } = await open();
	await book("v", "2090-01-13T13:00:00Z");
	await pass(72);
	expect(bodies()).toEqual([]);
	expect(anna.inbox()).toHaveLength(1); // the question
	expect(await state("v:0")).toEqual(["dropped", "no_answer"]);
	expect(await state("v:0:reminder")).toEqual(["cancelled", "earlier_text_unanswered"]);
	expect((await crm.outbox.status("v:0"))?.description).toContain("Call them");
});

test("a contact who answers in words is not sent what waits for their consent, until they give it", async () => {
	const { crm, anna, book, pass, bodies, state } = await open();
	await book("v", "2090-01-13T13:00:00Z");
	await crm.outbox.runOnce();
	anna.writes("Who is this?");
	await pass(1);
	expect([bodies(), await state("v:0")]).toEqual([[], ["held", null]]);
	anna.accepts();
	await pass(1);
	expect(bodies()).toHaveLength(1);
	expect(["sent", "delivered", "read"]).toContain((await state("v:0"))[0]);
});

test.each(["Stop!", "Uitschrijven", "Arrêtez de m'écrire", "Lassen Sie mich in Ruhe", "¡Baja!", "Non scrivetemi più"])(
	"a contact who writes %j gets no text, until they write START",
	async (words) => {
		const { crm, anna, book, pass, bodies, state, agencyId } = await open();
		anna.writes("Can I see it?");
		await book("v", "2090-01-13T13:00:00Z");
		await crm.outbox.runOnce();
		anna.writes(words);
		await crm.move("v", "2090-01-13T15:00:00Z", "Bo");
		await crm.outbox.enqueue({ id: "flats", agencyId, to: phone, body: "New flats!", purpose: "marketing" });
		await pass(96);
		expect(bodies()).toHaveLength(1);
		expect(await state("v:1")).toEqual(["cancelled", "opted_out"]);
		expect(await state("v:1:reminder")).toEqual(["cancelled", "opted_out"]);
		expect((await crm.outbox.optedOut({ agencyId, to: phone })).isOptedOut).toBe(true);
		anna.writes("START");
		await book("w", "2090-01-23T13:00:00Z");
		await pass(24);
		expect(bodies()).toHaveLength(2);
	},
);

test("a contact who said by telephone that they want no texts gets none", async () => {
	const { crm, anna, book, pass, bodies, agencyId } = await open();
	anna.writes("Hello");
	await crm.outbox.optOut({ agencyId, to: phone, by: "Ann" });
	await book("v", "2090-01-13T13:00:00Z");
	await pass(1);
	expect(bodies()).toEqual([]);
	expect((await crm.outbox.optedOut({ agencyId, to: phone })).optOut).toMatchObject({ by: "Ann" });
});

test("a contact whose phone can't be reached is to be called", async () => {
	const { crm, anna, book, pass } = await open();
	anna.writes("Can I see it?");
	anna.setReachable(false);
	await book("v", "2090-01-13T13:00:00Z");
	await pass(3);
	expect(await crm.outbox.status("v:0")).toMatchObject({
		state: "failed",
		description: expect.stringContaining("call the contact"),
	});
});

test("a campaign reaches who wrote within a day, once, and nobody who said no", async () => {
	const { sandbox, crm, agencyId, pass } = await open();
	const people = ["+447700900111", "+447700900112", "+447700900113"].map((each) => sandbox.agency().contact(each));
	const [wrote, silent, stopped] = people;
	for (const { phoneNumber } of people)
		await crm.sql`insert into contact (agency_id, phone) values (${agencyId}, ${phoneNumber})`;
	silent?.writes("Hello");
	sandbox.clock.advance({ hours: 25 });
	wrote?.writes("Hello");
	stopped?.writes("Uitschrijven");
	for (let click = 0; click < 2; click++) await crm.campaign(agencyId, "june", "New flats!", "Bo");
	await pass(2);
	await crm.campaign(agencyId, "june", "New flats!", "Bo");
	await pass(50);
	expect(people.map((person) => person.inbox().map(({ body }) => body))).toEqual([["New flats!"], [], []]);
});

/** Starts a worker with short waits, and no night. */
async function startWorker(): Promise<ChildProcess> {
	const quick = "openCrm({ quietHours: undefined, settleMs: 1_500, followMs: [300] })";
	const patient = quickCopy(`${folder}worker.ts`, "openCrm()", quick);
	const file = quickCopy(patient, "maxMs: 15_000", "minMs: 200, maxMs: 500, discoverMs: 1_000, requestsPerSecond: 50");
	const worker = fork(file, { execArgv: ["--import", "tsx"] });
	closing.push(() => kill(worker));
	await once(worker, "spawn");
	return worker;
}

async function kill(worker: ChildProcess): Promise<void> {
	if (worker.exitCode !== null || worker.signalCode !== null) return;
	worker.kill("SIGKILL");
	await once(worker, "exit");
}

const inDays = (days: number) => new Date(Date.now() + days * 24 * hourMs).toISOString();

test("the inbox, the status column and the checkpoint follow, and an erasure takes the contact out of all of them", async () => {
	const { crm, agencyId, anna, book } = await open({ isReal: true });
	anna.writes("Can I see it?");
	const worker = await startWorker();
	await expect.poll(() => crm.inbox(agencyId)).toMatchObject([{ body: "Can I see it?", is_unanswered: true }]);
	await book("v", inDays(9));
	const statuses = async () => (await crm.visits(agencyId)).map(({ text, status }) => [text, status]);
	const waits = ["v:0:reminder", "Waits to be sent."];
	await expect.poll(statuses).toEqual([["v:0", "Sent."], waits]);
	await expect.poll(() => crm.inbox(agencyId)).toMatchObject([{ is_unanswered: false }]);
	const checkpoint = async () => (await crm.sql`select checkpoint from feed`)[0]?.checkpoint;
	await expect.poll(checkpoint).toContain(phone);

	expect(await crm.erase(phone)).toEqual([]);
	expect(await statuses()).toEqual([]);
	await expect.poll(checkpoint).not.toContain(phone);
	anna.writes("Are you there?");
	const seen = (await checkpoint()) as string;
	await expect.poll(checkpoint).not.toBe(seen);
	// Neither number nor words are left in any table
	const tables = await crm.sql`select table_schema, table_name from information_schema.tables
		where table_schema in ('public', 'messaging') and table_type = 'BASE TABLE'`;
	for (const { table_schema, table_name } of tables) {
		const rows = JSON.stringify(await crm.sql`select * from ${crm.sql(`${table_schema}.${table_name}`)}`);
		expect(rows, table_name).not.toMatch(/7700900101|Can I see|Are you there|Kerkstraat/);
	}
	expect(tables.length).toBeGreaterThan(10);
	worker.kill("SIGTERM");
	expect(await once(worker, "exit")).toEqual([0, null]);
});

test("of two workers one is killed at any moment, again and again: nothing is lost or doubled", async () => {
	const { sandbox, crm, agencyId, book } = await open({ isReal: true });
	const phones = Array.from({ length: 12 }, (_, at) => `+${447700900210 + at}`);
	const people: Contact[] = phones.map((each) => sandbox.agency().contact(each));
	for (const person of people) person.writes("Can I see it?");
	const workers = [await startWorker(), await startWorker()];
	// Some answers never come
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "hang", times: 4 });
	for (const each of phones) await book(`v${each.slice(-2)}`, inDays(9), each);
	for (let kills = 0; kills < (isLong ? 40 : 6); kills++) {
		await setTimeout(200 + Math.random() * 1_500);
		const at = kills % 2;
		await kill(workers[at] as ChildProcess);
		workers[at] = await startWorker();
		const id = `v${phones[kills % 12]?.slice(-2)}`;
		await crm.move(id, inDays(10 + kills), "Bo");
		people[kills % 12]?.writes(`Thanks ${kills}`);
	}
	// The last text of each visit says its time, once, whatever was killed before
	const news = async () => {
		const last = await crm.sql`select distinct on (id) text, status from visit_status
			where text not like '%reminder' order by id, length(text) desc, text desc`;
		return last.map(({ status }) => status);
	};
	await expect.poll(news).toEqual(phones.map(() => "Sent."));
	for (const person of people) {
		const bodies = person.inbox().map(({ body }) => body);
		expect(bodies).toEqual([...new Set(bodies)]);
		const [row] = await crm.sql`select time from visit_news where "to" = ${person.phoneNumber}`;
		expect(bodies.at(-1)).toContain(row?.time);
	}
	const sentTwice = await crm.outbox.list({ state: "unknown" });
	expect(sentTwice).toEqual([]);
	// Each message is in the mirror, and once
	const messages = async () => Number((await crm.sql`select count(*) from message`)[0]?.count);
	const total = people.reduce((sum, person) => sum + person.state().messages.length, 0);
	await expect.poll(messages).toBe(total);
	expect((await crm.inbox(agencyId)).length).toBe(12);
	expect((await crm.outbox.health()).workers.some(({ isAlive }) => isAlive)).toBe(true);
});
