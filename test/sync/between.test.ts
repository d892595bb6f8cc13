/* Answers that something in front of the service makes up, keeps or cuts off, for each request of a poll. */
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { changes, fingerprintOf, reconcile, type StoredConversation } from "messaging-conversations/sync";
import { expect, test } from "vitest";
import { isLong } from "../length.ts";
import { minutes, type Opened, openModel } from "./service.ts";

interface Transport {
	url: URL;
	/** What the service said. */
	body: string;
	date: string;
	/** The answer to the same request long ago. */
	old: { body: string; date: string } | undefined;
	/** What the service says to the first page in place of this one. */
	first: () => Promise<Response>;
}

const jsonOf = (text: string, date: string): Response =>
	new Response(text, { headers: { "content-type": "application/json", date } });
const pageOf = (status: number): Response =>
	new Response("<html>default backend</html>", { status, headers: { "content-type": "text/html" } });
/** A list whose rows are changed, or the answer as it is. */
const rowsOf = ({ body, date }: Transport, change: (rows: unknown[]) => unknown[]): Response => {
	const json = JSON.parse(body);
	if (!Array.isArray(json.conversations)) return jsonOf(body, date);
	return jsonOf(JSON.stringify({ ...json, conversations: change(json.conversations), nextCursor: null }), date);
};

const answers: Record<string, (transport: Transport) => Response | Promise<Response>> = {
	"404 with a page": () => pageOf(404),
	"403 of a firewall": () => pageOf(403),
	"401 with a page": () => pageOf(401),
	"410 with a page": () => pageOf(410),
	"502 with a page": () => pageOf(502),
	"404 with JSON of its own": () => Response.json({ message: "no Route matched" }, { status: 404 }),
	"200 with a page": () => pageOf(200),
	"200 without a body": ({ date }) => jsonOf("", date),
	"204": () => new Response(null, { status: 204 }),
	"200 with JSON of its own": () => Response.json({ status: "ok", data: [] }),
	"200 with null": () => Response.json(null),
	"200 with an empty list": () => Response.json([]),
	"a body that is cut off": ({ body, date }) => jsonOf(body.slice(0, body.length >> 1), date),
	"a list without rows": (transport) => rowsOf(transport, () => []),
	"a list of the first row": (transport) => rowsOf(transport, (rows) => rows.slice(0, 1)),
	"a list without its first rows": (transport) => rowsOf(transport, (rows) => rows.slice(2)),
	"an old answer with its Date": ({ body, date, old }) => jsonOf(old?.body ?? body, old?.date ?? date),
	"an old answer with the present Date": ({ body, date, old }) => jsonOf(old?.body ?? body, date),
	"the first page once more": ({ first }) => first(),
	"the answer to another agency": ({ body, date }) =>
		jsonOf(body.replaceAll('"phoneNumber":"+32', '"phoneNumber":"+31'), date),
};
const requests: Record<string, (url: URL) => boolean> = {
	"the first page of the list": ({ pathname, searchParams }) =>
		/\/conversations$/.test(pathname) && !searchParams.has("cursor"),
	"a later page of the list": ({ pathname, searchParams }) =>
		/\/conversations$/.test(pathname) && searchParams.has("cursor"),
	"a conversation": ({ pathname }) => /\/conversations\/[^/]*\d$/.test(pathname),
	"a later page of messages": ({ pathname }) => /\/messages$/.test(pathname),
	"a lookup": ({ pathname }) => /\/lookup$/.test(pathname),
};

/** A model of the service behind something that answers some requests in its place. */
function open(errorBodies: "service" | "any", request: string, answer: string) {
	const opened = openModel({}, 12);
	const { model } = opened;
	model.pageSize = 4;
	const kept = new Map<string, { body: string; date: string }>();
	const between = { times: 0, met: 0 };
	const fetch: typeof globalThis.fetch = async (input, init) => {
		const url = new URL(String(input));
		const response = await model.fetch(input, init);
		// A gateway that replaces the bodies of errors.
		if (!response.ok) return errorBodies === "any" ? pageOf(response.status) : response;
		const body = await response.text();
		const date = response.headers.get("date") ?? "";
		const old = kept.get(url.href);
		if (!old) kept.set(url.href, { body, date });
		if (between.times === 0 || !requests[request]?.(url)) return jsonOf(body, date);
		between.times--;
		between.met++;
		url.searchParams.delete("cursor");
		const made = await answers[answer]?.({ url, body, date, old, first: () => model.fetch(url, init) });
		return made ?? jsonOf(body, date);
	};
	const { agencyId } = model;
	const baseUrl = "https://model.invalid/api/v1";
	const client = createClient({ baseUrl, apiKey: "model_live.a.b", fetch, retry: false, errorBodies });
	return { ...opened, between, agency: client.agency(agencyId) };
}

