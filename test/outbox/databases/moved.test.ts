// Tables that are renamed, moved, copied in part or kept beside others. What an outbox knows of itself goes with its tables, and what
// nobody can read is refused.
import { createClient } from "messaging-conversations";
import { createOutbox, type DatabaseStore } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { describe, expect, test } from "vitest";
import { type Place, usePlaces } from "./places.ts";

const tables = ["texts", "queues", "contacts", "agencies", "workers", "meta"];

function createOffice() {
	const sandbox = createSandbox({ now: "2026-01-05T09:00:00Z" });
	const agency = sandbox.agency();
	const anna = agency.contact("+447700900101");
	anna.writes("Hello");
	const client = createClient({ ...sandbox.connection });
	const outboxOn = (store: DatabaseStore) => createOutbox({ client, store, now: sandbox.clock.now, settleMs: 20_000 });
	const text = { agencyId: agency.id, to: anna.phoneNumber, body: "Your visit is at 14:00" };
	const arrived = () => anna.inbox().filter(({ body }) => body === text.body).length;
	const sends = () => sandbox.requests().filter(({ operation }) => operation === "messages.send");
	return { sandbox, anna, agency, outboxOn, text, arrived, sends };
}

const operationIdsOf = (requests: readonly unknown[]): unknown[] =>
	requests.map((request) => {
		const body: unknown = Reflect.get(Object(request), "body");
		return Reflect.get(typeof body === "string" ? JSON.parse(body) : Object(body), "operationId");
	});

/** Copies a row into another table with the same columns. */
const copy = ({ run }: Place, from: string, to: string): Promise<unknown> =>
	run(`insert into ${to} select * from ${from}`);

