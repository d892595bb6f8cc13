// A copy of a conversation, such as one of a cache in front of the service, is no reading: nobody is texted because of it.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient } from "messaging-conversations";
import { nodeHttp } from "messaging-conversations/node";
import { checkDelivery, createOutbox, type Pause } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { describe, expect, test } from "vitest";
import { memoryStore } from "./memory.ts";
import { add, stateOf } from "./world.ts";

const minute = 60_000;
const optedOut = ["cancelled", "opted_out"];

interface Kept {
	status: number;
	body: string;
	headers: [string, string][];
	at: number;
}

/** What a cache tells of its copies. */
type Tells = "Age" | "the correlation id" | "nothing";

/** The answer to a read or a lookup, once the message that was newest then has been deleted. */
function withoutNewest(body: string): string {
	const json = JSON.parse(body);
	for (const summary of [json.conversation?.summary, json.results?.[0]?.conversation])
		if (summary) {
			summary.totalMessages--;
			summary.lastMessageAt = new Date(Date.parse(summary.lastMessageAt) - 60_000).toISOString();
		}
	json.messagePage?.messages.shift();
	return JSON.stringify(json);
}

/** Anna, an outbox, and a cache between the two, which answers as it is told. */
function createCached() {
	let sandbox = createSandbox();
	const { connection } = sandbox;
	const agency = sandbox.agency();
	const anna = agency.contact("+447700900101");
	const kept = new Map<string, Kept>();
	const requests: string[] = [];
	let count = 0;
	const cache = {
		/** How many reads of a conversation it answers with a copy. */
		replays: 0,
		tells: "Age" as Tells,
		/** Whether it keeps what it sees. */
		isKeeping: true,
		/** Whether it takes another query for another page. */
		heedsQuery: true,
		/** Whether the service has deleted the newest message. */
		isNewestDeleted: false,
		/** What it sets on all answers. */
		headers: {} as Record<string, string>,
	};
	const fetch: typeof globalThis.fetch = async (input, init) => {
		const url = new URL(String(input));
		const name = cache.heedsQuery ? url.href : url.pathname;
		const isRead = init?.method === "GET" && /\/conversations\/%2B\d+$/.test(url.pathname);
		requests.push(`${init?.method} ${url.pathname.replace(/.*\/agencies\/[^/]+/, "")}`);
		const copy = kept.get(name);
		if (isRead && copy && cache.replays > 0) {
			cache.replays--;
			const headers = new Headers(copy.headers);
			if (cache.tells === "Age") headers.set("age", `${Math.round((sandbox.clock.now().getTime() - copy.at) / 1_000)}`);
			if (cache.tells !== "the correlation id") headers.set("x-correlation-id", `copy-${++count}`);
			if (cache.tells === "nothing") headers.set("date", sandbox.clock.now().toUTCString());
			return new Response(copy.body, { status: copy.status, headers });
		}
		const response = await sandbox.fetch(url.href, init);
		const { status } = response;
		const body = cache.isNewestDeleted ? withoutNewest(await response.text()) : await response.text();
		const headers = new Headers(response.headers);
		headers.set("date", sandbox.clock.now().toUTCString());
		for (const [header, value] of Object.entries(cache.headers)) headers.set(header, value);
		if (isRead && cache.isKeeping)
			kept.set(name, { status, body, headers: [...headers], at: sandbox.clock.now().getTime() });
		return new Response(body, { status, headers });
	};
	const client = createClient({ ...connection, fetch, retry: false });
	const store = memoryStore();
	const pauses: Pause[] = [];
	const options = { client, store, now: () => sandbox.clock.now(), onPaused: (pause: Pause) => pauses.push(pause) };
	const outbox = createOutbox(options);
	async function pass(ms: number): Promise<void> {
		for (const end = sandbox.clock.now().getTime() + ms; ; ) {
			await outbox.runOnce();
			const left = end - sandbox.clock.now().getTime();
			if (left <= 0) return;
			sandbox.clock.advance({ ms: Math.min(left, 20_000) });
		}
	}
	const texts = () => anna.inbox().flatMap(({ kind, body }) => (kind === "text" ? [body] : []));
	/** The service starts again with nothing of what it knew. */
	const restartService = () => {
		const { clock } = sandbox;
		sandbox = createSandbox({ now: clock.now() });
		return sandbox.agency().contact(anna.phoneNumber);
	};
	const advance = (ms: number) => void sandbox.clock.advance({ ms });
	const read = () => client.agency(agency.id).conversations.get(anna.phoneNumber);
	return {
		agency,
		anna,
		cache,
		client,
		kept,
		requests,
		outbox,
		store,
		pauses,
		pass,
		texts,
		restartService,
		advance,
		read,
	};
}

