import type { ConversationSummary, Fetch } from "messaging-conversations";
import { expect, test } from "vitest";
import { clientOf, failure, jsonResponse, unhandledRejections, wrong } from "../calls.ts";
import { agencyId, conversationPage, messagePage, phone } from "../canned.ts";
import { eventually } from "../eventually.ts";
import { type Answer, pause, refusal, type Scripted, type Seen, scripted } from "../scripted.ts";

const cursorOf = ({ url }: Seen): string | null => new URL(url, "http://x").searchParams.get("cursor");

/** A service of pages: by the cursor that leads to it ("" for the first), the names in it and the next cursor. */
type Book = Record<string, { names: string[]; next?: string | null } | Answer>;

function service(book: Book): Promise<Scripted> {
	return scripted((seen) => {
		const page = book[cursorOf(seen) ?? ""];
		if (page === undefined) return refusal(400, "no such cursor");
		if (typeof page === "string" || !("names" in page)) return page;
		return { json: conversationPage(page.names, page.next ?? null) };
	});
}

const threePages: Book = {
	"": { names: ["a", "b"], next: "2" },
	"2": { names: ["c", "d"], next: "3" },
	"3": { names: ["e"] },
};

function lists(from: Scripted) {
	return clientOf(from).agency(agencyId).conversations;
}

const names = (rows: readonly ConversationSummary[]) => rows.map(({ contactName }) => contactName);

async function namesOf(rows: AsyncIterable<ConversationSummary>): Promise<(string | null)[]> {
	const all: (string | null)[] = [];
	for await (const { contactName } of rows) all.push(contactName);
	return all;
}

test("lazy: no request before use, whatever is made of the list", async () => {
	const from = await service(threePages);
	const list = lists(from).list();
	lists(from).listMessages(phone);
	list.pages();
	list[Symbol.asyncIterator]();
	await pause();
	expect(from.requests).toEqual([]);
});

test("a list is of the options that it was given, whatever becomes of them", async () => {
	const from = await service(threePages);
	const options = { cursor: "3" };
	const list = lists(from).list(options);
	options.cursor = "2";
	await expect(namesOf(list)).resolves.toEqual(["e"]);
});

test("pages: what the caller does to a page is its own affair", async () => {
	const from = await service(threePages);
	const seen: string[][] = [];
	for await (const page of lists(from).list().pages()) {
		seen.push(names(page.conversations).map(String));
		Object.assign(page, { conversations: null, nextCursor: 5 });
	}
	expect(seen).toEqual([["a", "b"], ["c", "d"], ["e"]]);
});

test("for await yields the items of all pages in order", async () => {
	const from = await service(threePages);
	await expect(namesOf(lists(from).list())).resolves.toEqual(["a", "b", "c", "d", "e"]);
	expect(from.requests.map(cursorOf)).toEqual([null, "2", "3"]);
});

test("for await keeps pageSize and search on every page", async () => {
	const from = await service(threePages);
	await namesOf(lists(from).list({ pageSize: 2, search: "Peeters" }));
	const queries = from.requests.map(({ url }) => new URL(url, "http://x").searchParams);
	expect(queries.map((query) => [query.get("pageSize"), query.get("search")])).toEqual(Array(3).fill(["2", "Peeters"]));
});

test("for await begins at the given cursor", async () => {
	const from = await service(threePages);
	await expect(namesOf(lists(from).list({ cursor: "2" }))).resolves.toEqual(["c", "d", "e"]);
});

test("messages end on hasMore false, whatever nextCursor says, and continue while it is true", async () => {
	const from = await scripted((seen) => ({
		json:
			cursorOf(seen) === null ? messagePage([5, 4], "2") : { ...messagePage([3]), nextCursor: "stale", hasMore: false },
	}));
	const messages = await lists(from).listMessages(phone).toArray();
	expect(messages.map(({ id }) => id)).toEqual([5, 4, 3]);
	expect(from.requests).toHaveLength(2);
});

