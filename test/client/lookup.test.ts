import { expect, test } from "vitest";
import { clientOf, failure, unhandledRejections, wrong } from "../calls.ts";
import { agencyId, lookupAnswer, summary } from "../canned.ts";
import { eventually } from "../eventually.ts";
import { type Answer, inTurn, pause, refusal, type Script, type Scripted, type Seen, scripted } from "../scripted.ts";

const asked = ({ body }: Seen): string[] => JSON.parse(body).phoneNumbers;
const honest: Script = (seen) => ({ json: lookupAnswer(seen.body) });
const lookupOf = (service: Scripted) => clientOf(service).agency(agencyId).conversations.lookup;
const numbers = (count: number): string[] =>
	Array.from({ length: count }, (_, index) => `+32470${String(100_000 + index)}`);

test("lookup answers one entry an input, in the caller's order and spelling", async () => {
	const service = await scripted((seen) => ({
		json: {
			results: asked(seen).map((phoneNumber) => ({
				phoneNumber,
				conversation: phoneNumber.endsWith("57") ? null : summary({ phoneNumber, cursor: null }),
			})),
		},
	}));
	const entries = await lookupOf(service)(["0470 12 34 57", "+32470123456", "0032 470 12 34 58"]);
	expect(entries).toEqual([
		{ input: "0470 12 34 57", phoneNumber: "+32470123457", conversation: null },
		{
			input: "+32470123456",
			phoneNumber: "+32470123456",
			conversation: summary({ phoneNumber: "+32470123456", cursor: null }),
		},
		{
			input: "0032 470 12 34 58",
			phoneNumber: "+32470123458",
			conversation: summary({ phoneNumber: "+32470123458", cursor: null }),
		},
	]);
});

test("lookup asks about a number once, however often and however it is written", async () => {
	const service = await scripted(honest);
	const inputs = ["0470 12 34 56", "+32470123456", "0032470123456", "0470/12.34.56", "0470 12 34 56"];
	const entries = await lookupOf(service)(inputs);
	expect(service.requests.map(asked)).toEqual([["+32470123456"]]);
	expect(entries.map(({ input }) => input)).toEqual(inputs);
	expect(new Set(entries.map(({ conversation }) => conversation?.phoneNumber))).toEqual(new Set(["+32470123456"]));
});

test.for([
	["an array", (all: string[]) => all],
	["a set", (all: string[]) => new Set(all)],
	["the keys of a map", (all: string[]) => new Map(all.map((each) => [each, 1])).keys()],
	[
		"a generator",
		function* (all: string[]) {
			yield* all;
		},
	],
	["an iterable of one's own", (all: string[]) => ({ [Symbol.iterator]: () => all[Symbol.iterator]() })],
] as [string, (all: string[]) => Iterable<string>][])("lookup takes %s", async ([, make]) => {
	const service = await scripted(honest);
	const entries = await lookupOf(service)(make(["0470 12 34 56", "n/a", "+32470123457"]));
	expect(entries.map(({ phoneNumber }) => phoneNumber)).toEqual(["+32470123456", null, "+32470123457"]);
	expect(service.requests.map(asked)).toEqual([["+32470123456", "+32470123457"]]);
});

test.for([
	[1, [1]],
	[100, [100]],
	[101, [100, 1]],
	[250, [100, 100, 50]],
] as const)("lookup of %d numbers asks in chunks of %j", async ([count, sizes]) => {
	const service = await scripted(honest);
	const entries = await lookupOf(service)(numbers(count));
	expect(service.requests.map((seen) => asked(seen).length).sort((a, b) => b - a)).toEqual(sizes);
	expect(entries.map(({ phoneNumber }) => phoneNumber)).toEqual(numbers(count));
	expect(entries.every(({ phoneNumber, conversation }) => conversation?.phoneNumber === phoneNumber)).toBe(true);
});

test("lookup counts the numbers of a chunk after de-duplication", async () => {
	const service = await scripted(honest);
	await lookupOf(service)([...numbers(100), ...numbers(100), "n/a"]);
	expect(service.requests).toHaveLength(1);
});