/** How the outbox may know what the copy lacks, if the copy itself tells nothing. */
const knows = ["it has read the conversation before", "the feed has told of it", "nothing"] as const;

describe("nobody is texted after STOP because of a copy from before it", () => {
	test.each([
		["hello", "Age", "nothing"],
		["start", "Age", "nothing"],
		["hello", "the correlation id", "nothing"],
		["start", "the correlation id", "nothing"],
		["hello", "nothing", "it has read the conversation before"],
		["start", "nothing", "it has read the conversation before"],
		["hello", "nothing", "the feed has told of it"],
	] as [string, Tells, (typeof knows)[number]][])(
		"%s: the copy tells %s, and the outbox knows %s",
		async (kind, tells, known) => {
			const world = createCached();
			const { anna, agency, cache, outbox, pass, texts, advance, read } = world;
			cache.tells = tells;
			anna.writes(kind === "start" ? "START" : "Hello, is the flat free?");
			await read(); // the cache keeps this copy
			cache.isKeeping = false;
			advance(120 * minute);
			anna.writes("STOP");
			if (known !== "nothing") {
				const { conversation, messagePage } = await read();
				if (known === "the feed has told of it")
					await outbox.observe({ agencyId: agency.id, conversation, messages: messagePage.messages });
				else {
					await add(world, "before", { purpose: "marketing" });
					await pass(minute);
				}
			}
			advance(240 * minute);
			await add(world, "offer", { purpose: "marketing" });
			cache.replays = 1;
			await pass(minute);
			expect(cache.replays).toBe(0);
			expect(await stateOf(world, "offer")).toEqual(optedOut);
			await add(world, "later", { purpose: "marketing" });
			await pass(30 * minute);
			expect(await stateOf(world, "later")).toEqual(optedOut);
			expect(texts()).toEqual([]);
		},
	);

	test.each(["Age", "the correlation id"] as Tells[])(
		"a cache that answers every read: the text waits with an error that says so, until a reading is fresh (%s)",
		async (tells) => {
			const world = createCached();
			const { anna, cache, pass, pauses, texts, advance, read } = world;
			Object.assign(cache, { tells, heedsQuery: false });
			anna.writes("Hello, is the flat free?");
			await read();
			cache.isKeeping = false;
			advance(120 * minute);
			anna.writes("STOP");
			cache.replays = Number.POSITIVE_INFINITY;
			await add(world, "offer", { purpose: "marketing" });
			await pass(30 * minute);
			expect((await world.outbox.status("offer"))?.state).toBe("waiting");
			expect((await world.outbox.status("offer"))?.error?.tag).toBe("PartnerUnexpectedResponse");
			expect(pauses.map(({ reason }) => reason)).toEqual(["failing"]);
			cache.replays = 0;
			await pass(30 * minute);
			expect(await stateOf(world, "offer")).toEqual(optedOut);
			expect(texts()).toEqual([]);
		},
	);

	test.each([true, false])(
		"the copy is from before a text that the outbox has sent (followed meanwhile: %s)",
		async (isFollowed) => {
			const world = createCached();
			const { anna, cache, pass, texts, advance } = world;
			Object.assign(cache, { tells: "nothing", heedsQuery: false });
			anna.writes("Hello, is the flat free?");
			// The cache keeps the reading before it.
			await add(world, "first");
			await world.outbox.runOnce();
			cache.isKeeping = false;
			if (isFollowed) await pass(minute);
			anna.writes("STOP");
			advance(60 * minute);
			cache.replays = Number.POSITIVE_INFINITY;
			for (const purpose of ["notice", "marketing"] as const) await add(world, purpose, { purpose });
			await pass(30 * minute);
			expect(texts()).toEqual(["first"]);
			cache.replays = 0;
			await pass(60 * minute);
			expect(await stateOf(world, "marketing")).toEqual(optedOut);
			expect(texts()).toEqual(["first"]);
		},
	);

	test.each(["messages", "its length alone", "its newest message alone"])(
		"the copy is older than an earlier reading: it lacks %s",
		async (what) => {
			const world = createCached();
			const { anna, cache, kept, pass, texts, advance, read } = world;
			cache.tells = "nothing";
			anna.writes("Hello, is the flat free?");
			await read();
			cache.isKeeping = false;
			advance(60 * minute);
			await add(world, "first");
			await pass(minute);
			const { summary } = (await read()).conversation;
			advance(60 * minute);
			anna.writes("STOP");
			advance(60 * minute);
			// What the outbox has read is partly there.
			for (const [name, copy] of kept) {
				const json = JSON.parse(copy.body);
				if (what !== "messages") json.conversation.summary.lastMessageAt = summary.lastMessageAt;
				if (what === "its newest message alone") json.conversation.summary.totalMessages = summary.totalMessages;
				kept.set(name, { ...copy, body: JSON.stringify(json) });
			}
			// One for the text that is followed, and one for the text that is next.
			cache.replays = 2;
			await add(world, "offer", { purpose: "marketing" });
			await pass(10 * minute);
			expect(cache.replays).toBe(0);
			expect(await stateOf(world, "offer")).toEqual(optedOut);
			expect(texts()).toEqual(["first"]);
		},
	);

	test.each([
		["Age", true],
		["Age", false],
		["the correlation id", true],
		["nothing", true],
		["nothing", false],
	] as [Tells, boolean][])(
		"a 404 that is kept makes nobody a new contact: it tells %s, and the cache heeds the query: %s",
		async (tells, heedsQuery) => {
			const world = createCached();
			const { anna, cache, outbox, pass, texts, advance } = world;
			Object.assign(cache, { tells, heedsQuery });
			await add(world, "first", { whenClosed: "skip" });
			await pass(minute); // the cache keeps the 404
			expect(await outbox.status("first")).toMatchObject({ state: "expired", reason: "window_closed" });
			cache.isKeeping = false;
			advance(30 * minute);
			anna.writes("STOP");
			advance(30 * minute);
			for (const purpose of ["notice", "marketing"] as const) await add(world, purpose, { purpose });
			cache.replays = 2;
			await pass(10 * minute);
			expect(cache.replays).toBeLessThan(2);
			for (const id of ["notice", "marketing"])
				expect(await outbox.status(id)).toMatchObject({ state: "cancelled", reason: "opted_out" });
			expect(texts()).toEqual([]);
		},
	);

	test("a copy of a 404 doesn't make somebody a new contact who was read before", async () => {
		const world = createCached();
		const { anna, cache, kept, outbox, pass, texts, advance, read } = world;
		await read().catch(() => {});
		const [notFound] = [...kept.values()];
		expect(notFound?.status).toBe(404);
		cache.isKeeping = false;
		anna.writes("Hello");
		await add(world, "first");
		await outbox.runOnce();
		advance(minute);
		anna.writes("Please call me first");
		await add(world, "second", { whenClosed: "skip" });
		// One for the text that is followed, and one for the text that is next.
		cache.replays = 2;
		cache.tells = "nothing";
		await pass(10 * minute);
		expect(cache.replays).toBe(0);
		expect(texts()).toEqual(["first", "second"]);
	});
});