test("pages() gives the raw pages", async () => {
	const from = await service(threePages);
	const pages: unknown[] = [];
	for await (const page of lists(from).list().pages()) pages.push(page);
	expect(pages).toEqual([
		conversationPage(["a", "b"], "2"),
		conversationPage(["c", "d"], "3"),
		conversationPage(["e"], null),
	]);
});

test("pages() asks for no page before it is wanted, and for none after break", async () => {
	const from = await service(threePages);
	for await (const page of lists(from).list().pages()) {
		expect(page.nextCursor).toBe("2");
		await pause();
		expect(from.requests).toHaveLength(1);
		break;
	}
	await pause();
	expect(from.requests).toHaveLength(1);
});

test("page() is the single page at the given cursor", async () => {
	const from = await service(threePages);
	await expect(lists(from).list().page()).resolves.toEqual(conversationPage(["a", "b"], "2"));
	await expect(lists(from).list({ cursor: "2" }).page()).resolves.toEqual(conversationPage(["c", "d"], "3"));
	expect(from.requests.map(cursorOf)).toEqual([null, "2"]);
});

test("page() is the same kind of Promise as a single call", async () => {
	const from = await service(threePages);
	const call = lists(from).list().page();
	expect(call).toBeInstanceOf(Promise);
	await expect(call.withResponse()).resolves.toMatchObject({ response: { status: 200, attempts: 1 } });
	await expect(call.result()).resolves.toMatchObject({ ok: true, correlationId: "cor-1" });
	await expect(lists(from).list({ cursor: "none" }).page().result()).resolves.toMatchObject({
		ok: false,
		error: { _tag: "PartnerBadRequest" },
	});
});

test("toArray gives all items", async () => {
	const from = await service(threePages);
	expect(names(await lists(from).list().toArray())).toEqual(["a", "b", "c", "d", "e"]);
	expect(names(await lists(from).list().toArray({}))).toHaveLength(5);
	expect(names(await lists(from).list().toArray({ limit: undefined }))).toHaveLength(5);
});

test.for([
	[0, 0],
	[1, 1],
	[2, 1],
	[3, 2],
	[4, 2],
	[5, 3],
	[99, 3],
] as const)("toArray with a limit of %d asks for %d pages and no more", async ([limit, pages]) => {
	const from = await service(threePages);
	const rows = await lists(from).list().toArray({ limit });
	expect(names(rows)).toEqual(["a", "b", "c", "d", "e"].slice(0, limit));
	await pause();
	expect(from.requests).toHaveLength(pages);
});

test("an empty list is an empty iteration of one request", async () => {
	const from = await service({ "": { names: [] } });
	await expect(namesOf(lists(from).list())).resolves.toEqual([]);
	expect(from.requests).toHaveLength(1);
});

test("an empty page that has a cursor does not end the iteration", async () => {
	const from = await service({
		"": { names: [], next: "2" },
		"2": { names: [], next: "3" },
		"3": { names: ["a"], next: "4" },
		"4": { names: [] },
	});
	await expect(namesOf(lists(from).list())).resolves.toEqual(["a"]);
	expect(names(await lists(from).list().toArray())).toEqual(["a"]);
});

const circles: [string, Book, string, number][] = [
	["A → A", { "": { names: ["a"], next: "A" }, A: { names: ["b"], next: "A" } }, "A", 2],
	[
		"A → B → A",
		{ "": { names: ["a"], next: "A" }, A: { names: ["b"], next: "B" }, B: { names: ["c"], next: "A" } },
		"A",
		3,
	],
	["A → A of empty pages", { "": { names: [], next: "A" }, A: { names: [], next: "A" } }, "A", 0],
];

test.for(circles)(
	"a cursor that repeats ends the iteration with PartnerUnexpectedResponse: %s",
	async ([, book, cursor, itemsRead]) => {
		for (const readAhead of [true, false]) {
			const from = await service(book);
			const error = await failure(() => namesOf(lists(from).list({ readAhead })));
			expect(error).toMatchObject({
				_tag: "PartnerUnexpectedResponse",
				operation: "conversations.list",
				cursor,
				itemsRead,
			});
			expect(error.retryable).toBe(false);
			expect(from.requests).toHaveLength(Object.keys(book).length);
		}
		const from = await service(book);
		await expect(failure(() => lists(from).list().toArray())).resolves.toMatchObject({ cursor, itemsRead });
	},
);

