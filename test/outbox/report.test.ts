// How many texts were sent, delivered, read, declined or not sent, by day, agency and purpose.
import { PartnerInvalidInput } from "messaging-conversations";
import type { ReportOptions } from "messaging-conversations/outbox";
import { expect, test } from "vitest";
import { memoryStore } from "./memory.ts";
import { checkReport, zones } from "./reports.ts";
import { add, createWorld } from "./world.ts";

const today = { since: "2026-01-05", until: "2026-01-06" };

test("a report counts what became of the texts of each purpose", async () => {
	const world = createWorld();
	const { sandbox, agency, anna, outbox } = world;
	const day = sandbox.clock.now().toISOString().slice(0, 10);
	const next = new Date(sandbox.clock.now().getTime() + 86_400_000).toISOString().slice(0, 10);
	const nobody = agency.contact("+447700900102");
	await add(world, "read", { purpose: "reply" });
	await outbox.runOnce();
	anna.reads();
	await world.pass({ minutes: 1 });
	await add(world, "cancelled", { notBefore: new Date(sandbox.clock.now().getTime() + 60_000) });
	await outbox.cancel("cancelled");
	await add(world, "sent");
	await outbox.enqueue({ id: "held", agencyId: agency.id, to: nobody.phoneNumber, body: "Held" });
	await outbox.runOnce();
	await add(world, "tomorrow", { notBefore: new Date(`${next}T10:00:00Z`) });
	const none = { texts: 0, waiting: 0, held: 0, sent: 0, delivered: 0, read: 0, failed: 0 };
	const rest = { declined: 0, notSent: 0, unknown: 0 };
	const row = { agencyId: agency.id, ...none, ...rest };
	expect(await outbox.report({ since: day, until: next })).toEqual([
		{ ...row, day, purpose: "notice", texts: 3, held: 1, sent: 1, notSent: 1 },
		{ ...row, day, purpose: "reply", texts: 1, sent: 1, delivered: 1, read: 1 },
	]);
	nobody.declines();
	await world.pass({ hours: 1 });
	const [notices] = await outbox.report({ since: day, until: next, agencyId: agency.id, timeZone: "UTC" });
	expect(notices).toMatchObject({ texts: 3, held: 0, declined: 1, notSent: 1 });
	const after = await outbox.report({ since: next, until: new Date(`${next}T23:00:00Z`) });
	expect(after).toEqual([{ ...row, day: next, purpose: "notice", texts: 1, waiting: 1 }]);
	expect(await outbox.report({ since: day, until: next, agencyId: sandbox.link({ name: "Other" }).id })).toEqual([]);
});

test("a text that was erased is still counted, and shows nothing", async () => {
	const world = createWorld();
	await add(world, "text");
	await world.outbox.runOnce();
	const since = new Date(world.sandbox.clock.now().getTime() - 3_600_000);
	const until = new Date(world.sandbox.clock.now().getTime() + 3_600_000);
	const before = await world.outbox.report({ since, until });
	await world.outbox.erase({ to: world.anna.phoneNumber, everyAgency: true });
	const erased = await world.outbox.report({ since, until });
	expect(erased).toEqual(before);
	expect(erased).toMatchObject([{ sent: 1 }]);
	expect(JSON.stringify(erased)).not.toContain(world.anna.phoneNumber);
});

test.each(zones)("days of %s are those on the calendar, also when the clocks change", async (timeZone) => {
	await checkReport(memoryStore(), timeZone);
});

test.each<[field: string, options: ReportOptions]>([
	["since", { ...today, since: "2026-02-30" }],
	["since", { ...today, since: "yesterday" }],
	["since", { ...today, since: "2026-01-05T09:00:00" }],
	["since", { ...today, since: undefined as unknown as string }],
	["until", { since: "2026-01-05", until: "2026-01-05" }],
	["until", { since: "2026-01-05", until: "2026-01-04" }],
	["until", { since: "2026-01-05", until: "2027-01-07" }],
	["timeZone", { ...today, timeZone: "Mars/Olympus" }],
	["agencyId", { ...today, agencyId: "" }],
])("report refuses a bad %s", async (field, options) => {
	const reported = createWorld().outbox.report(options);
	await expect(reported).rejects.toThrow(PartnerInvalidInput);
	await expect(reported).rejects.toMatchObject({ field });
});

test("a year is reported, with a leap day", async () => {
	const { outbox } = createWorld();
	await expect(outbox.report({ since: "2028-01-01", until: "2029-01-01" })).resolves.toEqual([]);
});
