import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { type Change, changes, type WatchOptions, watch } from "messaging-conversations/sync";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ModelMessage } from "./model.ts";
import { minutes, openModel } from "./service.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const anna = "+447700900101";

beforeEach(() => {
	vi.useFakeTimers({ now: new Date("2026-01-05T09:00:00Z") });
});
afterEach(() => {
	vi.useRealTimers();
});

/** A watch that has just delivered a text to Anna. */
async function open(options: Partial<WatchOptions> = {}) {
	const sandbox = createSandbox();
	sandbox.agency().contact(anna).writes("Hello?");
	const agency = createClient({ ...sandbox.connection, retry: false }).agency(sandbox.agency().id);
	const feed = watch(agency, { since: "now", statuses: true, minMs: 10 * hour, maxMs: 500 * hour, ...options });
	const delivered: Change[] = [];
	(async () => {
		for await (const change of feed) delivered.push(change);
	})();
	const pass = async (ms: number) => {
		sandbox.clock.advance({ ms });
		await vi.advanceTimersByTimeAsync(ms);
	};
	await pass(0);
	const sent = await agency.messages.send({ to: anna, body: "Hello Anna" });
	feed.pollNow();
	await pass(0);
	expect(delivered).toHaveLength(1);
	const message = sandbox.message(sent.messageId ?? "");
	const before = sandbox.requests().length;
	/** What was asked for since. */
	const asked = () =>
		sandbox
			.requests()
			.slice(before)
			.map(({ operation }) => operation);
	const reported = () => delivered.slice(1).map(({ messages }) => messages.map(({ body, status }) => [body, status]));
	return { sandbox, agency, feed, pass, message, asked, reported };
}

test("a message without a final status is looked at after 10 s, 30 s, 2 min, 10 min, 1 h, 6 h and 24 h, then no more", async () => {
	const { pass, asked, reported, feed } = await open({ minMs: 500 * hour });
	for (const [until, polls] of [
		[10 * second, 1],
		[30 * second, 2],
		[2 * minute, 3],
		[10 * minute, 4],
		[hour, 5],
		[6 * hour, 6],
		[24 * hour, 7],
		[240 * hour, 7],
	] as const) {
		const passed = Date.now() - Date.parse("2026-01-05T09:00:00Z");
		await pass(until - passed - 2);
		expect(asked()).toHaveLength(polls - 1 + Number(until === 240 * hour));
		await pass(4);
		expect(asked()).toEqual(Array.from({ length: polls }, () => "conversations.get"));
	}
	expect(reported()).toEqual([]);
	expect(feed.checkpoint).toContain('"followed":[]');
});

test("its new status is delivered, and a final one ends the polls", async () => {
	const { pass, message, asked, reported } = await open();
	message.sent();
	await pass(10 * second);
	message.delivered();
	await pass(20 * second);
	expect(reported()).toEqual([[["Hello Anna", "sent"]], [["Hello Anna", "delivered"]]]);
	message.read();
	await pass(8 * hour);
	expect(asked()).toHaveLength(2);
});

test('"read" continues after delivered', async () => {
	const { pass, message, asked, reported } = await open({ statuses: "read" });
	message.delivered();
	await pass(10 * second);
	message.read();
	await pass(20 * second);
	expect(reported()).toEqual([[["Hello Anna", "delivered"]], [["Hello Anna", "read"]]]);
	await pass(8 * hour);
	expect(asked()).toHaveLength(2);
});

test.each(["failed", "undelivered"] as const)("%s is final", async (status) => {
	const { pass, message, asked, reported } = await open({ statuses: "read" });
	message[status]();
	await pass(8 * hour);
	expect(reported()).toEqual([[["Hello Anna", status]]]);
	expect(asked()).toHaveLength(1);
});

