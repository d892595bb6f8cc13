/* A service whose reads are answered by copies of its data: one may lag behind another, or have another clock. */
import { expect, test } from "vitest";
import { messagesOf, minutes, openModel } from "./service.ts";

const second = 1_000;

test("a conversation that was still to come is not passed by when a copy lists it where it was before", async () => {
	const opened = openModel({}, 3);
	const { model, contact } = opened;
	for (const index of [0, 1, 2]) {
		model.write(contact(index));
		model.advance(10 * second);
	}
	await opened.pollUpTo(0);
	// The scan continues, and delivers contact 2 with a later time than that of contact 1.
	model.advance(minutes(2));
	model.write(contact(2));
	model.advance(10 * second);
	model.write(contact(1));
	await opened.pollUpTo(2);
	model.behindMs = 15 * second;
	const { changes: rest } = await opened.poll();
	expect(messagesOf(opened, { changes: rest })).toEqual([[1, ["1"]]]);
	model.behindMs = 0;
	expect(messagesOf(opened, await opened.poll())).toEqual([[1, ["4"]]]);
});

test("a conversation that a copy shows as it was before is not forgotten, and brings nothing twice", async () => {
	const opened = openModel({}, 4);
	const { model, contact } = opened;
	for (const index of [0, 1, 2, 3]) {
		model.write(contact(index));
		model.advance(index < 2 ? 10 * second : minutes(10));
	}
	const { changes: before } = await opened.pollUpTo(0);
	model.write(contact(2));
	const { changes: later } = await opened.pollUpTo(2);
	expect(messagesOf(opened, { changes: [...before, ...later] })).toEqual([
		[0, ["0"]],
		[2, ["2", "4"]],
	]);
	model.advance(10 * second);
	model.behindMs = 20 * second;
	expect(messagesOf(opened, await opened.poll())).toEqual([
		[1, ["1"]],
		[2, []],
		[3, ["3"]],
	]);
	model.behindMs = 0;
	expect(messagesOf(opened, await opened.poll())).toEqual([[2, []]]);
});

test("a conversation that moves up between two pages is found in a copy that shows it where it was before", async () => {
	const opened = openModel({}, 5);
	const { model, contact } = opened;
	for (const index of [0, 1, 2, 3, 4]) model.write(contact(index));
	await opened.poll();
	model.advance(minutes(10));
	model.write(contact(0));
	model.advance(minutes(3));
	for (const index of [1, 2, 3]) {
		model.advance(10 * second);
		model.write(contact(index));
	}
	model.advance(second);
	model.pageSize = 2;
	// Each request takes 220 ms, and the first scan has three pages. The second one is answered by a copy from before.
	model.schedule({ at: model.now + 300, happen: () => model.write(contact(0)) });
	model.schedule({ at: model.now + 700, happen: () => void (model.behindMs = 8 * second) });
	const { changes: first } = await opened.poll();
	model.behindMs = 0;
	const { changes: rest } = await opened.poll();
	const texts = messagesOf(opened, { changes: [...first, ...rest] }).filter(([index]) => index === 0);
	expect(texts.flatMap(([, numbers]) => numbers)).toEqual(["5", "9"]);
});

test("a copy that lags behind does not make a conversation count as delivered before a break", async () => {
	const opened = openModel({}, 4);
	const { model, contact } = opened;
	for (const index of [0, 1, 2]) model.write(contact(index));
	model.advance(minutes(20));
	model.write(contact(3));
	await opened.poll();
	for (const index of [2, 0, 1]) {
		model.write(contact(index));
		model.advance(minutes(4));
	}
	await opened.pollUpTo(2);
	// Each request takes 220 ms. The list is true, and the reads are answered by a copy from before the messages.
	model.schedule({ at: model.now + 300, happen: () => void (model.behindMs = minutes(15)) });
	expect(messagesOf(opened, await opened.poll())).toEqual([]);
	model.behindMs = 0;
	const { changes: rest } = await opened.poll();
	expect(messagesOf(opened, { changes: rest })).toEqual([
		[0, ["5"]],
		[1, ["6"]],
	]);
});

test("a Date that is put back brings nothing twice, also of a conversation with more messages than a page", async () => {
	const opened = openModel({}, 2);
	const { model, contact } = opened;
	model.pageSize = 4;
	for (let count = 0; count < 8; count++) {
		model.write(contact(0));
		model.advance(10 * second);
	}
	model.advance(minutes(3));
	model.write(contact(1));
	await opened.poll();
	model.dateOffsetMs = -minutes(10);
	model.write(contact(0));
	model.advance(second);
	model.write(contact(1));
	expect(messagesOf(opened, await opened.pollUpTo(0))).toEqual([[0, ["9"]]]);
	model.write(contact(0));
	expect(messagesOf(opened, await opened.poll())).toEqual([
		[0, ["11"]],
		[1, ["10"]],
	]);
});

test("what an agency gets after a poll from the beginning at an empty list is delivered, however old it is", async () => {
	const opened = openModel({}, 1);
	const { model, contact } = opened;
	expect((await opened.poll()).requests).toEqual(["GET /conversations"]);
	model.write(contact(0), { at: model.now - minutes(60) });
	expect(messagesOf(opened, await opened.poll())).toEqual([[0, ["0"]]]);
	expect((await opened.poll()).requests).toEqual(["GET /conversations"]);
});
