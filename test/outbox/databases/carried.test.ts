// A No is carried from one outbox to another: when databases are moved or split, agencies become one, and after a backup was restored.
import { createClient, isPartnerError } from "messaging-conversations";
import { type ContactRecord, createOutbox, type OutboxOptions } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { describe, expect, test } from "vitest";
import { openSqlite, type Place, usePlaces } from "./places.ts";

async function listOf(records: AsyncIterable<ContactRecord>): Promise<ContactRecord[]> {
	const list: ContactRecord[] = [];
	for await (const record of records) list.push(record);
	// As a file has them.
	return list.map((record) => JSON.parse(JSON.stringify(record)));
}

const minuteMs = 60_000;

async function createWorld(open: () => Promise<Place>, options: Partial<OutboxOptions> = {}) {
	const place = await open();
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	const other = sandbox.link({ name: "Other" });
	const client = createClient({ ...sandbox.connection, retry: { attempts: 2, baseDelayMs: 1 } });
	const outboxOn = async (prefix: string, more: Partial<OutboxOptions> = {}) => {
		const outbox = createOutbox({ client, store: place.store(prefix), now: sandbox.clock.now, ...options, ...more });
		await outbox.migrate();
		return outbox;
	};
	const [from, to] = [await outboxOn("old"), await outboxOn("new")];
	const person = (at: number, of = agency) => {
		const contact = of.contact(`+44770090010${at}`);
		contact.writes("Hello");
		return contact;
	};
	const texts = (contact: ReturnType<typeof person>) =>
		contact.inbox().flatMap(({ kind, body }) => (kind === "text" ? [body] : []));
	let count = 0;
	/** Whether a notice goes out. */
	async function isTexted(outbox: typeof from, contact: ReturnType<typeof person>, agencyId = agency.id) {
		const id = `try-${++count}`;
		await outbox.enqueue({ id, agencyId, to: contact.phoneNumber, body: id });
		await outbox.runOnce();
		const { state, reason } = (await outbox.status(id)) ?? {};
		expect([state, reason]).toEqual(texts(contact).includes(id) ? ["sent", null] : ["cancelled", "opted_out"]);
		return state === "sent";
	}
	const pass = (minutes: number) => sandbox.clock.advance({ minutes });
	return { ...place, sandbox, agency, other, client, outboxOn, from, to, person, texts, isTexted, pass };
}