/** An honest service that holds its first answers until `bound` requests are under way, or too few come. */
async function crowded(bound: number) {
	let under = 0;
	const most = { count: 0 };
	const service = await scripted(async (seen) => {
		most.count = Math.max(most.count, ++under);
		for (let turn = 0; turn < 100 && most.count < bound; turn++) await pause(5);
		await pause(5);
		under--;
		return { json: lookupAnswer(seen.body) };
	});
	return { service, most };
}

test.for([1, 2, 3])(
	"lookup with a concurrency of %d has that many requests under way, and no more",
	async (concurrency) => {
		const { service, most } = await crowded(concurrency);
		await lookupOf(service)(numbers(1000), { concurrency });
		expect(service.requests).toHaveLength(10);
		expect(most.count).toBe(concurrency);
	},
);

test("lookup has a few requests under way by default: more than one, far from all", async () => {
	const { service, most } = await crowded(2);
	await lookupOf(service)(numbers(2000));
	expect(service.requests).toHaveLength(20);
	expect(most.count).toBeGreaterThan(1);
	expect(most.count).toBeLessThanOrEqual(8);
});

test("lookup keeps the order when later chunks answer first", async () => {
	const service = await scripted(async (seen, index) => {
		await pause(40 - index * 10);
		return { json: lookupAnswer(seen.body) };
	});
	const entries = await lookupOf(service)(numbers(400));
	expect(entries.map(({ input }) => input)).toEqual(numbers(400));
	expect(entries.every(({ input, conversation }) => conversation?.phoneNumber === input)).toBe(true);
});

test("lookup: what is not a phone number is not asked about, and is answered all the same", async () => {
	const service = await scripted(honest);
	const inputs = ["n/a", "0470 12 34 56", "", "112", "tel:112", "0470123456 / 0470123457", "x".repeat(5000)];
	const entries = await lookupOf(service)(inputs);
	expect(service.requests.map(asked)).toEqual([["+32470123456"]]);
	expect(entries.map(({ input, phoneNumber, conversation }) => [input, phoneNumber, conversation === null])).toEqual(
		inputs.map((input) => (input === "0470 12 34 56" ? [input, "+32470123456", false] : [input, null, true])),
	);
});

test.for([
	["nothing", []],
	["nothing that is a number", ["n/a", "", "112"]],
] as [string, string[]][])("lookup of %s makes no request", async ([, inputs]) => {
	const service = await scripted(honest);
	const call = lookupOf(service)(inputs);
	const entries = await call;
	expect(entries.map(({ reason: _, ...entry }) => entry)).toEqual(
		inputs.map((input) => ({ input, phoneNumber: null, conversation: null })),
	);
	await expect(call.result()).resolves.toMatchObject({ ok: true });
	await expect(call.withResponse()).resolves.toMatchObject({ response: { attempts: 0 } });
	expect(service.requests).toEqual([]);
});

const results = (seen: Seen): { phoneNumber: string; conversation: unknown }[] =>
	asked(seen).map((phoneNumber) => ({ phoneNumber, conversation: null }));

const wrongAnswers: [string, string, (seen: Seen) => unknown[]][] = [
	["short by one", "/results/0/phoneNumber", (seen) => results(seen).slice(1)],
	["short at its end", "/results", (seen) => results(seen).slice(0, -1)],
	["empty", "/results", () => []],
	["out of order", "/results/0/phoneNumber", (seen) => results(seen).reverse()],
	["longer than asked", "/results/3/phoneNumber", (seen) => [...results(seen), ...results(seen).slice(0, 1)]],
	[
		"about another number",
		"/results/0/phoneNumber",
		(seen) => [{ phoneNumber: "+32499999999", conversation: null }, ...results(seen).slice(1)],
	],
	[
		"twice about one number",
		"/results/1/phoneNumber",
		(seen) => results(seen).map((each, _index, [first]) => first ?? each),
	],
	[
		"in another spelling",
		"/results/0/phoneNumber",
		(seen) => results(seen).map((each) => ({ ...each, phoneNumber: each.phoneNumber.slice(1) })),
	],
];

