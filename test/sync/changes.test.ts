import { createClient, PartnerForbidden, PartnerInternalError } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { type Change, changes, fingerprintOf, reconcile, watch } from "messaging-conversations/sync";
import { expect, onTestFinished, test, vi } from "vitest";
import { bodyMark, cursorMark } from "./model.ts";
import { messagesOf, minutes, openModel } from "./service.ts";

const second = 1_000;
const list = "GET /conversations";

test("the beginning is all conversations with all their messages, the oldest change first, each message once", async () => {
	const opened = openModel();
	const { model, contact } = opened;
	for (const index of [1, 0, 2, 0]) {
		model.write(contact(index));
		model.advance(minutes(3));
	}
	expect(messagesOf(opened, await opened.poll())).toEqual([
		[1, ["0"]],
		[2, ["2"]],
		[0, ["1", "3"]],
	]);
	const quiet = await opened.poll();
	expect(quiet.changes).toEqual([]);
	expect(quiet.requests).toEqual([list]);
});

test("now delivers nothing that is there, and everything that comes, also at the very same time", async () => {
	const sandbox = createSandbox();
	const anna = sandbox.agency().contact("+447700900101", { name: "Anna" });
	anna.writes("Is the flat still free?");
	const agency = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
	const first = changes(agency, { since: "now" });
	for await (const change of first) expect(change).toBeUndefined();
	anna.writes("Hello?");
	const bodies: (string | null)[] = [];
	for await (const { messages } of changes(agency, { since: first.checkpoint })) {
		bodies.push(...messages.map(({ body }) => body));
	}
	expect(bodies).toEqual(["Hello?"]);
});

test("a number that the service lists is read, also one that no numbering plan knows", async () => {
	const sandbox = createSandbox();
	const numbers = ["+5215512345678", "+999123456789", "+3247012345"];
	for (const number of numbers) sandbox.agency().contact(number).writes("Hello");
	const agency = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
	const read: string[] = [];
	for await (const { phoneNumber } of changes(agency, { since: "beginning" })) read.push(phoneNumber);
	expect(read.sort()).toEqual(numbers.sort());
	const stored: string[] = [];
	for await (const { phoneNumber } of reconcile(agency, { stored: [] })) stored.push(phoneNumber);
	expect(stored.sort()).toEqual(numbers);
});

test("now delivers what comes between the list and the reads of the first poll, and nothing twice", async () => {
	const sandbox = createSandbox();
	const [anna, bert] = ["+447700900101", "+447700900102"].map((number) => sandbox.agency().contact(number));
	anna?.writes("Is the flat still free?");
	bert?.writes("Good morning");
	let isWritten = false;
	const client = createClient({
		...sandbox.connection,
		onAttempt({ operation }) {
			if (operation !== "conversations.list" || isWritten) return;
			isWritten = true;
			sandbox.clock.advance({ ms: 10 });
			bert?.writes("Hello?");
		},
	});
	const agency = client.agency(sandbox.agency().id);
	const first = changes(agency, { since: "now" });
	const bodies: (string | null)[] = [];
	for await (const { messages } of first) bodies.push(...messages.map(({ body }) => body));
	expect(bodies).toEqual(["Hello?"]);
	for await (const change of changes(agency, { since: first.checkpoint })) expect(change).toBeUndefined();
});

test("now delivers what comes for a conversation that its list passed by, and nothing older", async () => {
	const opened = openModel({}, 6);
	const { model, contact } = opened;
	for (let index = 0; index < 6; index++) {
		model.write(contact(index));
		model.advance(second);
	}
	model.pageSize = 3;
	opened.since = "now";
	// Between the first page and the second.
	model.schedule({ at: model.now + 300, happen: () => model.write(contact(0)) });
	expect(messagesOf(opened, await opened.poll())).toEqual([[0, ["6"]]]);
	expect(messagesOf(opened, await opened.poll())).toEqual([]);
});

test("now continues from the checkpoint of a first poll that was not through", async () => {
	const opened = openModel({}, 4);
	const { model, contact } = opened;
	for (let index = 0; index < 3; index++) {
		model.write(contact(index));
		model.advance(second);
	}
	// Between the list and the first read.
	model.schedule({ at: model.now + 300, happen: () => model.write(contact(0)) });
	opened.since = "now";
	expect(messagesOf(opened, await opened.pollUpTo(0, { concurrency: 1 }))).toEqual([[0, ["3"]]]);
	model.write(contact(0));
	model.write(contact(2));
	// The first message of a contact whom the first list did not have.
	model.advance(second);
	model.write(contact(3));
	expect(messagesOf(opened, await opened.poll())).toEqual([
		[0, ["4"]],
		[3, ["6"]],
		[2, ["5"]],
	]);
	expect(messagesOf(opened, await opened.poll())).toEqual([]);
});

