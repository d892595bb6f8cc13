// An agency leaves the vendor: all its texts are cancelled on real databases, while a worker sends.
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { describe, expect, test } from "vitest";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import { useMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";

const postgres = usePostgres(import.meta.url);
const mariadb = useMysql("MariaDB");
const patience = { timeout: 120_000 };

function createWorld(store: OutboxStore) {
	const sandbox = createSandbox({ now: new Date() });
	const agency = sandbox.agency();
	const other = sandbox.link({ name: "Other" });
	const client = createClient({ ...sandbox.connection, retry: { attempts: 1 } });
	const open = () => createOutbox({ client, store, now: sandbox.clock.now, concurrency: 4 });
	const outbox = open();
	const number = (at: number) => `+44770090${String(1_000 + at)}`;
	/** A contact who has written, so that a text to them is delivered at once. */
	const writer = (at: number, of = agency) => {
		const contact = of.contact(number(at));
		contact.writes("Hello");
		return contact;
	};
	const state = async (id: string) => (await outbox.status(id))?.state;
	const later = () => new Date(sandbox.clock.now().getTime() + 3_600_000);
	return { sandbox, agency, other, open, outbox, number, writer, state, later };
}

/** Runs a worker until what was to happen has happened. */
async function working(outbox: ReturnType<typeof createOutbox>, act: () => Promise<void>): Promise<void> {
	const stop = new AbortController();
	const loop = outbox.work({ signal: stop.signal });
	try {
		await act();
	} finally {
		stop.abort();
		await loop;
	}
}

/** Each kind of text of an agency: one that is held, one whose result is not known, those that wait, and those of others. */
async function endEachKind(store: OutboxStore): Promise<void> {
	const { sandbox, agency, other, outbox, number, writer, state, later } = createWorld(store);
	await outbox.migrate();
	const held = agency.contact(number(1));
	const [lost, waiting, afterwards] = [writer(2), writer(3), writer(4)];
	const neighbour = writer(3, other);
	const text = (id: string, to: string, of = agency) => ({ id, agencyId: of.id, to, body: id });
	await outbox.enqueue(text("held", held.phoneNumber));
	await outbox.runOnce();
	sandbox.faults.add({ operation: "messages.send", phase: "before", effect: { status: 500 }, times: 1 });
	await outbox.enqueue(text("sending", lost.phoneNumber));
	await outbox.runOnce();
	expect([await state("held"), await state("sending")]).toEqual(["held", "sending"]);
	const ids = ["one", "two", "in days"];
	for (const id of ids) await outbox.enqueue({ ...text(id, waiting.phoneNumber), notBefore: later() });
	await outbox.enqueue({ ...text("behind the held one", held.phoneNumber), purpose: "reply", notBefore: later() });
	await outbox.enqueue({ ...text("neighbour", neighbour.phoneNumber, other), notBefore: later() });
	await working(outbox, async () => {
		const { cancelled, tooLate } = await outbox.cancelAll({ agencyId: agency.id, by: "Ann" });
		expect([cancelled.sort(), tooLate.sort()]).toEqual([[...ids, "behind the held one"].sort(), ["held", "sending"]]);
		await outbox.enqueue(text("afterwards", afterwards.phoneNumber));
		await expect.poll(() => state("afterwards"), patience).toBe("sent");
		// What can still arrive is all that a repeat finds.
		const again = await outbox.cancelAll({ agencyId: agency.id });
		expect([again.cancelled, again.tooLate.filter((id) => !["held", "sending"].includes(id))]).toEqual([[], []]);
		sandbox.clock.advance({ hours: 2 });
		await expect.poll(() => state("sending"), patience).toBe("cancelled");
		await expect.poll(() => state("neighbour"), patience).toBe("sent");
		// The service holds it, and delivers it once the contact agrees. It is never sent again.
		expect(await outbox.status("held")).toMatchObject({ state: "held", cancelRequested: true });
		held.accepts();
		await expect
			.poll(async () => {
				sandbox.clock.advance({ ms: 5_000 });
				return state("held");
			}, patience)
			.toMatch(/^(sent|delivered|read)$/);
	});
	for (const id of ids) expect(await outbox.status(id)).toMatchObject({ state: "cancelled", reason: "requested" });
	expect((await outbox.explain("one"))?.steps.at(-1)).toMatchObject({
		sentence: expect.stringContaining("as Ann said"),
	});
	const arrived = [held, lost, waiting, afterwards, neighbour].flatMap((contact) =>
		contact.inbox().flatMap(({ kind, body }) => (kind === "text" ? [body] : [])),
	);
	expect(arrived.sort()).toEqual(["afterwards", "held", "neighbour"]);
}

/** Many texts are due, and workers send them at that moment: each one arrives, or is cancelled, and never both. */
async function endInTheMiddle(store: OutboxStore): Promise<void> {
	const { agency, other, open, outbox, writer, sandbox, later } = createWorld(store);
	await outbox.migrate();
	const people = Array.from({ length: 60 }, (_, at) => writer(100 + at));
	const strangers = Array.from({ length: 10 }, (_, at) => writer(100 + at, other));
	const idOf = (at: number) => `text ${at}`;
	for (const [at, { phoneNumber: to }] of people.entries())
		await outbox.enqueue({ id: idOf(at), agencyId: agency.id, to, body: idOf(at) });
	for (const [at, { phoneNumber: to }] of strangers.entries())
		await outbox.enqueue({ id: `other ${at}`, agencyId: other.id, to, body: "other", notBefore: later() });
	const arrived = () => people.flatMap((person) => person.inbox().map(({ body }) => body));
	await working(open(), async () => {
		await expect.poll(() => arrived().length, { ...patience, interval: 1 }).toBeGreaterThan(3);
		const { cancelled } = await outbox.cancelAll({ agencyId: agency.id });
		expect(cancelled.length).toBeGreaterThan(0);
		await expect.poll(async () => (await outbox.health()).texts.sending, patience).toBe(0);
		sandbox.clock.advance({ hours: 2 });
		await expect.poll(async () => (await outbox.health()).texts.waiting, patience).toBe(0);
		const all = people.map((_, at) => idOf(at));
		const states = await Promise.all(all.map(async (id) => (await outbox.status(id))?.state));
		const ended = all.filter((_, at) => states[at] === "cancelled");
		expect(cancelled.filter((id) => !ended.includes(id))).toEqual([]);
		expect([...arrived(), ...ended].sort()).toEqual([...all].sort());
	});
	expect(strangers.flatMap((person) => person.inbox())).toHaveLength(10);
}

/** Texts to many contacts, half of which arrived at the same moment. */
async function endMany(store: OutboxStore, count: number): Promise<void> {
	const { agency, other, outbox, number, later, sandbox } = createWorld(store);
	await outbox.migrate();
	const notBefore = later();
	const texts = Array.from({ length: count }, (_, at) => ({
		id: `${at}`,
		agencyId: (at % 10 === 0 ? other : agency).id,
		to: number(at % 1_000),
		body: "See you.",
		notBefore,
	}));
	for (let at = 0; at < count; at += 1_000) await outbox.enqueueMany(texts.slice(at, at + 1_000));
	const began = performance.now();
	const { cancelled, tooLate } = await outbox.cancelAll({ agencyId: agency.id });
	if (process.env.TEST_LONG) console.info(`${count} texts in ${Math.round(performance.now() - began)} ms`);
	expect([new Set(cancelled).size, tooLate]).toEqual([count - count / 10, []]);
	expect((await outbox.health()).texts.waiting).toBe(count / 10);
	sandbox.clock.advance({ hours: 2 });
}

describe.each([
	["SQLite", () => sqliteStore(new Libsql(newFile())), 10_000],
	["PostgreSQL", async () => postgresStore(await postgres.openPool()), 2_000],
	["MariaDB", async () => mysqlStore(await mariadb.openPool()), 2_000],
])("an agency leaves: %s", (_, open, count) => {
	test("what waits ends, what is held or being sent is too late, and the texts of others go", async () => {
		await endEachKind(await open());
	});

	test("in the middle of sends each text arrives or is cancelled", async () => {
		await endInTheMiddle(await open());
	});

	test("thousands of texts", async () => {
		await endMany(await open(), count);
	});
});
