/* One loop over all agencies of a key: which it follows, what delays whom, and what it stores. */
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import {
	type AgenciesFeed,
	type AgencyPoll,
	type WatchAgenciesOptions,
	watchAgencies,
} from "messaging-conversations/sync";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

const second = 1_000;
const minute = 60 * second;
const [anna, bert] = ["+447700900101", "+447700900102"];

beforeEach(() => {
	vi.useFakeTimers({ now: new Date("2026-01-05T09:00:00Z") });
});
afterEach(() => {
	vi.useRealTimers();
});

function open(options: Partial<WatchAgenciesOptions<string>> = {}) {
	const sandbox = createSandbox();
	const [first, second_] = [sandbox.agency(), sandbox.link({ name: "Second" })];
	/** The paths of the requests, and what answers in place of the sandbox. */
	const requests: string[] = [];
	const answers = new Map<string, () => Response | Promise<Response>>();
	const client = createClient({
		...sandbox.connection,
		retry: false,
		async fetch(url, init) {
			const path = new URL(url).pathname.replace(/^.*\/v1/, "");
			requests.push(path);
			for (const [part, answer] of answers) if (path.includes(part)) return answer();
			return sandbox.fetch(url, init);
		},
	});
	const stored = new Map<string, string>();
	const saves: [agencyId: string, tx: string | undefined][] = [];
	const polls: AgencyPoll[] = [];
	const errors: [tag: string, field: string | undefined, agencyId: string | undefined][] = [];
	const stop = new AbortController();
	const feed: AgenciesFeed<string> = watchAgencies<string>(client, {
		load: async (agencyId) => stored.get(agencyId) ?? null,
		save: async (agencyId, checkpoint, tx) => {
			saves.push([agencyId, tx]);
			stored.set(agencyId, checkpoint);
		},
		requestsPerSecond: 100,
		onPoll: (poll) => polls.push(poll),
		onError: ({ _tag, field }, agencyId) => errors.push([_tag, field, agencyId]),
		signal: stop.signal,
		...options,
	});
	const delivered: string[] = [];
	const start = async (each: (agencyId: string, save: (tx?: string) => Promise<void>) => unknown = () => {}) => {
		for await (const { agencyId, messages, save } of feed) {
			delivered.push(...messages.map(({ body }) => `${body}`));
			await each(agencyId, save);
		}
	};
	const pass = async (ms: number) => {
		for (let passed = 0; passed < ms; passed += 5 * second) {
			sandbox.clock.advance({ ms: Math.min(5 * second, ms - passed) });
			await vi.advanceTimersByTimeAsync(Math.min(5 * second, ms - passed));
		}
	};
	/** Ends the loop, and expects that it leaves nothing. */
	const end = async (run: Promise<void>) => {
		stop.abort();
		await pass(second);
		await run;
		expect(vi.getTimerCount()).toBe(0);
	};
	return {
		sandbox,
		agencies: [first, second_] as const,
		answers,
		requests,
		stored,
		saves,
		polls,
		errors,
		feed,
		delivered,
		start,
		pass,
		end,
	};
}

test("agencies that are linked, unlinked and linked again are followed, and nothing is lost or doubled", async () => {
	const { sandbox, agencies, delivered, errors, feed, start, pass, end } = open();
	const [first, second_] = agencies;
	first.contact(anna).writes("1");
	second_.contact(anna).writes("2");
	const run = start();
	await pass(5 * second);
	expect(delivered.sort()).toEqual(["1", "2"]);
	const third = sandbox.link({ name: "Third" });
	third.contact(anna).writes("3");
	await pass(65 * second);
	expect([delivered.includes("3"), feed.agencies.length]).toEqual([true, 3]);
	second_.unlink();
	second_.contact(anna).writes("4");
	await pass(3 * minute);
	expect(feed.agencies).not.toContain(second_.id);
	expect(errors.every(([tag, , id]) => tag === "PartnerForbidden" && id === second_.id)).toBe(true);
	expect(errors.length).toBeLessThanOrEqual(3);
	second_.link();
	await pass(70 * second);
	expect(delivered).toEqual(["1", "2", "3", "4"]);
	await end(run);
});

