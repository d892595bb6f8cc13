import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { changes, reconcile } from "messaging-conversations/sync";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

const second = 1_000;

beforeEach(() => {
	vi.useFakeTimers({ now: new Date("2026-01-05T09:00:00Z") });
});
afterEach(() => {
	vi.useRealTimers();
});

/** An agency with 250 conversations, whose list has three pages. Each `every`-th request is answered with 429. */
function open(every: number, retryAfter?: number) {
	const sandbox = createSandbox({ scenario: "busy" });
	let requests = 0;
	const fetch: typeof globalThis.fetch = async (input, init) => {
		if (++requests % every !== 0) return sandbox.fetch(input, init);
		const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
		return Response.json({ message: "Slow down." }, { status: 429, headers });
	};
	const client = createClient({ ...sandbox.connection, fetch });
	return { agency: client.agency(sandbox.agency().id), requests: () => requests };
}

async function count(feed: AsyncIterable<unknown>): Promise<number> {
	let delivered = 0;
	for await (const _ of feed) delivered++;
	return delivered;
}

/** Lets time pass until the work has ended. */
async function ended<Result>(work: Promise<Result>): Promise<Result> {
	let isOver = false;
	const over = () => {
		isOver = true;
	};
	work.then(over, over);
	for (let i = 0; i < 1_000 && !isOver; i++) await vi.advanceTimersByTimeAsync(10 * second);
	return work;
}

test.each([
	["without a Retry-After", undefined],
	["with a Retry-After that the client does not wait for", 60],
])(
	"the first poll of a large agency comes to its end though the service limits its requests: 429 %s",
	async (_, wait) => {
		expect(await ended(count(changes(open(3, wait).agency, { since: "beginning" })))).toBe(250);
		expect(await ended(count(reconcile(open(3, wait).agency, { stored: [] })))).toBe(250);
		expect(vi.getTimerCount()).toBe(0);
	},
);

test("a list of several pages that is refused for more than a minute ends the poll", async () => {
	const { agency, requests } = open(1);
	const first = count(changes(agency, { since: "beginning" }));
	await expect(ended(first)).rejects.toMatchObject({ status: 429 });
	expect(requests()).toBe(1);

	const sandbox = createSandbox({ scenario: "busy" });
	sandbox.faults.add({ operation: "conversations.get", times: Number.POSITIVE_INFINITY, effect: { status: 429 } });
	const client = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
	const poll = count(changes(client, { since: "beginning", concurrency: 1 }));
	await expect(ended(poll)).rejects.toMatchObject({ status: 429 });
	const reads = sandbox.requests().filter(({ operation }) => operation === "conversations.get");
	expect(reads).toHaveLength(7);
});

test("a response that a framework's key function throws is no answer of the service, and ends the poll at once", async () => {
	const thrown = Response.json({ message: "Too many logins." }, { status: 429 });
	const sandbox = createSandbox({ scenario: "busy" });
	let asked = 0;
	const apiKey = (): string => {
		if (++asked > 4) throw thrown;
		return sandbox.connection.apiKey;
	};
	const client = createClient({ ...sandbox.connection, apiKey }).agency(sandbox.agency().id);
	const poll = count(changes(client, { since: "beginning", concurrency: 1 }));
	expect(await ended(poll.catch((error: unknown) => error))).toBe(thrown);
	expect(asked).toBe(5);
});

test("a signal ends the wait at once, without a timer left", async () => {
	const { agency } = open(2);
	const stop = new AbortController();
	const poll = count(changes(agency, { since: "beginning", signal: stop.signal }));
	poll.catch(() => {});
	await vi.advanceTimersByTimeAsync(500);
	expect(vi.getTimerCount()).toBe(1);
	stop.abort();
	expect(vi.getTimerCount()).toBe(0);
	await expect(poll).rejects.toMatchObject({ _tag: "PartnerAbortError" });
});