test.for(wrongAnswers)(
	"lookup answered %s is PartnerUnexpectedResponse, never matched by position",
	async ([, path, answer]) => {
		const service = await scripted((seen) => ({ json: { results: answer(seen) } }));
		const error = await failure(() => lookupOf(service)(numbers(3)));
		expect(error).toMatchObject({
			_tag: "PartnerUnexpectedResponse",
			operation: "conversations.lookup",
			attempts: 1,
			retryable: false,
		});
		expect(error.message).toBe(`conversations.lookup: the answer breaks the contract at ${path}`);
		expect(error.message).not.toMatch(/\d{6}/);
		expect(service.requests).toHaveLength(1);
	},
);

test("lookup: a chunk is retried by itself", async () => {
	let failed = false;
	const service = await scripted((seen) => {
		if (!failed && asked(seen).length === 50) {
			failed = true;
			return refusal(500);
		}
		return { json: lookupAnswer(seen.body) };
	});
	await expect(lookupOf(service)(numbers(250))).resolves.toHaveLength(250);
	expect(service.requests).toHaveLength(4);
	const halves = service.requests.filter((seen) => asked(seen).length === 50);
	expect(halves[0]?.body).toBe(halves[1]?.body);
});

test("lookup: one chunk that fails fails the call, and no further chunk is asked", async () => {
	const service = await scripted((seen, index) => (index === 1 ? refusal(403) : { json: lookupAnswer(seen.body) }));
	const error = await failure(() => lookupOf(service)(numbers(1000), { concurrency: 1 }));
	expect(error).toMatchObject({ _tag: "PartnerForbidden", operation: "conversations.lookup", status: 403 });
	await pause();
	expect(service.requests).toHaveLength(2);
});

test("lookup: one chunk that fails gives up the others under way", async () => {
	const service: Scripted = await scripted(async (_seen, index): Promise<Answer> => {
		if (index > 0) return "hang";
		await eventually(() => expect(service.requests).toHaveLength(3));
		return refusal(403);
	});
	const error = await failure(() => lookupOf(service)(numbers(1000), { concurrency: 3 }));
	expect(error._tag).toBe("PartnerForbidden");
	expect(service.requests).toHaveLength(3);
	await eventually(() => expect(service.requests.slice(1).every(({ cut }) => cut)).toBe(true));
	await pause();
	expect(service.requests).toHaveLength(3);
});

test("lookup: a signal gives up all chunks", async () => {
	const service = await scripted(() => "hang");
	const controller = new AbortController();
	const failing = failure(() => lookupOf(service)(numbers(300), { concurrency: 3, signal: controller.signal }));
	await eventually(() => expect(service.requests).toHaveLength(3));
	controller.abort();
	await expect(failing).resolves.toMatchObject({ _tag: "PartnerAbortError" });
	await eventually(() => expect(service.requests.every(({ cut }) => cut)).toBe(true));
});

test("lookup withResponse counts the requests of all chunks", async () => {
	const service = await scripted(honest);
	const { data, response } = await lookupOf(service)(numbers(250)).withResponse();
	expect(data).toHaveLength(250);
	expect(response).toMatchObject({ status: 200, attempts: 3 });
});

test("lookup withResponse has the head of the last request, also where inputs without a number follow", async () => {
	const service = await scripted(honest);
	const inputs = ["+32470123456", ...Array.from({ length: 1_500 }, () => "n/a")];
	const { data, response } = await lookupOf(service)(inputs).withResponse();
	expect(data).toHaveLength(1_501);
	expect(response).toMatchObject({ status: 200, attempts: 1, correlationId: "cor-1" });
	expect(service.requests).toHaveLength(1);
});

test("lookup of nothing makes no request", async () => {
	const service = await scripted(honest);
	await expect(lookupOf(service)([])).resolves.toEqual([]);
	await expect(collect(lookupOf(service)([]))).resolves.toEqual([]);
	expect(service.requests).toEqual([]);
});