test.each([
	[
		"answers 403 although it is linked",
		() => Response.json({ _tag: "PartnerForbidden", message: "No." }, { status: 403 }),
	],
	["answers 429", () => new Response("slow down", { status: 429, headers: { "retry-after": "20" } })],
	["answers 500", () => Response.json({ _tag: "PartnerInternalError", message: "No." }, { status: 500 })],
	["answers with a page", () => new Response("<html>", { status: 404 })],
	["never answers", () => new Promise<Response>(() => {})],
])("an agency that %s delays no other", async (_name, answer) => {
	const { agencies, answers, requests, delivered, errors, polls, start, pass, end } = open();
	const [first, second_] = agencies;
	answers.set(second_.id, answer);
	const run = start();
	await pass(2 * minute);
	for (let i = 0; i < 5; i++) {
		first.contact(anna).writes(`${i}`);
		await pass(minute);
	}
	await pass(minute);
	expect(delivered).toEqual(["0", "1", "2", "3", "4"]);
	expect(errors.length).toBeGreaterThan(0);
	expect(new Set(errors.map(([, , id]) => id))).toEqual(new Set([second_.id]));
	// Its pauses grow.
	expect(requests.filter((path) => path.includes(second_.id)).length).toBeLessThan(20);
	const lags = polls.filter(({ agencyId }) => agencyId === second_.id).map(({ lagMs }) => lagMs);
	expect(lags.at(-1)).toBeGreaterThan(2 * minute);
	expect(polls.filter(({ agencyId }) => agencyId === first.id).every(({ lagMs }) => lagMs < 2 * minute)).toBe(true);
	answers.clear();
	second_.contact(anna).writes("late");
	await pass(15 * minute);
	expect(delivered.at(-1)).toBe("late");
	await end(run);
});

test.each(["load", "save", "lease", "skip"])(
	"an agency for which %s fails delays no other, and goes on",
	async (field) => {
		const broken = new Set<string>();
		const stored = new Map<string, string>();
		let inSkip = false;
		const failing = (name: string) => (agencyId: string) => {
			if (name === field && broken.has(agencyId)) throw new Error("+447700900101 is not in the database");
		};
		const { agencies, delivered, errors, start, pass, end } = open({
			load: async (agencyId) => {
				failing("load")(agencyId);
				return stored.get(agencyId);
			},
			save: (agencyId, checkpoint) => {
				failing("save")(agencyId);
				stored.set(agencyId, checkpoint);
			},
			lease: async (agencyId) => {
				failing("lease")(agencyId);
				return true;
			},
			skip: (phoneNumber) => {
				if (field === "skip" && inSkip && phoneNumber === bert) throw new Error("away");
				return false;
			},
		});
		const [first, second_] = agencies;
		broken.add(second_.id);
		inSkip = true;
		const run = start();
		first.contact(anna).writes("1");
		second_.contact(bert).writes("2");
		await pass(3 * minute);
		expect(delivered).toContain("1");
		expect(errors[0]).toEqual(["PartnerConfigurationError", field, second_.id]);
		broken.clear();
		inSkip = false;
		await pass(3 * minute);
		expect(new Set(delivered)).toEqual(new Set(["1", "2"]));
		await end(run);
	},
);

test("save gets the transaction of the body, and a loop that is left delivers the change again", async () => {
	const { agencies, saves, stored, delivered, start, pass, end } = open();
	const [first] = agencies;
	first.contact(anna).writes("1");
	const run = start(async (_agencyId, save) => {
		await save("tx 1");
		// As the database does when the body throws.
		stored.delete(first.id);
		throw new Error("rolled back");
	});
	const thrown = expect(run).rejects.toThrow("rolled back");
	await pass(5 * second);
	await thrown;
	// The agencies begin in any order, and the other one stores where its own poll has ended.
	expect(saves.find(([agencyId]) => agencyId === first.id)).toEqual([first.id, "tx 1"]);
	expect(vi.getTimerCount()).toBe(0);
	expect(delivered).toEqual(["1"]);
	const again: string[] = [];
	const loop = start((_agencyId, save) => save(`tx ${again.push("again")}`));
	await pass(5 * second);
	expect([again.length, delivered, saves.at(-1)?.[1]]).toEqual([1, ["1", "1"], undefined]);
	expect(saves.some(([, tx]) => tx === "tx 1")).toBe(true);
	await end(loop);
});

test("without save the body stores the checkpoints, and a new loop continues there", async () => {
	const stored = new Map<string, string>();
	const load = async (agencyId: string) => stored.get(agencyId);
	const onPoll = ({ agencyId, checkpoint }: AgencyPoll): void => {
		if (checkpoint !== undefined) stored.set(agencyId, checkpoint);
	};
	const { agencies, delivered, start, pass, end } = open({ load, save: undefined, onPoll });
	agencies[0].contact(anna).writes("1");
	const run = start();
	await pass(2 * minute);
	agencies[0].contact(anna).writes("2");
	await pass(2 * minute);
	expect(delivered).toEqual(["1", "2"]);
	await end(run);
	const again = start();
	await pass(2 * minute);
	expect(delivered).toEqual(["1", "2"]);
	await again;
});

