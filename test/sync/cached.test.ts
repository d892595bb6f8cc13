// What a feed makes of copies, and of machines whose clocks differ.
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { changes } from "messaging-conversations/sync";
import { expect, test } from "vitest";

const hour = 3_600_000;

/** A sandbox with some contacts, a feed, and something in between that may answer with a copy. */
function createCached() {
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	const contacts = ["101", "102", "103"].map((end) => agency.contact(`+447700900${end}`));
	const kept = new Map<string, { body: string; status: number; headers: Headers; at: number }>();
	const cache = {
		/** Which requests it answers with a copy, and how many of them. */
		replays: 0,
		what: /\/conversations$/,
		tells: "Age" as "Age" | "the correlation id",
		isKeeping: true,
		headers: {} as Record<string, string>,
		/** How far the Date of an answer is ahead. */
		aheadMs: (_path: string) => 0,
	};
	const fetch: typeof globalThis.fetch = async (input, init) => {
		const url = new URL(String(input));
		const copy = kept.get(url.pathname);
		if (init?.method === "GET" && cache.what.test(url.pathname) && copy && cache.replays > 0) {
			cache.replays--;
			const headers = new Headers(copy.headers);
			if (cache.tells === "Age") {
				headers.set("age", `${Math.round((sandbox.clock.now().getTime() - copy.at) / 1_000)}`);
				headers.set("x-correlation-id", crypto.randomUUID());
			}
			headers.set("date", sandbox.clock.now().toUTCString());
			return new Response(copy.body, { status: copy.status, headers });
		}
		const response = await sandbox.fetch(input, init);
		const [body, { status }] = [await response.text(), response];
		const headers = new Headers(response.headers);
		headers.set("date", new Date(sandbox.clock.now().getTime() + cache.aheadMs(url.pathname)).toUTCString());
		for (const [name, value] of Object.entries(cache.headers)) headers.set(name, value);
		if (cache.isKeeping) kept.set(url.pathname, { body, status, headers, at: sandbox.clock.now().getTime() });
		return new Response(body, { status, headers });
	};
	const client = createClient({ ...sandbox.connection, fetch, retry: false });
	const delivered: (string | null)[] = [];
	let since = "beginning";
	const poll = async (): Promise<string | undefined> => {
		const feed = changes(client.agency(agency.id), { since });
		try {
			for await (const { messages } of feed) {
				delivered.push(...messages.map(({ body }) => body));
				since = feed.checkpoint;
			}
			since = feed.checkpoint;
			return undefined;
		} catch (error) {
			since = feed.checkpoint;
			return String(Object(error)._tag);
		}
	};
	/** A message, which is its own text. */
	const write = (index: number, text: string) => {
		sandbox.clock.advance({ ms: 5_000 });
		contacts[index]?.writes(text);
		sandbox.clock.advance({ ms: 5_000 });
	};
	return { sandbox, cache, delivered, poll, write };
}

test.each([
	["a list", "Age", /\/conversations$/],
	["a list", "the correlation id", /\/conversations$/],
	["a conversation", "Age", /\/conversations\/%2B\d+$/],
	["a conversation", "the correlation id", /\/conversations\/%2B\d+$/],
] as const)(
	"a copy of %s that shows itself by %s delays messages, and loses or repeats none",
	async (_, tells, what) => {
		const { cache, delivered, poll, write, sandbox } = createCached();
		Object.assign(cache, { tells, what });
		write(0, "one");
		write(1, "two");
		await poll();
		cache.isKeeping = false;
		for (const [round, replays] of [1, 2, 3, 100].entries()) {
			sandbox.clock.advance({ hours: 1 });
			write(0, `first of ${round}`);
			write(2, `second of ${round}`);
			cache.replays = replays;
			await poll();
			// A single one delays nothing, because the answer is asked for again.
			if (replays === 1) expect(delivered).toEqual(expect.arrayContaining([`first of ${round}`, `second of ${round}`]));
			cache.replays = 0;
			await poll();
			await poll();
		}
		const all = [0, 1, 2, 3].flatMap((round) => [`first of ${round}`, `second of ${round}`]);
		expect([...delivered].sort()).toEqual(["one", "two", ...all].sort());
	},
);

test("nothing fails because a machine's clock is a few seconds off, hours behind, or says tomorrow", async () => {
	const { cache, delivered, poll, write } = createCached();
	const nodes = [0, -15_000, 24 * hour, -3 * hour, 0];
	let count = 0;
	cache.aheadMs = () => nodes[count++ % nodes.length] ?? 0;
	const failed: (string | undefined)[] = [];
	const texts: string[] = [];
	for (let round = 0; round < 20; round++) {
		texts.push(`text ${round}`);
		write(round % 3, `text ${round}`);
		failed.push(await poll());
	}
	await poll();
	expect(failed.filter(Boolean)).toEqual([]);
	expect([...new Set(delivered)].sort()).toEqual([...texts].sort());
});

test.each([
	["lists", /\/conversations$/],
	["all reads but lookups", /\/conversations(?!\/lookup)/],
])("a Date that lags by three hours refuses nothing: that of %s", async (_, which) => {
	const { cache, delivered, poll, write } = createCached();
	write(0, "one");
	expect(await poll()).toBeUndefined();
	cache.aheadMs = (path) => (which.test(path) ? -3 * hour : 0);
	for (const text of ["two", "three"]) {
		write(1, text);
		expect(await poll()).toBeUndefined();
	}
	expect(delivered).toEqual(["one", "two", "three"]);
});

test.each([
	["sets one correlation id for all", { "x-correlation-id": "gateway" }],
	["has fetched the answer ten seconds ago", { age: "10" }],
])("a gateway that %s changes nothing", async (_, headers) => {
	const { cache, delivered, poll, write } = createCached();
	Object.assign(cache.headers, headers);
	const texts: string[] = [];
	for (let round = 0; round < 6; round++) {
		texts.push(`text ${round}`);
		write(round % 3, `text ${round}`);
		expect(await poll()).toBeUndefined();
	}
	expect(delivered).toEqual(texts);
});

test("a proxy that says that its answers are old, although they fit what a lookup says, is believed", async () => {
	const { cache, delivered, poll, write } = createCached();
	cache.headers.age = "3600";
	write(0, "one");
	expect(await poll()).toBeUndefined();
	write(0, "two");
	expect(await poll()).toBeUndefined();
	expect(delivered).toEqual(["one", "two"]);
});