test("now delivers no older message of a conversation that its first poll could not read, and all newer ones", async () => {
	const opened = openModel();
	const { model, contact } = opened;
	for (let index = 0; index < 3; index++) model.write(contact(index), { at: model.now - second });
	contact(0).unreadableUntil = model.now + 1_000;
	opened.since = "now";
	expect((await opened.poll()).error).toBeInstanceOf(PartnerInternalError);
	model.write(contact(0));
	model.advance(second);
	expect(messagesOf(opened, await opened.poll())).toEqual([[0, ["3"]]]);
});

test("now, where nothing is yet and no answer says the time, is the beginning", async () => {
	const opened = openModel({ withoutDate: true });
	opened.since = "now";
	expect((await opened.poll()).changes).toEqual([]);
	opened.model.write(opened.contact(0));
	opened.model.advance(minutes(30));
	expect(messagesOf(opened, await opened.poll())).toEqual([[0, ["0"]]]);
});

test("a poll that was to begin now and failed begins now the next time", async () => {
	const opened = openModel({ faults: 1 });
	opened.since = "now";
	expect((await opened.poll()).error).toBeInstanceOf(PartnerInternalError);
	opened.model.write(opened.contact(0));
	opened.model.advance(minutes(5));
	opened.model.isFaulty = false;
	expect((await opened.poll()).changes).toEqual([]);
});

test("a message that becomes visible late is delivered, up to the lookback and not a millisecond more", async () => {
	const opened = openModel({ withoutDate: true });
	const { model, contact } = opened;
	model.write(contact(0));
	const mark = model.now;
	await opened.poll();
	model.write(contact(1), { at: mark - minutes(2) });
	model.write(contact(2), { at: mark - minutes(2) - 1 });
	expect(messagesOf(opened, await opened.poll())).toEqual([[1, ["1"]]]);
	expect(messagesOf(opened, await opened.poll({ lookbackMs: minutes(3) }))).toEqual([[2, ["2"]]]);
});

test("a message that the summary knows before the pages list it is delivered when they do, and once", async () => {
	const opened = openModel({ listLagMs: 5 * second });
	const { model, contact } = opened;
	model.write(contact(0));
	model.advance(minutes(10));
	await opened.poll();
	model.write(contact(0));
	expect(messagesOf(opened, await opened.poll())).toEqual([[0, []]]);
	const behind = await opened.poll();
	expect([behind.changes, behind.requests.length]).toEqual([[], 2]);
	model.advance(minutes(20));
	model.write(contact(1));
	model.advance(minutes(1));
	expect(messagesOf(opened, await opened.poll())).toEqual([
		[0, ["1"]],
		[1, ["2"]],
	]);
	expect((await opened.poll()).requests).toEqual([list]);
});

test("a summary that stays ahead of its pages costs reads for the lookback and no longer", async () => {
	const opened = openModel({ listLagMs: Number.POSITIVE_INFINITY });
	opened.model.write(opened.contact(0));
	await opened.poll();
	expect((await opened.poll()).requests).toHaveLength(2);
	opened.model.advance(minutes(3));
	await opened.poll();
	expect((await opened.poll()).requests).toEqual([list]);
});

test("a late message below the newest one of its conversation is delivered too", async () => {
	const opened = openModel();
	const { model, contact } = opened;
	model.write(contact(0));
	await opened.poll();
	model.write(contact(0), { at: model.now - minutes(1) });
	expect(messagesOf(opened, await opened.poll())).toEqual([[0, ["1"]]]);
});

test("a time in the future holds up nothing: the high-water mark is no later than the service's Date", async () => {
	const opened = openModel();
	const { model, contact } = opened;
	model.write(contact(0), { at: model.now + minutes(60) });
	await opened.poll();
	model.advance(minutes(10));
	model.write(contact(1));
	expect(messagesOf(opened, await opened.poll())).toEqual([[1, ["1"]]]);
});

test("the local clock does not matter", async () => {
	const opened = openModel();
	opened.model.write(opened.contact(0));
	vi.useFakeTimers({ now: new Date("2050-01-01T00:00:00Z"), toFake: ["Date"] });
	await opened.poll();
	opened.model.advance(minutes(10));
	opened.model.write(opened.contact(1));
	vi.setSystemTime(new Date("1999-01-01T00:00:00Z"));
	expect(messagesOf(opened, await opened.poll())).toEqual([[1, ["1"]]]);
	vi.useRealTimers();
});

test.each(["first", "last"] as const)(
	"rows without a time, listed %s, neither end a scan nor set the mark",
	async (untimed) => {
		const opened = openModel({ untimed, withoutDate: true }, 12);
		const { model, contact } = opened;
		model.pageSize = 3;
		for (const index of [0, 1, 2, 3, 4]) {
			model.write(contact(index));
			model.advance(second);
		}
		const first = await opened.poll();
		expect(first.changes).toHaveLength(12);
		expect(first.feed.checkpoint).toContain(`"position":${contact(4).messages[0]?.at}`);
		model.write(contact(5));
		expect(messagesOf(opened, await opened.poll())).toEqual([[5, ["5"]]]);
	},
);