test("a cursor that repeats the one the iteration began at ends it too", async () => {
	const from = await service({ A: { names: ["a"], next: "A" } });
	const error = await failure(() => namesOf(lists(from).list({ cursor: "A" })));
	expect(error).toMatchObject({ _tag: "PartnerUnexpectedResponse", cursor: "A", itemsRead: 1 });
	expect(from.requests).toHaveLength(1);
});

test("a cursor that comes back after thousands of pages ends the iteration", async () => {
	let pages = 0;
	const fetch: Fetch = async (url) => {
		// Without a socket in between, an endless iteration would block the test's own time-out.
		if (++pages >= 10_000) throw new Error("the iteration does not end");
		const cursor = new URL(url).searchParams.get("cursor") ?? "-1";
		return jsonResponse(conversationPage([], `${(Number(cursor) + 1) % 1500}`));
	};
	const { conversations } = clientOf({ baseUrl: "https://messaging.example/api/v1" }, { fetch }).agency(agencyId);
	const error = await failure(() => namesOf(conversations.list()));
	expect(error).toMatchObject({ _tag: "PartnerUnexpectedResponse", itemsRead: 0 });
	expect(pages).toBeLessThan(10_000);
});

test("a cursor that repeats is named as the service's fault, without the cursor", async () => {
	const from = await service({ "": { names: ["a"], next: "A" }, A: { names: ["b"], next: "A" } });
	const { message } = await failure(() => namesOf(lists(from).list()));
	expect(message).toBe("conversations.list: the service returned a cursor that was read before");
});

test("an iteration of more than a thousand pages whose cursors never repeat is read to its end", async () => {
	let pages = 0;
	const fetch: Fetch = async () => {
		pages++;
		return jsonResponse(conversationPage(["Anna"], pages < 1100 ? `${pages}` : null));
	};
	const { conversations } = clientOf({ baseUrl: "https://messaging.example/api/v1" }, { fetch }).agency(agencyId);
	await expect(conversations.list().toArray()).resolves.toHaveLength(1100);
	expect(pages).toBe(1100);
});

test.for([-1, 1.5, Number.NaN, Number.NEGATIVE_INFINITY, "3", null])(
	"toArray with a limit of %j is refused before any request",
	async (limit) => {
		const from = await service(threePages);
		const error = await failure(() =>
			lists(from)
				.list()
				.toArray({ limit: wrong(limit) }),
		);
		expect(error).toMatchObject({
			_tag: "PartnerInvalidInput",
			message: "limit: must be a whole number, 0 or more",
			operation: "conversations.list",
		});
		expect(from.requests).toEqual([]);
	},
);

test("toArray with a limit of Infinity gives all items", async () => {
	const from = await service(threePages);
	await expect(lists(from).list().toArray({ limit: Number.POSITIVE_INFINITY })).resolves.toHaveLength(5);
});

test("bad options of a list fail where it is used, with the place of an iteration that has not begun", async () => {
	const from = await service(threePages);
	const list = lists(from).list({ pageSize: 0 });
	for (const use of [() => namesOf(list), () => list.toArray(), () => list.pages().next()]) {
		const error = await failure(use);
		expect(error).toMatchObject({ _tag: "PartnerInvalidInput", operation: "conversations.list", itemsRead: 0 });
		expect(error.cursor).toBeNull();
	}
	expect(from.requests).toEqual([]);
});

test("read-ahead: on the last page there is nothing to ask for", async () => {
	const from = await service({ "": { names: ["a", "b"], next: "2" }, "2": { names: ["c", "d", "e"] } });
	for await (const _row of lists(from).list()) await pause();
	expect(from.requests.map(cursorOf)).toEqual([null, "2"]);
});

