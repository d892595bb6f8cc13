// How many requests the outbox makes for its texts, while nothing happens and when something does.

import { expect, test } from "vitest";
import { createWorld } from "./world.ts";

type World = ReturnType<typeof createWorld>;

const numbersFrom = (count: number) =>
	Array.from({ length: count }, (_, at) => `+4477009001${String(at).padStart(2, "0")}`);

/** Enqueues a text for each contact, all of whom wrote once. */
async function enqueueFor(
	{ agency, outbox, sandbox }: World,
	numbers: readonly string[],
	isOpen: boolean,
): Promise<void> {
	for (const number of numbers) agency.contact(number).writes("Is it free?");
	if (!isOpen) sandbox.clock.advance({ hours: 25 });
	for (const to of numbers) await outbox.enqueue({ id: `to ${to}`, agencyId: agency.id, to, body: "Yes, it is." });
}

const requests = ({ sandbox }: World) => sandbox.requests().length;
const lookups = ({ sandbox }: World) =>
	sandbox.requests().filter(({ operation }) => operation === "conversations.lookup");

test("a text that is sent at once costs at most 8 requests until it is read", async () => {
	const world = createWorld();
	const numbers = numbersFrom(10);
	await enqueueFor(world, numbers, true);
	await world.pass({ hours: 5 });
	for (const number of numbers) world.agency.contact(number).reads();
	await world.pass({ hours: 48 });
	const states = await Promise.all(numbers.map(async (number) => (await world.outbox.status(`to ${number}`))?.state));
	expect(new Set(states)).toEqual(new Set(["read"]));
	expect(requests(world) / numbers.length).toBeLessThanOrEqual(8);
});

test("texts that are held are watched by lookups of a hundred, and read when something has changed", async () => {
	const world = createWorld();
	const numbers = numbersFrom(100);
	await enqueueFor(world, numbers, false);
	await world.pass({ hours: 1 });
	const before = requests(world);
	await world.pass({ hours: 30 });
	expect((requests(world) - before) / 30 / numbers.length).toBeLessThanOrEqual(0.2);
	const [first = "", second = "", ...rest] = numbers;
	world.agency.contact(first).accepts();
	world.agency.contact(second).declines();
	await world.pass({ minutes: 30 });
	const state = async (number: string) => (await world.outbox.status(`to ${number}`))?.state;
	expect([await state(first), await state(second), await state(rest[0] ?? "")]).toEqual(["sent", "dropped", "held"]);
	for (const number of rest) world.agency.contact(number).accepts();
	await world.pass({ minutes: 30 });
	expect(new Set(await Promise.all(rest.map(state)))).toEqual(new Set(["sent"]));
});

test("what a colleague has queued is watched by lookups too, and our text goes out after it", async () => {
	const world = createWorld();
	const { agency, anna, sandbox } = world;
	sandbox.clock.advance({ hours: 25 });
	agency.staff.sends({ contact: anna, text: "From a person" });
	await world.enqueue("From us");
	await world.pass({ hours: 12 });
	expect(lookups(world).length).toBeGreaterThan(60);
	expect(requests(world) - lookups(world).length).toBeLessThan(10);
	anna.accepts();
	await world.pass({ minutes: 20 });
	expect(world.texts()).toEqual(["From a person", "From us"]);
});

test("of an agency that cannot ask for consent one conversation is read a minute, and the others are looked up", async () => {
	const world = createWorld();
	const { agency, sandbox } = world;
	agency.consent.set({ unapprovedTemplates: [{ templateCode: "window_reopen_consent", status: "pending" }] });
	const numbers = numbersFrom(50);
	await enqueueFor(world, numbers, false);
	await world.pass({ minutes: 5 });
	const before = requests(world);
	await world.pass({ hours: 1 });
	expect(requests(world) - before).toBeLessThanOrEqual(60 * 3);
	const status = await world.outbox.status(`to ${numbers[0]}`);
	expect(status).toMatchObject({ state: "waiting", reason: "consent_unavailable" });
	// An open window needs no consent.
	const [first = "", second = ""] = numbers;
	agency.contact(first).writes("Hello?");
	await world.pass({ minutes: 3 });
	expect(await world.state(`to ${first}`)).toBe("sent");
	agency.consent.set({ unapprovedTemplates: [] });
	await world.pass({ minutes: 3 });
	expect(await world.state(`to ${second}`)).toBe("held");
	expect(sandbox.requests().filter(({ status: code }) => Number(code) >= 400)).toEqual([]);
});

test("a lookup that fails is followed by a read, and nothing is lost", async () => {
	const world = createWorld();
	const { sandbox, anna } = world;
	sandbox.clock.advance({ hours: 25 });
	await world.enqueue("Hello");
	await world.pass({ hours: 1 });
	sandbox.faults.add({ operation: "conversations.lookup", effect: { status: 503 }, times: Number.POSITIVE_INFINITY });
	anna.accepts();
	await world.pass({ minutes: 20 });
	expect(world.texts()).toEqual(["Hello"]);
	expect(await world.state("note-1")).toBe("sent");
});

test("a change that observe reports is seen at once, although a lookup was made a moment ago", async () => {
	const world = createWorld();
	const { agency, anna, client, outbox, sandbox } = world;
	sandbox.clock.advance({ hours: 25 });
	await world.enqueue("Hello");
	await world.pass({ hours: 1 });
	anna.accepts();
	const { conversation, messagePage } = await client.agency(agency.id).conversations.get(anna.phoneNumber);
	await outbox.observe({ agencyId: agency.id, conversation, messages: messagePage.messages });
	await outbox.runOnce();
	expect(["sent", "delivered"]).toContain(await world.state("note-1"));
});