test("rows of one time are all seen, although the cursor between them holds only the time", async () => {
	const opened = openModel({ cursors: "times" }, 6);
	const { model, contact } = opened;
	model.pageSize = 3;
	for (const [index, pause] of [0, 1, 0, 1, 1, 1].entries()) {
		model.write(contact(index));
		model.advance(pause * second);
	}
	expect((await opened.poll()).changes).toHaveLength(6);
});

test("a conversation that moves to the top while the list is read keeps its older messages", async () => {
	const opened = openModel({}, 9);
	const { model, contact } = opened;
	model.write(contact(8));
	await opened.poll();
	model.advance(minutes(60));
	for (let index = 0; index < 8; index++) {
		model.write(contact(index));
		model.advance(minutes(5));
	}
	model.pageSize = 3;
	// Between the first page and the second.
	model.schedule({ at: model.now + 300, happen: () => void model.write(contact(0)) });
	const { changes } = await opened.poll();
	expect(messagesOf(opened, { changes }).find(([index]) => index === 0)).toEqual([0, ["1", "9"]]);
});

test("the mark never goes back: what is hidden at the top brings nothing twice", async () => {
	const opened = openModel({ withoutDate: true });
	const { model, contact } = opened;
	model.write(contact(0));
	model.advance(minutes(10));
	model.write(contact(1));
	await opened.poll();
	contact(1).hiddenUntil = model.now + minutes(1);
	expect((await opened.poll()).changes).toEqual([]);
	expect((await opened.poll()).changes).toEqual([]);
});

test("a scan that continues after a break keeps its high-water mark: what changes meanwhile below is not passed by", async () => {
	const opened = openModel({}, 4);
	const { model, contact } = opened;
	for (let index = 0; index < 4; index++) {
		model.write(contact(index));
		model.advance(second);
	}
	await opened.pollUpTo(2);
	// It was delivered. A late message does not lift it above what the scan has passed.
	model.write(contact(0), { at: (contact(0).messages[0]?.at ?? 0) - second });
	model.advance(minutes(60));
	model.write(contact(3));
	await opened.poll();
	const { changes: late } = await opened.poll();
	expect(messagesOf(opened, { changes: late })).toEqual([[0, ["4"]]]);
});

test("a row that is pushed down by others is read once", async () => {
	const opened = openModel({ cursors: "offsets" }, 9);
	const { model, contact } = opened;
	for (let index = 0; index < 8; index++) model.write(contact(index));
	model.pageSize = 3;
	model.schedule({ at: model.now + 300, happen: () => void model.write(contact(8)) });
	const { changes } = await opened.poll();
	expect(new Set(changes.map(({ phoneNumber }) => phoneNumber)).size).toBe(changes.length);
});

test("in the loop the checkpoint is what to continue from after the current change", async () => {
	const opened = openModel({}, 5);
	const { model, agency, contact } = opened;
	for (let index = 0; index < 5; index++) {
		model.write(contact(index));
		model.advance(minutes(10));
	}
	for (let stop = 1; stop <= 5; stop++) {
		const delivered: Change[] = [];
		let since = "beginning";
		const feed = changes(agency, { since });
		for await (const change of feed) {
			delivered.push(change);
			since = feed.checkpoint;
			if (delivered.length === stop) break;
		}
		const rest = changes(agency, { since });
		for await (const change of rest) delivered.push(change);
		expect(messagesOf(opened, { changes: delivered })).toEqual([0, 1, 2, 3, 4].map((index) => [index, [`${index}`]]));
	}
});

test("what was delivered before a break, and has moved up since, brings its new messages alone", async () => {
	const opened = openModel({}, 4);
	const { model, contact } = opened;
	for (const index of [0, 1, 2, 3, 2, 1]) {
		model.write(contact(index));
		model.advance(minutes(20));
	}
	await opened.pollUpTo(3);
	// Contact 0 was delivered, contact 1 was still to come; both have something new.
	model.write(contact(0));
	model.write(contact(1));
	const { changes: rest } = await opened.poll();
	expect(messagesOf(opened, { changes: rest }).sort()).toEqual([
		[0, ["6"]],
		[1, ["1", "5", "7"]],
		[2, ["2", "4"]],
	]);
});

test("a new message without a time brings nothing twice after a break, if an older new one has a time", async () => {
	const opened = openModel({}, 4);
	const { model, contact } = opened;
	for (const index of [0, 1, 2]) {
		model.write(contact(index));
		model.advance(minutes(20));
	}
	await opened.pollUpTo(1);
	for (const undated of [false, true, false]) model.write(contact(0), { undated });
	const { changes: rest } = await opened.poll();
	expect(messagesOf(opened, { changes: rest }).sort()).toEqual([
		[0, ["3", "4", "5"]],
		[2, ["2"]],
	]);
});