function write({ model, contact }: Pick<Opened, "model" | "contact">, indexes: readonly number[]): void {
	for (const index of indexes) {
		model.write(contact(index));
		model.advance(3_000);
	}
}

/** How many requests meet the answer. */
const lengths = [1, 2, Number.POSITIVE_INFINITY];
/** In the short run each request and answer is tried in one of the six ways, in turn. */
const cases = Object.keys(requests).flatMap((request, first) =>
	Object.keys(answers).flatMap((answer, second) =>
		lengths
			.flatMap((times) => (["service", "any"] as const).map((errorBodies) => ({ request, answer, times, errorBodies })))
			.filter((_, way) => isLong || way === (first + second) % 6),
	),
);

test.each(cases.filter(({ request }) => request !== "a lookup"))(
	"$answer in place of $request, $times times, loses no message and brings none twice, errorBodies: $errorBodies",
	async ({ request, answer, times, errorBodies }) => {
		const opened = open(errorBodies, request, answer);
		const { model, agency, between } = opened;
		const delivered: (string | null)[] = [];
		let since = "beginning";
		const poll = async (): Promise<void> => {
			const feed = changes(agency, { since });
			try {
				for await (const { phoneNumber, messages } of feed) {
					expect(phoneNumber).toMatch(/^\+32/);
					delivered.push(...messages.map(({ body }) => body));
					since = feed.checkpoint;
				}
			} catch {
				// A poll that fails is repeated from its checkpoint.
			}
			since = feed.checkpoint;
		};
		write(opened, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
		await poll();
		model.advance(minutes(10));
		// More than a page of them, so that a later poll reads a second one.
		write(opened, [0, 1, 2]);
		await poll();
		model.advance(minutes(10));
		write(opened, [3, 3, 3, 3, 3, 3, 4, 5, 0, 6, 7]);
		model.advance(minutes(5));
		write(opened, [8]);
		model.advance(minutes(4));
		between.times = times;
		await poll();
		between.times = 0;
		for (let polls = 0; polls < 4; polls++) {
			model.advance(minutes(1));
			await poll();
		}
		model.advance(minutes(20));
		await poll();
		expect(between.met).toBeGreaterThan(0);
		const written = model.conversations.flatMap(({ messages }) => messages.map(({ body }) => body));
		expect([...delivered].sort()).toEqual([...written].sort());
		const before = model.requests.length;
		await poll();
		expect(model.requests.slice(before)).toEqual(["GET /conversations"]);
	},
);

test.each(cases)(
	"$answer in place of $request, $times times, deletes nothing, errorBodies: $errorBodies",
	async ({ request, answer, times, errorBodies }) => {
		const opened = open(errorBodies, request, answer);
		const { model, agency, contact, between } = opened;
		write(opened, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
		const stored = new Map<string, StoredConversation>();
		const gone: string[] = [];
		const run = async (): Promise<void> => {
			for await (const { phoneNumber, conversation } of reconcile(agency, { stored: [...stored.values()] })) {
				if (!conversation) gone.push(phoneNumber);
				if (!conversation) stored.delete(phoneNumber);
				else stored.set(phoneNumber, { phoneNumber, fingerprint: fingerprintOf(conversation) });
			}
		};
		await run();
		expect(stored.size).toBe(12);
		model.advance(minutes(10));
		write(opened, [0, 0, 0, 0, 0, 0, 1, 2]);
		// One is deleted, which is looked up.
		contact(5).hiddenUntil = Number.POSITIVE_INFINITY;
		const { phoneNumber: deleted } = contact(5);
		between.times = times;
		await run().catch(() => {});
		expect(between.met).toBeGreaterThan(0);
		between.times = 0;
		await run();
		await run();
		expect(gone).toEqual([deleted]);
		expect([...stored.keys()]).toHaveLength(11);
	},
);

test("what a page leaves out is delivered if the list of the newest ones, which follows, shows it", async () => {
	const opened = open("service", "a later page of the list", "a list of the first row");
	const { model, agency, between } = opened;
	write(opened, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
	const feed = changes(agency, { since: "beginning" });
	for await (const _ of feed);
	model.advance(minutes(10));
	write(opened, [4, 5]);
	model.advance(minutes(8));
	write(opened, [11, 0, 1, 2, 3]);
	between.times = 1;
	const delivered: string[] = [];
	for await (const { messages } of feed) delivered.push(...messages.map(({ body }) => body?.replace(/\D+/, "") ?? ""));
	expect(between.met).toBe(1);
	expect(delivered).toEqual(["12", "13", "14", "15", "16", "17", "18"]);
});

test("a cache that has old lists of both sizes does not pass for a clock that is set back", async () => {
	const opened = open("service", "the first page of the list", "an old answer with its Date");
	const { model, agency, between } = opened;
	const delivered: string[] = [];
	let since = "beginning";
	const poll = async (): Promise<unknown> => {
		const feed = changes(agency, { since });
		try {
			for await (const { messages } of feed)
				delivered.push(...messages.map(({ body }) => body?.replace(/\D+/, "") ?? ""));
		} catch (error) {
			return Object(error)._tag;
		} finally {
			since = feed.checkpoint;
			model.advance(minutes(10));
		}
	};
	write(opened, [0, 1]);
	await poll();
	await poll();
	// The cache answers one request, and keeps the answer to the next one, in the other size.
	between.times = 1;
	await poll();
	for (const index of [0, 1]) {
		write(opened, [index]);
		await poll();
	}
	const { length: before } = model.requests;
	between.times = 2;
	expect(await poll()).toBe("PartnerUnexpectedResponse");
	expect(model.requests.slice(before)).toEqual([
		"GET /conversations",
		"GET /conversations",
		"POST /conversations/lookup",
	]);
	write(opened, [0]);
	await poll();
	expect(between.times).toBe(0);
	expect(delivered).toEqual(["0", "1", "2", "3", "4"]);
});

test("a conversation that is deleted is seen behind a gateway that replaces the bodies of errors", async () => {
	const opened = open("any", "a conversation", "404 with a page");
	const { agency, contact } = opened;
	write(opened, [0, 1]);
	const stored = [0, 1].map((index) => ({ phoneNumber: contact(index).phoneNumber, fingerprint: null }));
	contact(0).hiddenUntil = Number.POSITIVE_INFINITY;
	const gone: string[] = [];
	for await (const { phoneNumber, conversation } of reconcile(agency, { stored }))
		if (!conversation) gone.push(phoneNumber);
	expect(gone).toEqual([contact(0).phoneNumber]);
});

test("an older page of messages that is the first one again, with a newer message, does not change the order", async () => {
	const sandbox = createSandbox();
	const contact = sandbox.agency().contact("+447700900101");
	const write = (text: string): void => {
		contact.writes(text);
		sandbox.clock.advance({ ms: 1_000 });
	};
	for (let index = 0; index < 150; index++) write(`${index}`);
	let isFault = true;
	const client = createClient({
		...sandbox.connection,
		fetch(input, init) {
			const url = new URL(input);
			if (isFault && url.pathname.endsWith("/messages")) {
				isFault = false;
				write("newer");
				url.searchParams.delete("cursor");
			}
			return sandbox.fetch(url.href, init);
		},
	});
	let since = "beginning";
	const delivered: (string | null)[] = [];
	const errors: unknown[] = [];
	for (let poll = 0; poll < 2; poll++) {
		const feed = changes(client.agency(sandbox.agency().id), { since });
		try {
			for await (const { messages } of feed) delivered.push(...messages.map(({ body }) => body));
		} catch (error) {
			errors.push(Object(error)._tag);
		}
		since = feed.checkpoint;
		sandbox.clock.advance({ minutes: 1 });
	}
	expect(errors).toEqual(["PartnerUnexpectedResponse"]);
	expect(delivered).toEqual([...Array.from({ length: 150 }, (_, index) => `${index}`), "newer"]);
});
