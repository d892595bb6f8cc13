/* Several changes and one checkpoint in one transaction. */
import { createClient, PartnerAbortError } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { type Change, type ChangeFeed, changes, watch } from "messaging-conversations/sync";
import { expect, onTestFinished, test, vi } from "vitest";
import { pick, randomFrom } from "../faults/random.ts";
import { messagesOf, minutes, type Opened, openModel } from "./service.ts";

const second = 1_000;

/** An agency with one message of each contact. */
function open(count = 5): Opened {
	const opened = openModel({}, count);
	for (let index = 0; index < count; index++) {
		opened.model.write(opened.contact(index));
		opened.model.advance(second);
	}
	return opened;
}

/** What a first poll delivers of contacts from one to another, that one left out. */
const firstMessages = (from: number, to: number): [number, string[]][] =>
	Array.from({ length: to - from }, (_, index) => [from + index, [`${from + index}`]]);

async function collect(feed: ChangeFeed, size: number): Promise<Change[][]> {
	const all: Change[][] = [];
	for await (const batch of feed.batches(size)) all.push(batch);
	return all;
}

/** Loops up to a batch, and leaves the loop there by an error of the body. Returns that batch. */
async function fail(feed: ChangeFeed, size: number, at = 0, inBody = (_batch: Change[]): void => {}) {
	let count = 0;
	let left: Change[] = [];
	const run = async (): Promise<void> => {
		for await (const batch of feed.batches(size)) {
			left = batch;
			if (count++ < at) continue;
			inBody(batch);
			throw new Error("The database is away.");
		}
	};
	await expect(run()).rejects.toThrow("away");
	return left;
}

test("the changes come in batches of the size, and the last one has the rest", async () => {
	const opened = open(7);
	const feed = changes(opened.agency, { since: "beginning" });
	const seen: [contacts: number, remaining: number][] = [];
	for await (const batch of feed.batches(3)) {
		seen.push([batch.length, feed.remaining]);
		// The checkpoint includes all of them.
		opened.since = feed.checkpoint;
		const done = 7 - feed.remaining;
		expect(messagesOf(opened, await opened.poll())).toEqual(firstMessages(done, 7));
	}
	expect(seen).toEqual([
		[3, 4],
		[3, 1],
		[1, 0],
	]);
	// A poll without a change has no batch.
	expect(await collect(feed, 3)).toEqual([]);
	opened.model.write(opened.contact(2));
	const [changed = [], ...others] = await collect(feed, 3);
	expect([messagesOf(opened, { changes: changed }), others]).toEqual([[[2, ["7"]]], []]);
});

test.each(["break", "return", "throw"])("after a %s all changes of the batch come again", async (way) => {
	const opened = open(7);
	const feed = changes(opened.agency, { since: "beginning" });
	const saved: string[] = [];
	const run = async (): Promise<void> => {
		for await (const _ of feed.batches(3)) {
			saved.push(feed.checkpoint);
			if (saved.length < 2) continue;
			if (way === "break") break;
			if (way === "return") return;
			throw new Error("enough");
		}
	};
	await run().catch(() => {});
	expect(feed.checkpoint).toBe(saved[0]);
	expect(feed.remaining).toBe(4);
	// The same feed, and a new one from its checkpoint.
	opened.since = feed.checkpoint;
	expect(messagesOf(opened, { changes: (await collect(feed, 3)).flat() })).toEqual(firstMessages(3, 7));
	expect(messagesOf(opened, await opened.poll())).toEqual(firstMessages(3, 7));
});