test("what has moved up during a break comes first, so that a second break costs it no message", async () => {
	const opened = openModel({}, 4);
	const { model, agency, contact } = opened;
	for (let index = 0; index < 4; index++) {
		model.write(contact(index));
		model.advance(minutes(10));
	}
	const delivered: Change[] = [];
	for (let rest = 4; rest > 0; rest--) {
		const feed = changes(agency, { since: opened.since });
		for await (const change of feed) {
			delivered.push(change);
			opened.since = feed.checkpoint;
			break;
		}
		// Contact 1 was still to come when contact 0 was delivered.
		if (rest === 4) model.write(contact(1));
	}
	expect((await opened.poll()).changes).toEqual([]);
	expect(messagesOf(opened, { changes: delivered })).toEqual([
		[0, ["0"]],
		[1, ["1", "4"]],
		[2, ["2"]],
		[3, ["3"]],
	]);
});

test("what an earlier poll delivered of a conversation is remembered until its turn comes, however long the poll", async () => {
	const opened = openModel({}, 3);
	const { model, agency, contact } = opened;
	model.write(contact(0));
	model.advance(second);
	expect(messagesOf(opened, await opened.poll())).toEqual([[0, ["0"]]]);
	for (const index of [1, 2, 0]) {
		model.advance(minutes(10));
		model.write(contact(index));
	}
	const delivered: Change[] = [];
	const feed = changes(agency, { since: opened.since });
	for await (const change of feed) {
		delivered.push(change);
		opened.since = feed.checkpoint;
	}
	expect(messagesOf(opened, { changes: delivered })).toEqual([
		[1, ["1"]],
		[2, ["2"]],
		[0, ["3"]],
	]);
});

test("a change of a conversation's state alone is delivered while the conversation is recent", async () => {
	const opened = openModel();
	const { model, contact } = opened;
	model.write(contact(0));
	await opened.poll();
	contact(0).aiEnabled = false;
	const { changes } = await opened.poll();
	expect(changes).toMatchObject([{ conversation: { summary: { aiEnabled: false } }, messages: [] }]);
});

test("more new messages than a page holds are all delivered, oldest first", async () => {
	const opened = openModel({}, 1);
	const { model, contact } = opened;
	for (let i = 0; i < 250; i++) {
		model.write(contact(0));
		model.advance(2 * second);
	}
	const { changes, requests } = await opened.poll();
	expect(messagesOf(opened, { changes })).toEqual([[0, Array.from({ length: 250 }, (_, i) => `${i}`)]]);
	expect(requests).toHaveLength(4);
	// Of a long conversation no more is read than is new.
	model.advance(minutes(10));
	model.write(contact(0));
	expect((await opened.poll()).requests).toHaveLength(2);
});

test("a conversation that is gone between the list and its read is passed by", async () => {
	const opened = openModel();
	const { model, contact } = opened;
	for (const index of [0, 1, 2]) model.write(contact(index));
	model.schedule({ at: model.now + 230, happen: () => void (contact(1).hiddenUntil = model.now + minutes(1)) });
	const { changes, error } = await opened.poll();
	expect(error).toBeUndefined();
	expect(messagesOf(opened, { changes }).map(([index]) => index)).toEqual([0, 2]);
	model.advance(minutes(1));
	expect(messagesOf(opened, await opened.poll())).toEqual([[1, ["1"]]]);
});

test("a conversation that was gone for one read brings its new messages alone, and all of them", async () => {
	const opened = openModel();
	const { model, contact } = opened;
	model.write(contact(0));
	await opened.poll();
	model.advance(minutes(1));
	model.write(contact(0));
	const gone = () => void (contact(0).hiddenUntil = model.now + 10 * second);
	model.schedule({ at: model.now + 230, happen: gone });
	expect((await opened.poll()).changes).toEqual([]);
	model.advance(minutes(1));
	expect(messagesOf(opened, await opened.poll())).toEqual([[0, ["1"]]]);
	for (let i = 0; i < 2; i++) {
		model.advance(minutes(5));
		model.write(contact(0));
	}
	model.schedule({ at: model.now + 230, happen: gone });
	expect((await opened.poll()).changes).toEqual([]);
	model.advance(minutes(1));
	expect(messagesOf(opened, await opened.poll())).toEqual([[0, ["2", "3"]]]);
	expect((await opened.poll()).requests).toEqual([list]);
});

test("a conversation that cannot be read does not block the others, and is delivered whole when it can be read again", async () => {
	const opened = openModel({}, 4);
	const { model, contact } = opened;
	for (const index of [0, 1, 2, 3]) model.write(contact(index));
	contact(1).unreadableUntil = model.now + minutes(90);
	const first = await opened.poll();
	expect(messagesOf(opened, first).map(([index]) => index)).toEqual([0, 2, 3]);
	expect(first.error).toBeInstanceOf(PartnerInternalError);
	expect(first.feed.failures).toMatchObject([
		{ phoneNumber: contact(1).phoneNumber, error: first.error, leftToReconcile: false },
	]);
	for (let i = 0; i < 3; i++) {
		model.advance(minutes(20));
		model.write(contact(0));
		model.write(contact(1));
		expect(messagesOf(opened, await opened.poll())).toEqual([[0, [`${4 + 2 * i}`]]]);
	}
	model.advance(minutes(60));
	expect(messagesOf(opened, await opened.poll())).toEqual([[1, ["1", "5", "7", "9"]]]);
	expect((await opened.poll()).requests).toEqual([list]);
});

