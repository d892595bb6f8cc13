// onError is for alerts: one for each fact, with the code of what the caller's own function threw.
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { watch, watchAgencies } from "messaging-conversations/sync";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

const minute = 60_000;

beforeEach(() => {
	vi.useFakeTimers({ now: new Date("2026-01-05T09:00:00Z") });
});
afterEach(() => {
	vi.useRealTimers();
});

const away = Object.assign(new Error("connect ECONNREFUSED for +447700900101"), { code: "ECONNREFUSED" });
const thrown: [what: string, error: unknown, code: string | undefined][] = [
	["an error of the system", away, "ECONNREFUSED"],
	["an error of a library around it", new Error("Failed query", { cause: away }), "ECONNREFUSED"],
	["an error of PostgreSQL", Object.assign(new Error("terminating"), { code: "57P01" }), "57P01"],
	[
		"an error of MySQL",
		Object.assign(new Error("gone"), { code: "ER_LOCK_DEADLOCK", errno: 1213 }),
		"ER_LOCK_DEADLOCK",
	],
	["an error whose code is a number of a phone", Object.assign(new Error("no"), { code: "447700900101" }), undefined],
	["an error whose code is a sentence", Object.assign(new Error("no"), { code: "to +447700900101" }), undefined],
	["an error without a code", new Error("no"), undefined],
	["a text", "no: +447700900101", undefined],
	["nothing", undefined, undefined],
];

/** Follows some agencies, and counts polls and alerts. */
function follow({
	agencies = 3,
	fetch,
}: {
	agencies?: number;
	fetch?: (real: typeof globalThis.fetch) => typeof globalThis.fetch;
} = {}) {
	const sandbox = createSandbox();
	for (let at = 1; at < agencies; at++) sandbox.link({ name: `Agency ${at}` });
	for (const agency of sandbox.agencies()) agency.contact("+447700900101").writes("Hello?");
	let failing: ((agencyId: string) => unknown) | undefined;
	const stored = new Map<string, string>();
	const alerts: unknown[] = [];
	const seen = { polls: 0, failed: 0 };
	const stop = new AbortController();
	const own = fetch && { fetch: fetch(sandbox.fetch) };
	const client = createClient({ ...sandbox.connection, ...own, retry: false });
	const load = async (agencyId: string) => {
		const error = failing?.(agencyId);
		if (error) throw Array.isArray(error) ? error[0] : error;
		return stored.get(agencyId);
	};
	const feed = watchAgencies(client, {
		load,
		save: async (agencyId, checkpoint) => void stored.set(agencyId, checkpoint),
		requestsPerSecond: 100,
		minMs: 5_000,
		maxMs: 20_000,
		onPoll: ({ error }) => {
			seen.polls++;
			if (error) seen.failed++;
		},
		onError: ({ _tag, field, rule, cause }, agencyId) => alerts.push({ _tag, field, rule, cause, agencyId }),
		signal: stop.signal,
	});
	const running = (async () => {
		for await (const _ of feed);
	})().catch(() => {});
	return {
		sandbox,
		alerts,
		seen,
		fail: (by: typeof failing) => void (failing = by),
		pass: (ms: number) => vi.advanceTimersByTimeAsync(ms),
		async end() {
			stop.abort();
			await vi.advanceTimersByTimeAsync(1_000);
			await running;
		},
	};
}

test.for(thrown)(
	"%s of load is one alert with its code, however many agencies and polls meet it",
	async ([, error, code]) => {
		const { alerts, seen, fail, pass, end } = follow();
		fail(() => [error]);
		await pass(30 * minute);
		expect(seen.failed).toBeGreaterThan(100);
		expect(alerts).toEqual([
			{
				_tag: "PartnerConfigurationError",
				field: "load",
				rule: code ? `its function failed (${code})` : "its function failed",
				cause: { name: "Error", ...(code && { code }) },
				agencyId: expect.stringMatching(/^agy_/),
			},
		]);
		expect(JSON.stringify(alerts)).not.toContain("447700900101");
		await end();
	},
);

test("an outage that has passed is told of again when it comes back, and another code is another fact", async () => {
	const { alerts, fail, pass, end } = follow();
	await pass(minute);
	for (const code of ["ECONNREFUSED", "ECONNREFUSED", "ETIMEDOUT"]) {
		fail(() => Object.assign(new Error("no"), { code }));
		await pass(10 * minute);
		if (code === "ECONNREFUSED") fail(undefined);
		await pass(10 * minute);
	}
	expect(alerts).toMatchObject(["ECONNREFUSED", "ECONNREFUSED", "ETIMEDOUT"].map((code) => ({ cause: { code } })));
	await end();
});