test.each([1, 2, 3, 4, 5, 6, 7, 8])("each message is stored once, wherever the loop is left: seed %i", async (seed) => {
	const random = randomFrom(seed);
	const { model, contact, agency } = openModel({}, 40);
	const size = pick(random, [1, 2, 3, 5, 8, 100]);
	/** What the last transaction has stored. */
	let stored: { checkpoint: string; messages: string[] } = { checkpoint: "beginning", messages: [] };
	let feed = changes(agency, { since: stored.checkpoint });
	let left = 0;
	const poll = async (mayLeave: boolean): Promise<void> => {
		for await (const batch of feed.batches(size)) {
			const fresh = batch.flatMap(({ messages }) => messages.map(({ messageSid }) => messageSid));
			const way = mayLeave ? random() : 1;
			if (way < 0.3) left++;
			if (way < 0.15) throw new Error("The database is away.");
			if (way < 0.3) break;
			stored = { checkpoint: feed.checkpoint, messages: [...stored.messages, ...fresh] };
		}
		// Where the loop has left the feed is as true.
		if (random() < 0.5) stored = { ...stored, checkpoint: feed.checkpoint };
	};
	for (let round = 0; round < 15; round++) {
		for (let count = 0; count < 12; count++) {
			model.write(contact(Math.floor(random() * 40)));
			model.advance(200 * random());
		}
		contact(Math.floor(random() * 40)).unreadableUntil = model.now + minutes(2) * random();
		for (let polls = 0; polls < 2; polls++) await poll(true).catch(() => {});
		if (random() < 0.5) feed = changes(agency, { since: stored.checkpoint });
		model.advance(pick(random, [second, 30 * second, minutes(3)]) * random());
	}
	model.advance(minutes(5));
	for (let polls = 0; polls < 2; polls++) await poll(false);
	const written = model.conversations.flatMap(({ messages }) => messages.map(({ serial }) => `SM${serial}`));
	expect(left).toBeGreaterThan(2);
	expect(stored.messages.sort()).toEqual(written.sort());
});

test("a read that failed within a batch that comes again is not forgotten", async () => {
	const opened = open(6);
	opened.contact(2).unreadableUntil = opened.model.now + minutes(5);
	const feed = changes(opened.agency, { since: "beginning" });
	const before = feed.checkpoint;
	const left = await fail(feed, 100);
	expect(messagesOf(opened, { changes: left })).toEqual([...firstMessages(0, 2), ...firstMessages(3, 6)]);
	expect(feed.failures).toMatchObject([{ phoneNumber: opened.contact(2).phoneNumber }]);
	// All six are still to come, and the one that failed is not taken for delivered.
	expect(feed.remaining).toBe(6);
	expect(JSON.parse(feed.checkpoint).snapshot.pending).toHaveLength(6);
	expect(JSON.parse(feed.checkpoint).known).toEqual(JSON.parse(before).known);
	opened.model.advance(minutes(10));
	opened.since = feed.checkpoint;
	expect(messagesOf(opened, await opened.poll())).toEqual(firstMessages(0, 6));
	expect((await opened.poll()).changes).toEqual([]);
});

test("a read that failed before a batch that comes again is remembered as failed", async () => {
	const opened = open(3);
	opened.contact(0).unreadableUntil = opened.model.now + minutes(5);
	const feed = changes(opened.agency, { since: "beginning" });
	await fail(feed, 100);
	const known: [string, { is: string }][] = JSON.parse(feed.checkpoint).known;
	expect(known.map(([phoneNumber, { is }]) => [phoneNumber, is])).toEqual([[opened.contact(0).phoneNumber, "failing"]]);
});

test("conversations that could be read at last come again with their batch", async () => {
	const opened = open(6);
	const { model, contact } = opened;
	for (const index of [1, 3, 4]) contact(index).unreadableUntil = model.now + minutes(5);
	await opened.poll();
	model.advance(minutes(10));
	const feed = changes(opened.agency, { since: opened.since });
	for (let times = 0; times < 2; times++) {
		const left = await fail(feed, 2);
		expect(left).toHaveLength(2);
	}
	const known: [string, { is: string }][] = JSON.parse(feed.checkpoint).known;
	expect(known.filter(([, { is }]) => is === "failing")).toHaveLength(3);
	const again = (await collect(feed, 2)).map((batch) => messagesOf(opened, { changes: batch }).map(([index]) => index));
	expect(again.map(({ length }) => length)).toEqual([2, 1]);
	expect(again.flat().sort()).toEqual([1, 3, 4]);
});