test.each([
	["of a later number", '{"v":2,"known":{}}', /^load: was made by a later version of .*Update the package/],
	["that is garbage", '{"v":"2"}', /^load: must be "now", "beginning" or a checkpoint$/],
])(
	"a stored checkpoint %s is reported once and kept, and delays no other agency",
	async (_name, stranger, sentence) => {
		const told: [message: string, agencyId: string | undefined][] = [];
		const { agencies, stored, requests, delivered, polls, start, pass, end } = open({
			onError: ({ message }, agencyId) => told.push([message, agencyId]),
		});
		const [first, second_] = agencies;
		first.contact(anna).writes("1");
		second_.contact(anna).writes("2");
		stored.set(first.id, stranger);
		const run = start();
		await pass(3 * minute);
		expect(told).toEqual([[expect.stringMatching(sentence), first.id]]);
		expect(polls.filter(({ agencyId }) => agencyId === first.id).length).toBeGreaterThan(1);
		expect(requests.filter((path) => path.includes(first.id))).toEqual([]);
		expect(stored.get(first.id)).toBe(stranger);
		expect(delivered).toEqual(["2"]);
		// The process with the later version has given it up, or the package was updated.
		stored.delete(first.id);
		await pass(3 * minute);
		expect(delivered).toEqual(["2", "1"]);
		await end(run);
	},
);

test("partitions share the agencies, each once", async () => {
	const seen: string[] = [];
	const all = new Set<string>();
	for (let index = 0; index < 3; index++) {
		const { sandbox, feed, start, pass, end } = open({ partition: { index, of: 3 } });
		for (let i = 0; i < 28; i++) sandbox.link({ name: `Agency ${i}` });
		for (const { id } of sandbox.agencies()) all.add(id);
		const run = start();
		await pass(5 * second);
		expect(feed.agencies.length).toBeGreaterThan(3);
		seen.push(...feed.agencies);
		await end(run);
	}
	expect(seen.length).toBe(30);
	expect(all.size).toBeGreaterThanOrEqual(30);
});

test("an agency whose lease another process has is not polled, and is taken over when the lease is free", async () => {
	const owners = new Map<string, string>();
	const lease = (agencyId: string): boolean => (owners.get(agencyId) ?? "me") === "me";
	const { agencies, requests, delivered, start, pass, end } = open({ lease });
	const [first, second_] = agencies;
	owners.set(second_.id, "another");
	second_.contact(anna).writes("2");
	first.contact(anna).writes("1");
	const run = start();
	await pass(5 * minute);
	expect([delivered, requests.some((path) => path.includes(second_.id))]).toEqual([["1"], false]);
	owners.clear();
	await pass(30 * second);
	expect(delivered).toEqual(["1", "2"]);
	await end(run);
});

test("a contact that is forgotten leaves every stored checkpoint, and the change that waits for the loop", async () => {
	const { agencies, stored, delivered, feed, start, pass, end } = open();
	for (const agency of agencies) for (const phone of [anna, bert]) agency.contact(phone).writes(phone);
	let isFirst = true;
	const run = start(async () => {
		if (!isFirst) return;
		isFirst = false;
		await feed.erase(bert);
	});
	await pass(minute);
	expect(delivered.filter((body) => body === bert).length).toBeLessThanOrEqual(1);
	expect([...stored.values()].join()).not.toContain(bert.slice(1));
	expect([...stored.values()].every((checkpoint) => checkpoint.includes(anna))).toBe(true);
	await feed.erase(anna);
	expect([...stored.values()].join()).not.toContain(anna.slice(1));
	// What was there counts as delivered, and later messages come.
	const before = delivered.length;
	await pass(3 * minute);
	expect(delivered.length).toBe(before);
	agencies[1].contact(anna).writes("new");
	await pass(2 * minute);
	expect(delivered.slice(before)).toEqual(["new"]);
	await end(run);
});

test("a large agency that begins does not delay the others", async () => {
	const { agencies, delivered, polls, requests, start, pass, end } = open({ requestsPerSecond: 2 });
	const [first, large] = agencies;
	for (let i = 0; i < 400; i++) large.contact(`+447700${900_000 + i}`).writes("old");
	const run = start();
	await pass(minute);
	for (let i = 0; i < 3; i++) {
		first.contact(anna).writes(`new ${i}`);
		await pass(minute);
	}
	await pass(minute);
	expect(delivered.filter((body) => body.startsWith("new"))).toEqual(["new 0", "new 1", "new 2"]);
	expect(requests.length).toBeLessThanOrEqual(2 * 5 * 60 + 3);
	expect(delivered.filter((body) => body === "old").length).toBeGreaterThan(300);
	expect(polls.some(({ agencyId, lagMs }) => agencyId === first.id && lagMs > 2 * minute)).toBe(false);
	await end(run);
});