test("an outage that some agencies still meet is not told of again", async () => {
	const { sandbox, alerts, fail, pass, end } = follow();
	const [first] = sandbox.agencies();
	fail(() => away);
	await pass(10 * minute);
	fail((agencyId) => agencyId !== first?.id && away);
	await pass(10 * minute);
	fail(() => away);
	await pass(10 * minute);
	expect(alerts).toHaveLength(1);
	await end();
});

test("an outage of the service is one alert for me.get, and one for all agencies", async () => {
	const { sandbox, alerts, seen, pass, end } = follow();
	await pass(minute);
	sandbox.faults.add({ effect: { status: 503 }, times: 1_000_000 });
	await pass(30 * minute);
	expect(seen.failed).toBeGreaterThan(50);
	expect(alerts).toMatchObject([{ _tag: "PartnerInternalError" }, { _tag: "PartnerInternalError" }]);
	sandbox.faults.clear();
	await pass(5 * minute);
	sandbox.faults.add({ effect: { status: 503 }, times: 1_000_000 });
	await pass(10 * minute);
	expect(alerts).toHaveLength(4);
	await end();
});

test("a key without conversations:read is one alert for 30 agencies, and one more when it has passed and comes back", async () => {
	const { sandbox, alerts, seen, pass, end } = follow({ agencies: 30 });
	const key = sandbox.integration.apiKey;
	for (const count of [1, 2]) {
		sandbox.keys.setScopes(key, ["messages:write"]);
		await pass(20 * minute);
		expect(alerts).toHaveLength(count);
		sandbox.keys.setScopes(key, ["conversations:read", "messages:write"]);
		await pass(30 * minute);
	}
	expect(seen.failed).toBeGreaterThan(60);
	expect(alerts).toMatchObject([{ _tag: "PartnerForbidden" }, { _tag: "PartnerForbidden" }]);
	await end();
});

test("a feed that starts with a key without conversations:read gives one alert for 30 agencies", async () => {
	const world = follow({ agencies: 30 });
	world.sandbox.keys.setScopes(world.sandbox.integration.apiKey, ["messages:write"]);
	await world.pass(20 * minute);
	expect(world.alerts).toMatchObject([{ _tag: "PartnerForbidden" }]);
	await world.end();
});

test("agencies whose link has ended are told of apart, and the key's lost scope is one alert for the others", async () => {
	const { sandbox, alerts, pass, end } = follow({ agencies: 30 });
	await pass(2 * minute);
	const [first, second] = sandbox.agencies();
	first?.unlink();
	second?.unlink();
	await pass(10 * minute);
	sandbox.keys.setScopes(sandbox.integration.apiKey, ["messages:write"]);
	await pass(20 * minute);
	const met = alerts.map((alert) => Object(alert).agencyId);
	// me.get may have said first that they are gone. Then no poll was refused.
	expect(met.filter((id) => id !== first?.id && id !== second?.id)).toHaveLength(1);
	expect(new Set(met).size).toBe(met.length);
	await end();
});

test.each([
	[
		"a list without its conversations",
		() => Response.json({ nextCursor: null, pageSize: 50 }),
		"PartnerUnexpectedResponse",
	],
	["a 400", () => Response.json({ _tag: "PartnerBadRequest", message: "No." }, { status: 400 }), "PartnerBadRequest"],
	[
		"a 404",
		() => Response.json({ _tag: "PartnerNotFound", message: "No." }, { status: 404 }),
		"PartnerUnexpectedResponse",
	],
	["a page with a 403", () => new Response("<h1>No</h1>", { status: 403 }), "PartnerGatewayError"],
] as const)("%s that answers each list is one alert for 30 agencies", async (_, answer, tag) => {
	const { alerts, seen, pass, end } = follow({
		agencies: 30,
		fetch: (real) => async (url, init) => (String(url).includes("/conversations?") ? answer() : real(url, init)),
	});
	await pass(20 * minute);
	expect(seen.failed).toBeGreaterThan(60);
	expect(alerts).toMatchObject([{ _tag: tag }]);
	await end();
});

test("watch tells once of conversations that can't be read, and failures has each of them", async () => {
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	for (let last = 101; last < 106; last++) agency.contact(`+447700900${last}`).writes("Hello?");
	sandbox.faults.add({ operation: "conversations.get", effect: { status: 500 }, times: 1_000_000 });
	const client = createClient({ ...sandbox.connection, retry: false });
	const stop = new AbortController();
	const alerts: string[] = [];
	const feed = watch(client.agency(agency.id), {
		since: "beginning",
		signal: stop.signal,
		minMs: 5_000,
		maxMs: 10_000,
		onError: ({ _tag }) => alerts.push(_tag),
	});
	const running = (async () => {
		for await (const _ of feed);
	})().catch(() => {});
	await vi.advanceTimersByTimeAsync(10 * minute);
	expect(feed.failures).toHaveLength(5);
	expect(alerts).toEqual(["PartnerInternalError"]);
	stop.abort();
	await vi.advanceTimersByTimeAsync(1_000);
	await running;
});