test("a contact that is forgotten in the body leaves the checkpoint, and the others of the batch come again", async () => {
	const opened = open(6);
	const { contact } = opened;
	const feed = changes(opened.agency, { since: "beginning" });
	const forgotten = [1, 5].map((index) => contact(index).phoneNumber);
	/** One of the batch, and one that is still to come. */
	await fail(feed, 4, 0, () => {
		for (const phoneNumber of forgotten) feed.erase(phoneNumber);
		for (const phoneNumber of forgotten) expect(feed.checkpoint).not.toContain(phoneNumber);
	});
	for (const phoneNumber of forgotten) expect(feed.checkpoint).not.toContain(phoneNumber);
	opened.since = feed.checkpoint;
	const skip = (phoneNumber: string): boolean => forgotten.includes(phoneNumber);
	expect(messagesOf(opened, await opened.poll({ skip })).map(([index]) => index)).toEqual([0, 2, 3, 4]);
	expect((await opened.poll({ skip })).changes).toEqual([]);
});

test("a contact that is forgotten in the body of a batch that is stored does not come again", async () => {
	const opened = open(6);
	const { contact, model } = opened;
	const feed = changes(opened.agency, { since: "beginning" });
	const seen: Change[] = [];
	for await (const batch of feed.batches(3)) {
		seen.push(...batch);
		for (const index of [1, 5]) feed.erase(contact(index).phoneNumber);
		opened.since = feed.checkpoint;
	}
	expect(messagesOf(opened, { changes: seen }).map(([index]) => index)).toEqual([0, 1, 2, 3, 4]);
	for (const index of [1, 5]) expect(opened.since).not.toContain(contact(index).phoneNumber);
	model.write(contact(5));
	expect(messagesOf(opened, await opened.poll())).toEqual([[5, ["6"]]]);
});

test("a contact that is forgotten while a batch is read does not come with it", async () => {
	const opened = open(4);
	const { contact } = opened;
	const erased = contact(1).phoneNumber;
	// Asked about the last contact, after the others were read.
	const skip = (phoneNumber: string): boolean => {
		if (phoneNumber === contact(3).phoneNumber) feed.erase(erased);
		return false;
	};
	const feed = changes(opened.agency, { since: "beginning", skip, concurrency: 1 });
	const [batch = [], ...others] = await collect(feed, 100);
	expect([messagesOf(opened, { changes: batch }).map(([index]) => index), others]).toEqual([[0, 2, 3], []]);
	expect(feed.checkpoint).not.toContain(erased);
	opened.since = feed.checkpoint;
	expect((await opened.poll()).changes).toEqual([]);
});

test("a batch whose only contact is forgotten while it is read does not come", async () => {
	const opened = open(2);
	const [erased, last] = [0, 1].map((index) => opened.contact(index).phoneNumber);
	const skip = (phoneNumber: string): boolean => {
		if (phoneNumber === last) feed.erase(erased ?? "");
		return phoneNumber === last;
	};
	const feed = changes(opened.agency, { since: "beginning", skip, concurrency: 1 });
	expect(await collect(feed, 100)).toEqual([]);
	expect(feed.remaining).toBe(0);
});

test("a contact that is skipped within a batch that comes again is asked about again", async () => {
	const opened = open(5);
	const { contact, model } = opened;
	const skipped = contact(2).phoneNumber;
	let asked = 0;
	const skip = (phoneNumber: string): boolean => {
		if (phoneNumber === skipped) asked++;
		return phoneNumber === skipped;
	};
	const feed = changes(opened.agency, { since: "beginning", skip });
	await fail(feed, 100);
	const before = asked;
	expect(messagesOf(opened, { changes: (await collect(feed, 100)).flat() }).map(([index]) => index)).toEqual([
		0, 1, 3, 4,
	]);
	expect(asked).toBeGreaterThan(before);
	// What was skipped counts as delivered.
	opened.since = feed.checkpoint;
	model.write(contact(2));
	expect(messagesOf(opened, await opened.poll())).toEqual([[2, ["5"]]]);
});

