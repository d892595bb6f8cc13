// What a worker does while its database is away.
import { createClient } from "messaging-conversations";
import { createOutbox, type Pause, type PgBossSendOptions, pgBossEngine } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { expect, test, vi } from "vitest";
import { eventually } from "../eventually.ts";
import { memoryStore } from "./memory.ts";
import type { OutboxStore } from "./port.ts";

const away = (): Error => Object.assign(new Error("terminating connection"), { code: "57P01" });

function start(change: (store: OutboxStore) => Partial<OutboxStore>) {
	const sandbox = createSandbox({ now: new Date() });
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Hello");
	const memory = memoryStore();
	const pauses: Pause[] = [];
	const outbox = createOutbox({
		client: createClient({ ...sandbox.connection }),
		store: { ...memory, ...change(memory) },
		onPaused: (pause) => pauses.push(pause),
	});
	const text = { id: "1", agencyId: sandbox.agency().id, to: anna.phoneNumber, body: "Hi" };
	return { outbox, anna, text, pauses };
}

test.each([[["beat"]], [["claim"]], [["openWithFacts"]], [["save"]], [["rest", "release"]]] as const)(
	"a worker whose database is away pauses, and continues when it is back: %s",
	async (methods) => {
		let isAway = true;
		let calls = 0;
		const fails = async () => {
			calls++;
			throw away();
		};
		const { outbox, anna, text, pauses } = start((store) =>
			Object.fromEntries(
				methods.map((method) => [
					method,
					(...args: never[]) => (isAway ? fails() : Reflect.apply(store[method] as () => unknown, store, args)),
				]),
			),
		);
		await outbox.enqueue(text);
		const stop = new AbortController();
		const working = outbox.work({ signal: stop.signal });
		await expect.poll(() => calls).toBeGreaterThan(3);
		expect(pauses).toMatchObject([{ reason: "database", databaseError: { code: "57P01" }, retryAt: expect.any(Date) }]);
		isAway = false;
		await expect.poll(() => anna.inbox().map(({ body }) => body)).toEqual(["Hi"]);
		stop.abort();
		await working;
		expect(pauses).toHaveLength(1);
	},
);

test("a worker that is stopped while its database is away ends", async () => {
	const stop = new AbortController();
	const { outbox } = start(() => ({ beat: () => Promise.reject(away()) }));
	const working = outbox.work({ signal: stop.signal });
	await new Promise((resolve) => setTimeout(resolve, 50));
	stop.abort();
	await working;
});

test.each([
	["a missing table", Object.assign(new Error('relation "outbox_texts" does not exist'), { code: "42P01" })],
	["a permission", Object.assign(new Error("permission denied for table outbox_texts"), { code: "42501" })],
	["a mistake in a program", new TypeError("store.claim is not a function")],
])("what does not heal ends the work: %s", async (_, error) => {
	const { outbox, pauses } = start(() => ({ claim: () => Promise.reject(error) }));
	await expect(outbox.work()).rejects.toBe(error);
	expect(pauses).toEqual([]);
});

const withCode = (code: string): Error => Object.assign(new Error("unexpected"), { code });
const unlisted = ["25P03", "25P04", "XX000", "58030", "0A000", "42P05", "P6004", "UND_ERR_SOCKET", "SERVER_ERROR"];
const unlistedOfMysql = ["1047", "1105", "1129", "3100", "3101", "4031", "9007", "ER_UNKNOWN_COM_ERROR"];

// Each waits a second for the end of its pause.
test.concurrent.each<[what: string, error: Error]>([
	["a read time-out of pg", new Error("Query read timeout")],
	["a database over HTTP", new TypeError("fetch failed")],
	...[...unlisted, ...unlistedOfMysql].map((code): [string, Error] => [code, withCode(code)]),
])("an error that is not known to be permanent pauses: %s", async (_, error) => {
	let isAway = true;
	const { outbox, anna, text, pauses } = start((store) => ({
		claim: (...args) => (isAway ? Promise.reject(error) : store.claim(...args)),
	}));
	await outbox.enqueue(text);
	const stop = new AbortController();
	const working = outbox.work({ signal: stop.signal });
	await eventually(() => expect(pauses).toHaveLength(1));
	isAway = false;
	await eventually(() => expect(anna.inbox().map(({ body }) => body)).toEqual(["Hi"]));
	stop.abort();
	await working;
	expect(pauses).toMatchObject([{ reason: "database" }]);
});

test.each([
	...["22P02", "23514", "28P01", "3D000", "42601", "42804", "P2021", "SQLITE_CONSTRAINT_UNIQUE", "SQLITE_READONLY"],
	...["ER_NO_SUCH_TABLE", "ER_PARSE_ERROR", "ER_TABLEACCESS_DENIED_ERROR", "1146", "1045"],
])("what is listed as permanent ends the work: %s", async (code) => {
	const error = Object.assign(new Error("no"), { code });
	const { outbox, pauses } = start(() => ({ claim: () => Promise.reject(error) }));
	await expect(outbox.work()).rejects.toBe(error);
	expect(pauses).toEqual([]);
});

test("an outage is told again every quarter of an hour, and after an hour work rejects", async () => {
	vi.useFakeTimers();
	try {
		const error = away();
		const { outbox, pauses } = start(() => ({ claim: () => Promise.reject(error) }));
		let rejected: unknown;
		outbox.work().catch((reason: unknown) => {
			rejected = reason;
		});
		const minutes = async (count: number) => {
			for (let second = 0; second < count * 60; second += 5) await vi.advanceTimersByTimeAsync(5_000);
		};
		await minutes(1);
		expect(pauses).toHaveLength(1);
		await minutes(15);
		expect(pauses).toHaveLength(2);
		await minutes(43);
		expect([pauses.length, rejected]).toEqual([4, undefined]);
		await minutes(3);
		expect(rejected).toBe(error);
	} finally {
		vi.useRealTimers();
	}
});

test("pg-boss: two that start together both start, and a text has one job", async () => {
	const sent: PgBossSendOptions[] = [];
	let deadlocks = 2;
	const engine = pgBossEngine({
		async createQueue() {
			if (deadlocks-- > 0) throw Object.assign(new Error("deadlock detected"), { code: "40P01" });
		},
		send: async (_name, _data, options) => sent.push(options),
		work: async () => "1",
		offWork: async () => {},
	});
	await engine.start();
	expect(deadlocks).toBe(-1);
	for (const key of ["a", "a", "b"]) await engine.wake({ text: 1 }, { key, priority: 0 });
	expect(new Set(sent.map(({ id }) => id)).size).toBe(2);
});