test("a conversation that cannot be read for 24 hours is left to reconcile, and said so", async () => {
	const opened = openModel({}, 2);
	const { model, contact } = opened;
	model.write(contact(0));
	contact(0).unreadableUntil = Number.POSITIVE_INFINITY;
	await opened.poll();
	model.advance(minutes(24 * 60 - 1));
	expect((await opened.poll()).feed.failures).toMatchObject([{ leftToReconcile: false }]);
	model.advance(minutes(2));
	const last = await opened.poll();
	expect(last.feed.failures).toMatchObject([{ phoneNumber: contact(0).phoneNumber, leftToReconcile: true }]);
	expect(last.error).toBeInstanceOf(PartnerInternalError);
	model.write(contact(1));
	const after = await opened.poll();
	expect([after.error, after.requests.length]).toEqual([undefined, 2]);
});

test("an outage of all reads ends the poll after a few, and what was not read is delivered by the next", async () => {
	const opened = openModel({}, 30);
	const { model, contact } = opened;
	for (let index = 0; index < 30; index++) {
		model.write(contact(index));
		contact(index).unreadableUntil = model.now + minutes(1);
		model.advance(second);
	}
	const { error, requests } = await opened.poll({ concurrency: 1 });
	expect(error).toBeInstanceOf(PartnerInternalError);
	expect(requests.length).toBeLessThan(14);
	model.advance(minutes(1));
	expect((await opened.poll()).changes).toHaveLength(30);
});

test("in a long outage of all reads no conversation is given up, however many there are", async () => {
	const opened = openModel({}, 200);
	const { model, contact } = opened;
	for (let index = 0; index < 200; index++) {
		model.write(contact(index));
		contact(index).unreadableUntil = model.now + minutes(600);
		model.advance(second);
	}
	for (let i = 0; i < 30; i++) {
		const { requests, feed } = await opened.poll();
		expect(requests.length).toBeLessThan(40);
		expect(feed.failures.filter(({ leftToReconcile }) => leftToReconcile)).toEqual([]);
		model.advance(minutes(5));
	}
	model.advance(minutes(600));
	const delivered = [...(await opened.poll()).changes, ...(await opened.poll()).changes];
	expect(new Set(delivered.map(({ phoneNumber }) => phoneNumber)).size).toBe(200);
	expect(delivered).toHaveLength(200);
});

test("any number of conversations that cannot be read, the oldest of all, do not block the others", async () => {
	const opened = openModel({}, 171);
	const { model, contact } = opened;
	for (let index = 0; index < 170; index++) {
		model.write(contact(index));
		if (index < 150) contact(index).unreadableUntil = model.now + minutes(60);
		model.advance(second);
	}
	const first = await opened.poll();
	expect(messagesOf(opened, first).map(([index]) => index)).toEqual(Array.from({ length: 20 }, (_, i) => 150 + i));
	expect(first.feed.failures).toHaveLength(150);
	// A checkpoint has room for a hundred of them.
	const left = first.feed.failures.filter(({ leftToReconcile }) => leftToReconcile);
	expect(left).toHaveLength(50);
	model.advance(minutes(10));
	model.write(contact(170));
	const next = await opened.poll();
	expect(messagesOf(opened, next)).toEqual([[170, ["170"]]]);
	expect(next.requests.length).toBeLessThan(20);
	model.advance(minutes(60));
	const third = await opened.poll();
	expect(third.error).toBeUndefined();
	const given = new Set(left.map(({ phoneNumber }) => phoneNumber));
	const kept = model.conversations.slice(0, 150).filter(({ phoneNumber }) => !given.has(phoneNumber));
	expect(new Set(third.changes.map(({ phoneNumber }) => phoneNumber))).toEqual(
		new Set(kept.map(({ phoneNumber }) => phoneNumber)),
	);
});

test("conversations that cannot be read for good hold up neither those that can again nor a status", async () => {
	const opened = openModel({}, 17);
	const { model, contact } = opened;
	for (let index = 0; index < 16; index++) {
		model.write(contact(index));
		contact(index).unreadableUntil = index < 11 ? Number.POSITIVE_INFINITY : model.now + minutes(30);
		model.advance(second);
	}
	vi.useFakeTimers({ now: model.now, toFake: ["Date"] });
	onTestFinished(() => void vi.useRealTimers());
	const statuses = { statuses: true } as const;
	await opened.poll(statuses);
	const sent = model.write(contact(16), { direction: "outbound" });
	await opened.poll(statuses);
	model.advance(minutes(60));
	vi.setSystemTime(model.now);
	if (sent) sent.status = "delivered";
	const polls = [await opened.poll(statuses), await opened.poll(statuses)];
	const delivered = polls.flatMap(({ changes }) => messagesOf(opened, { changes }).map(([index]) => index));
	expect(delivered.sort((a, b) => a - b)).toEqual([11, 12, 13, 14, 15, 16]);
});