test("statuses come in batches of their own, which come again if the body throws", async () => {
	const opened = openModel({}, 4);
	const { model, contact, agency } = opened;
	vi.useFakeTimers({ now: model.now, toFake: ["Date"] });
	onTestFinished(() => void vi.useRealTimers());
	const sent = [0, 1, 2].map((index) => model.write(contact(index), { direction: "outbound" }));
	await opened.poll({ statuses: true });
	model.advance(minutes(5));
	vi.setSystemTime(model.now);
	for (const message of sent) if (message) message.status = "delivered";
	model.write(contact(3), { direction: "inbound" });
	const feed = changes(agency, { since: opened.since, statuses: true });
	const reads = (): number => model.requests.filter((request) => /conversations\/\+/.test(request)).length;
	const before = reads();
	const statusesOf = (batch: readonly Change[] = []): unknown[] =>
		batch.flatMap(({ messages }) => messages.map(({ status }) => status));
	for await (const batch of feed.batches(100)) {
		// A new message does not wait until statuses are read.
		expect([messagesOf(opened, { changes: batch }), reads() - before]).toEqual([[[3, ["3"]]], 1]);
		break;
	}
	const left = await fail(feed, 100, 1);
	expect(statusesOf(left)).toEqual(["delivered", "delivered", "delivered"]);
	expect(JSON.parse(feed.checkpoint).followed).toHaveLength(3);
	const [again, ...others] = await collect(feed, 100);
	expect([statusesOf(again), others]).toEqual([["delivered", "delivered", "delivered"], []]);
	expect(JSON.parse(feed.checkpoint).followed).toEqual([]);
});

test("failed reads of earlier polls do not hold up new messages", async () => {
	const opened = open(2);
	const { model, contact } = opened;
	contact(0).unreadableUntil = model.now + minutes(60);
	await opened.poll();
	model.write(contact(1));
	const feed = changes(opened.agency, { since: opened.since });
	const before = model.requests.length;
	for await (const batch of feed.batches(100)) {
		expect(messagesOf(opened, { changes: batch })).toEqual([[1, ["2"]]]);
		expect(model.requests.slice(before).join()).not.toContain(contact(0).phoneNumber);
		break;
	}
});

test("a batch ends after as many reads as its size, even if some of them bring nothing", async () => {
	const opened = open(6);
	const { model, contact } = opened;
	for (const index of [1, 2, 3, 4]) contact(index).unreadableUntil = model.now + minutes(60);
	const feed = changes(opened.agency, { since: "beginning", concurrency: 1 });
	for await (const batch of feed.batches(3)) {
		expect(messagesOf(opened, { changes: batch })).toEqual([[0, ["0"]]]);
		expect(model.requests.join()).not.toContain(contact(3).phoneNumber);
		break;
	}
});

test("watch yields what a poll has found before it pauses", async () => {
	const opened = open(3);
	const feed = watch(opened.agency, { since: "beginning", minMs: minutes(600), maxMs: minutes(600) });
	const seen: number[] = [];
	for await (const batch of feed.batches(100)) {
		seen.push(batch.length);
		if (seen.length === 2) break;
		// With the next poll.
		for (const index of [0, 1]) opened.model.write(opened.contact(index));
		feed.pollNow();
	}
	expect(seen).toEqual([3, 2]);
	expect(
		messagesOf(opened, { changes: (await collect(changes(opened.agency, { since: feed.checkpoint }), 100)).flat() }),
	).toEqual([
		[0, ["3"]],
		[1, ["4"]],
	]);
});

test("an abort while a batch is read delivers nothing of it, and the next poll does", async () => {
	const opened = open(5);
	const stop = new AbortController();
	const skip = (phoneNumber: string): boolean => {
		if (phoneNumber === opened.contact(3).phoneNumber) stop.abort();
		return false;
	};
	const feed = changes(opened.agency, { since: "beginning", skip, concurrency: 1, signal: stop.signal });
	const seen: Change[][] = [];
	const run = async (): Promise<void> => {
		for await (const batch of feed.batches(100)) seen.push(batch);
	};
	await expect(run()).rejects.toThrow(PartnerAbortError);
	expect(seen).toEqual([]);
	expect(feed.remaining).toBe(5);
	opened.since = feed.checkpoint;
	expect(messagesOf(opened, await opened.poll())).toEqual(firstMessages(0, 5));
});

test("a batch whose body runs at an abort counts as delivered", async () => {
	const opened = open(5);
	const stop = new AbortController();
	const feed = changes(opened.agency, { since: "beginning", signal: stop.signal });
	const run = async (): Promise<void> => {
		for await (const _ of feed.batches(2)) stop.abort();
	};
	await expect(run()).rejects.toThrow(PartnerAbortError);
	opened.since = feed.checkpoint;
	expect(messagesOf(opened, await opened.poll())).toEqual(firstMessages(2, 5));
});