describe("what goes on being sent", () => {
	test.each([
		["a gateway that sets one correlation id for all", { "x-correlation-id": "gateway" }],
		["a gateway that takes the correlation ids out", { "x-correlation-id": "" }],
		["a cache that has just fetched the answer", { age: "0" }],
		["a cache whose answers are up to ten seconds old", { age: "10" }],
		["a cache that says something else than a number", { age: "soon" }],
	])("behind %s", async (_, headers) => {
		const world = createCached();
		const { anna, cache, pass, texts, advance } = world;
		Object.assign(cache.headers, headers);
		const sent: string[] = [];
		for (let day = 0; day < 3; day++) {
			anna.writes("Is the flat still free?");
			for (const purpose of ["reply", "notice", "marketing"] as const) {
				sent.push(`${purpose} ${day}`);
				await add(world, `${purpose} ${day}`, { purpose });
			}
			await pass(minute);
			advance(60 * minute);
		}
		expect(texts()).toEqual(sent);
	});

	test("a gateway that sets one correlation id for all costs one more read and a lookup, once", async () => {
		const world = createCached();
		const { anna, cache, pass, requests } = world;
		cache.headers["x-correlation-id"] = "gateway";
		anna.writes("Hello");
		const reads = async (id: string) => {
			const before = requests.length;
			await add(world, id);
			await pass(1);
			return requests.slice(before).filter((request) => !request.endsWith("/messages"));
		};
		await reads("first");
		await reads("second");
		expect((await reads("third")).filter((request) => request.startsWith("GET /conversations/%2B"))).toHaveLength(1);
	});

	test.each(["deletes a message", "starts again with nothing of before"])(
		"after the service %s, so that the conversation goes back for good",
		async (how) => {
			const world = createCached();
			const { anna, cache, outbox, pass, advance, restartService } = world;
			cache.isKeeping = false;
			anna.writes("START");
			advance(minute);
			anna.writes("Hello");
			await add(world, "first");
			await pass(minute);
			expect((await outbox.status("first"))?.state).toMatch(/sent|delivered/);
			advance(minute);
			let phone = anna;
			if (how === "deletes a message") cache.isNewestDeleted = true;
			else {
				phone = restartService();
				phone.writes("Hello again");
			}
			advance(minute);
			await add(world, "second");
			await pass(minute);
			await add(world, "third", { purpose: "marketing" });
			await pass(minute);
			expect(phone.inbox().flatMap(({ kind, body }) => (kind === "text" ? [body] : []))).toContain("third");
			expect((await outbox.status("second"))?.state).toMatch(/sent|delivered|read/);
		},
	);
});

