// Messages are told apart by their SIDs, because JSON rounds ids above 2^53 (S28).
import { expect, onTestFinished, test, vi } from "vitest";
import { messagesOf, minutes, type Opened, openModel } from "./service.ts";

/** Two ids that JSON reads as one number. */
const id: number = JSON.parse("9007199254740993");

/** A contact who has one message with an id that others have too. */
async function open(): Promise<Opened> {
	const opened = openModel({}, 1);
	vi.useFakeTimers({ now: opened.model.now, toFake: ["Date"] });
	onTestFinished(() => void vi.useRealTimers());
	write(opened);
	expect(messagesOf(opened, await opened.poll({ statuses: true }))).toEqual([[0, ["0"]]]);
	return opened;
}

function write({ model, contact }: Opened) {
	model.advance(1_000);
	return model.write(contact(0), { id, direction: "outbound" });
}

test("S28 two messages whose ids JSON rounds to one number are both delivered, each once", async () => {
	expect(id).toBe(JSON.parse("9007199254740992"));
	const opened = await open();
	write(opened);
	write(opened);
	expect(messagesOf(opened, await opened.poll())).toEqual([[0, ["1", "2"]]]);
	expect((await opened.poll()).changes).toEqual([]);
});

test("S28 two pages whose messages have one id hold messages of their own", async () => {
	const opened = await open();
	opened.model.pageSize = 2;
	for (let count = 0; count < 5; count++) write(opened);
	expect(messagesOf(opened, await opened.poll())).toEqual([[0, ["1", "2", "3", "4", "5"]]]);
});

test("S28 the statuses of two messages with one id are followed one by one", async () => {
	const opened = await open();
	const second = write(opened);
	await opened.poll({ statuses: true });
	if (second) second.status = "delivered";
	for (const expected of [[[0, ["1"]]], []]) {
		opened.model.advance(minutes(2));
		vi.setSystemTime(opened.model.now);
		expect(messagesOf(opened, await opened.poll({ statuses: true }))).toEqual(expected);
	}
	expect(JSON.parse(opened.since).followed).toHaveLength(1);
});

test("a message without an SID is told apart by its id", async () => {
	const opened = openModel({}, 1);
	for (const each of [1, 2]) opened.model.write(opened.contact(0), { id: each, sid: "" });
	expect(messagesOf(opened, await opened.poll())).toEqual([[0, ["0", "1"]]]);
	opened.model.write(opened.contact(0), { id: 3, sid: "" });
	expect(messagesOf(opened, await opened.poll())).toEqual([[0, ["2"]]]);
});
