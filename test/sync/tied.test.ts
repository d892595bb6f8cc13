/* What a poll without changes costs where many contacts share a time. */
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { changes } from "messaging-conversations/sync";
import { expect, test } from "vitest";

/** An agency with 240 contacts who have written in one second, and a feed over it. */
function open() {
	const sandbox = createSandbox();
	const number = (index: number): string => `+4477009${String(index).padStart(5, "0")}`;
	const write = (index: number): unknown => sandbox.agency().contact(number(index)).writes("Hello");
	for (let index = 0; index < 240; index++) write(index);
	const agency = createClient(sandbox.connection).agency(sandbox.agency().id);
	let since = "beginning";
	/** Polls once. Returns the numbers of requests and of messages. */
	const poll = async (): Promise<[requests: number, messages: number]> => {
		const before = sandbox.requests().length;
		const feed = changes(agency, { since });
		let messages = 0;
		for await (const change of feed) messages += change.messages.length;
		since = feed.checkpoint;
		return [sandbox.requests().length - before, messages];
	};
	return { sandbox, write, poll };
}

test("once the lookback has passed, a poll without changes is one request, and one with a change two", async () => {
	const { sandbox, write, poll } = open();
	expect((await poll())[1]).toBe(240);
	sandbox.clock.advance({ minutes: 3 });
	await poll();
	for (const minutes of [0, 1, 5, 60]) {
		sandbox.clock.advance({ minutes });
		expect(await poll()).toEqual([1, 0]);
	}
	write(17);
	expect(await poll()).toEqual([2, 1]);
});

test("within the lookback the list is read whole every 30 s, and one page of it in between", async () => {
	const { sandbox, write, poll } = open();
	expect((await poll())[1]).toBe(240);
	expect(await poll()).toEqual([1, 0]);
	sandbox.clock.advance({ ms: 20_000 });
	expect(await poll()).toEqual([1, 0]);
	sandbox.clock.advance({ ms: 20_000 });
	const [requests, messages] = await poll();
	expect([requests > 1, messages]).toEqual([true, 0]);
	expect(await poll()).toEqual([1, 0]);
	write(230);
	expect((await poll())[1]).toBe(1);
});

test.each([150, 300])(
	"after a campaign to %i contacts in half a minute no poll reads what it has delivered",
	async (contacts) => {
		const sandbox = createSandbox();
		const agency = createClient(sandbox.connection).agency(sandbox.agency().id);
		for (let index = 0; index < contacts; index++) {
			sandbox
				.agency()
				.contact(`+4477009${String(index).padStart(5, "0")}`)
				.writes("Hello");
			if (index % (contacts / 30) === 0) sandbox.clock.advance({ ms: 1_000 });
		}
		let since = "beginning";
		const changed: number[] = [];
		const reads: number[] = [];
		for (const pauseMs of [0, 5_000, 10_000, 10_000, 30_000, 40_000, 60_000, 130_000]) {
			sandbox.clock.advance({ ms: pauseMs });
			const before = sandbox.requests().length;
			const feed = changes(agency, { since });
			let found = 0;
			for await (const _ of feed) found++;
			since = feed.checkpoint;
			changed.push(found);
			reads.push(
				sandbox
					.requests()
					.slice(before)
					.filter(({ operation }) => operation === "conversations.get").length,
			);
		}
		expect(changed).toEqual([contacts, 0, 0, 0, 0, 0, 0, 0]);
		expect(reads).toEqual([contacts, 0, 0, 0, 0, 0, 0, 0]);
	},
);