test("a checkpoint after each change of a campaign turns each conversation into text once", async () => {
	const opened = openModel({}, 200);
	const { model, agency, contact } = opened;
	for (let index = 0; index < 200; index++) model.write(contact(index));
	const stringify = vi.spyOn(JSON, "stringify");
	onTestFinished(() => stringify.mockRestore());
	const feed = changes(agency, { since: "beginning" });
	let read = 0;
	for await (const _ of feed) read += feed.checkpoint.length;
	const written = stringify.mock.results.reduce((sum, { value }) => sum + `${value}`.length, 0);
	expect(JSON.parse(feed.checkpoint).known).toHaveLength(200);
	expect(written).toBeLessThan(read / 3);
});

test("a 429 ends the poll at once, and the next poll continues where it was", async () => {
	const sandbox = createSandbox();
	const agency = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
	const all = 40;
	for (let i = 0; i < all; i++)
		sandbox
			.agency()
			.contact(`+4477009001${10 + i}`)
			.writes("Hello");
	const fault = sandbox.faults.add({
		operation: "conversations.get",
		times: Number.POSITIVE_INFINITY,
		effect: { status: 429 },
	});
	const asked = sandbox.requests().length;
	const feed = changes(agency, { since: "beginning", concurrency: 2 });
	await expect(feed[Symbol.asyncIterator]().next()).rejects.toMatchObject({ status: 429 });
	const reads = sandbox
		.requests()
		.slice(asked)
		.filter(({ operation }) => operation === "conversations.get");
	expect(reads.length).toBeLessThanOrEqual(2);
	fault.remove();
	let delivered = 0;
	for await (const _ of changes(agency, { since: feed.checkpoint })) delivered++;
	expect(delivered).toBe(all);
});

test("after a 429 a poll does not read again what an earlier poll could not read", async () => {
	const sandbox = createSandbox();
	const agency = createClient({ ...sandbox.connection, retry: false }).agency(sandbox.agency().id);
	const people = ["+447700900101", "+447700900102"].map((number) => sandbox.agency().contact(number));
	for (const person of people) person.writes("Hello");
	sandbox.faults.add({ operation: "conversations.get", times: 1, effect: { status: 500 } });
	const first = changes(agency, { since: "beginning", concurrency: 1 });
	const poll = async (feed: typeof first) => {
		for await (const _ of feed);
	};
	await expect(poll(first)).rejects.toBeInstanceOf(PartnerInternalError);
	expect(first.failures).toHaveLength(1);
	sandbox.clock.advance({ minutes: 1 });
	people.find(({ phoneNumber }) => phoneNumber !== first.failures[0]?.phoneNumber)?.writes("Are you there?");
	sandbox.faults.add({ operation: "conversations.get", times: Number.POSITIVE_INFINITY, effect: { status: 429 } });
	const asked = sandbox.requests().length;
	await expect(poll(changes(agency, { since: first.checkpoint, concurrency: 1 }))).rejects.toMatchObject({
		status: 429,
	});
	const reads = sandbox
		.requests()
		.slice(asked)
		.filter(({ operation }) => operation === "conversations.get");
	expect(reads).toHaveLength(1);
});

test("a key that may not read ends the poll at its first request", async () => {
	const sandbox = createSandbox({ scenario: "busy" });
	const agency = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
	const feed = changes(agency, { since: "beginning" });
	await feed[Symbol.asyncIterator]().next();
	const asked = sandbox.requests().length;
	sandbox.agency().unlink();
	const rest = changes(agency, { since: feed.checkpoint });
	await expect(rest[Symbol.asyncIterator]().next()).rejects.toBeInstanceOf(PartnerForbidden);
	expect(sandbox.requests().length).toBeLessThanOrEqual(asked + 1);
	expect(rest.checkpoint).toBe(feed.checkpoint);
});

test("a key that loses its right while conversations are read ends the poll at once", async () => {
	const sandbox = createSandbox({ scenario: "busy" });
	const agency = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
	const feed = changes(agency, { since: "beginning", concurrency: 1 });
	const poll = async () => {
		for await (const _ of feed) sandbox.agency().unlink();
	};
	await expect(poll()).rejects.toBeInstanceOf(PartnerForbidden);
	expect(sandbox.requests().filter(({ status }) => status === 403)).toHaveLength(1);
	expect(feed.failures).toEqual([]);
});

test("a conversation without a time that could not be read is read once when the first poll continues", async () => {
	const opened = openModel({ untimed: "first" }, 3);
	const { model, agency, contact } = opened;
	model.write(contact(2));
	contact(0).unreadableUntil = model.now + minutes(1);
	const feed = changes(agency, { since: "beginning" });
	for await (const { phoneNumber } of feed) {
		expect(phoneNumber).toBe(contact(1).phoneNumber);
		opened.since = feed.checkpoint;
		break;
	}
	model.advance(minutes(2));
	const { changes: delivered, requests } = await opened.poll();
	expect(delivered.filter(({ phoneNumber }) => phoneNumber === contact(0).phoneNumber)).toHaveLength(1);
	expect(requests.filter((request) => request.endsWith(contact(0).phoneNumber))).toHaveLength(1);
});

