/* A change counts as delivered when the loop asks for the next one. */
import { readFileSync } from "node:fs";
import { type Change, changes, watch } from "messaging-conversations/sync";
import { expect, onTestFinished, test, vi } from "vitest";
import { messagesOf, minutes, type Opened, openModel } from "./service.ts";

const second = 1_000;

/** An agency with one message of each contact. */
function open(count = 4): Opened {
	const opened = openModel({}, count);
	for (let index = 0; index < count; index++) {
		opened.model.write(opened.contact(index));
		opened.model.advance(10 * second);
	}
	return opened;
}

/** A checkpoint without the time of its poll. */
const placeIn = (checkpoint: string): object => ({ ...JSON.parse(checkpoint), clock: 0 });

const firstMessages = [0, 1, 2, 3].map((index) => [index, [`${index}`]]);

test.each([0, 1, 2, 3])("a body that throws at change %d gets it again, from the same feed", async (failing) => {
	const opened = open();
	const feed = changes(opened.agency, { since: "beginning" });
	const stored: Change[] = [];
	let failures = 0;
	for (let isOver = false; !isOver; ) {
		const before = feed.checkpoint;
		const remaining: number[] = [];
		try {
			for await (const change of feed) {
				remaining.push(feed.remaining);
				if (stored.length === failing && failures++ < 2) throw new Error("The database is away.");
				stored.push(change);
			}
			isOver = true;
		} catch (error) {
			expect(String(error)).toContain("away");
			// It is back where it was before the change.
			expect(feed.remaining).toBe((remaining.at(-1) ?? 0) + 1);
			if (failures > 1) expect(placeIn(feed.checkpoint)).toEqual(placeIn(before));
		}
	}
	expect(failures).toBe(3);
	expect(messagesOf(opened, { changes: stored })).toEqual(firstMessages);
	expect((await opened.poll()).changes).toHaveLength(4);
	opened.since = feed.checkpoint;
	expect((await opened.poll()).changes).toEqual([]);
});

test.each(["break", "return", "throw"])("after a %s the checkpoint is from before the current change", async (way) => {
	const opened = open();
	const feed = changes(opened.agency, { since: "beginning" });
	const saved: string[] = [];
	const run = async (): Promise<void> => {
		for await (const _ of feed) {
			saved.push(feed.checkpoint);
			if (saved.length < 3) continue;
			if (way === "break") break;
			if (way === "return") return;
			throw new Error("enough");
		}
	};
	await run().catch(() => {});
	expect(feed.checkpoint).toBe(saved[1]);
	expect(feed.checkpoint).not.toBe(saved[2]);
	// A new feed delivers it again from there, and not from the checkpoint that includes it.
	opened.since = feed.checkpoint;
	expect(messagesOf(opened, await opened.poll())).toEqual(firstMessages.slice(2));
	opened.since = saved[2] ?? "";
	expect(messagesOf(opened, await opened.poll())).toEqual(firstMessages.slice(3));
});

test("next, called by hand before the change is processed, counts as delivered", async () => {
	const opened = open();
	const feed = changes(opened.agency, { since: "beginning" });
	const iterator = feed[Symbol.asyncIterator]();
	await Promise.all([iterator.next(), iterator.next(), iterator.next()]);
	await iterator.return?.();
	opened.since = feed.checkpoint;
	expect(messagesOf(opened, await opened.poll())).toEqual(firstMessages.slice(2));
});

test("a generator that is thrown into delivers its change again", async () => {
	const opened = open();
	const feed = changes(opened.agency, { since: "beginning" });
	const iterator = feed[Symbol.asyncIterator]();
	await iterator.next();
	await expect(iterator.throw?.(new Error("enough"))).rejects.toThrow("enough");
	opened.since = feed.checkpoint;
	expect(messagesOf(opened, await opened.poll())).toEqual(firstMessages);
});

test("while the body runs, the checkpoint includes the current change, the last one too", async () => {
	const opened = open();
	const feed = changes(opened.agency, { since: "beginning" });
	let count = 0;
	for await (const _ of feed) {
		count++;
		opened.since = feed.checkpoint;
		expect(feed.remaining).toBe(4 - count);
		expect(messagesOf(opened, await opened.poll())).toEqual(firstMessages.slice(count));
	}
	expect(count).toBe(4);
});

test("a body that throws at a change of state alone gets it again", async () => {
	const opened = open(1);
	await opened.poll();
	opened.contact(0).aiEnabled = false;
	const feed = changes(opened.agency, { since: opened.since });
	const run = async (): Promise<void> => {
		for await (const _ of feed) throw new Error("enough");
	};
	await expect(run()).rejects.toThrow("enough");
	const seen: unknown[] = [];
	for await (const { conversation } of feed) seen.push(conversation.summary.aiEnabled);
	expect(seen).toEqual([false]);
});