test("lookup of ten thousand numbers keeps its order", async () => {
	const service = await scripted(honest);
	const entries = await lookupOf(service)(numbers(10_000));
	expect(service.requests).toHaveLength(100);
	expect(entries.findIndex(({ input, conversation }) => conversation?.phoneNumber !== input)).toBe(-1);
});

test("a deadline given to a lookup is that of the whole of it", async () => {
	const service = await scripted(async (seen) => {
		await pause(150);
		return { json: lookupAnswer(seen.body) };
	});
	const error = await failure(() => lookupOf(service)(numbers(1000), { deadline: 400, concurrency: 1 }));
	expect(error._tag).toBe("PartnerTimeoutError");
	expect(service.requests.length).toBeLessThan(10);
	await expect(lookupOf(service)(numbers(5), { deadline: 20_000 })).resolves.toHaveLength(5);
});

test("a lookup without a deadline of its own gives each of its requests the client's", async () => {
	const service = await scripted(async (seen) => {
		await pause(300);
		return { json: lookupAnswer(seen.body) };
	});
	const { conversations } = clientOf(service, { deadline: 2_500 }).agency(agencyId);
	await conversations.lookup(numbers(1000), { concurrency: 1 });
	expect(service.requests).toHaveLength(10);
});

// What is not a number

test.for([
	[null, "empty"],
	[undefined, "empty"],
	["", "empty"],
	["  \u00a0", "empty"],
	["n/a", "letters"],
	["call me 0470123456", "letters"],
	["GSM: 0470 12 34 56", "letters"],
	["0470 12 34 56?", "letters"],
	["112", "too-short"],
	["0470 12 34 5", "too-short"],
	["+32 470 12 34 56 78 90", "too-long"],
	["+999 123 456 789", "unknown-country"],
	["06 12345678", "not-valid-here"],
	["02 512 34 56 / 57", "two-numbers"],
	["0470123456, 0470123457", "two-numbers"],
] as const)("lookup of %j is answered with the reason %s, and not requested", async ([input, reason]) => {
	const service = await scripted(honest);
	const lookup = lookupOf(service);
	const entry = { input, phoneNumber: null, conversation: null, reason };
	await expect(lookup([input])).resolves.toEqual([entry]);
	await expect(collect(lookup([input]))).resolves.toEqual([entry]);
	expect(service.requests).toEqual([]);
});

test("lookup: null and undefined may be among the numbers, each at its place", async () => {
	const service = await scripted(honest);
	const [first, ...rest] = await lookupOf(service)([null, "0470 12 34 56", undefined, "0470 12 34 57", null]);
	expect(first).toEqual({ input: null, phoneNumber: null, conversation: null, reason: "empty" });
	expect(rest.map(({ input }) => input)).toEqual(["0470 12 34 56", undefined, "0470 12 34 57", null]);
	expect(rest.map(({ conversation }) => conversation?.phoneNumber ?? null)).toEqual([
		"+32470123456",
		null,
		"+32470123457",
		null,
	]);
	expect(service.requests.map(asked)).toEqual([["+32470123456", "+32470123457"]]);
});

test("an entry with a number has no reason", async () => {
	const service = await scripted(honest);
	for (const entry of await lookupOf(service)(numbers(3))) expect(entry).not.toHaveProperty("reason");
});

// Iterated

test("for await: all entries in the order of the numbers, each number requested", async () => {
	const service = await scripted(async (seen, index) => {
		await pause(40 - index * 10);
		return { json: lookupAnswer(seen.body) };
	});
	const given = [...numbers(150), null, "n/a", ...numbers(350).slice(150)];
	const entries = await collect(lookupOf(service)(given));
	expect(entries.map(({ input }) => input)).toEqual(given);
	expect(entries.filter(({ reason }) => reason).map(({ reason }) => reason)).toEqual(["empty", "letters"]);
	const found = entries.filter(({ reason }) => !reason);
	expect(found.every(({ input, conversation }) => conversation?.phoneNumber === input)).toBe(true);
	expect(service.requests).toHaveLength(4);
});