test("me.get that fails is asked again, and one that answers 401 for five minutes ends the loop", async () => {
	const { answers, errors, delivered, agencies, start, pass } = open();
	agencies[0].contact(anna).writes("1");
	answers.set("/me", () => Response.json({ _tag: "PartnerInternalError", message: "No." }, { status: 500 }));
	const run = start();
	const thrown = expect(run).rejects.toMatchObject({ _tag: "PartnerUnauthorized" });
	await pass(minute);
	expect(errors[0]).toEqual(["PartnerInternalError", undefined, undefined]);
	answers.clear();
	await pass(2 * minute);
	expect(delivered).toEqual(["1"]);
	answers.set("", () => Response.json({ _tag: "PartnerUnauthorized", message: "No." }, { status: 401 }));
	await pass(4 * minute);
	expect(errors.at(-1)?.[0]).toBe("PartnerUnauthorized");
	await pass(5 * minute);
	await thrown;
	expect(vi.getTimerCount()).toBe(0);
});

test.each(["onPoll", "onError"])("an error that %s throws ends the loop", async (name) => {
	const { answers, agencies, start, pass } = open({
		[name]: async () => {
			throw new RangeError("mine");
		},
	});
	answers.set(agencies[0].id, () => new Response("no", { status: 500 }));
	const thrown = expect(start()).rejects.toThrow("mine");
	await pass(5 * second);
	await thrown;
	expect(vi.getTimerCount()).toBe(0);
});

test("pollNow polls at once", async () => {
	const { agencies, delivered, feed, start, pass, end } = open();
	const run = start();
	await pass(minute);
	agencies[0].contact(anna).writes("1");
	feed.pollNow(agencies[0].id);
	await pass(second);
	expect(delivered).toEqual(["1"]);
	await end(run);
});

test("a break while a request is under way leaves nothing, and a second loop at once is refused", async () => {
	const { agencies, answers, feed, pass } = open();
	agencies[0].contact(anna).writes("1");
	answers.set(agencies[1].id, () => new Promise<Response>(() => {}));
	const run = (async () => {
		for await (const _ of feed) break;
	})();
	const second_ = feed[Symbol.asyncIterator]().next();
	await expect(second_).rejects.toMatchObject({ _tag: "PartnerInvalidInput", field: "feed" });
	await pass(5 * second);
	await run;
	expect(vi.getTimerCount()).toBe(0);
});

test.each([
	[{ load: undefined }, "load"],
	[{ save: 1 }, "save"],
	[{ since: "checkpoint" }, "since"],
	[{ requestsPerSecond: 0 }, "requestsPerSecond"],
	[{ requestsPerSecond: "5" as never }, "requestsPerSecond"],
	[{ requestsPerSecond: 5n as never }, "requestsPerSecond"],
	[{ requestsPerSecond: [5] as never }, "requestsPerSecond"],
	[{ requestsPerSecond: true as never }, "requestsPerSecond"],
	[{ maxMs: 0 }, "maxMs"],
	[{ maxMs: Number.NaN }, "maxMs"],
	[{ maxMs: "x" as never }, "maxMs"],
	[{ requestsPerSecond: Number.NaN }, "requestsPerSecond"],
	[{ minMs: 0 }, "minMs"],
	[{ minMs: 20, maxMs: 10 }, "maxMs"],
	[{ discoverMs: 1.5 }, "discoverMs"],
	[{ partition: { index: 3, of: 3 } }, "partition.index"],
	[{ partition: { index: 0 } }, "partition.of"],
	[{ partition: { index: 0, of: 2, at: 1 } }, "partition"],
	[{ lease: true }, "lease"],
	[{ onPoll: "log" }, "onPoll"],
	[{ onError: null }, "onError"],
	[{ signal: {} }, "signal"],
	[{ lookbackMs: -1 }, "lookbackMs"],
	[{ interval: 5 }, "options"],
])("an option that is wrong is refused before any request: %o", (options, field) => {
	const { connection } = createSandbox();
	const given = Object.assign({ load: () => null }, options);
	expect(() => watchAgencies(createClient({ ...connection }), given as never)).toThrow(
		expect.objectContaining({ _tag: "PartnerInvalidInput", field }),
	);
});

test("what is no client, and what is no number, is refused", async () => {
	const { connection } = createSandbox();
	const client = createClient({ ...connection });
	expect(() => watchAgencies(client.agency("agy_1") as never, { load: () => null })).toThrow(
		expect.objectContaining({ field: "client" }),
	);
	const feed = watchAgencies(client, { load: () => null });
	await expect(feed.erase("0470 12 34 56")).rejects.toMatchObject({ field: "phoneNumber" });
});
