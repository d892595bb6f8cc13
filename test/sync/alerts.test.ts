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

/** Follows three agencies, and counts polls and alerts. */
function follow() {
	const sandbox = createSandbox();
	for (const name of ["Second", "Third"]) sandbox.link({ name });
	for (const agency of sandbox.agencies()) agency.contact("+447700900101").writes("Hello?");
	let failing: ((agencyId: string) => unknown) | undefined;
	const stored = new Map<string, string>();
	const alerts: unknown[] = [];
	const seen = { polls: 0, failed: 0 };
	const stop = new AbortController();
	const client = createClient({ ...sandbox.connection, retry: false });
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