test("a read of the conversation for another reason counts as a poll", async () => {
	const { sandbox, feed, pass, message, asked, reported } = await open();
	await pass(9 * second);
	message.sent();
	sandbox.agency().contact(anna).writes("Thanks");
	feed.pollNow();
	await pass(0);
	expect(reported()).toEqual([
		[
			["Hello Anna", "sent"],
			["Thanks", "received"],
		],
	]);
	await pass(20 * second);
	message.delivered();
	sandbox.agency().contact(anna).writes("Bye");
	const before = asked().length;
	feed.pollNow();
	await pass(0);
	expect(reported()[1]).toEqual([
		["Hello Anna", "delivered"],
		["Bye", "received"],
	]);
	await pass(8 * hour);
	expect(asked().slice(before)).toEqual(["conversations.list", "conversations.get"]);
});

test("a status that could not be read at its last poll is looked at every 3 h, up to 48 h", async () => {
	const { sandbox, pass, message, asked, reported, feed } = await open({ minMs: minute });
	const reads = () => asked().filter((operation) => operation === "conversations.get").length;
	await pass(23 * hour);
	const fault = sandbox.faults.add({ operation: "conversations.get", times: 3, effect: { status: 503 } });
	message.delivered();
	const before = reads();
	await pass(8 * hour);
	expect([reported(), reads() - before]).toEqual([[], 3]);
	fault.remove();
	await pass(3 * hour);
	expect(reported()).toEqual([[["Hello Anna", "delivered"]]]);
	expect(feed.checkpoint).toContain('"followed":[]');
});

test("a status that can never be read is given up after 48 h", async () => {
	const { sandbox, pass, asked, feed } = await open({ minMs: minute });
	const reads = () => asked().filter((operation) => operation === "conversations.get").length;
	sandbox.faults.add({ operation: "conversations.get", times: Number.POSITIVE_INFINITY, effect: { status: 503 } });
	await pass(49 * hour);
	expect(feed.checkpoint).toContain('"followed":[]');
	expect(reads()).toBeLessThanOrEqual(16);
	const before = reads();
	await pass(100 * hour);
	expect(reads()).toBe(before);
});

test("without statuses nothing is followed", async () => {
	const { pass, message, asked, reported } = await open({ statuses: false });
	message.delivered();
	await pass(8 * hour);
	expect([asked(), reported()]).toEqual([[], []]);
});

test("changes reads what is due, from a checkpoint that another process stored", async () => {
	const { agency, feed, pass, message } = await open();
	const since = feed.checkpoint;
	message.delivered();
	await pass(9 * second);
	const poll = async () => {
		const delivered: Change[] = [];
		for await (const change of changes(agency, { since, statuses: true })) delivered.push(change);
		return delivered;
	};
	expect(await poll()).toEqual([]);
	await pass(second);
	expect(await poll()).toMatchObject([{ phoneNumber: anna, messages: [{ body: "Hello Anna", status: "delivered" }] }]);
});

test("at most 1,000 messages are followed, the newest", async () => {
	const sandbox = createSandbox();
	const agency = createClient({ ...sandbox.connection, retry: false }).agency(sandbox.agency().id);
	for (let i = 0; i < 60; i++) {
		const contact = sandbox.agency().contact(`+4477009${String(i).padStart(5, "0")}`);
		contact.writes("Hello?");
		for (let j = 0; j < 20; j++) sandbox.agency().ai.replies({ contact, text: "Hello!" });
		sandbox.clock.advance({ minutes: 1 });
	}
	const feed = changes(agency, { since: "beginning", statuses: true });
	for await (const _ of feed);
	const { followed } = JSON.parse(feed.checkpoint);
	expect(followed).toHaveLength(1_000);
});

test("messages of a backfill that are older than a day are not followed", async () => {
	const sandbox = createSandbox();
	const agency = createClient({ ...sandbox.connection, retry: false }).agency(sandbox.agency().id);
	const contact = sandbox.agency().contact(anna);
	contact.writes("Hello?");
	sandbox.agency().ai.replies({ contact, text: "An old one" });
	sandbox.clock.advance({ hours: 25 });
	contact.writes("Hello again");
	sandbox.agency().ai.replies({ contact, text: "A new one" });
	const feed = changes(agency, { since: "beginning", statuses: true });
	for await (const _ of feed);
	expect(JSON.parse(feed.checkpoint).followed).toHaveLength(1);
});