test("for await: entries are delivered when their chunk has come, before the next ones have", async () => {
	const service = await scripted((seen, index) => (index === 0 ? { json: lookupAnswer(seen.body) } : "hang"));
	const seen: unknown[] = [];
	for await (const { phoneNumber } of lookupOf(service)(numbers(300))) {
		seen.push(phoneNumber);
		if (seen.length === 100) break;
	}
	expect(seen).toEqual(numbers(100));
});

test.for([1, 3])("for await: an endless source is read no further than %d requests ahead", async (concurrency) => {
	const service = await scripted(honest);
	let read = 0;
	function* endless() {
		for (;;) yield `+32470${100_000 + (read++ % 800_000)}`;
	}
	let handed = 0;
	let furthest = 0;
	for await (const { conversation } of lookupOf(service)(endless(), { concurrency })) {
		expect(conversation).not.toBeNull();
		furthest = Math.max(furthest, read - handed);
		if (++handed === 2000) break;
	}
	// The chunk that is yielded, those that are requested, and the next one.
	expect(furthest).toBeLessThanOrEqual((concurrency + 2) * 100);
	expect(service.requests.length).toBeLessThanOrEqual(20 + concurrency);
});

test("for await: a source without numbers is delivered in parts too, without a request", async () => {
	const service = await scripted(honest);
	let read = 0;
	function* endless() {
		for (;;) yield `n/a ${read++}`;
	}
	let handed = 0;
	for await (const { reason } of lookupOf(service)(endless(), { concurrency: 1 })) {
		expect(reason).toBe("letters");
		if (++handed === 3000) break;
	}
	expect(read).toBeLessThanOrEqual(7000);
	expect(service.requests).toEqual([]);
});

test("for await: an endless async source is read in parts too", async () => {
	const service = await scripted(honest);
	let read = 0;
	async function* endless() {
		for (;;) yield `+32470${100_000 + read++}`;
	}
	let handed = 0;
	for await (const { conversation } of lookupOf(service)(endless(), { concurrency: 1 })) {
		expect(conversation).not.toBeNull();
		if (++handed === 500) break;
	}
	expect(read).toBeLessThanOrEqual(800);
});

async function* later(all: readonly (string | null)[]) {
	for (const each of all) {
		await Promise.resolve();
		yield each;
	}
}

test("an async iterable is taken, awaited and iterated", async () => {
	const service = await scripted(honest);
	const given = ["0470 12 34 56", null, ...numbers(120)];
	const awaited = await lookupOf(service)(later(given));
	expect(awaited.map(({ input }) => input)).toEqual(given);
	expect(service.requests.map((seen) => asked(seen).length)).toEqual([100, 21]);
	await expect(collect(lookupOf(service)(later(given)))).resolves.toEqual(awaited);
});

test("for await: a failure says by itemsRead how many entries were delivered, and those count", async () => {
	const service = await scripted((seen, index) => (index === 2 ? refusal(403) : { json: lookupAnswer(seen.body) }));
	const seen: unknown[] = [];
	const error = await failure(async () => {
		for await (const { phoneNumber } of lookupOf(service)(numbers(1000), { concurrency: 1 })) seen.push(phoneNumber);
	});
	expect(error).toMatchObject({ _tag: "PartnerForbidden", operation: "conversations.lookup", agencyId });
	expect(error).toMatchObject({ itemsRead: 200, correlationId: "cor-3", attempts: 1 });
	expect(seen).toEqual(numbers(200));
	await pause();
	expect(service.requests).toHaveLength(3);
});

test("awaited, a failure has no itemsRead, because nothing was delivered", async () => {
	const service = await scripted(inTurn(refusal(403)));
	await expect(failure(() => lookupOf(service)(numbers(3)))).resolves.not.toHaveProperty("itemsRead");
});