describe.each(usePlaces(import.meta.url))("on %s", (name, open) => {
	test("nobody who has opted out is texted by another outbox, also after they were erased", async () => {
		const { from, to, person, agency, other, isTexted, sandbox } = await createWorld(open);
		const [byMessage, byTelephone, everywhere, erased, happy] = [1, 2, 3, 4, 5].map((at) => person(at));
		if (!byMessage || !byTelephone || !everywhere || !erased || !happy) throw new Error("nobody");
		for (const contact of [byMessage, erased]) {
			await from.enqueue({
				id: contact.phoneNumber.slice(-3),
				agencyId: agency.id,
				to: contact.phoneNumber,
				body: "Hi",
			});
			await from.runOnce();
			contact.writes("STOP");
			await from.enqueue({
				id: `${contact.phoneNumber.slice(-3)}b`,
				agencyId: agency.id,
				to: contact.phoneNumber,
				body: "Hi",
			});
			await from.runOnce();
		}
		await from.optOut({ to: byTelephone.phoneNumber, agencyId: agency.id, by: "Ann" });
		await from.optOut({ to: everywhere.phoneNumber });
		expect(await from.erase({ to: erased.phoneNumber, agencyId: agency.id })).toMatchObject({ tooLate: [] });
		const records = await listOf(from.exportContacts());
		expect(JSON.stringify(records)).not.toMatch(/4477009|Hi/);
		expect(await to.importContacts(records)).toEqual({ contacts: 4, cancelled: [], tooLate: [] });
		for (const contact of [byMessage, byTelephone, everywhere, erased]) expect(await isTexted(to, contact)).toBe(false);
		expect(await isTexted(to, happy)).toBe(true);
		// Of all agencies it holds for another one too.
		const [there, elsewhere] = [person(3, other), person(1, other)];
		expect([await isTexted(to, there, other.id), await isTexted(to, elsewhere, other.id)]).toEqual([false, true]);
		const told = (contact = happy) => to.optedOut({ agencyId: agency.id, to: contact.phoneNumber });
		expect(await told(byTelephone)).toEqual({
			isOptedOut: true,
			isAgencyKnown: true,
			optOut: { at: sandbox.clock.now(), clock: "outbox", source: "optOut", by: "Ann" },
			optIn: null,
		});
		expect(await told(erased)).toMatchObject({
			isOptedOut: true,
			optOut: { clock: "service", source: "reading", by: null },
		});
		expect(await told()).toEqual({ isOptedOut: false, isAgencyKnown: true, optOut: null, optIn: null });
	});

	test("a START after a STOP and a STOP after a START count, by whichever clock, in the one outbox, the other or both", async () => {
		const world = await createWorld(open);
		const { from, to, person, agency, isTexted, pass } = world;
		type Act = "STOP" | "START" | "optOut" | "optIn";
		/** What was said in which outbox, and the minutes in between. */
		const cases: [first: Act, later: Act, minutes: number, isIn: boolean][] = [
			["STOP", "optIn", 10, true],
			["optOut", "START", 10, true],
			["STOP", "START", 1, true],
			["optOut", "optIn", 1, true],
			["START", "optOut", 1, false],
			["optIn", "STOP", 1, false],
			["START", "STOP", 1, false],
			["optIn", "optOut", 1, false],
			// Two clocks may differ by so much.
			["STOP", "optIn", 1, false],
			["optOut", "START", 1, false],
		];
		const sent: [number, number, boolean][] = [];
		const contacts = cases.flatMap((each, at) => [0, 1].map((where) => ({ each, at, where })));
		const people = contacts.map(({ each, where }, at) => ({ each, where, contact: person(10 + at) }));
		const say = async (outbox: typeof from, act: Act, contact: ReturnType<typeof person>) => {
			const who = { agencyId: agency.id, to: contact.phoneNumber };
			if (act === "optOut" || act === "optIn") return void (await outbox[act](who));
			contact.writes(act);
			const { conversation, messagePage } = await world.client.agency(agency.id).conversations.get(contact.phoneNumber);
			await outbox.observe({ agencyId: agency.id, conversation, messages: messagePage.messages.slice(0, 1) });
		};
		for (const { each, where, contact } of people) {
			const [first, later, minutes] = each;
			await say(from, first, contact);
			pass(minutes);
			await say(where === 0 ? from : to, later, contact);
		}
		const records = await listOf(from.exportContacts());
		await to.importContacts(records);
		await to.importContacts(records);
		for (const [at, { each, where, contact }] of people.entries()) {
			const status = await to.optedOut({ agencyId: agency.id, to: contact.phoneNumber });
			sent.push([Math.floor(at / 2), where, !status.isOptedOut]);
			expect(each[3]).toBe(!status.isOptedOut);
		}
		expect(sent).toEqual(people.map(({ each, where }, at) => [Math.floor(at / 2), where, each[3]]));
		const [asked, refused] = [people[0], people[8]];
		pass(20);
		if (asked) expect(await isTexted(to, asked.contact)).toBe(true);
		if (refused) expect(await isTexted(to, refused.contact)).toBe(false);
	});

	test("an opt-in for all agencies goes to the agencies of its outbox, and to no others", async () => {
		const { from, to, person, agency, other, isTexted, pass } = await createWorld(open);
		const [here, there] = [person(1), person(1, other)];
		// The first outbox knows one agency, and the other outbox has a No to the other one.
		expect(await isTexted(from, here)).toBe(true);
		await from.optOut({ to: here.phoneNumber });
		await to.optOut({ to: here.phoneNumber, agencyId: agency.id });
		await to.optOut({ to: here.phoneNumber, agencyId: other.id });
		pass(10);
		await from.optIn({ to: here.phoneNumber, by: "Bob" });
		await to.importContacts(from.exportContacts());
		expect(await isTexted(to, here)).toBe(true);
		expect(await isTexted(to, there, other.id)).toBe(false);
		expect((await to.optedOut({ agencyId: agency.id, to: here.phoneNumber })).optIn?.by).toBe("Bob");
	});

	test("two agencies that become one keep each No, unless a later START went to the one that is left", async () => {
		const { from, person, agency, other, isTexted, pass, outboxOn } = await createWorld(open);
		const stop = (contact: ReturnType<typeof person>, of = agency) =>
			from.optOut({ to: contact.phoneNumber, agencyId: of.id });
		const start = (contact: ReturnType<typeof person>, of = agency) =>
			from.optIn({ to: contact.phoneNumber, agencyId: of.id });
		const people = [1, 2, 3, 4, 5, 6].map((at) => person(at));
		for (const at of [1, 2, 3, 4, 5, 6]) person(at, other);
		const [gone, startedThere, startedHere, kept, back, everywhere] = people;
		if (!gone || !startedThere || !startedHere || !kept || !back || !everywhere) throw new Error("nobody");
		// The other agency becomes part of this one.
		for (const contact of [gone, startedThere, startedHere, back]) await stop(contact, other);
		await stop(kept);
		await from.optOut({ to: everywhere.phoneNumber });
		pass(10);
		await start(startedThere, other);
		await start(startedHere, agency);
		await start(kept, other);
		pass(10);
		const records = await listOf(from.exportContacts({ agencyId: other.id }));
		expect(new Set(records.flatMap((each) => (each.kind === "contact" ? [each.agencyId] : [])))).toEqual(
			new Set([other.id]),
		);
		const apart = await outboxOn("apart");
		for (const outbox of [from, apart]) {
			await outbox.importContacts(records, { into: agency.id });
			if (outbox === apart) await outbox.importContacts(from.exportContacts({ agencyId: agency.id }));
			const isIn = [gone, startedThere, startedHere, kept, everywhere].map(async (contact) => [
				people.indexOf(contact),
				!(await outbox.optedOut({ agencyId: agency.id, to: contact.phoneNumber })).isOptedOut,
			]);
			expect(await Promise.all(isIn)).toEqual([
				[0, false],
				[1, true],
				// That START went to the other one of the two.
				[2, false],
				[3, false],
				[5, false],
			]);
		}
		expect([await isTexted(from, gone), await isTexted(from, startedThere)]).toEqual([false, true]);
		// A START to the agency that is left ends it, and a repeated import does not bring it back.
		pass(10);
		await start(back);
		await from.importContacts(records, { into: agency.id });
		expect([await isTexted(from, back), await isTexted(from, startedHere)]).toEqual([true, false]);
	});

	test("a decline to an agency that becomes part of another one stops marketing, and ends no reminder", async () => {
		const { from, to, person, agency, other, sandbox, texts } = await createWorld(open);
		const there = person(1, other);
		const here = person(1);
		sandbox.clock.advance({ hours: 25 });
		here.writes("Is it still free?");
		await from.enqueue({ id: "asks", agencyId: other.id, to: there.phoneNumber, body: "Are you coming?" });
		await from.runOnce();
		sandbox.clock.advance({ hours: 1 });
		there.declines();
		for (let tries = 0; tries < 30 && (await from.status("asks"))?.state === "held"; tries++) {
			sandbox.clock.advance({ minutes: 10 });
			await from.runOnce();
		}
		expect(await from.status("asks")).toMatchObject({ state: "dropped", reason: "declined" });
		const text = { agencyId: agency.id, to: here.phoneNumber };
		await to.enqueue({ ...text, id: "reminder", body: "Tomorrow at 14:00" });
		await to.enqueue({ ...text, id: "flats", body: "New flats!", purpose: "marketing" });
		await to.importContacts(from.exportContacts({ agencyId: other.id }), { into: agency.id });
		await to.runOnce();
		expect([texts(here), (await to.status("flats"))?.reason]).toEqual([["Tomorrow at 14:00"], "refusal"]);
		here.writes("Thanks");
		sandbox.clock.advance({ hours: 2 });
		await to.runOnce();
		expect(texts(here)).toEqual(["Tomorrow at 14:00", "New flats!"]);
	});

	test("an import that is repeated, cut off or interrupted is whole once it was repeated", async () => {
		const { from, to, person, agency, isTexted, rows } = await createWorld(open);
		const people = [1, 2, 3].map((at) => person(at));
		for (const { phoneNumber } of people) await from.optOut({ to: phoneNumber, agencyId: agency.id, by: "Ann" });
		const records = await listOf(from.exportContacts());
		const stored = async () => {
			const all = await rows("select * from new_contacts order by key_id, hash, agency_id");
			return JSON.stringify(all.filter(({ hash }) => hash !== ""));
		};
		// Without the end, and in the middle of the contacts.
		for (const length of [records.length - 1, records.length - 2, 2, 1, 0])
			await expect(to.importContacts(records.slice(0, length))).rejects.toMatchObject({
				_tag: "PartnerInvalidInput",
				field: "records",
				message: expect.stringContaining("cut off"),
			});
		async function* broken() {
			yield* records.slice(0, 3);
			throw new Error("The disk is gone.");
		}
		await expect(to.importContacts(broken())).rejects.toThrow("The disk is gone.");
		await expect(to.importContacts(records.filter((_, at) => at !== 3))).rejects.toMatchObject({
			field: `records[${records.length - 2}].contacts`,
		});
		await to.importContacts(records);
		const once = await stored();
		// One file behind the other is fine.
		expect(await to.importContacts([...records, ...records])).toMatchObject({ contacts: 6 });
		expect(await stored()).toBe(once);
		for (const contact of people) expect(await isTexted(to, contact)).toBe(false);
		// And back again: it knows nothing new.
		const before = await from.optedOut({ agencyId: agency.id, to: people[0]?.phoneNumber ?? "" });
		await from.importContacts(to.exportContacts());
		expect(await from.optedOut({ agencyId: agency.id, to: people[0]?.phoneNumber ?? "" })).toEqual(before);
	});

	test("what waits for somebody who has opted out ends with the import, also in the hands of a worker", async () => {
		let goOn = (): void => {};
		const going = new Promise<void>((resolve) => {
			goOn = resolve;
		});
		let isReading = false;
		const { from, to, person, agency, sandbox, outboxOn, texts } = await createWorld(open);
		const slow: typeof fetch = async (url, init) => {
			const response = await sandbox.fetch(url, init);
			isReading = true;
			await going;
			return response;
		};
		const [now, later] = [person(1), person(2)];
		const client = createClient({ ...sandbox.connection, fetch: slow });
		// A process that has read the keys before the import.
		const worker = await outboxOn("new", { client });
		for (const { phoneNumber } of [now, later]) await from.optOut({ to: phoneNumber, agencyId: agency.id });
		const text = { agencyId: agency.id, body: "Secret words" };
		await to.enqueue({ ...text, id: "now", to: now.phoneNumber });
		const inDays = new Date(sandbox.clock.now().getTime() + 3 * 24 * 60 * minuteMs);
		await to.enqueue({ ...text, id: "later", to: later.phoneNumber, notBefore: inDays });
		const stop = new AbortController();
		const working = worker.work({ signal: stop.signal });
		await expect.poll(() => isReading, { timeout: 120_000 }).toBe(true);
		const { cancelled } = await to.importContacts(from.exportContacts());
		expect(cancelled.sort()).toEqual(["later", "now"]);
		goOn();
		await worker.enqueue({ ...text, id: "after", to: now.phoneNumber });
		await expect.poll(async () => (await worker.status("after"))?.state, { timeout: 120_000 }).toBe("cancelled");
		stop.abort();
		await working;
		expect([texts(now), texts(later)]).toEqual([[], []]);
		expect(await worker.optedOut({ agencyId: agency.id, to: now.phoneNumber })).toMatchObject({ isOptedOut: true });
	});

	test("who was erased is erased again in a database that was restored from a backup", async () => {
		const { from, person, agency, run, rows, sandbox, outboxOn, pass, texts } = await createWorld(open);
		const [gone, stays] = [person(1), person(2)];
		const text = { agencyId: agency.id, body: "Secret words", by: "Cleo", why: "Called", meta: { visit: 7 } };
		await from.enqueue({ ...text, id: "sent", to: gone.phoneNumber });
		await from.enqueue({ ...text, id: "stays", to: stays.phoneNumber });
		await from.runOnce();
		const inDays = new Date(sandbox.clock.now().getTime() + 3 * 24 * 60 * minuteMs);
		await from.enqueue({ ...text, id: "waits", to: gone.phoneNumber, notBefore: inDays });
		// The backup.
		const tables = ["texts", "queues", "contacts", "agencies", "workers", "meta"];
		for (const table of tables) await run(`create table kept_${table} as select * from old_${table}`);
		const backupAt = sandbox.clock.now();
		pass(10);
		await from.erase({ to: gone.phoneNumber, agencyId: agency.id });
		const records = await listOf(from.exportContacts());
		// The same columns, without those that the database computes.
		const columns = async (table: string) =>
			Object.keys((await rows(`select * from old_${table} limit 1`))[0] ?? {}).filter(
				(column) => !/^part_/.test(column),
			);
		for (const table of ["texts", "contacts", "meta"]) {
			const list = (await columns(table)).join(", ");
			await run(`delete from old_${table}`);
			const override = name === "PostgreSQL" ? "overriding system value" : "";
			await run(`insert into old_${table} (${list}) ${override} select ${list} from kept_${table}`);
		}
		const restored = await outboxOn("old");
		expect(await restored.status("sent")).toMatchObject({ to: gone.phoneNumber });
		await restored.restored({ backupAt, by: "Ann" });
		const found = await restored.importContacts(records);
		// What was not due before the restore can't have been sent.
		expect(found).toMatchObject({ tooLate: [] });
		await restored.runOnce();
		await restored.importContacts(records);
		for (const id of ["sent", "waits"])
			expect(await restored.status(id)).toMatchObject({ to: null, by: null, why: null, meta: null });
		expect(await restored.status("stays")).toMatchObject({ to: stays.phoneNumber, by: "Cleo" });
		expect(JSON.stringify(await rows("select * from old_texts where id <> 'stays'"))).not.toMatch(
			/Secret|Cleo|Called|447700900101/,
		);
		await expect(restored.enqueue({ ...text, id: "sent", to: gone.phoneNumber })).rejects.toMatchObject({
			_tag: "PartnerInvalidInput",
			field: "id",
		});
		// They come back as a customer: what is enqueued since is theirs, and stays.
		pass(10);
		await restored.enqueue({ ...text, id: "again", to: gone.phoneNumber });
		await restored.importContacts(records);
		await restored.runOnce();
		expect(await restored.status("again")).toMatchObject({ state: "sent", to: gone.phoneNumber });
		expect(texts(gone)).toEqual([text.body, text.body]);
	});

	test("who told an opt-out is told, until the contact is erased", async () => {
		const { from, person, agency, other, rows, pass } = await createWorld(open);
		const contact = person(1);
		const who = { agencyId: agency.id, to: contact.phoneNumber };
		await from.optOut({ ...who, by: "Mrs Jansen's daughter" });
		await from.optOut({ ...who, agencyId: other.id, by: "Dora" });
		pass(10);
		await from.optIn({ ...who, by: "Piet" });
		expect(await from.optedOut(who)).toMatchObject({
			isOptedOut: false,
			optOut: { by: "Mrs Jansen's daughter", source: "optOut", clock: "outbox" },
			optIn: { by: "Piet", source: "optIn" },
		});
		await from.erase(who);
		expect(await from.optedOut(who)).toMatchObject({ isOptedOut: false, optOut: { by: null }, optIn: { by: null } });
		expect((await from.optedOut({ ...who, agencyId: other.id })).optOut?.by).toBe("Dora");
		await from.erase({ to: who.to, everyAgency: true });
		expect(JSON.stringify(await rows("select * from old_contacts"))).not.toMatch(/Jansen|Piet|Dora/);
	});

	test("who resumed the sends and who declared a restore is told by health and explain", async () => {
		const { from, person, agency, sandbox, pass } = await createWorld(open);
		const contact = person(1);
		await from.enqueue({ id: "a", agencyId: agency.id, to: contact.phoneNumber, body: "Hi" });
		await from.suspend({ agencyId: agency.id, reason: "Price", by: "Ann" });
		expect(await from.health()).toMatchObject({ resumptions: [], restored: null });
		const at = sandbox.clock.now();
		await from.resume({ agencyId: agency.id, by: "Bob" });
		// Nothing was suspended.
		await from.resume({ by: "Nobody" });
		await from.suspend({ reason: "Price" });
		await from.resume();
		const { resumptions } = await from.health();
		expect(resumptions.sort((one, two) => Number(one.agencyId !== null) - Number(two.agencyId !== null))).toEqual([
			{ agencyId: null, by: null, at },
			{ agencyId: agency.id, by: "Bob", at },
		]);
		pass(10);
		await from.restored({ backupAt: at, by: "Cleo" });
		expect((await from.health()).restored).toEqual({ backupAt: at, by: "Cleo", at: sandbox.clock.now() });
		const said = JSON.stringify((await from.explain("a"))?.steps);
		expect(said).toMatch(/It came back with a backup of .*, as Cleo said\./);
		sandbox.clock.advance({ hours: 25 });
		expect((await from.health()).resumptions).toEqual([]);
	});
});