describe.each(usePlaces(import.meta.url))("on %s", (_, open) => {
	test("two outboxes in one database send each of their texts once, although the ids are the same", async () => {
		const place = await open();
		const { outboxOn, text, arrived, sends } = createOffice();
		const [one, other] = [outboxOn(place.store("sales")), outboxOn(place.store("rentals"))];
		for (const outbox of [one, other]) {
			await outbox.migrate();
			await outbox.enqueue({ ...text, id: "visit-1" });
			await outbox.runOnce();
			await outbox.enqueue({ ...text, id: "visit-1" });
			await outbox.runOnce();
		}
		expect(arrived()).toBe(2);
		expect(new Set(operationIdsOf(sends())).size).toBe(2);
		const [first, second] = [await one.status("visit-1"), await other.status("visit-1")];
		expect([first?.operationId, second?.operationId]).toEqual(operationIdsOf(sends()));
	});

	test("a text whose answer was lost goes out again under the same operationId once its tables are renamed", async () => {
		const place = await open();
		const { sandbox, outboxOn, text, arrived, sends } = createOffice();
		const before = outboxOn(place.store());
		await before.migrate();
		await before.enqueue({ ...text, id: "visit-1" });
		// Nothing of it arrives, so that it is sent again.
		sandbox.faults.add({ operation: "messages.send", phase: "before", effect: "reset" });
		await before.runOnce();
		const { state, operationId } = (await before.status("visit-1")) ?? {};
		expect(state).toBe("sending");
		for (const name of tables) await place.run(`alter table outbox_${name} rename to crm_${name}`);
		const after = outboxOn(place.store("crm"));
		await after.migrate();
		for (let minute = 0; minute < 10; minute++) {
			sandbox.clock.advance({ minutes: 1 });
			await after.runOnce();
		}
		expect(await after.status("visit-1")).toMatchObject({ state: "sent", operationId, attempts: 2 });
		expect(operationIdsOf(sends())).toEqual([operationId, operationId]);
		expect(arrived()).toBe(1);
	});

	test("a worker refuses facts that were copied without their key, until the key is there: then a No counts", async () => {
		const place = await open();
		const { sandbox, outboxOn, text, arrived, sends } = createOffice();
		const [from, to] = [outboxOn(place.store("old")), outboxOn(place.store("new"))];
		for (const outbox of [from, to]) await outbox.migrate();
		await from.optOut({ to: text.to });
		await from.erase({ to: text.to, everyAgency: true });
		await to.suspend({ reason: "Moving" });
		await to.resume();
		await copy(place, "old_contacts", "new_contacts");
		await to.enqueue({ ...text, id: "visit-1" });
		const refusal = {
			_tag: "PartnerConfigurationError",
			field: "store",
			message: expect.stringMatching(/new_contacts .*key.* new_meta/),
		};
		await expect(to.runOnce()).rejects.toMatchObject(refusal);
		await expect(to.work()).rejects.toMatchObject(refusal);
		// What is not known is no Yes for people either.
		const who = { to: text.to, agencyId: text.agencyId };
		await expect(to.optedOut(who)).rejects.toMatchObject({ ...refusal, operation: "optedOut" });
		await expect(to.optIn(who)).rejects.toMatchObject({ ...refusal, operation: "optIn" });
		const exported = (async () => {
			for await (const _ of to.exportContacts()) expect.unreachable();
		})();
		await expect(exported).rejects.toMatchObject({ ...refusal, operation: "exportContacts" });
		expect(sends()).toEqual([]);
		const keysOf = async (table: string): Promise<object> =>
			JSON.parse(String((await place.rows(`select hash_keys from ${table}`))[0]?.hash_keys));
		const keys = JSON.stringify({ ...(await keysOf("new_meta")), ...(await keysOf("old_meta")) });
		await place.run(`update new_meta set hash_keys = '${keys}'`);
		expect(await to.optedOut(who)).toMatchObject({ isOptedOut: true });
		await to.runOnce();
		expect(await to.status("visit-1")).toMatchObject({ state: "cancelled", reason: "opted_out" });
		expect(arrived()).toBe(0);
		// The outbox goes on with its own key.
		sandbox.clock.advance({ minutes: 5 });
		await to.optIn({ to: text.to });
		await to.enqueue({ ...text, id: "visit-2" });
		await to.runOnce();
		expect(arrived()).toBe(1);
	});

	test("facts that are copied while a worker runs without their key end it", async () => {
		const place = await open();
		const { outboxOn, text, sends } = createOffice();
		const [from, to] = [outboxOn(place.store("old")), outboxOn(place.store("new"))];
		for (const outbox of [from, to]) await outbox.migrate();
		await from.optOut({ to: text.to });
		const working = to.work();
		working.catch(() => {});
		await expect.poll(async () => (await to.health()).workers.length, { timeout: 120_000 }).toBe(1);
		await copy(place, "old_contacts", "new_contacts");
		await expect(working).rejects.toMatchObject({ _tag: "PartnerConfigurationError", field: "store" });
		expect(sends()).toEqual([]);
	});

	test.each<[what: string, change: (keys: string) => string]>([
		["is cut off", (keys) => keys.slice(0, -20)],
		["has no quotes", (keys) => keys.replaceAll('"', "")],
		["lacks the outbox's own key", () => '{"a":"b"}'],
		["has an empty key", (keys) => keys.replace(/:"\w+"/, ':""')],
		["is no object", () => "null"],
	])("a column of keys that %s is refused without a word of it, and nothing is sent", async (_what, change) => {
		const place = await open();
		const { outboxOn, text, sends } = createOffice();
		const outbox = outboxOn(place.store());
		await outbox.migrate();
		await outbox.enqueue({ ...text, id: "visit-1" });
		const keys = String((await place.rows("select hash_keys from outbox_meta"))[0]?.hash_keys);
		await place.run(`update outbox_meta set hash_keys = '${change(keys)}'`);
		const again = outboxOn(place.store());
		const who = { to: text.to, agencyId: text.agencyId };
		for (const call of [
			() => again.runOnce(),
			() => again.optOut(who),
			() => again.optIn(who),
			() => again.optedOut(who),
		]) {
			const error: unknown = await call().catch((thrown: unknown) => thrown);
			expect(error).toMatchObject({ _tag: "PartnerConfigurationError", field: "store" });
			expect(String(error)).toMatch(/hash_keys of outbox_meta/);
			for (const key of keys.match(/\w{32,}/g) ?? [])
				for (let at = 0; at + 6 <= key.length; at++) expect(String(error)).not.toContain(key.slice(at, at + 6));
		}
		expect(sends()).toEqual([]);
	});

	test.each(["a fact", "a suspension", "a text"])(
		"no new key is made for an outbox that has lost its own, but has %s",
		async (what) => {
			const place = await open();
			const { outboxOn, text, agency } = createOffice();
			const outbox = outboxOn(place.store());
			await outbox.migrate();
			if (what === "a fact") await outbox.optOut({ to: text.to });
			if (what === "a suspension") await outbox.suspend({ agencyId: agency.id, reason: "Wrong price" });
			if (what === "a text") await outbox.enqueue({ ...text, id: "visit-1" });
			await place.run("create table kept as select * from outbox_meta");
			await place.run("delete from outbox_meta");
			const again = outboxOn(place.store());
			const refusal = {
				_tag: "PartnerConfigurationError",
				field: "store",
				message: expect.stringMatching(/outbox_contacts.*Copy outbox_meta/),
			};
			for (const call of [() => again.migrate(), () => again.runOnce(), () => again.optOut({ to: text.to })])
				await expect(call()).rejects.toMatchObject(refusal);
			await place.run("drop table outbox_meta");
			await expect(again.migrate()).rejects.toMatchObject(refusal);
			await copy(place, "kept", "outbox_meta");
			await again.migrate();
			await again.runOnce();
		},
	);
});