test("a message without a time comes once, although its time grows with its neighbours", async () => {
	const opened = openModel();
	const { model, contact } = opened;
	model.write(contact(0), { undated: true });
	model.advance(minutes(10));
	model.write(contact(1));
	expect((await opened.poll()).changes).toHaveLength(2);
	model.advance(minutes(60));
	model.write(contact(0));
	expect(messagesOf(opened, await opened.poll())).toEqual([[0, ["2"]]]);
});

test("a list that fails leaves the checkpoint as it was, and the next poll continues from it", async () => {
	const opened = openModel({ faults: 1 });
	const { model, contact } = opened;
	model.isFaulty = false;
	model.write(contact(0));
	await opened.poll();
	const { since } = opened;
	model.advance(minutes(10));
	model.write(contact(1));
	model.isFaulty = true;
	const failed = await opened.poll();
	expect([failed.changes, opened.since]).toEqual([[], since]);
	model.isFaulty = false;
	expect(messagesOf(opened, await opened.poll())).toEqual([[1, ["1"]]]);
});

test("break leaves no request under way", async () => {
	const sandbox = createSandbox({ scenario: "busy" });
	let [reads, open] = [0, 0];
	// Every read but the first hangs until it is aborted.
	const fetch: typeof globalThis.fetch = async (input, init) => {
		if (!String(input).includes("/conversations/") || reads++ === 0) return sandbox.fetch(input, init);
		open++;
		return new Promise((_resolve, reject) => {
			init?.signal?.addEventListener("abort", () => {
				open--;
				reject(init.signal?.reason);
			});
		});
	};
	const agency = createClient({ ...sandbox.connection, fetch }).agency(sandbox.agency().id);
	for await (const _ of changes(agency, { since: "beginning" })) {
		await new Promise((resolve) => setImmediate(resolve));
		expect(open).toBe(3);
		break;
	}
	expect(open).toBe(0);
});

test("a signal ends the poll after the current change with PartnerAbortError, even if more are read already", async () => {
	const opened = openModel({}, 6);
	for (let index = 0; index < 6; index++) opened.model.write(opened.contact(index));
	const stop = new AbortController();
	const feed = changes(opened.agency, { since: "beginning", signal: stop.signal });
	const delivered: Change[] = [];
	const poll = async () => {
		for await (const change of feed) {
			delivered.push(change);
			await new Promise((resolve) => setTimeout(resolve, 20));
			stop.abort();
		}
	};
	await expect(poll()).rejects.toMatchObject({ _tag: "PartnerAbortError" });
	expect(delivered).toHaveLength(1);
	for await (const change of changes(opened.agency, { since: feed.checkpoint })) delivered.push(change);
	expect(messagesOf(opened, { changes: delivered })).toEqual([0, 1, 2, 3, 4, 5].map((index) => [index, [`${index}`]]));
});

test("each loop over a feed is one poll more, and two at once are refused", async () => {
	const opened = openModel();
	opened.model.write(opened.contact(0));
	const feed = changes(opened.agency, { since: "beginning" });
	const count = async () => {
		let delivered = 0;
		for await (const _ of feed) delivered++;
		return delivered;
	};
	expect(await count()).toBe(1);
	opened.model.write(opened.contact(0));
	expect(await Promise.allSettled([count(), count()])).toMatchObject([
		{ status: "fulfilled", value: 1 },
		{ status: "rejected", reason: { _tag: "PartnerInvalidInput", field: "feed" } },
	]);
});

test("conversations are read ahead, so many at once, and delivered in their order", async () => {
	const opened = openModel({}, 20);
	for (let index = 0; index < 20; index++) {
		opened.model.write(opened.contact(index));
		opened.model.advance(second);
	}
	let most = 0;
	let open = 0;
	const fetch: typeof globalThis.fetch = async (...request) => {
		most = Math.max(most, ++open);
		await new Promise((resolve) => setTimeout(resolve, 10 * Math.random()));
		open--;
		return opened.model.fetch(...request);
	};
	const agency = createClient({ baseUrl: "https://model.invalid/api/v1", apiKey: "model_live.a.b", fetch }).agency(
		opened.model.agencyId,
	);
	const delivered: Change[] = [];
	for await (const change of changes(agency, { since: "beginning", concurrency: 6 })) delivered.push(change);
	expect(messagesOf(opened, { changes: delivered }).map(([index]) => index)).toEqual(
		Array.from({ length: 20 }, (_, i) => i),
	);
	expect(most).toBe(6);
});

test("a checkpoint holds neither a cursor nor a text, and stays small however large the agency is", async () => {
	const opened = openModel({}, 600);
	const { model, contact } = opened;
	for (let index = 0; index < 600; index++) {
		model.write(contact(index));
		model.advance(minutes(1));
	}
	let largest = 0;
	const feed = changes(opened.agency, { since: "beginning" });
	for await (const _ of feed) {
		expect(feed.checkpoint).not.toContain(cursorMark);
		expect(feed.checkpoint).not.toContain(bodyMark);
		largest = Math.max(largest, feed.checkpoint.length);
	}
	expect(largest).toBeLessThan(1_500);
});