test.each([400, 403, 409])(
	"a copy of a %d does not end a text, which goes out once the service itself answers",
	async (status) => {
		const sandbox = createSandbox();
		const anna = sandbox.agency().contact("+447700900101");
		anna.writes("Hello");
		const tags = { 400: "PartnerBadRequest", 403: "PartnerForbidden", 409: "PartnerConflict" };
		let copies = 1;
		const fetch: typeof globalThis.fetch = async (input, init) => {
			const isSend = init?.method === "POST" && String(input).endsWith("/messages");
			if (!isSend || copies-- <= 0) return sandbox.fetch(input, init);
			const body = { _tag: Object.entries(tags).find(([code]) => Number(code) === status)?.[1], message: "No." };
			return Response.json(body, { status, headers: { age: "90" } });
		};
		const client = createClient({ ...sandbox.connection, fetch, retry: false });
		const outbox = createOutbox({ client, store: memoryStore(), now: () => sandbox.clock.now() });
		await outbox.enqueue({ id: "note", agencyId: sandbox.agency().id, to: anna.phoneNumber, body: "See you" });
		for (let minutes = 0; minutes < 120; minutes++) {
			await outbox.runOnce();
			sandbox.clock.advance({ ms: minute });
		}
		expect(copies).toBeLessThan(0);
		expect((await outbox.status("note"))?.state).toMatch(/sent|delivered/);
		expect(anna.inbox().map(({ body }) => body)).toEqual(["See you"]);
	},
);

test("checkDelivery takes no copy for proof that a text was not sent", async () => {
	const { anna, agency, cache, client, advance, read } = createCached();
	anna.writes("Hello");
	await read();
	cache.isKeeping = false;
	cache.tells = "the correlation id";
	advance(minute);
	const since = new Date((await read()).conversation.summary.lastMessageAt ?? 0);
	await client.agency(agency.id).messages.send({ to: anna.phoneNumber, body: "See you" });
	advance(10 * minute);
	cache.replays = 1;
	const found = await checkDelivery(client.agency(agency.id), { to: anna.phoneNumber, body: "See you", since });
	expect(found.status).toMatch(/sent|delivered|read/);
});

test.each(["fetch", "nodeHttp", "a fetch of the caller's"])("reads ask caches for no copy, over %s", async (over) => {
	const asked: [string, string | undefined][] = [];
	const sandbox = createSandbox();
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Hello");
	const server = createServer(async (request, response) => {
		asked.push([`${request.method}`, request.headers["cache-control"]]);
		const chunks: Buffer[] = [];
		for await (const chunk of request) chunks.push(chunk);
		const body = Buffer.concat(chunks);
		const url = `https://sandbox.invalid${request.url}`;
		const answer = await sandbox.fetch(url.replace("https://sandbox.invalid/api/v1", sandbox.connection.baseUrl), {
			method: request.method ?? "GET",
			headers: { authorization: `${request.headers.authorization}`, "content-type": "application/json" },
			...(body.length > 0 && { body }),
		});
		response.writeHead(answer.status, {
			"content-type": "application/json",
			"x-correlation-id": crypto.randomUUID(),
		});
		response.end(await answer.text());
	}).listen(0, "127.0.0.1");
	await once(server, "listening");
	const transport = over === "nodeHttp" ? nodeHttp() : undefined;
	try {
		const own: typeof globalThis.fetch = (input, { cache: _, ...init } = {}) => fetch(input, init);
		const client = createClient({
			apiKey: sandbox.connection.apiKey,
			baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`,
			retry: false,
			...(transport && { transport }),
			...(over.startsWith("a fetch") && { fetch: own }),
		});
		const outbox = createOutbox({ client, store: memoryStore(), now: sandbox.clock.now });
		await add({ outbox, agency: sandbox.agency(), anna }, "notice");
		await outbox.runOnce();
		expect((await outbox.status("notice"))?.state).toBe("sent");
		const reads = asked.filter(([method]) => method === "GET");
		expect(reads.length).toBeGreaterThan(0);
		expect(reads.every(([, cacheControl]) => cacheControl === "no-cache")).toBe(true);
	} finally {
		await transport?.close?.();
		server.closeAllConnections();
		server.close();
	}
});