const fourAndMore = (next: Answer): Book => ({ "": { names: ["a", "b", "c", "d"], next: "2" }, "2": next });

test("read-ahead: the next page is asked for once the consumer is past the middle, and once", async () => {
	const from = await service(fourAndMore({ json: conversationPage(["e"]) }));
	const iterator = lists(from).list()[Symbol.asyncIterator]();
	await iterator.next();
	await iterator.next();
	await pause();
	expect(from.requests).toHaveLength(1);
	await iterator.next();
	await eventually(() => expect(from.requests).toHaveLength(2));
	await iterator.next();
	await pause();
	expect(from.requests).toHaveLength(2);
	await expect(iterator.next()).resolves.toMatchObject({ value: { contactName: "e" } });
	await expect(iterator.next()).resolves.toEqual({ done: true, value: undefined });
	expect(from.requests).toHaveLength(2);
});

test("read-ahead: one page ahead, not two", async () => {
	const from = await service(threePages);
	const iterator = lists(from).list()[Symbol.asyncIterator]();
	await iterator.next();
	await iterator.next();
	await eventually(() => expect(from.requests).toHaveLength(2));
	await pause();
	expect(from.requests).toHaveLength(2);
	await iterator.return();
});

test("readAhead: false asks for a page only when it is wanted", async () => {
	for (const open of [
		(from: Scripted) => lists(from).list({ readAhead: false }),
		(from: Scripted) => lists(from).listMessages(phone, { readAhead: false }),
	]) {
		const from = await scripted(() => ({
			json: { ...conversationPage(["a", "b", "c", "d"], "2"), ...messagePage([4, 3, 2, 1], "2") },
		}));
		const iterator: AsyncGenerator<unknown> = open(from)[Symbol.asyncIterator]();
		for (let item = 0; item < 4; item++) await iterator.next();
		await pause();
		expect(from.requests).toHaveLength(1);
		await iterator.next();
		expect(from.requests).toHaveLength(2);
	}
});

test("break stops asking", async () => {
	const from = await service(threePages);
	for await (const row of lists(from).list()) {
		expect(row.contactName).toBe("a");
		break;
	}
	await pause();
	expect(from.requests).toHaveLength(1);
});

test("break aborts the read-ahead in flight", async () => {
	const from = await service(fourAndMore("hang"));
	let seen = 0;
	for await (const _row of lists(from).list()) {
		if (++seen < 3) continue;
		await eventually(() => expect(from.requests).toHaveLength(2));
		break;
	}
	await eventually(() => expect(from.requests[1]?.cut).toBe(true));
	await pause();
	expect(from.requests).toHaveLength(2);
});