test("a loop that is left while a batch is read ends at once, and leaves the feed before it", async () => {
	const opened = open(3);
	const skip = (phoneNumber: string): boolean | Promise<boolean> =>
		phoneNumber === opened.contact(2).phoneNumber ? new Promise(() => {}) : false;
	const feed = changes(opened.agency, { since: "beginning", skip });
	const iterator = feed.batches(100)[Symbol.asyncIterator]();
	const next = iterator.next();
	await vi.waitFor(() => expect(feed.remaining).toBe(1));
	expect(await iterator.return?.()).toMatchObject({ done: true });
	expect(await next).toMatchObject({ done: true });
	expect(feed.remaining).toBe(3);
	opened.since = feed.checkpoint;
	expect(messagesOf(opened, await opened.poll())).toEqual(firstMessages(0, 3));
});

test("a read whose error ends each poll does not hold up what comes before it", async () => {
	const opened = open(5);
	const { model, contact } = opened;
	const refused = contact(3).phoneNumber;
	const fetch: typeof globalThis.fetch = async (input, init) =>
		String(input).includes(encodeURIComponent(refused))
			? Response.json({ _tag: "PartnerForbidden", message: "No." }, { status: 403 })
			: model.fetch(input, init);
	const { agencyId } = model;
	const agency = createClient({
		baseUrl: "https://model.invalid/api/v1",
		apiKey: "model_live.a.b",
		fetch,
		retry: false,
	});
	const feed = changes(agency.agency(agencyId), { since: "beginning" });
	const seen: Change[] = [];
	const run = async (): Promise<void> => {
		for await (const batch of feed.batches(100)) {
			seen.push(...batch);
			opened.since = feed.checkpoint;
		}
	};
	await expect(run()).rejects.toMatchObject({ _tag: "PartnerForbidden" });
	expect(messagesOf(opened, { changes: seen })).toEqual(firstMessages(0, 3));
	expect(messagesOf(opened, await opened.poll())).toEqual(firstMessages(3, 5));
});

test("an outage ends a poll after the batch that was read before it", async () => {
	const opened = open(30);
	const { model, contact } = opened;
	for (let index = 3; index < 30; index++) contact(index).unreadableUntil = model.now + minutes(5);
	const feed = changes(opened.agency, { since: "beginning" });
	const seen: Change[] = [];
	const run = async (): Promise<void> => {
		for await (const batch of feed.batches(100)) seen.push(...batch);
	};
	await expect(run()).rejects.toMatchObject({ _tag: "PartnerInternalError" });
	expect(messagesOf(opened, { changes: seen })).toEqual(firstMessages(0, 3));
	opened.since = feed.checkpoint;
	model.advance(minutes(10));
	const rest = messagesOf(opened, await opened.poll());
	expect(rest.sort(([a], [b]) => a - b)).toEqual(firstMessages(3, 30));
});

test("loops over changes and over batches may alternate, and not overlap", async () => {
	const opened = open(4);
	const feed = changes(opened.agency, { since: "beginning" });
	for await (const change of feed) {
		expect(messagesOf(opened, { changes: [change] })).toEqual(firstMessages(0, 1));
		await expect(collect(feed, 2)).rejects.toMatchObject({ field: "feed" });
		break;
	}
	const batches = feed.batches(2);
	for await (const batch of batches) {
		expect(messagesOf(opened, { changes: batch })).toEqual(firstMessages(0, 2));
		break;
	}
	const again: number[] = [];
	for await (const batch of batches) again.push(batch.length);
	expect(again).toEqual([2, 2]);
});

test("the sandbox's page shows the changes of batches that were delivered", async () => {
	const sandbox = createSandbox();
	const agency = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
	for (const index of [1, 2, 3]) sandbox.agency().contact(`+44770090010${index}`).writes("Hello?");
	const feed = changes(agency, { since: "beginning" });
	await fail(feed, 2, 1);
	const { polls } = await sandbox.observed();
	expect(polls).toMatchObject([{ feed: "changes", count: 2, remaining: 1 }]);
});
