// The rows of an agency that are copied by hand into a database that has an id and a key of its own.
import type { Contact } from "messaging-conversations/sandbox";
import { expect, test } from "vitest";
import { createWorld, type Kind, type Opened, onEachDatabase } from "./healing.ts";

/** Columns that a database makes itself. */
const ownColumns = /^(seq|id of outbox_queues|part_\w+)$/;

function literal(value: unknown, kind: Kind): string {
	if (value === null || typeof value === "number" || typeof value === "bigint") return String(value);
	const text = String(value).replaceAll("'", "''");
	return `'${kind === "SQLite" || kind === "PostgreSQL" ? text : text.replaceAll("\\", "\\\\")}'`;
}

/** Copies the rows of an agency from one database into another one. */
function copying(kind: Kind, from: Opened, to: Opened, agencyId: string) {
	return async (...tables: string[]): Promise<void> => {
		for (const table of tables)
			for (const row of await from.run(`select * from ${table} where agency_id = '${agencyId}'`)) {
				const given = Object.entries(row).filter(
					([name]) => !ownColumns.test(name === "id" && table === "outbox_queues" ? "id of outbox_queues" : name),
				);
				const names = given.map(([name]) => name).join(", ");
				await to.run(
					`insert into ${table} (${names}) values (${given.map(([, value]) => literal(value, kind)).join(", ")})`,
				);
			}
	};
}

const keysIn = async ({ run }: Opened): Promise<object> =>
	JSON.parse(String((await run("select hash_keys from outbox_meta"))[0]?.hash_keys));