test("for await: break gives up what is in flight and closes the source", async () => {
	const service = await scripted((seen, index) => (index === 0 ? { json: lookupAnswer(seen.body) } : "hang"));
	let isClosed = false;
	async function* source() {
		try {
			yield* numbers(1000);
		} finally {
			isClosed = true;
		}
	}
	for await (const _entry of lookupOf(service)(source(), { concurrency: 3 })) {
		await eventually(() => expect(service.requests).toHaveLength(3));
		break;
	}
	await eventually(() => expect(service.requests.slice(1).map(({ cut }) => cut)).toEqual([true, true]));
	await eventually(() => expect(isClosed).toBe(true));
	await pause();
	expect(service.requests).toHaveLength(3);
});

test("for await: break reads no more than the next number of a slow source", async () => {
	const service = await scripted(honest);
	let read = 0;
	let isClosed = false;
	async function* source() {
		try {
			for (const each of numbers(1000)) {
				if (read >= 100) await pause(1);
				read++;
				yield each;
			}
		} finally {
			isClosed = true;
		}
	}
	let readAtBreak = 0;
	for await (const _entry of lookupOf(service)(source())) {
		readAtBreak = read;
		break;
	}
	await eventually(() => expect(isClosed).toBe(true));
	expect(read).toBeLessThanOrEqual(readAtBreak + 1);
	expect(service.requests).toHaveLength(1);
});

test("for await: a failed chunk closes the source too", async () => {
	const service = await scripted(inTurn(refusal(403)));
	let isClosed = false;
	function* source() {
		try {
			yield* numbers(1000);
		} finally {
			isClosed = true;
		}
	}
	await failure(() => collect(lookupOf(service)(source())));
	await eventually(() => expect(isClosed).toBe(true));
});

test("for await: a signal ends the iteration between two entries, with itemsRead", async () => {
	const service = await scripted(honest);
	const controller = new AbortController();
	let handed = 0;
	const error = await failure(async () => {
		for await (const _entry of lookupOf(service)(numbers(100), { signal: controller.signal })) {
			if (++handed === 7) controller.abort();
		}
	});
	expect(error).toMatchObject({ _tag: "PartnerAbortError", itemsRead: 7, agencyId });
	expect(handed).toBe(7);
});

test("for await: bad options and bad numbers are refused", async () => {
	const service = await scripted(honest);
	const lookup = lookupOf(service);
	const options = await failure(() => collect(lookup(numbers(1), { concurrency: 0 })));
	expect(options).toMatchObject({ _tag: "PartnerInvalidInput", field: "concurrency" });
	const number = await failure(() => collect(lookup(["0470 12 34 56", wrong(5)])));
	expect(number).toMatchObject({ _tag: "PartnerInvalidInput", field: "phoneNumbers[1]" });
	expect(service.requests).toEqual([]);
});

test("awaited, a bad number anywhere makes no request at all", async () => {
	const service = await scripted(honest);
	const error = await failure(() => lookupOf(service)([...numbers(500), wrong(5)]));
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", field: "phoneNumbers[500]" });
	expect(service.requests).toEqual([]);
});

test("a source that throws rejects with its own error, awaited, as a result and iterated", async () => {
	const service = await scripted(honest);
	const own = new Error("the cursor is closed");
	async function* source() {
		yield* numbers(150);
		throw own;
	}
	const lookup = lookupOf(service);
	await expect(lookup(source())).rejects.toBe(own);
	await expect(lookup(source()).result()).rejects.toBe(own);
	expect(service.requests).toEqual([]);
	await expect(collect(lookup(source()))).rejects.toBe(own);
});

test("a lookup is either iterated or awaited, and its numbers are requested once", async () => {
	const unhandled = unhandledRejections();
	const service = await scripted(honest);
	const call = lookupOf(service)(numbers(5));
	await expect(collect(call)).resolves.toHaveLength(5);
	const error = await failure(() => call);
	expect(error).toMatchObject({
		_tag: "PartnerInvalidInput",
		field: "phoneNumbers",
		operation: "conversations.lookup",
	});
	const never = lookupOf(service)(numbers(5))[Symbol.asyncIterator]();
	await never.next();
	await expect(unhandled()).resolves.toEqual([]);
	expect(service.requests).toHaveLength(2);
});

