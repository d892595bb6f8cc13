// What a fetch or a transport of the caller throws may repeat the request. No part of it is in the error (S14, S20).
import { inspect } from "node:util";
import { type AttemptEvent, createClient, type Fetch, isPartnerError } from "messaging-conversations";
import { expect, test } from "vitest";
import { quick, sixCalls, wrong } from "../calls.ts";
import { agencyId, apiKey, phone, spelledPhone, text } from "../canned.ts";

interface Init {
	headers: Record<string, string>;
	body?: string;
}
const withDetails = (url: string, { headers, body }: Init) => ({ url, headers: { ...headers }, body });
/** A class that is no error, as that of SvelteKit's redirect. */
class Thrown {
	status = 500;
	constructor(readonly request: object) {}
}
/** Holds what it was given where no list of its fields shows it. */
class Getter {
	readonly #given: object;
	constructor(given: object) {
		this.#given = given;
	}
	get config() {
		return this.#given;
	}
}
const cyclic = (given: object) => {
	const value = { given, self: {} };
	value.self = value;
	return value;
};

const thrown: [what: string, make: (url: string, init: Init) => unknown][] = [
	["a text", (url, init) => `POST ${url} ${init.headers.authorization} ${init.body}`],
	["a text with the number alone", (url) => `failed: ${decodeURIComponent(url)} ${spelledPhone}`],
	["a text of JSON", (url, init) => JSON.stringify(withDetails(url, init))],
	["a plain object with the request's headers", (url, init) => withDetails(url, init)],
	[
		"a plain object with a frozen list of them",
		(_, init) => Object.freeze({ raw: Object.entries({ ...init.headers, to: phone }) }),
	],
	["an object of a class", (url, init) => new Thrown(withDetails(url, init))],
	["an object with a getter", (url, init) => new Getter(withDetails(url, init))],
	["an object that holds itself", (url, init) => cyclic(withDetails(url, init))],
	["a map", (url, init) => new Map(Object.entries(withDetails(url, init)))],
	["headers", (_, init) => new Headers(init.headers)],
	["a Request", (url, init) => new Request(url, init.body ? { method: "POST", ...init } : init)],
	[
		"a Response that repeats them",
		(_, init) => new Response(null, { status: 500, headers: { "x-sent": String(init.headers.authorization) } }),
	],
	["a symbol", (url, init) => Symbol(`${url} ${init.headers.authorization}`)],
	["a number that is the contact's", () => Number(phone)],
	["an object with the number as a bigint", () => ({ to: BigInt(phone.slice(1)) })],
	["a buffer of the body", (_, init) => ({ sent: new TextEncoder().encode(`${init.body} ${phone}`).buffer })],
	["the bytes of the body", (_, init) => ({ sent: Buffer.from(`${init.body} ${phone}`) })],
	["a function with fields", (url, init) => Object.assign(() => {}, withDetails(url, init))],
	[
		"an object whose getter throws",
		(_, init) => ({
			get config() {
				throw new Error(init.headers.authorization);
			},
		}),
	],
	["an error with a telling message", (url, init) => new Error(`${url} ${init.headers.authorization} ${init.body}`)],
	[
		"an error as of axios",
		(url, init) =>
			Object.assign(new Error("failed"), {
				isAxiosError: true,
				config: withDetails(url, init),
				request: withDetails(url, init),
			}),
	],
	[
		"a chain of causes",
		(url, init) =>
			new Error("a", { cause: new Error("b", { cause: new Error(`${url} ${init.headers.authorization}`) }) }),
	],
	[
		"an AggregateError",
		(url, init) => new AggregateError([new Error(String(init.headers.authorization)), url], `${init.body}`),
	],
	["a DOMException", (url, init) => new DOMException(`${url} ${init.headers.authorization}`, "NetworkError")],
	[
		"an error with a telling name and code",
		(url, init) => Object.assign(new Error("a"), { name: `${init.headers.authorization}`, code: url }),
	],
	[
		"an error whose code is a part of the key",
		() => Object.assign(new Error("a"), { name: "CANARYKEY", code: "CANARYKEY", syscall: "CANARYKEY" }),
	],
	[
		"an error whose name is a word of the text",
		(_, init) =>
			Object.assign(new Error("a"), init.body?.includes("CANARYTEXT") && { name: "CANARYTEXT", code: "CANARYTEXT" }),
	],
];

for (const through of ["fetch", "transport"] as const)
	test.for(thrown)(
		`#47 S14 nothing of the request is in what a call ends with if ${through} throws %s`,
		async ([, make]) => {
			const fail: Fetch = async (url, init) => {
				throw make(url, init);
			};
			const transport = async ({ url, headers, body }: { url: string } & Init) => fail(url, wrong({ headers, body }));
			const said: unknown[] = [];
			const events: AttemptEvent[] = [];
			const log = (...line: unknown[]) => void said.push(line);
			const client = createClient({
				baseUrl: "https://messaging.example/api/v1",
				apiKey,
				retry: { ...quick, attempts: 2 },
				logger: { debug: log, info: log, warn: log, error: log },
				onAttempt: (event) => events.push(event),
				...(through === "fetch" ? { fetch: fail } : { transport: wrong(transport) }),
			});
			for (const { operation, run } of sixCalls) {
				const [error] = await run(client).then(
					() => expect.unreachable(),
					(reason: unknown) => [reason],
				);
				// A read ends with what the caller's own function threw, if that is what steers a framework.
				if (!isPartnerError(error)) {
					expect(operation).not.toBe("messages.send");
					continue;
				}
				const shown = [
					inspect(error, { depth: null, showHidden: true, getters: true }),
					inspect(error.cause, { depth: null, showHidden: true, getters: true }),
					JSON.stringify(error),
					String(error),
					`${error.stack}`,
					inspect([said, events], { depth: null }),
				];
				for (const each of shown) expect(each).not.toMatch(/CANARY|470.?12.?34.?56|key0001|43 41 4e 41 52 59/);
				expect(error).toMatchObject({
					_tag: "PartnerConnectionError",
					...(operation === "messages.send" && { outcome: "unknown" }),
				});
			}
			const sent = await client.agency(agencyId).messages.send({ to: phone, body: text }).result();
			expect(sent.ok).toBe(false);
		},
	);