test("a fingerprint is of the summary's meaning: not of its cursor, the order of its fields or how a time is written", async () => {
	const opened = openModel();
	opened.model.write(opened.contact(0), { direction: "inbound" });
	const { conversation } = await opened.agency.conversations.get(opened.contact(0).phoneNumber);
	const { summary } = conversation;
	const fingerprint = fingerprintOf(conversation);
	const backwards = Object.fromEntries(Object.entries(summary).reverse()) as typeof summary;
	expect(fingerprintOf(summary)).toBe(fingerprint);
	expect(fingerprintOf({ ...backwards, cursor: "elsewhere" })).toBe(fingerprint);
	expect(fingerprintOf({ ...summary, lastMessageAt: `${summary.lastMessageAt}`.replace("Z", "000Z") })).toBe(
		fingerprint,
	);
	// A field that the contract gains does not compile here before it is decided whether it counts.
	const others: { [Field in Exclude<keyof typeof summary, "cursor">]: (typeof summary)[Field] } = {
		phoneNumber: "+32470000099",
		contactName: null,
		lastMessageAt: "2026-01-05T09:00:00.001Z",
		lastMessagePreview: "Another",
		lastMessageDirection: "outbound",
		totalMessages: 2,
		failedMessages: 1,
		activeFlows: 1,
		completedFlows: 1,
		latestFlowStatus: "active",
		lastInboundAt: null,
		windowExpiresAt: "2026-01-05T09:00:00.001Z",
		aiEnabled: false,
		queuedMessages: 1,
		isUnlinked: true,
		visibility: { ...summary.visibility, isShared: true },
	};
	const fingerprints = Object.entries(others).map(([field, value]) => fingerprintOf({ ...summary, [field]: value }));
	expect(new Set([fingerprint, ...fingerprints]).size).toBe(fingerprints.length + 1);
});

test("the stack of an error has the loop that met it among its ten frames", async () => {
	// Of an agency that is not linked, because a 401 does not end `watch`.
	const agency = createClient(createSandbox().connection).agency("agy_1");
	const { stackTraceLimit } = Error;
	onTestFinished(() => {
		Error.stackTraceLimit = stackTraceLimit;
	});
	// Node's own frames are not counted: a busy machine can resume the loop from a timer, which adds two.
	Error.stackTraceLimit = 20;
	const firstTen = (stack: string) =>
		stack
			.split("\n")
			.filter((line) => !line.includes("(node:"))
			.slice(0, 11)
			.join("\n");
	async function myLoop(feed: AsyncIterable<unknown>): Promise<void> {
		for await (const change of feed) expect(change).toBeUndefined();
	}
	const feeds = {
		changes: changes(agency, { since: "beginning" }),
		watch: watch(agency, { since: "beginning" }),
		reconcile: reconcile(agency, { stored: [] }),
	};
	for (const [name, feed] of Object.entries(feeds)) {
		const error: unknown = await myLoop(feed).catch((reason: unknown) => reason);
		expect(firstTen(Reflect.get(Object(error), "stack")), name).toMatch(/^PartnerForbidden: .*myLoop/s);
	}
});

test("a feed from now whose first list breaks off delivers what comes before the next one", async () => {
	const sandbox = createSandbox();
	const agency = createClient({ ...sandbox.connection, retry: false }).agency(sandbox.agency().id);
	for (let i = 0; i < 150; i++)
		sandbox
			.agency()
			.contact(`+3247012${1000 + i}`)
			.writes("Hello");
	const feed = changes(agency, { since: "now" });
	sandbox.faults.add({ operation: "conversations.list", skip: 1, times: 1, effect: { status: 500 } });
	await expect(feed[Symbol.asyncIterator]().next()).rejects.toMatchObject({ status: 500 });
	sandbox.clock.advance({ ms: 5_000 });
	sandbox.agency().contact("+32470121149").writes("Meanwhile");
	const bodies: unknown[] = [];
	for await (const { messages } of feed) bodies.push(...messages.map(({ body }) => body));
	expect(bodies).toEqual(["Meanwhile"]);
});

test("now delivers nothing that is there in a conversation with more than a page of messages of the last minutes", async () => {
	const sandbox = createSandbox();
	const agency = createClient({ ...sandbox.connection, retry: false }).agency(sandbox.agency().id);
	const contact = sandbox.agency().contact("+32470121149");
	for (let i = 0; i < 150; i++) contact.writes(`There already ${i}`);
	const feed = changes(agency, { since: "now" });
	for await (const change of feed) expect(change).toBeUndefined();
	sandbox.clock.advance({ ms: 5_000 });
	contact.writes("New");
	const bodies: unknown[] = [];
	for await (const { messages } of feed) bodies.push(...messages.map(({ body }) => body));
	expect(bodies).toEqual(["New"]);
});