test("a read-ahead that is given up is not a failure to a logger, a hook hears of it", async () => {
	const from = await service(fourAndMore("hang"));
	const lines: [level: string, line: string][] = [];
	const say = (level: string) => (line: string) => void lines.push([level, line]);
	const logger = { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") };
	const events: unknown[] = [];
	const client = clientOf(from, { logger, onAttempt: ({ attempt, errorTag }) => events.push([attempt, errorTag]) });
	let seen = 0;
	for await (const _row of client.agency(agencyId).conversations.list()) {
		if (++seen < 3) continue;
		await eventually(() => expect(from.requests).toHaveLength(2));
		break;
	}
	await eventually(() => expect(lines).toHaveLength(2));
	expect(lines.map(([level]) => level)).toEqual(["debug", "debug"]);
	expect(events).toEqual([
		[1, undefined],
		[1, "PartnerAbortError"],
	]);
});

test("a page in flight that no caller waits for is not a failure, even if the caller's signal aborts after the break", async () => {
	const from = await service(fourAndMore("hang"));
	const levels: string[] = [];
	const say = (level: string) => () => void levels.push(level);
	const logger = { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") };
	const controller = new AbortController();
	const { list } = clientOf(from, { logger }).agency(agencyId).conversations;
	let seen = 0;
	for await (const _row of list({ signal: controller.signal })) {
		if (++seen < 3) continue;
		await eventually(() => expect(from.requests).toHaveLength(2));
		break;
	}
	controller.abort();
	await eventually(() => expect(levels).toEqual(["debug", "debug"]));
});

test("the last page may say what it likes of a next one", async () => {
	const last = { ...messagePage([2, 1]), hasMore: false, nextCursor: "\ud800" };
	const from = await scripted(() => ({ json: last }));
	await expect(lists(from).listMessages(phone).toArray()).resolves.toEqual(last.messages);
});

test.for([["no text that a URL can hold", "\ud800", "the answer breaks the contract at /nextCursor"]] as const)(
	"a next cursor that is %s breaks the contract",
	async ([, cursor, words]) => {
		const from = await service({ "": { names: ["a"], next: cursor } });
		const error = await failure(() => namesOf(lists(from).list()));
		expect(error).toMatchObject({ _tag: "PartnerUnexpectedResponse", message: `conversations.list: ${words}` });
	},
);

test("a next cursor that is empty is asked for once", async () => {
	const from = await scripted((seen) => ({
		json: conversationPage(["a"], cursorOf(seen) === null ? "" : null),
	}));
	await expect(namesOf(lists(from).list())).resolves.toEqual(["a", "a"]);
	expect(from.requests.map(cursorOf)).toEqual([null, ""]);
});

test("a throw in the loop aborts the read-ahead in flight, and is the caller's", async () => {
	const from = await service(fourAndMore("hang"));
	let seen = 0;
	const iterate = async () => {
		for await (const _row of lists(from).list()) {
			if (++seen < 3) continue;
			await eventually(() => expect(from.requests).toHaveLength(2));
			throw new Error("the caller's own");
		}
	};
	await expect(iterate()).rejects.toThrow("the caller's own");
	await eventually(() => expect(from.requests[1]?.cut).toBe(true));
});

test("break ends a read-ahead that waits for its next attempt", async () => {
	const unhandled = unhandledRejections();
	const from = await service(fourAndMore(refusal(503)));
	const { list } = clientOf(from, { retry: { baseDelayMs: 200 } }).agency(agencyId).conversations;
	let seen = 0;
	for await (const _row of list()) {
		if (++seen < 3) continue;
		await eventually(() => expect(from.requests).toHaveLength(2));
		await pause();
		break;
	}
	await pause(250);
	expect(from.requests).toHaveLength(2);
	await expect(unhandled()).resolves.toEqual([]);
});

test("a failing read-ahead is reported only when its turn comes", async () => {
	const from = await service(fourAndMore(refusal(403)));
	const seen: (string | null)[] = [];
	const error = await failure(async () => {
		for await (const { contactName } of lists(from).list()) {
			seen.push(contactName);
			if (seen.length === 3) await eventually(() => expect(from.requests).toHaveLength(2));
			await pause(5);
		}
	});
	expect(seen).toEqual(["a", "b", "c", "d"]);
	expect(error).toMatchObject({ _tag: "PartnerForbidden", cursor: "2", itemsRead: 4, attempts: 1 });
});

test("a failing read-ahead is never reported if the consumer breaks before", async () => {
	const unhandled = unhandledRejections();
	const from = await service(fourAndMore(refusal(403)));
	let seen = 0;
	for await (const _row of lists(from).list()) {
		if (++seen < 4) continue;
		await eventually(() => expect(from.requests).toHaveLength(2));
		await pause();
		break;
	}
	await pause();
	await expect(unhandled()).resolves.toEqual([]);
});

test("an error says where the failed page began and how many items were read", async () => {
	const from = await service({ ...threePages, "3": refusal(403) });
	const failures = [
		await failure(() => namesOf(lists(from).list())),
		await failure(() => lists(from).list().toArray()),
		await failure(async () => {
			for await (const _page of lists(from).list().pages());
		}),
	];
	for (const error of failures) {
		expect(error).toMatchObject({
			_tag: "PartnerForbidden",
			operation: "conversations.list",
			cursor: "3",
			itemsRead: 4,
		});
	}
});

test("an error on a first page has cursor null and itemsRead 0", async () => {
	const from = await service({ "": refusal(403) });
	expect(await failure(() => namesOf(lists(from).list()))).toMatchObject({ cursor: null, itemsRead: 0 });
	expect(await failure(() => lists(from).list().toArray())).toMatchObject({ cursor: null, itemsRead: 0 });
	expect(await failure(() => lists(from).list().pages().next())).toMatchObject({ cursor: null, itemsRead: 0 });
});

test("an error on a first page that was asked for by cursor names that cursor", async () => {
	const from = await service({ X: refusal(400) });
	const error = await failure(() => namesOf(lists(from).list({ cursor: "X" })));
	expect(error).toMatchObject({ _tag: "PartnerBadRequest", cursor: "X", itemsRead: 0 });
});

test("an iteration that failed continues from the error's cursor", async () => {
	let broken = true;
	const from = await scripted((seen) => {
		const page = threePages[cursorOf(seen) ?? ""];
		if (broken && cursorOf(seen) === "2") return refusal(403);
		return page && typeof page !== "string" && "names" in page
			? { json: conversationPage(page.names, page.next ?? null) }
			: refusal(400);
	});
	const error = await failure(() => namesOf(lists(from).list()));
	broken = false;
	await expect(namesOf(lists(from).list({ cursor: error.cursor ?? undefined }))).resolves.toEqual(["c", "d", "e"]);
});

test("the cursor is not in a logged error: it can hold a number", async () => {
	const { inspect } = await import("node:util");
	const from = await service({ "": { names: ["a"], next: "CANARYCURSOR" } });
	const error = await failure(() => namesOf(lists(from).list()));
	expect(error.cursor).toBe("CANARYCURSOR");
	for (const shown of [error.message, error.stack, JSON.stringify(error), inspect(error)]) {
		expect(shown).not.toContain("CANARYCURSOR");
	}
});

test("a page is retried like any other call", async () => {
	let times = 0;
	const from = await scripted((seen) => {
		if (cursorOf(seen) === "2" && ++times < 3) return times === 1 ? refusal(500) : "reset";
		const page = threePages[cursorOf(seen) ?? ""];
		return page && typeof page !== "string" && "names" in page
			? { json: conversationPage(page.names, page.next ?? null) }
			: refusal(400);
	});
	await expect(namesOf(lists(from).list())).resolves.toEqual(["a", "b", "c", "d", "e"]);
	expect(from.requests.map(cursorOf)).toEqual([null, "2", "2", "2", "3"]);
});

test("signal: aborted before, no request; the iteration ends in PartnerAbortError", async () => {
	const from = await service(threePages);
	const signal = AbortSignal.abort();
	for (const use of [
		() => namesOf(lists(from).list({ signal })),
		() => lists(from).list({ signal }).toArray(),
		() => lists(from).list({ signal }).page(),
		() => lists(from).list({ signal }).pages().next(),
	]) {
		await expect(failure(use)).resolves.toMatchObject({ _tag: "PartnerAbortError", attempts: 0 });
	}
	expect(from.requests).toEqual([]);
});

test("signal: aborted in the iteration, it delivers nothing more", async () => {
	const from = await service(threePages);
	const controller = new AbortController();
	const seen: (string | null)[] = [];
	const error = await failure(async () => {
		for await (const { contactName } of lists(from).list({ signal: controller.signal })) {
			seen.push(contactName);
			if (seen.length === 3) controller.abort();
		}
	});
	expect(error).toMatchObject({ _tag: "PartnerAbortError", operation: "conversations.list", itemsRead: 3 });
	expect(error.message).toBe("conversations.list: aborted by the caller");
	expect(seen).toEqual(["a", "b", "c"]);
});

test("signal: aborted within a page, the cursor of the error is that page's, so that going on from it loses no item", async () => {
	const from = await service(threePages);
	for (const [after, rest] of [
		[1, ["a", "b", "c", "d", "e"]],
		[3, ["c", "d", "e"]],
	] as const) {
		const controller = new AbortController();
		let count = 0;
		const error = await failure(async () => {
			for await (const _row of lists(from).list({ signal: controller.signal }))
				if (++count === after) controller.abort();
		});
		const cursor = error.cursor ?? undefined;
		expect(await namesOf(lists(from).list({ cursor }))).toEqual(rest);
	}
});

test("signal: aborted while a page is on its way, that page is given up", async () => {
	const from = await service({ "": { names: ["a"], next: "2" }, "2": "hang" });
	const controller = new AbortController();
	const failed = failure(() => namesOf(lists(from).list({ signal: controller.signal })));
	await eventually(() => expect(from.requests).toHaveLength(2));
	controller.abort();
	await expect(failed).resolves.toMatchObject({ _tag: "PartnerAbortError", cursor: "2", itemsRead: 1 });
	await eventually(() => expect(from.requests[1]?.cut).toBe(true));
});

test("two parallel iterations over one list are independent", async () => {
	const from = await service(threePages);
	const list = lists(from).list();
	const [one, two] = await Promise.all([namesOf(list), namesOf(list)]);
	expect(one).toEqual(["a", "b", "c", "d", "e"]);
	expect(two).toEqual(one);
	expect(from.requests).toHaveLength(6);
});

test("one of two iterations that breaks leaves the other alone", async () => {
	const from = await service(threePages);
	const list = lists(from).list();
	const other = namesOf(list);
	for await (const _row of list) break;
	await expect(other).resolves.toEqual(["a", "b", "c", "d", "e"]);
});

test("a list can be iterated again: it reads anew", async () => {
	const from = await service(threePages);
	const list = lists(from).list();
	await namesOf(list);
	await expect(namesOf(list)).resolves.toEqual(["a", "b", "c", "d", "e"]);
	expect(from.requests).toHaveLength(6);
});

test("an iterator that has ended or was returned asks for nothing more", async () => {
	const from = await service(threePages);
	const iterator = lists(from).list()[Symbol.asyncIterator]();
	await iterator.next();
	await iterator.return();
	await expect(iterator.next()).resolves.toEqual({ done: true, value: undefined });
	await pause();
	expect(from.requests).toHaveLength(1);
});

test("a list's methods need no this", async () => {
	const from = await service(threePages);
	const { toArray, page, pages } = lists(from).list();
	await expect(toArray({ limit: 1 })).resolves.toHaveLength(1);
	await expect(page()).resolves.toMatchObject({ nextCursor: "2" });
	await expect(pages().next()).resolves.toMatchObject({ value: { nextCursor: "2" } });
});

test("a repeated cursor is reported with the request that brought it", async () => {
	const service = await scripted(() => ({
		json: conversationPage(["a"], "same"),
		headers: { "x-correlation-id": "the-page" },
	}));
	const { conversations } = clientOf(service).agency(agencyId);
	const error = await failure(() => conversations.list().toArray());
	expect(error).toMatchObject({ _tag: "PartnerUnexpectedResponse", attempts: 1, correlationId: "the-page" });
});

test("a page of messages that says that there is more and not where is not an end, but an error", async () => {
	const service = await scripted(() => ({ json: { ...messagePage([2, 1]), hasMore: true, nextCursor: null } }));
	const { conversations } = clientOf(service).agency(agencyId);
	const error = await failure(() => conversations.listMessages(phone).toArray());
	expect(error).toMatchObject({ _tag: "PartnerUnexpectedResponse", attempts: 1 });
	expect(error.message).toContain("/nextCursor");
});

test("toArray refuses an option that it does not take, and asks for nothing", async () => {
	const service = await scripted(() => ({ json: conversationPage(["a"]) }));
	const { conversations } = clientOf(service).agency(agencyId);
	const error = await failure(() => Reflect.apply(conversations.list().toArray, undefined, [{ max: 5 }]));
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", operation: "conversations.list" });
	expect(service.requests).toEqual([]);
});
