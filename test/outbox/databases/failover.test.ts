// A failover that nobody declares: what came last is lost, and living workers find out by what they remember.
import { createClient } from "messaging-conversations";
import { createOutbox, type Pause } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Lossy, lossyMariadb, lossyPostgres, lossySqlite } from "./lossy.ts";

const patience = { timeout: 180_000, interval: 200 };
const databases = [
	["SQLite", lossySqlite],
	["PostgreSQL", lossyPostgres],
	["MariaDB", lossyMariadb],
] as const;

/** Two processes that work, each with a store of its own. */
async function createWorld(database: Lossy) {
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	const client = createClient({ ...sandbox.connection });
	const pauses: Pause[] = [];
	const open = () =>
		createOutbox({
			client,
			store: database.open(),
			now: sandbox.clock.now,
			onPaused: (pause) => void pauses.push(pause),
		});
	const [one, other] = [open(), open()];
	await one.migrate();
	const stop = new AbortController();
	const working = Promise.all([one, other].map((outbox) => outbox.work({ signal: stop.signal })));
	onTestFinished(async () => {
		stop.abort();
		await working;
	});
	const inHours = (hours: number) => new Date(sandbox.clock.now().getTime() + hours * 3_600_000);
	const names = ["sent", "declined", "phoned", "cancelled", "stopped", "lead", "open"] as const;
	const contacts = new Map(names.map((name, at) => [name, agency.contact(`+4477009001${10 + at}`)]));
	const contact = (name: (typeof names)[number]) => contacts.get(name) ?? agency.contact("+447700900199");
	const texts = (name: (typeof names)[number]) =>
		contact(name)
			.inbox()
			.flatMap(({ kind, body }) => (kind === "text" ? [body] : []));
	const enqueue = (name: (typeof names)[number], hours: number, rest: { id?: string; purpose?: "marketing" } = {}) =>
		one.enqueue({
			id: name,
			agencyId: agency.id,
			to: contact(name).phoneNumber,
			body: `Text for ${name}`,
			notBefore: inHours(hours),
			...rest,
		});
	const state = async (name: string) => (await one.status(name))?.state;
	const lost = () => pauses.filter(({ reason }) => reason === "data_lost");
	/** Each worker has given a sign of life since. */
	async function signs(): Promise<void> {
		const count = async () => {
			const rows = await database.query("select number from outbox_workers where left_at is null order by id");
			return rows.map(({ number }) => Number(number));
		};
		await expect.poll(async () => (await count()).length, patience).toBe(2);
		const before = await count();
		await expect
			.poll(async () => (await count()).every((number, at) => number > (before[at] ?? 0)), patience)
			.toBe(true);
	}
	return { sandbox, agency, one, other, contact, texts, enqueue, state, lost, signs, pauses, inHours, stop, working };
}

describe.each(databases)("%s", (_, lossy) => {
	test("#56 what is lost is found, nothing goes out twice or after a no, and what was never due waits", async () => {
		const database = await lossy();
		const world = await createWorld(database);
		const { sandbox, one, other, contact, texts, enqueue, state, lost, signs, inHours } = world;
		const leaving = sandbox.link({ name: "Leaving" });
		const client = leaving.contact("+447700900190");
		client.writes("Hello");
		const left = { id: "left", agencyId: leaving.id, to: client.phoneNumber, body: "Text of an agency that left" };
		await one.enqueue({ ...left, notBefore: inHours(4) });
		for (const name of ["sent", "phoned", "cancelled", "stopped"] as const) contact(name).writes("Hello");
		for (const name of ["sent", "declined"] as const) await enqueue(name, 1);
		for (const name of ["phoned", "cancelled", "stopped"] as const) await enqueue(name, 4, { purpose: "marketing" });
		await enqueue("lead", 4);
		await signs();
		await database.keep();
		await signs();
		// What follows is lost.
		sandbox.clock.advance({ hours: 1 });
		await expect.poll(() => Promise.all(["sent", "declined"].map(state)), patience).toEqual(["sent", "held"]);
		contact("declined").declines();
		// It may be on its way to the contact, so that it is read again.
		await expect
			.poll(async () => {
				sandbox.clock.advance({ ms: 5_000 });
				return (await one.health()).texts.held;
			}, patience)
			.toBe(0);
		await one.optOut({ to: contact("phoned").phoneNumber });
		expect(await other.cancel("cancelled")).toBe(true);
		await other.cancelAll({ to: contact("stopped").phoneNumber });
		expect(await other.cancelAll({ agencyId: leaving.id })).toEqual({ cancelled: ["left"], tooLate: [] });
		await signs();
		await database.lose();

		await expect
			.poll(async () => (await one.health().catch(() => undefined))?.lost, patience)
			.toMatchObject({ by: "worker", isDone: true });
		await expect.poll(() => state("sent"), patience).toBe("sent");
		await expect.poll(() => state("declined"), patience).toBe("cancelled");
		expect(await state("lead")).toBe("waiting");
		sandbox.clock.advance({ hours: 4 });
		await expect.poll(() => state("lead"), patience).toBe("held");
		await expect.poll(async () => (await one.health()).texts.waiting, patience).toBe(0);
		expect(await Promise.all(["phoned", "cancelled", "stopped", "left"].map(state))).toEqual(
			Array.from({ length: 4 }, () => "cancelled"),
		);
		expect(client.inbox()).toEqual([]);
		expect(texts("sent")).toEqual(["Text for sent"]);
		for (const name of ["declined", "phoned", "cancelled", "stopped"] as const) expect(texts(name)).toEqual([]);
		// The two that had been due.
		expect(lost()).toMatchObject([{ lost: { texts: 2 } }]);
		expect(sandbox.violations()).toEqual([]);
	});

	test("#56 a switchover that lost nothing restores nothing", async () => {
		const database = await lossy();
		const { sandbox, one, contact, texts, enqueue, state, lost, signs } = await createWorld(database);
		contact("sent").writes("Hello");
		await enqueue("sent", 0);
		await enqueue("lead", 1);
		await expect.poll(() => state("sent"), patience).toBe("sent");
		await database.switchOver();
		await signs();
		sandbox.clock.advance({ hours: 1 });
		await expect.poll(() => state("lead").catch(() => undefined), patience).toBe("held");
		await signs();
		expect((await one.health()).lost).toBe(null);
		expect(lost()).toEqual([]);
		expect(texts("sent")).toEqual(["Text for sent"]);
	});
});
