import fc from "fast-check";
import { expect, test } from "vitest";
import { type ClientOptions, createClient, isPartnerError } from "../../src/index.ts";
import { isLong } from "../length.ts";
import { agencyId, apiKey, operations, readAnswer, sentNow } from "./answers.ts";
import { factsOf } from "./caller.ts";
import { call, plainInputs } from "./conformance.ts";

/** How many values a property is tried with. They are new ones in each run, so short runs add up. */
const times = (atLength: number) => (isLong ? atLength : Math.ceil(atLength / 8));

const clientWith = (fetch: ClientOptions["fetch"], extra: Partial<ClientOptions> = {}) =>
	createClient({ baseUrl: "http://localhost/api/v1", apiKey, retry: false, fetch, ...extra });

/** A call ends in data or in one of the package's own errors; nothing else comes out and no prototype is touched. */
async function endsTyped(calling: Promise<unknown>): Promise<"data" | "error"> {
	const end = await calling.then(
		(data) => ({ data }),
		(error: unknown) => ({ error }),
	);
	expect(Reflect.get({}, "polluted")).toBeUndefined();
	if ("data" in end) return "data";
	if (!isPartnerError(end.error)) throw new Error(`untyped: ${String(end.error)}`);
	return "error";
}

const operation = fc.constantFrom(...operations);
const hostileBodies = [
	'{"__proto__":{"polluted":1}}',
	'{"constructor":{"prototype":{"polluted":1}}}',
	'{"then":1,"success":true}',
	"[".repeat(100_000),
	`${"[".repeat(50_000)}${"]".repeat(50_000)}`,
	`${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`,
	"\u{feff}{}",
	"1e999",
	"-0",
];
const hostile = fc.constantFrom(...hostileBodies);
// fc.string({ unit: "binary" }) lists all code points first, which takes a second each time.
const codePoint = fc.oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10_ffff }));
const unicode = (minLength = 0) => fc.array(codePoint, { minLength }).map((codes) => String.fromCodePoint(...codes));
const body = fc.oneof(
	fc.json(),
	unicode(),
	hostile,
	fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString("latin1")),
);
const headerValue = fc.string({
	unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)),
	maxLength: 60,
});
const retryAfter = fc.oneof(
	headerValue,
	fc.nat().map(String),
	fc.bigInt({ min: 0n }).map(String),
	fc.constantFrom("-1", "1e3", "0x10", "5s", "5, 10", "NaN", "Infinity", "9".repeat(400), " 1 ", "+1"),
	fc.date().map((date) => (Number.isNaN(date.getTime()) ? "Invalid Date" : date.toUTCString())),
);
const status = fc.oneof(
	fc.constantFrom(200, 200, 200, 201, 204, 301, 400, 401, 403, 404, 409, 429, 500, 503),
	fc.integer({ min: 200, max: 599 }),
);

test("S26 S27 whatever an answer holds, only data or a typed error comes out", async () => {
	await fc.assert(
		fc.asyncProperty(operation, status, body, retryAfter, headerValue, async (which, code, text, after, id) => {
			const bare = code === 204 || code === 205 || code === 304;
			const headers = { "retry-after": after, "x-correlation-id": id, date: after };
			const client = clientWith(async () => new Response(bare ? null : text, { status: code, headers }), {
				onContractDrift: () => undefined,
			});
			await endsTyped(call(client, which));
		}),
		// The bodies that somebody thought of are tried each time.
		{ numRuns: times(3000), examples: hostileBodies.map((text) => ["conversations.get", 200, text, "", ""]) },
	);
});

/** A good answer with one value replaced by anything. */
const mutated = fc.tuple(operation, fc.nat(), fc.jsonValue()).map(([which, at, value]) => {
	const good = which === "messages.send" ? sentNow : readAnswer(which);
	let count = 0;
	const replaced: unknown = JSON.parse(JSON.stringify(good), (_, each) => (count++ === at % 40 ? value : each));
	return { which, json: JSON.stringify(replaced) };
});