test("a lookup makes no request before it is used, and loses no number when it is used late", async () => {
	const unhandled = unhandledRejections();
	const service = await scripted(honest);
	function* source() {
		yield* numbers(250);
	}
	const late = lookupOf(service)(source());
	const unused = lookupOf(service)(numbers(5));
	const refused = lookupOf(await scripted(inTurn(refusal(401))))(numbers(5));
	await pause(30);
	expect(service.requests).toEqual([]);
	await expect(collect(late)).resolves.toHaveLength(250);
	expect(await failure(() => collect(refused))).toMatchObject({ _tag: "PartnerUnauthorized", itemsRead: 0 });
	await expect(unhandled()).resolves.toEqual([]);
	expect(unused).toBeInstanceOf(Promise);
	expect(service.requests).toHaveLength(3);
});

test("the numbers of a lookup are read once: a second iteration is refused and not empty", async () => {
	const service = await scripted(honest);
	const lookup = lookupOf(service)(numbers(5));
	await expect(lookup).resolves.toHaveLength(5);
	await expect(lookup).resolves.toHaveLength(5);
	const error = await failure(() => collect(lookup));
	expect(error.message).toBe("phoneNumbers: are read once: await the lookup or iterate over it, or make another one");
	expect(service.requests).toHaveLength(1);
});

test("an array that is changed after the call is looked up as it was", async () => {
	const service = await scripted(honest);
	const batch = numbers(3);
	const lookup = lookupOf(service)(batch);
	batch.length = 0;
	await expect(lookup).resolves.toHaveLength(3);
});

test.for(["awaited", "iterated"])("%s, a signal ends a lookup whose numbers do not come", async (use) => {
	const service = await scripted(honest);
	const controller = new AbortController();
	async function* source() {
		yield* numbers(3);
		controller.abort();
		await new Promise(() => {});
	}
	const lookup = lookupOf(service)(source(), { signal: controller.signal });
	const error = await failure(async () => void (use === "awaited" ? await lookup : await collect(lookup)));
	expect(error).toMatchObject({ _tag: "PartnerAbortError", operation: "conversations.lookup" });
	expect(service.requests).toEqual([]);
});

test("for await: an error of this package that the source throws is left as it is", async () => {
	const service = await scripted((seen, index) => (seen.url.includes("lookup") ? honest(seen, index) : refusal(404)));
	const { conversations } = clientOf(service).agency(agencyId);
	async function* source() {
		yield* numbers(100);
		yield (await conversations.get("+32470123456")).conversation.summary.phoneNumber;
	}
	const entries: unknown[] = [];
	const run = async (): Promise<void> => {
		for await (const entry of conversations.lookup(source())) entries.push(entry);
	};
	const error = await failure(run);
	expect(error).toMatchObject({ _tag: "PartnerNotFound", operation: "conversations.get" });
	expect(error).not.toHaveProperty("itemsRead");
	expect(entries).toHaveLength(100);
});

test("for await: entries that are there do not wait for numbers that are slow, nor fall to a source that throws", async () => {
	const service = await scripted(honest);
	let isTold = false;
	const own = new Error("the cursor is closed");
	async function* source() {
		yield* numbers(100);
		await eventually(() => expect(isTold).toBe(true));
		yield* numbers(300).slice(100);
		throw own;
	}
	let entries = 0;
	const iterate = async () => {
		for await (const _entry of lookupOf(service)(source())) {
			isTold = true;
			entries++;
		}
	};
	await expect(iterate()).rejects.toBe(own);
	expect(entries).toBe(300);
});

test("for await: a number that is not text ends the iteration with itemsRead", async () => {
	const service = await scripted(honest);
	const error = await failure(() => collect(lookupOf(service)([...numbers(250), wrong(5)])));
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", field: "phoneNumbers[250]", itemsRead: 200 });
});

async function collect<Entry>(entries: AsyncIterable<Entry>): Promise<Entry[]> {
	const all: Entry[] = [];
	for await (const entry of entries) all.push(entry);
	return all;
}
