// Quiet hours and time zones that somebody corrects while texts wait for their end.
import type { OutboxOptions } from "messaging-conversations/outbox";
import { expect, test } from "vitest";
import { createWorld } from "./world.ts";

type Hours = NonNullable<OutboxOptions["quietHours"]>;
const night: Hours = { from: "20:00", to: "08:00", timeZone: "UTC" };

/** Two texts to Anna and one to Bert of another agency, at nine in the evening. */
async function asleep(quietHours: Hours) {
	const world = createWorld({ quietHours });
	const { sandbox, agency, anna, outbox, restart } = world;
	sandbox.clock.advanceTo(new Date("2026-01-06T21:00:00Z"));
	const second = sandbox.link({ name: "Second" });
	const bert = second.contact("+447700900102");
	for (const contact of [anna, bert]) contact.writes("Hello");
	for (const id of ["one", "two"]) await outbox.enqueue({ id, agencyId: agency.id, to: anna.phoneNumber, body: id });
	await outbox.enqueue({ id: "bert", agencyId: second.id, to: bert.phoneNumber, body: "bert" });
	await outbox.runOnce();
	const states = async (of = restart({ quietHours })) =>
		Promise.all(["one", "two", "bert"].map(async (id) => (await of.status(id))?.state));
	expect(await states()).toEqual(["waiting", "waiting", "waiting"]);
	return { ...world, second, states };
}

test.each<[string, Hours | undefined]>([
	["begin later", { ...night, from: "22:00" }],
	["end at the hour that it is", { ...night, to: "21:00" }],
	["are of another zone", { ...night, timeZone: "America/New_York" }],
	["are none any more", undefined],
])("a text goes out as soon as a worker knows that the quiet hours %s", async (_, quietHours) => {
	const { restart, states } = await asleep(night);
	await restart({ quietHours }).runOnce();
	expect(await states()).toEqual(["sent", "sent", "sent"]);
});

test("a text waits for the new end of quiet hours that became longer, and its status says so", async () => {
	const { restart, sandbox, states } = await asleep(night);
	const outbox = restart({ quietHours: { ...night, to: "10:00" } });
	await outbox.runOnce();
	expect((await outbox.status("one"))?.nextAttemptAt).toEqual(new Date("2026-01-07T10:00:00Z"));
	sandbox.clock.advanceTo(new Date("2026-01-07T09:59:00Z"));
	await outbox.runOnce();
	expect(await states()).toEqual(["waiting", "waiting", "waiting"]);
	sandbox.clock.advanceTo(new Date("2026-01-07T10:00:00Z"));
	await outbox.runOnce();
	expect(await states()).toEqual(["sent", "sent", "sent"]);
});

test("a time zone that a function gives is found to be corrected within ten minutes, for that agency alone", async () => {
	const zones = new Map<string, string>();
	const timeZone = (agencyId: string) => zones.get(agencyId) ?? "UTC";
	const { agency, outbox, sandbox, states } = await asleep({ ...night, timeZone });
	zones.set(agency.id, "America/New_York");
	sandbox.clock.advance({ minutes: 10 });
	await outbox.runOnce();
	expect(await states()).toEqual(["sent", "sent", "waiting"]);
});

test("texts that wait for the right end are left alone", async () => {
	const { restart, store, sandbox } = await asleep(night);
	const versions = () => store.all().map(({ version }) => version);
	const before = versions();
	await restart().runOnce();
	sandbox.clock.advance({ hours: 2 });
	await restart().runOnce();
	expect(versions()).toEqual(before);
});

test("a function that fails awakens nobody, and keeps no worker from the rest", async () => {
	const { agency, restart, states } = await asleep(night);
	const timeZone = (agencyId: string) => {
		if (agencyId === agency.id) throw new Error("no");
		return "America/New_York";
	};
	await restart({ quietHours: { ...night, timeZone } }).runOnce();
	expect(await states()).toEqual(["waiting", "waiting", "sent"]);
});
