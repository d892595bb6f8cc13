// Who texted this person, and why? A list of texts, by whom they went to, by agency, state and time.
import type { EnqueuedText, ListedText, ListOptions } from "messaging-conversations/outbox";
import { describe, expect, test } from "vitest";
import { add, createWorld } from "./world.ts";

const idsOf = (texts: readonly ListedText[]) => texts.map(({ id }) => id);

/** Texts of two agencies to Anna and to Bert, an hour after each other. */
async function createOffice() {
	const world = createWorld();
	const { sandbox, outbox, agency, anna } = world;
	const other = sandbox.link({ name: "Other" });
	const bert = agency.contact("+447700900102");
	for (const contact of [bert, other.contact(anna.phoneNumber)]) contact.writes("Hello");
	const texts: Partial<EnqueuedText>[] = [
		{ id: "a1", by: "Ann", why: "She asked" },
		{ id: "b1", to: bert.phoneNumber },
		{ id: "a2", agencyId: other.id, by: "Ben" },
		{ id: "a3", notBefore: new Date(sandbox.clock.now().getTime() + 86_400_000) },
	];
	const times: Date[] = [];
	for (const { id = "", ...text } of texts) {
		times.push(sandbox.clock.now());
		await add(world, id, text);
		await world.pass({ hours: 1 });
	}
	const list = async (options?: ListOptions) => idsOf(await outbox.list(options));
	return { ...world, other, bert, times, list };
}

describe("outbox.list", () => {
	test("says who texted a contact, why, and when it was sent, in all agencies", async () => {
		const { outbox, anna, times, agency } = await createOffice();
		const found = await outbox.list({ to: anna.phoneNumber });
		expect(idsOf(found)).toEqual(["a3", "a2", "a1"]);
		const [waiting, , first] = found;
		expect(first).toMatchObject({ agencyId: agency.id, by: "Ann", why: "She asked", body: "a1", createdAt: times[0] });
		expect(first?.sentAt?.getTime()).toBeGreaterThanOrEqual(Number(times[0]));
		expect(first?.sentAt?.getTime()).toBeLessThan(Number(times[1]));
		expect(waiting).toMatchObject({ state: "waiting", sentAt: null, waitsFor: { kind: "not_before" } });
	});

	test("asks for a number as it is written, an agency, a state and a time, in any combination", async () => {
		const { anna, agency, other, times, list } = await createOffice();
		const to = anna.phoneNumber;
		expect(await list()).toEqual(["a3", "a2", "b1", "a1"]);
		expect(await list({ to: "+44 7700 900101" })).toEqual(["a3", "a2", "a1"]);
		expect(await list({ to, agencyId: agency.id })).toEqual(["a3", "a1"]);
		expect(await list({ agencyId: other.id })).toEqual(["a2"]);
		expect(await list({ state: "waiting" })).toEqual(["a3"]);
		expect(await list({ to, state: "failed" })).toEqual([]);
		expect(await list({ to, since: times[2] })).toEqual(["a3", "a2"]);
		expect(await list({ since: times[1]?.toISOString() })).toEqual(["a3", "a2", "b1"]);
		expect(await list({ since: Number(times[3]) + 1 })).toEqual([]);
	});

	test("gives pages, which a text that comes in between does not shift", async () => {
		const world = await createOffice();
		const to = world.anna.phoneNumber;
		expect(await world.list({ to, limit: 2 })).toEqual(["a3", "a2"]);
		await add(world, "a4");
		expect(await world.list({ to, limit: 2, after: "a2" })).toEqual(["a1"]);
		expect(await world.list({ to, limit: 2, after: "a1" })).toEqual([]);
	});

	test("has nothing of a contact who was erased", async () => {
		const { outbox, anna, list } = await createOffice();
		await outbox.erase({ to: anna.phoneNumber, everyAgency: true });
		expect(await list({ to: anna.phoneNumber })).toEqual([]);
		const all = await outbox.list();
		expect(all.find(({ id }) => id === "a1")).toMatchObject({ to: null, by: null, why: null, body: null });
	});

	test.each<[field: string, value: unknown]>([
		["to", "secret"],
		["to", 470123456],
		["agencyId", ""],
		["agencyId", 7],
		["state", "secret"],
		["state", null],
		["since", "secret"],
		["since", "2026-01-05T09:00:00"],
		["after", "secret"],
		["after", 7],
		["limit", 0],
		["limit", 1_001],
		["limit", "10"],
	])("refuses a bad %s without its value: %j", async (field, value) => {
		const { outbox } = createWorld();
		const error = await outbox.list({ [field]: value } as ListOptions).catch((thrown: unknown) => thrown);
		expect(error).toMatchObject({ _tag: "PartnerInvalidInput", field });
		expect(String(error)).not.toContain("secret");
	});
});

describe("who stopped a text", () => {
	const lastStep = async ({ outbox }: ReturnType<typeof createWorld>, id: string) =>
		(await outbox.explain(id))?.steps.at(-1)?.sentence;

	test("is in its steps: by cancel, cancelAll and optOut, and gone once it is erased", async () => {
		const world = createWorld();
		const { outbox, anna } = world;
		const to = anna.phoneNumber;
		const notBefore = new Date(world.sandbox.clock.now().getTime() + 86_400_000);
		await add(world, "1", { notBefore });
		await outbox.cancel("1", { by: " Ann " });
		expect(await lastStep(world, "1")).toMatch(/cancelled, because of requested, as Ann said/);
		await add(world, "2", { notBefore });
		await outbox.cancelAll({ to, by: "Ben" });
		expect(await lastStep(world, "2")).toMatch(/cancelled, because of requested, as Ben said/);
		await add(world, "3", { notBefore });
		await add(world, "4", { notBefore });
		await outbox.cancel("4");
		expect(await lastStep(world, "4")).not.toContain("said");
		await outbox.optOut({ to, by: "Cleo" });
		expect(await lastStep(world, "3")).toMatch(/cancelled, because of opted_out, as Cleo said/);
		await outbox.erase({ to, everyAgency: true });
		expect(JSON.stringify(world.store.all())).not.toMatch(/Ann|Ben|Cleo/);
	});

	test.each(["cancel", "cancelAll", "optOut"] as const)("%s refuses a bad name without it", async (operation) => {
		const { outbox, anna } = createWorld();
		for (const by of ["", "secret".repeat(20), "secret\nsecret", 7, null]) {
			const given = { to: anna.phoneNumber, by } as { to: string; by: string };
			const running = operation === "cancel" ? outbox.cancel("1", { by: given.by }) : outbox[operation](given);
			const error = await Promise.resolve(running).catch((thrown: unknown) => thrown);
			expect(error).toMatchObject({ _tag: "PartnerInvalidInput", field: "by" });
			expect(String(error)).not.toContain("secret");
		}
	});
});