test("S26 S27 S29 an answer with one value replaced by anything is data or a contract error, and plain", async () => {
	await fc.assert(
		fc.asyncProperty(mutated, async ({ which, json }) => {
			const client = clientWith(async () => new Response(json, { status: 200 }), { onContractDrift: () => undefined });
			const end = await call(client, which).then(
				(data) => ({ data }),
				(error: unknown) => ({ error: factsOf(error) }),
			);
			if ("error" in end) expect(end.error._tag).toBe("PartnerUnexpectedResponse");
			else expect([Object.prototype, Array.prototype]).toContain(Object.getPrototypeOf(end.data));
			expect(Reflect.get({}, "polluted")).toBeUndefined();
		}),
		{ numRuns: times(3000) },
	);
});

test("#19 whatever Retry-After says, no wait overflows a timer and no attempt comes at once", async () => {
	await fc.assert(
		fc.asyncProperty(retryAfter, retryAfter, async (after, date) => {
			const waits: number[] = [];
			const client = clientWith(
				async () => new Response("", { status: 503, headers: { "retry-after": after, date } }),
				{
					retry: { attempts: 2, baseDelayMs: 1, maxDelayMs: 1, budget: Number.POSITIVE_INFINITY },
					deadline: 40,
					onAttempt: ({ retryInMs }) => retryInMs !== undefined && waits.push(retryInMs),
				},
			);
			expect(await endsTyped(client.me.get())).toBe("error");
			for (const wait of waits) expect(wait > 0 && wait <= 40).toBe(true);
		}),
		{ numRuns: times(1500) },
	);
});

const anything = fc.oneof(
	fc.anything(),
	unicode(),
	fc.constantFrom("..", ".", "", "%2e%2e", "a/b", "a\\b", "\ud800", "\0", "a\r\nb: c", "http://evil.example/"),
);
const untyped = (value: unknown) => value as never;

test("S11 whatever the ids, numbers, cursors and searches, the URL keeps the shape of its template", async () => {
	const paths: string[] = [];
	const client = clientWith(async (url) => {
		paths.push(String(url));
		return new Response("{}", { status: 400 });
	});
	const shape =
		/^http:\/\/localhost\/api\/v1\/agencies\/[A-Za-z0-9_-]{1,128}\/(messages|conversations(\/(lookup|%2B\d+(\/messages)?))?)(\?[^#?\s]*)?$/;
	await fc.assert(
		fc.asyncProperty(anything, anything, anything, anything, async (id, number, cursor, search) => {
			paths.length = 0;
			const run = async () => {
				const { conversations, messages } = client.agency(untyped(id));
				const ends = [
					conversations.list(untyped({ cursor, search })).page(),
					conversations.get(untyped(number), untyped({ cursor })),
					conversations.listMessages(untyped(number), untyped({ cursor })).page(),
					conversations.lookup(untyped([number])),
					messages.send(untyped({ to: number, body: search, operationId: cursor })),
				];
				for (const end of ends) await endsTyped(end);
			};
			await endsTyped(run());
			for (const path of paths) expect(path).toMatch(shape);
		}),
		{ numRuns: times(5000) },
	);
});

test("S12 any cursor and search that is accepted arrives as it was given", async () => {
	let asked = new URLSearchParams();
	const client = clientWith(async (url) => {
		asked = new URL(String(url)).searchParams;
		return new Response(JSON.stringify(readAnswer("conversations.list")));
	});
	const text = fc.string({ unit: "grapheme", minLength: 1 }).filter((each) => each.trim() !== "");
	await fc.assert(
		fc.asyncProperty(text, text, async (cursor, search) => {
			await client.agency(agencyId).conversations.list({ cursor, search }).page();
			expect([asked.get("cursor"), asked.get("search")]).toEqual([cursor, search]);
		}),
		{ numRuns: times(1000) },
	);
});

test("any operationId and text that is accepted goes out as it was given, on one line of JSON", async () => {
	let sent: unknown;
	const client = clientWith(async (_, init) => {
		sent = JSON.parse(String(init?.body));
		return new Response(JSON.stringify(sentNow));
	});
	const text = unicode(1);
	await fc.assert(
		fc.asyncProperty(text, text, async (operationId, words) => {
			sent = undefined;
			const message = { to: plainInputs.phone, body: words, operationId };
			const end = await endsTyped(client.agency(agencyId).messages.send(message));
			expect(sent).toEqual(end === "data" ? message : undefined);
		}),
		{ numRuns: times(1500) },
	);
});
