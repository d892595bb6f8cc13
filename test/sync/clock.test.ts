/* A service whose clock is set back. */
import { expect, test } from "vitest";
import { messagesOf, minutes, type Opened, openModel } from "./service.ts";

const second = 1_000;

/** What one poll after another delivers, as numbers of messages. */
async function numbers(opened: Opened, polls: number): Promise<string[]> {
	const all: string[] = [];
	for (let poll = 0; poll < polls; poll++) {
		all.push(...messagesOf(opened, await opened.poll()).flatMap(([, messages]) => messages));
		opened.model.advance(minutes(1));
	}
	return all;
}

test.each([
	["the contact who wrote last", 1, 0],
	["another contact", 2, 1],
	["a contact who is new", 3, 2],
	["many contacts", 8, 0],
])("after the clock was set back by an hour nothing is lost: %s writes", async (_name, contacts, writer) => {
	const opened = openModel({ setsBack: true }, contacts);
	const { model, contact } = opened;
	for (let index = 0; index < Math.max(1, writer); index++) {
		model.write(contact(index));
		model.advance(minutes(5));
	}
	await opened.poll();
	model.clockOffsetMs = -minutes(60);
	const expected: string[] = [];
	for (let count = 0; count < 8; count++) {
		model.advance(minutes(1));
		const index = writer + (count % (contacts - writer));
		expected.push(`${model.write(contact(index))?.serial}`);
	}
	const seen = await numbers(opened, 3);
	expect(new Set(seen)).toEqual(new Set([...seen, ...expected]));
	// From then on a quiet poll is one request again, and each message comes once.
	expect((await opened.poll()).requests).toEqual(["GET /conversations"]);
	model.advance(minutes(1));
	const last = `${model.write(contact(writer))?.serial}`;
	expect(await numbers(opened, 2)).toEqual([last]);
});

test("messages of a poll that was interrupted are not lost when the clock is set back", async () => {
	const opened = openModel({ setsBack: true }, 6);
	const { model, contact } = opened;
	for (let index = 0; index < 6; index++) {
		model.write(contact(index));
		model.advance(minutes(1));
	}
	const { changes: before } = await opened.pollUpTo(2);
	model.clockOffsetMs = -minutes(60);
	model.advance(minutes(1));
	model.write(contact(0));
	model.advance(minutes(1));
	model.write(contact(5));
	const seen = messagesOf(opened, { changes: before }).flatMap(([, messages]) => messages);
	// At once, although the interrupted poll had passed contact 0.
	seen.push(...(await numbers(opened, 1)));
	expect(new Set(seen)).toEqual(new Set(["0", "1", "2", "3", "4", "5", "6", "7"]));
});

test("a message that comes between the list and the reads of the poll that notices it is not lost", async () => {
	const opened = openModel({ setsBack: true }, 2);
	const { model, contact } = opened;
	model.write(contact(0));
	await opened.poll();
	model.advance(10 * second);
	model.write(contact(1));
	model.clockOffsetMs = -minutes(60);
	model.advance(10 * second);
	model.schedule({ at: model.now + 230, happen: () => void model.write(contact(1)) });
	expect(new Set(await numbers(opened, 2))).toEqual(new Set(["1", "2"]));
});

test("a message that is written between the list and the read of its conversation, after the clock was set back, is not lost", async () => {
	const opened = openModel({ setsBack: true }, 2);
	const { model, contact } = opened;
	model.write(contact(0));
	await opened.poll();
	model.advance(10 * second);
	model.write(contact(0));
	// A request takes 220 ms.
	model.schedule({
		at: model.now + 230,
		happen() {
			model.clockOffsetMs = -minutes(60);
			model.write(contact(0));
		},
	});
	expect(await numbers(opened, 2)).toEqual(["1", "2"]);
	expect((await opened.poll()).requests).toEqual(["GET /conversations"]);
});

test("a message that is written between two pages of a list, after the clock was set back, is not lost", async () => {
	const opened = openModel({ setsBack: true }, 6);
	const { model, contact } = opened;
	model.pageSize = 3;
	for (let index = 0; index < 6; index++) model.write(contact(index));
	await opened.poll();
	model.advance(10 * second);
	model.write(contact(1));
	model.schedule({
		at: model.now + 230,
		happen() {
			model.clockOffsetMs = -minutes(60);
			model.write(contact(0));
		},
	});
	// The list shows the message, and the poll reads the conversation: the message seems to be an old one.
	const { requests } = await opened.poll();
	expect(requests).toContain(`GET /conversations/${contact(0).phoneNumber}`);
	expect(await numbers(opened, 3)).toContain("7");
});

test("a conversation that the poll which notices the clock cannot read loses nothing", async () => {
	const opened = openModel({ setsBack: true }, 2);
	const { model, contact } = opened;
	model.write(contact(0));
	model.write(contact(1));
	model.advance(minutes(20));
	model.write(contact(0));
	await opened.poll();
	model.advance(minutes(5));
	model.write(contact(1));
	model.clockOffsetMs = -minutes(60);
	contact(1).unreadableUntil = model.now + minutes(2);
	await opened.poll();
	// Older than the lookback when the conversation can be read.
	model.write(contact(1));
	model.advance(minutes(8));
	model.write(contact(0));
	expect(await numbers(opened, 1)).toEqual(expect.arrayContaining(["1", "3", "4", "5"]));
});

test("a clock that is set back to a time after the last message is noticed", async () => {
	const opened = openModel({ setsBack: true }, 2);
	const { model, contact } = opened;
	model.write(contact(0));
	model.advance(minutes(55));
	await opened.poll();
	// Five minutes before the message.
	model.clockOffsetMs = -minutes(60);
	model.advance(minutes(1));
	model.write(contact(1));
	model.advance(minutes(9));
	expect(await numbers(opened, 1)).toContain("1");
});

test("a checkpoint that knows no time of the service's clock goes by its mark", async () => {
	const opened = openModel({ setsBack: true }, 2);
	const { model, contact } = opened;
	model.write(contact(0));
	await opened.poll();
	opened.since = JSON.stringify({ ...JSON.parse(opened.since), clock: null });
	model.clockOffsetMs = -minutes(60);
	model.advance(minutes(1));
	model.write(contact(1));
	expect(await numbers(opened, 1)).toContain("1");
});

test("a clock that goes back within the lookback brings nothing twice", async () => {
	const opened = openModel({ setsBack: true }, 3);
	const { model, contact } = opened;
	for (const index of [0, 1, 2]) {
		model.write(contact(index));
		model.advance(minutes(10));
	}
	await opened.poll();
	model.clockOffsetMs = -90 * second;
	model.advance(30 * second);
	model.write(contact(1));
	expect(await numbers(opened, 3)).toEqual(["3"]);
});

test("a service without a Date is not taken for one whose clock is set back", async () => {
	const opened = openModel({ withoutDate: true }, 2);
	const { model, contact } = opened;
	model.write(contact(0));
	model.advance(minutes(60));
	model.write(contact(1));
	await opened.poll();
	contact(1).hiddenUntil = model.now + minutes(5);
	expect(await numbers(opened, 2)).toEqual([]);
});