/** An agency whose contact has just got a message, and a poll later. */
async function openMessage(given: Partial<ModelMessage>, options: Partial<WatchOptions> = { statuses: true }) {
	const opened = openModel({ lateMediaMs: 1 }, 1);
	const { model, contact } = opened;
	vi.setSystemTime(model.now);
	const message = model.write(contact(0), { direction: "outbound", storedAt: null, ...given });
	if (!message) throw new Error("There is no message.");
	await opened.poll(options);
	const later = async (ms: number) => {
		model.advance(ms);
		vi.setSystemTime(model.now);
		const { changes: delivered, requests } = await opened.poll(options);
		return { messages: delivered.flatMap(({ messages }) => messages), requests };
	};
	return { ...opened, message, later };
}

test.each(["deliveredAt", "readAt"] as const)("a %s that appears while the status stays is a change", async (field) => {
	const { model, message, later } = await openMessage({ status: "sent" });
	expect((await later(11 * second)).messages).toEqual([]);
	message[field] = model.now;
	const { messages } = await later(20 * second);
	expect(messages).toMatchObject([{ status: "sent", [field]: expect.any(String) }]);
	// Both are final.
	expect((await later(30 * hour)).requests).toEqual(["GET /conversations"]);
});

test('with "read" a readAt is awaited after a deliveredAt, whatever the status says', async () => {
	const { model, message, later } = await openMessage({ status: "queued" }, { statuses: "read" });
	message.deliveredAt = model.now;
	expect((await later(minute)).messages).toMatchObject([{ status: "queued", readAt: null }]);
	message.status = "delivered";
	expect((await later(2 * minute)).messages).toMatchObject([{ status: "delivered" }]);
	message.readAt = model.now;
	expect((await later(10 * minute)).messages).toMatchObject([{ status: "delivered", readAt: expect.any(String) }]);
	expect((await later(30 * hour)).requests).toEqual(["GET /conversations"]);
});

test("a message that was read when it came is final, whatever its status says", async () => {
	const { later } = await openMessage({ status: "sent", readAt: Date.UTC(2026, 0, 5, 9) });
	expect((await later(30 * hour)).requests).toEqual(["GET /conversations"]);
});

test("another time of the same meaning is not a change", async () => {
	const { message, later } = await openMessage({ status: "delivered", deliveredAt: 1 }, { statuses: "read" });
	message.deliveredAt = 2;
	expect((await later(minute)).messages).toEqual([]);
});

test.each([
	["without statuses", {}],
	["with statuses", { statuses: true } as const],
])("a photo that the service stores later brings its message again: %s", async (_name, options) => {
	const { model, message, later } = await openMessage(
		{ direction: "inbound", status: "received", storedAt: Number.POSITIVE_INFINITY },
		options,
	);
	expect((await later(11 * second)).messages).toEqual([]);
	message.storedAt = model.now + 1;
	const { messages } = await later(minutes(1));
	expect(messages).toMatchObject([{ id: message.id, mediaStored: [{ stored_url: expect.any(String) }] }]);
	// It is complete.
	expect((await later(30 * hour)).requests).toEqual(["GET /conversations"]);
});

test("a photo that is stored when its message comes is not followed, and one that never is for a day", async () => {
	const stored = await openMessage({ direction: "inbound", storedAt: 0 });
	expect((await stored.later(minute)).requests).toEqual(["GET /conversations"]);
	const never = await openMessage({ direction: "inbound", storedAt: Number.POSITIVE_INFINITY });
	let reads = 0;
	for (let minute = 0; minute < 30 * 60; minute += 5) reads += (await never.later(minutes(5))).requests.length - 1;
	// Four of its seven times were over by the first poll.
	expect(reads).toBe(5);
});

test("a photo and a status of one message are followed until both are there", async () => {
	const { model, message, later } = await openMessage({ storedAt: Number.POSITIVE_INFINITY });
	message.status = "delivered";
	expect((await later(minute)).messages).toMatchObject([{ status: "delivered", mediaStored: null }]);
	message.storedAt = model.now;
	expect((await later(minutes(3))).messages).toMatchObject([{ mediaStored: [{}] }]);
	expect((await later(30 * hour)).requests).toEqual(["GET /conversations"]);
});