describe("a file that is hostile or was altered by hand", () => {
	const secretKey = "5ec2e7".repeat(11).slice(0, 64);
	async function files() {
		const world = await createWorld(openSqlite);
		const { from, to, person, agency } = world;
		const contact = person(1);
		await from.optOut({ to: contact.phoneNumber, agencyId: agency.id, by: "Mrs Jansen" });
		const records = await listOf(from.exportContacts());
		return { ...world, records, contact, from, to };
	}

	const year = new Date("2031-01-01T00:00:00.000Z").toISOString();
	const changes: [what: string, at: number, field: string, change: (record: Record<string, unknown>) => unknown][] = [
		["an unknown field", 2, "records[2]", (record) => ({ ...record, phone: "+447700900101" })],
		["an unknown field of a fact", 2, "records[2].facts[0]", (record) => withFact(record, { body: "Secret words" })],
		["a number as contact", 2, "records[2].hash", (record) => ({ ...record, hash: "+447700900101" })],
		["a number as key", 2, "records[2].keyId", (record) => ({ ...record, keyId: "447700900101" })],
		["no key", 2, "records[2].keyId", (record) => ({ ...record, keyId: "0".repeat(32) })],
		["a number as agency", 2, "records[2].agencyId", (record) => ({ ...record, agencyId: "+447700900101 " })],
		["no agency", 2, "records[2].agencyId", (record) => ({ ...record, agencyId: undefined })],
		["a wrong type", 2, "records[2].facts", (record) => ({ ...record, facts: "+447700900101" })],
		["an unknown fact", 2, "records[2].facts[0].fact", (record) => withFact(record, { fact: "+447700900101" })],
		["an unknown clock", 2, "records[2].facts[0].clock", (record) => withFact(record, { clock: "own" })],
		["an unknown source", 2, "records[2].facts[0].source", (record) => withFact(record, { source: "me" })],
		["a time as number", 2, "records[2].facts[0].at", (record) => withFact(record, { at: 1_767_600_000_000 })],
		[
			"a day that is none",
			2,
			"records[2].facts[0].at",
			(record) => withFact(record, { at: "2026-02-30T00:00:00.000Z" }),
		],
		["a time in the future", 2, "records[2].facts[0].at", (record) => withFact(record, { fact: "optedIn", at: year })],
		["an erasure in the future", 2, "records[2].erasedAt", (record) => ({ ...record, erasedAt: year })],
		["two lines as name", 2, "records[2].facts[0].by", (record) => withFact(record, { by: "Secret\u001b[2J words" })],
		[
			"an opt-in for everybody",
			2,
			"records[2].facts",
			(record) => ({ ...withFact(record, { fact: "optedIn" }), agencyId: null }),
		],
		["another key of the same id", 1, "records[1].key", (record) => ({ ...record, key: secretKey })],
		["a key that is none", 1, "records[1].key", (record) => ({ ...record, key: "Secret words" })],
		["a version from the future", 2, "records[2].version", (record) => ({ ...record, version: 2 })],
		["a version that is none", 2, "records[2].version", (record) => ({ ...record, version: "1" })],
		["an unknown kind", 2, "records[2].kind", (record) => ({ ...record, kind: "+447700900101" })],
		["a kind of Object.prototype", 2, "records[2].kind", (record) => ({ ...record, kind: "constructor" })],
		["no object", 2, "records[2]", () => "+447700900101"],
		["a list", 2, "records[2]", (record) => [record]],
		["nothing", 2, "records[2]", () => null],
		["no beginning", 0, "records[0].kind", (record) => ({ version: record.version, kind: "end", contacts: 0 })],
		["another count", 3, "records[3].contacts", (record) => ({ ...record, contacts: 2 })],
	];

	function withFact(record: Record<string, unknown>, change: Record<string, unknown>): Record<string, unknown> {
		const [first] = record.facts as object[];
		return { ...record, facts: [{ ...first, ...change }] };
	}

	test.each(changes)("%s", async (what, at, field, change) => {
		const { from, to, records, agency } = await files();
		expect(records.map(({ kind }) => kind)).toEqual(["begin", "key", "contact", "end"]);
		const altered: unknown[] = records.map((record, index) => (index === at ? change({ ...record }) : record));
		const outbox = what.startsWith("another key") ? from : to;
		const failed = await outbox.importContacts(altered as ContactRecord[]).catch((error: unknown) => error);
		expect(failed).toMatchObject({ _tag: "PartnerInvalidInput", field });
		const told = `${String(failed)} ${JSON.stringify(failed)} ${failed instanceof Error ? failed.stack : ""}`;
		expect(told).not.toMatch(/447700900101|Secret|5ec2e7|Jansen|1767600000000|2031/);
		const key = records.flatMap((record) => (record.kind === "key" ? [record.key] : []));
		expect(told).not.toContain(key[0]);
		if (outbox === to)
			expect(await to.optedOut({ agencyId: agency.id, to: "+447700900101" })).toMatchObject({ optIn: null });
	});

	test("records that are none, too many keys, and several agencies into one", async () => {
		const { to, records, from, other, agency, contact } = await files();
		for (const none of [undefined, null, "a text", 7, {}])
			await expect(to.importContacts(none as never)).rejects.toMatchObject({ field: "records" });
		const keys = Array.from({ length: 120 }, (_, at) => ({
			...{ version: 1, kind: "key", key: secretKey },
			keyId: String(at).padStart(32, "0"),
		}));
		const many = [records[0], ...keys, { version: 1, kind: "end", contacts: 0 }];
		await expect(to.importContacts(many as ContactRecord[])).rejects.toMatchObject({ field: "records[100].key" });
		await from.optOut({ to: contact.phoneNumber, agencyId: other.id });
		await expect(to.importContacts(from.exportContacts(), { into: agency.id })).rejects.toMatchObject({
			field: expect.stringMatching(/^records\[\d\]\.agencyId$/),
		});
		await expect(to.importContacts([], { into: "nobody" } as never)).rejects.toSatisfy(isPartnerError);
	});
});