onEachDatabase(import.meta.url, (open, kind) => {
	/** An agency with texts in each state in one database, which another agency's database is about to get. */
	async function createMove() {
		const [from, to] = [await open(), await open()];
		const world = createWorld(from);
		const { outbox: before, sandbox, agency, contacts, inHours } = world;
		const after = world.open(undefined, to.store);
		await before.migrate();
		await after.migrate();
		const own = sandbox.link({ name: "Was there before" });
		for (const { phoneNumber } of contacts) own.contact(phoneNumber).writes("Hello");
		const numberOf = (at: number) => contacts[at]?.phoneNumber ?? "";
		const enqueue = (outbox: typeof before, at: number, id: string, rest: { notBefore?: Date } = {}, of = agency.id) =>
			outbox.enqueue({ id, agencyId: of, to: numberOf(at), body: id, ...rest });
		const stranger = agency.contact("+447700900399");
		await enqueue(before, 0, "sent");
		await before.runOnce();
		await before.enqueue({ id: "held", agencyId: agency.id, to: stranger.phoneNumber, body: "held" });
		await before.runOnce();
		for (const [at, phase] of (["after", "before"] as const).entries()) {
			sandbox.faults.add({ operation: "messages.send", phase, effect: "reset" });
			await enqueue(before, 1 + at, `lost ${phase}`);
			await before.runOnce();
		}
		await before.optOut({ agencyId: agency.id, to: numberOf(3) });
		await enqueue(before, 4, "later", { notBefore: inHours(1) });
		await before.runOnce();
		await before.suspend({ agencyId: agency.id, reason: "Moves to another database" });
		await enqueue(before, 5, "due");
		await enqueue(before, 5, "due next");
		expect(
			await Promise.all(
				["sent", "held", "lost after", "lost before", "later", "due"].map(
					async (id) => (await before.status(id))?.state,
				),
			),
		).toEqual(["sent", "held", "sending", "sending", "waiting", "waiting"]);
		const inboxOf = ({ inbox }: Contact) => inbox().flatMap(({ kind, body }) => (kind === "text" ? [body] : []));
		const inbox = (at: number) => inboxOf(agency.contact(numberOf(at)));
		const ownInbox = (at: number) => inboxOf(own.contact(numberOf(at)));
		const copy = copying(kind, from, to, agency.id);
		async function giveKey(): Promise<void> {
			const keys = { ...(await keysIn(from)), ...(await keysIn(to)) };
			await to.run(`update outbox_meta set hash_keys = '${JSON.stringify(keys)}'`);
		}
		/** Lets both databases have their workers for a few minutes. */
		async function passMinutes(count: number): Promise<void> {
			for (let minute = 0; minute < count; minute++) {
				await before.runOnce();
				await world.passMinute(after);
			}
		}
		return { ...world, own, before, after, stranger, enqueue, inbox, ownInbox, inboxOf, copy, giveKey, passMinutes };
	}

	const withQueues = ["outbox_texts", "outbox_contacts", "outbox_queues", "outbox_agencies"];
	test.each([
		["with its queues", withQueues],
		["without what follows from the texts", ["outbox_texts", "outbox_contacts"]],
	])("each text of an agency that moves by its rows goes out once, and its No holds: %s", async (_, tables) => {
		const move = await createMove();
		const { after, agency, own, enqueue, inbox, ownInbox, sandbox, sending, stranger } = move;
		await enqueue(after, 6, "own", {}, own.id);
		await move.copy(...tables);
		const before = sending.count;
		await expect(after.runOnce()).rejects.toMatchObject({
			_tag: "PartnerConfigurationError",
			field: "store",
			message: expect.stringMatching(/has rows in outbox_contacts whose key is not in outbox_meta/),
		});
		await expect(after.work({ signal: AbortSignal.timeout(20_000) })).rejects.toMatchObject({
			_tag: "PartnerConfigurationError",
			field: "store",
		});
		expect(sending.count).toBe(before);
		await move.giveKey();
		await enqueue(after, 3, "after a No");
		// Both have workers, and in both it is suspended.
		await move.passMinutes(3);
		expect(ownInbox(6)).toEqual(["own"]);
		expect([1, 2, 3, 4, 5].map(inbox)).toEqual([["lost after"], [], [], [], []]);
		await after.resume({ agencyId: agency.id });
		await move.passMinutes(3);
		expect([0, 1, 2, 3, 4, 5].map(inbox)).toEqual([
			["sent"],
			["lost after"],
			["lost before"],
			[],
			[],
			["due", "due next"],
		]);
		expect(await after.status("after a No")).toMatchObject({ state: "cancelled", reason: "opted_out" });
		stranger.accepts();
		sandbox.clock.advance({ hours: 1 });
		await move.passMinutes(3);
		expect(inbox(4)).toEqual(["later"]);
		expect(move.inboxOf(stranger)).toEqual(["held"]);
		for (const id of ["sent", "held", "lost after", "lost before", "later", "due", "due next"])
			expect((await after.status(id))?.state).toMatch(/^(sent|delivered|read)$/);
		expect(sandbox.violations()).toEqual([]);
	});

	test("a worker that runs sends nothing once facts without their key come with the texts", async () => {
		const move = await createMove();
		const { before, after, agency, enqueue, inbox, sending } = move;
		await before.resume({ agencyId: agency.id });
		await enqueue(before, 3, "after a No");
		const sends = sending.count;
		// So that it ends if it refuses nothing.
		const working = after.work({ signal: AbortSignal.timeout(20_000) });
		const refusal = expect(working).rejects.toMatchObject({ _tag: "PartnerConfigurationError", field: "store" });
		await expect.poll(async () => (await after.health()).workers.length, { timeout: 120_000 }).toBe(1);
		await move.copy("outbox_contacts", "outbox_texts");
		await refusal;
		expect(sending.count).toBe(sends);
		await move.giveKey();
		await move.passMinute(after);
		expect([3, 5].map(inbox)).toEqual([[], ["due", "due next"]]);
		expect(await after.status("after a No")).toMatchObject({ state: "cancelled", reason: "opted_out" });
	});

	test("rows that are copied a second time double nothing", async () => {
		const move = await createMove();
		const { after, agency, inbox, stranger } = move;
		await move.giveKey();
		await move.copy(...withQueues);
		await after.resume({ agencyId: agency.id });
		await move.passMinutes(2);
		// The ids of the texts are there already.
		await expect(move.copy("outbox_texts")).rejects.toThrow();
		await move.copy("outbox_queues").catch(() => {});
		await move.passMinutes(3);
		stranger.accepts();
		await move.passMinutes(3);
		expect([0, 1, 2, 5].map(inbox)).toEqual([["sent"], ["lost after"], ["lost before"], ["due", "due next"]]);
		expect(move.inboxOf(stranger)).toEqual(["held"]);
	});
});
