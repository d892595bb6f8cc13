/* A service whose lists circle or do not end. */
import { createClient, PartnerUnexpectedResponse } from "messaging-conversations";
import { changes, reconcile, watch } from "messaging-conversations/sync";
import { expect, test } from "vitest";
import { messagesOf, minutes, type Opened, openModel } from "./service.ts";

const kinds = ["circle", "one row", "empty"] as const;

function open(): Opened {
	const opened = openModel({}, 12);
	for (let index = 0; index < 12; index++) {
		opened.model.write(opened.contact(index));
		opened.model.advance(1_000);
	}
	opened.model.pageSize = 4;
	return opened;
}

const entries = {
	changes: ({ agency }: Opened) => changes(agency, { since: "beginning" }),
	"changes from now": ({ agency }: Opened) => changes(agency, { since: "now" }),
	watch: ({ agency }: Opened) => watch(agency, { since: "beginning" }),
	reconcile: ({ agency }: Opened) => reconcile(agency, { stored: [] }),
};

test.each(kinds.flatMap((kind) => Object.entries(entries).map(([name, run]) => [name, kind, run] as const)))(
	"%s ends with an error if the list does not end: %s",
	async (_name, kind, run) => {
		const opened = open();
		opened.model.endless = kind;
		const iterator = run(opened)[Symbol.asyncIterator]();
		await expect(iterator.next()).rejects.toBeInstanceOf(PartnerUnexpectedResponse);
		expect(opened.model.requests.length).toBeLessThan(kind === "circle" ? 10 : 110);
	},
);

test.each(kinds)("a list that did not end costs nothing: %s", async (kind) => {
	const opened = open();
	await opened.poll();
	const { since } = opened;
	opened.model.advance(minutes(10));
	for (let index = 0; index < 12; index++) opened.model.write(opened.contact(index));
	opened.model.endless = kind;
	expect(await opened.poll()).toMatchObject({
		changes: [],
		error: { operation: "conversations.list", retryable: false },
	});
	expect(opened.since).toBe(since);
	opened.model.endless = undefined;
	expect((await opened.poll()).changes).toHaveLength(12);
});

test.each([
	["the same cursor", (page: number) => `c${page % 3}`, true],
	["ever new cursors and the same message", (page: number) => `c${page}`, true],
	["ever new cursors and no message", (page: number) => `c${page}`, false],
])("a conversation whose messages do not end does not block the others: %s", async (_name, cursorOf, isFull) => {
	const opened = open();
	const { model, contact } = opened;
	let pages = 0;
	let newest: unknown[] = [];
	const fetch: typeof globalThis.fetch = async (input, init) => {
		const response = await model.fetch(input, init);
		const isFirst = new RegExp(`${contact(3).phoneNumber.slice(1)}\\?`).test(String(input));
		const isOlder = String(input).includes("/messages");
		if (!isFirst && !isOlder) return response;
		const body = await response.json();
		const page = isFirst ? body.messagePage : body;
		Object.assign(page, { hasMore: true, nextCursor: cursorOf(++pages) });
		if (isFirst) newest = page.messages;
		page.messages = isFirst || isFull ? newest : [];
		return Response.json(body, { headers: response.headers });
	};
	const connection = { baseUrl: "https://model.invalid/api/v1", apiKey: "model_live.a.b", retry: false } as const;
	// The waits between empty pages.
	const retry = { baseDelayMs: 1, maxDelayMs: 1 };
	const agency = createClient({ ...connection, fetch, retry }).agency(model.agencyId);
	const delivered: number[] = [];
	const feed = changes(agency, { since: "beginning" });
	const run = async (): Promise<void> => {
		for await (const change of feed)
			delivered.push(...messagesOf(opened, { changes: [change] }).map(([index]) => index));
	};
	await expect(run()).rejects.toMatchObject({ operation: "conversations.listMessages" });
	expect(delivered).toEqual([0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11]);
	expect(feed.failures).toMatchObject([{ phoneNumber: contact(3).phoneNumber, leftToReconcile: false }]);
	expect(pages).toBeLessThan(110);
});