test("a body that throws at a conversation that could be read at last gets it again", async () => {
	const opened = open(2);
	opened.contact(0).unreadableUntil = opened.model.now + minutes(5);
	await opened.poll();
	opened.model.advance(minutes(10));
	const feed = changes(opened.agency, { since: opened.since });
	const run = async (): Promise<void> => {
		for await (const _ of feed) throw new Error("enough");
	};
	await expect(run()).rejects.toThrow("enough");
	const again: Change[] = [];
	for await (const change of feed) again.push(change);
	expect(messagesOf(opened, { changes: again })).toEqual([[0, ["0"]]]);
});

test("a body that throws at a new status gets it again", async () => {
	const opened = open(1);
	vi.useFakeTimers({ now: opened.model.now, toFake: ["Date"] });
	onTestFinished(() => void vi.useRealTimers());
	const sent = opened.model.write(opened.contact(0), { direction: "outbound" });
	await opened.poll({ statuses: true });
	opened.model.advance(minutes(5));
	vi.setSystemTime(opened.model.now);
	if (sent) sent.status = "delivered";
	const feed = changes(opened.agency, { since: opened.since, statuses: true });
	const run = async (): Promise<void> => {
		for await (const _ of feed) throw new Error("enough");
	};
	await expect(run()).rejects.toThrow("enough");
	const again: unknown[] = [];
	for await (const { messages } of feed) again.push(...messages.map(({ status }) => status));
	expect(again).toEqual(["delivered"]);
	// The contact's first message is still followed.
	expect(JSON.parse(feed.checkpoint).followed).toHaveLength(1);
});

test("the obvious retry loop over watch loses nothing", async () => {
	const opened = open();
	const feed = watch(opened.agency, { since: "beginning", minMs: 1, maxMs: 1 });
	const stored: Change[] = [];
	let isAway = true;
	while (stored.length < 4) {
		try {
			for await (const change of feed) {
				isAway = !isAway;
				if (!isAway) throw new Error("The database is away.");
				stored.push(change);
				if (stored.length === 4) break;
			}
		} catch (error) {
			expect(String(error)).toContain("away");
		}
	}
	expect(messagesOf(opened, { changes: stored })).toEqual(firstMessages);
});

test("a read that failed before the change is remembered when the body throws", async () => {
	const opened = open();
	opened.contact(0).unreadableUntil = opened.model.now + minutes(5);
	const feed = changes(opened.agency, { since: "beginning" });
	const run = async (): Promise<void> => {
		for await (const _ of feed) throw new Error("enough");
	};
	await expect(run()).rejects.toThrow("enough");
	expect(feed.failures).toHaveLength(1);
	opened.model.advance(minutes(10));
	opened.since = feed.checkpoint;
	expect(messagesOf(opened, await opened.poll())).toEqual([...firstMessages.slice(1), [0, ["0"]]]);
});

test("a checkpoint that was written in the middle of a poll continues there", async () => {
	// The state of the service when contact 3 had been delivered and the loop broke off.
	const opened = openModel({}, 8);
	const { model, contact } = opened;
	const began = model.now;
	for (let index = 0; index < 6; index++) {
		model.write(contact(index), { direction: index === 5 ? "outbound" : "inbound" });
		model.advance(10 * second);
	}
	contact(1).unreadableUntil = began + minutes(31);
	contact(2).hiddenUntil = began + minutes(3) + 230;
	model.advance(1_767_603_721_540 - model.now);
	for (const index of [3, 4, 6]) {
		model.write(contact(index));
		model.advance(second);
	}
	model.advance(1_767_603_725_420 - model.now);
	vi.useFakeTimers({ now: model.now, toFake: ["Date"] });
	onTestFinished(() => void vi.useRealTimers());
	opened.since = readFileSync(new URL("checkpoint-of-a-break.txt", import.meta.url), "utf8").trim();

	const statuses = { statuses: true } as const;
	const rest = await opened.poll(statuses);
	expect(messagesOf(opened, rest)).toEqual([
		[4, ["7"]],
		[6, ["8"]],
	]);
	expect(rest.feed.failures).toMatchObject([{ phoneNumber: contact(1).phoneNumber }]);
	const sent = contact(5).messages[0];
	if (sent) sent.status = "delivered";
	model.advance(minutes(2));
	vi.setSystemTime(model.now);
	expect(messagesOf(opened, await opened.poll(statuses))).toEqual([
		[2, ["2"]],
		[5, ["5"]],
	]);
	model.advance(minutes(60));
	vi.setSystemTime(model.now);
	expect(messagesOf(opened, await opened.poll(statuses))).toEqual([[1, ["1"]]]);
	expect((await opened.poll(statuses)).changes).toEqual([]);
});
