// Machines whose clocks differ use one outbox, each in a process of its own. Only the clock of the database counts.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createClient } from "messaging-conversations";
import { createOutbox, type DatabaseStore, mysqlStore, postgresStore } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import type pg from "pg";
import { afterEach, describe, expect, test, vi } from "vitest";
import { start as startCli } from "../../cli/run.ts";
import type { Call, Task } from "./machine.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";
import { usePostgres } from "./server.ts";
import { useProgram } from "./start-worker.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const { openPool, create } = usePostgres(import.meta.url);
const startMachine = useProgram<Task>("machine");
const endings: (() => unknown)[] = [];
afterEach(async () => {
	for (const end of endings.splice(0).reverse()) await end();
});

/** Shifts `Date`, and nothing else, and again by as much as the file says when the process gets a signal. */
const shifted = (ms: number, laterMs: number): string[] => [
	"--import",
	`data:text/javascript,${encodeURIComponent(`
		let shift = ${ms};
		const Real = Date;
		process.on("SIGUSR2", () => { shift += ${laterMs}; });
		globalThis.Date = class extends Real {
			constructor(...given) { given.length === 0 ? super(Real.now() + shift) : super(...given); }
			static now() { return Real.now() + shift; }
		};`)}`,
];

interface Place {
	url: string;
	store: DatabaseStore;
	options?: string;
	/** Of the service, as long as the test moves it. By default it goes by the real time. */
	moved?: () => number;
}

/** An outbox, a service whose clock runs, and Anna. */
async function createOffice({ url, store, options, moved = () => 0 }: Place, sinceMs = 0) {
	const present = () => new Date(Date.now() + moved());
	const sandbox = createSandbox({ now: new Date(Date.now() - sinceMs) });
	const { baseUrl, apiKey, close } = await serve(sandbox);
	const agency = sandbox.agency();
	const anna = agency.contact("+447700900101");
	const outbox = createOutbox({ client: createClient({ baseUrl, apiKey }), store });
	await outbox.migrate();
	/** Lets the time come. */
	function follow(): void {
		const tick = () => sandbox.clock.now() < present() && sandbox.clock.advanceTo(present());
		tick();
		const timer = setInterval(tick, 100);
		endings.push(close, () => clearInterval(timer));
	}
	let count = 0;
	const text = (more: object = {}) => ({
		id: `text-${++count}`,
		agencyId: agency.id,
		to: anna.phoneNumber,
		body: `Text ${count}`,
		...more,
	});
	/** A machine whose clock is ahead by so much. */
	async function machine(aheadMs: number, calls: readonly Call[], more: Partial<Task> & { laterMs?: number } = {}) {
		const { laterMs = 0, ...rest } = more;
		const task = { url, options, baseUrl, apiKey, settleMs: 10 * second, calls, ...rest };
		const child = await startMachine(task, shifted(aheadMs, laterMs));
		endings.push(() => child.kill("SIGKILL"));
		return child;
	}
	/** What its calls return. */
	async function on(aheadMs: number, calls: readonly Call[], more: Partial<Task> = {}): Promise<unknown[]> {
		const child = await machine(aheadMs, calls, more);
		const results: unknown[] = [];
		const lines = createInterface({ input: child.stdout ?? process.stdin });
		for await (const line of lines) results.push(JSON.parse(line).result);
		await ended(child);
		expect(results).toHaveLength(calls.length);
		return results;
	}
	const states = async (...ids: string[]) =>
		Promise.all(
			ids.map(async (id) => {
				const status = await outbox.status(id);
				return [status?.state, status?.reason];
			}),
		);
	const texts = () => anna.inbox().flatMap(({ kind, body }) => (kind === "text" ? [body] : []));
	const sends = () => sandbox.requests().filter(({ operation }) => operation === "messages.send").length;
	const who = { agencyId: agency.id, to: anna.phoneNumber };
	return { sandbox, anna, outbox, follow, text, machine, on, states, texts, sends, who };
}

async function ended(child: ChildProcess): Promise<void> {
	if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

/** A worker that stops in order. */
async function stopped(child: ChildProcess): Promise<void> {
	child.kill("SIGTERM");
	await ended(child);
}

const time = (ms: number): string => new Date(ms).toISOString().slice(11, 16);

/** Quiet hours around a time, by their length before and after it. */
const quiet = (fromMs: number, toMs: number) => {
	const now = Date.now();
	return { from: time(now + fromMs), to: time(now + toMs), timeZone: "UTC" };
};

const optedOut = ["cancelled", "opted_out"];

function machinesThatDiffer(open: () => Promise<Place>): void {
	test.each([5 * minute, day])(
		"a STOP after an opt-in on a machine that is %i ms ahead stops marketing and notices",
		async (aheadMs) => {
			const { anna, follow, on, text, who, outbox, texts, states } = await createOffice(await open());
			follow();
			anna.writes("Hello");
			await on(aheadMs, [{ optIn: who }]);
			anna.writes("STOP");
			const all = [text({ purpose: "marketing" }), text({ purpose: "notice" })];
			await outbox.enqueueMany(all);
			await on(0, [{ runOnce: true }]);
			expect(await states("text-1", "text-2")).toEqual([optedOut, optedOut]);
			expect(texts()).toEqual([]);
		},
	);

	test.each([-hour, -day])(
		"an opt-out on a machine that is %i ms ahead is later than a START of a quarter of an hour ago",
		async (aheadMs) => {
			const { anna, follow, on, text, who, texts, states, outbox } = await createOffice(await open(), 15 * minute);
			anna.writes("START");
			follow();
			await on(aheadMs, [{ optOut: who }]);
			const all = [text({ purpose: "marketing" }), text({ purpose: "notice" })];
			await outbox.enqueueMany(all);
			await on(0, [{ runOnce: true }]);
			expect(await states("text-1", "text-2")).toEqual([optedOut, optedOut]);
			expect(texts()).toEqual([]);
		},
	);

	test.each([
		["ahead, in a transaction", day, true],
		["ahead", day, false],
		["behind, in a transaction", -day, true],
		["behind", -day, false],
	])("a machine that is a day %s enqueues a text that may only go out within ten minutes", async (_, aheadMs, tx) => {
		const { anna, follow, on, text, texts, states } = await createOffice(await open());
		follow();
		anna.writes("Hello");
		const given = text({ notAfter: new Date(Date.now() + 10 * minute).toISOString() });
		await on(aheadMs, [{ enqueue: given, inTransaction: tx }]);
		await on(0, [{ runOnce: true }]);
		expect(texts()).toEqual(["Text 1"]);
		expect(await states("text-1")).toEqual([["sent", null]]);
	});

	test.each([
		["ahead", day],
		["behind", -day],
	])("what a worker that is a day %s has put off is soon sent by others", async (_, aheadMs) => {
		const { anna, follow, machine, text, texts, sandbox, outbox } = await createOffice(await open());
		follow();
		anna.writes("Hello");
		sandbox.faults.add({ operation: "conversations.get", times: 200, effect: { status: 429 } });
		const refused = () => sandbox.requests().filter(({ operation }) => operation === "conversations.get").length;
		await outbox.enqueue(text());
		const wrong = await machine(aheadMs, [{ work: true }]);
		await expect.poll(refused).toBeGreaterThan(1);
		await stopped(wrong);
		sandbox.faults.clear();
		await outbox.enqueue(text());
		const right = await machine(0, [{ work: true }]);
		await expect.poll(texts).toEqual(["Text 1", "Text 2"]);
		await stopped(right);
	});

	test.each([
		["ahead", day],
		["behind", -day],
	])("others soon take over from a worker that is a day %s and dies during a request", async (_, aheadMs) => {
		const { anna, follow, machine, text, texts, sends, sandbox, outbox } = await createOffice(await open());
		follow();
		anna.writes("Hello");
		sandbox.faults.add({ operation: "messages.send", times: 1, effect: "hang" });
		await outbox.enqueue(text());
		const wrong = await machine(aheadMs, [{ work: true }]);
		await expect.poll(sends).toBe(1);
		const right = await machine(0, [{ work: true }]);
		// Both work, and the one that is right lets the other one alone.
		await outbox.enqueue(text({ to: "+447700900102", id: "other" }));
		await expect.poll(async () => (await outbox.status("other"))?.attempts).toBe(1);
		expect(texts()).toEqual([]);
		wrong.kill("SIGKILL");
		await expect.poll(texts).toEqual(["Text 1"]);
		await stopped(right);
	});

	test.each([
		["ahead", day],
		["behind", -day],
	])("a worker that is a day %s takes no text from one that is at work", async (_, aheadMs) => {
		const { anna, follow, machine, text, texts, sends, sandbox, outbox } = await createOffice(await open());
		follow();
		anna.writes("Hello");
		sandbox.faults.add({
			operation: "messages.send",
			times: 1,
			phase: "before",
			effect: { kind: "latency", latencyMs: 5_000 },
		});
		await outbox.enqueue(text());
		const right = await machine(0, [{ work: true }], { settleMs: 30 * second });
		await expect.poll(sends).toBe(1);
		const wrong = await machine(aheadMs, [{ work: true }], { settleMs: 30 * second });
		await expect.poll(texts).toEqual(["Text 1"]);
		await Promise.all([stopped(right), stopped(wrong)]);
		expect(sends()).toBe(1);
	});

	test("a worker that is a day ahead sends nothing of tomorrow", async () => {
		const { anna, follow, on, text, texts, states, outbox } = await createOffice(await open());
		follow();
		anna.writes("Hello");
		await outbox.enqueue(text({ notBefore: new Date(Date.now() + 12 * hour) }));
		await outbox.enqueue(text());
		await on(day, [{ runOnce: true }]);
		expect(texts()).toEqual(["Text 2"]);
		expect((await states("text-1"))[0]?.[0]).toBe("waiting");
	});

	test.each([6 * hour, -6 * hour])("a worker that is %i ms ahead keeps the quiet hours of now", async (aheadMs) => {
		const { anna, follow, on, text, texts, states, outbox } = await createOffice(await open());
		follow();
		anna.writes("Hello");
		await outbox.enqueue(text());
		await on(aheadMs, [{ runOnce: true }], { quietHours: quiet(-2 * hour, 2 * hour) });
		expect(texts()).toEqual([]);
		expect(await states("text-1")).toEqual([["waiting", "quiet_hours"]]);
	});

	test.each([6 * hour, -6 * hour])("a worker that is %i ms ahead sends by day", async (aheadMs) => {
		const { anna, follow, on, text, texts, outbox } = await createOffice(await open());
		follow();
		anna.writes("Hello");
		await outbox.enqueue(text());
		await on(aheadMs, [{ runOnce: true }], { quietHours: quiet(aheadMs - 2 * hour, aheadMs + 2 * hour) });
		expect(texts()).toEqual(["Text 1"]);
	});

	test.each([
		["forward", day],
		["back", -day],
	])("a worker goes on although its clock is set %s by a day", async (_, laterMs) => {
		const { anna, follow, machine, text, texts, outbox } = await createOffice(await open());
		follow();
		anna.writes("Hello");
		const worker = await machine(0, [{ work: true }], { laterMs });
		await outbox.enqueue(text());
		await expect.poll(texts).toEqual(["Text 1"]);
		worker.kill("SIGUSR2");
		await outbox.enqueue(text());
		await expect.poll(texts).toEqual(["Text 1", "Text 2"]);
		expect((await outbox.status("text-2"))?.attempts).toBe(1);
		await stopped(worker);
	});

	test("a machine that is an hour behind declares the restore of a backup of half an hour ago", async () => {
		const { follow, on, text, outbox, who, states } = await createOffice(await open());
		follow();
		await outbox.optOut(who);
		await outbox.enqueue(text({ purpose: "reply" }));
		const [count] = await on(-hour, [{ restored: { backupAt: Date.now() - hour / 2 } }]);
		expect(count).toBe(1);
		expect((await states("text-1"))[0]?.[0]).toBe("waiting");
	});
}

describe("#52 on PostgreSQL", () => {
	machinesThatDiffer(async () => {
		const url = await create();
		return { url, store: postgresStore(await openPool(url)) };
	});
});

describe.each(mysqlKinds)("#52 on %s", (kind) => {
	const mysql = useMysql(kind);
	machinesThatDiffer(async () => {
		const url = await mysql.create();
		return { url, store: mysqlStore(await mysql.openPool(url)) };
	});
});

const here = fileURLToPath(new URL(".", import.meta.url));
const startHealth = (env: Record<string, string>) => startCli(["outbox", "health"], env, fetch, undefined, here);

/** A PostgreSQL whose clock the test moves, as a failover to another node does. The service and the contacts have the real time. */
async function openMovable(): Promise<
	Required<Pick<Place, "options">> & Place & { pool: pg.Pool; move: (ms: number) => Promise<unknown> }
> {
	const url = await create();
	const first = await openPool(url);
	await first.query(`create schema moved; create table moved.clock (ms bigint); insert into moved.clock values (0);
		create function moved.clock_timestamp() returns timestamptz language sql volatile as
		$$ select pg_catalog.clock_timestamp() + (select ms from moved.clock) * interval '1 millisecond' $$`);
	const options = "-c search_path=public,moved,pg_catalog";
	const pool = await openPool(url, options);
	return {
		url,
		options,
		store: postgresStore(pool),
		pool,
		move: (ms) => pool.query("update moved.clock set ms = $1", [ms]),
	};
}

describe("#52 a database whose clock moves", () => {
	test.each([hour, day])("a START ends an opt-out of a machine that was %i ms ahead", async (aheadMs) => {
		const place = await openMovable();
		let later = 0;
		const { anna, follow, on, text, who, texts, sandbox } = await createOffice({ ...place, moved: () => later });
		follow();
		anna.writes("STOP");
		await on(aheadMs, [{ optOut: who }]);
		later = 10 * minute;
		await place.move(later);
		await expect.poll(() => sandbox.clock.now().getTime() - Date.now()).toBeGreaterThan(5 * minute);
		anna.writes("START");
		await on(aheadMs, [{ enqueue: text({ purpose: "notice" }) }]);
		await on(0, [{ runOnce: true }]);
		expect(texts()).toEqual(["Text 1"]);
	});

	test.each([
		["ahead of", -hour, /This machine's clock is 60 minutes ahead of the database's/],
		["behind", hour, /This machine's clock is 60 minutes behind the database's/],
	])("health shows a machine whose clock is %s the database's", async (_, movedMs, words) => {
		const place = await openMovable();
		await place.move(movedMs);
		const { outbox } = await createOffice(place);
		expect(Math.round(Number((await outbox.health()).clockAheadMs) / minute)).toBe(-movedMs / minute);
		const running = startHealth({ DATABASE_URL: `${place.url}?options=${encodeURIComponent(place.options)}` });
		await running.status;
		expect(running.out().replace(/\s+/g, " ")).toMatch(words);
		await place.move(0);
		const again = startHealth({ DATABASE_URL: place.url });
		await again.status;
		expect(again.out()).not.toContain("clock");
	});

	test("a process asks for the time once, however much it does within a minute", async () => {
		const place = await openMovable();
		const asked = vi.spyOn(place.pool, "query");
		const { outbox, text } = await createOffice(place);
		for (let at = 0; at < 20; at++) {
			await outbox.enqueue(text());
			await outbox.runOnce();
			await outbox.status("text-1");
		}
		const times = asked.mock.calls.filter(([sql]) => /^select [^,]* as ms$/.test(String(sql))).length;
		expect(times).toBeGreaterThan(0);
		// A slow machine takes some minutes for it.
		expect(times).toBeLessThan(10);
	});

	test("what waits is sent after a failover to a node that is a day behind", async () => {
		const place = await openMovable();
		await place.move(day);
		const { anna, follow, machine, text, texts, sandbox, outbox } = await createOffice(place);
		follow();
		anna.writes("Hello");
		sandbox.faults.add({ operation: "conversations.get", times: 1, effect: { status: 429, retryAfter: 300 } });
		const reads = () => sandbox.requests().filter(({ operation }) => operation === "conversations.get").length;
		const worker = await machine(0, [{ work: true }]);
		await expect.poll(async () => (await outbox.health()).workers.length).toBe(1);
		await outbox.enqueue(text());
		await expect.poll(reads).toBe(1);
		// By the clock of before it would wait for five minutes more, and by that of now for a day.
		await expect.poll(async () => (await outbox.health()).pauses.length).toBe(1);
		await place.move(0);
		// A failover ends all connections.
		await place.pool.query(
			"select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
		);
		await expect.poll(texts).toEqual(["Text 1"]);
		await stopped(worker);
	});

	test("a machine that was suspended until the night sends nothing then", async () => {
		const place = await openMovable();
		const { anna, follow, machine, text, texts, outbox, states } = await createOffice(place);
		follow();
		anna.writes("Hello");
		const night = 6 * hour;
		const quietHours = quiet(night - 2 * hour, night + 2 * hour);
		const worker = await machine(0, [{ work: true }], { laterMs: night, quietHours });
		await outbox.enqueue(text());
		await expect.poll(texts).toEqual(["Text 1"]);
		// To a machine that was suspended, all other clocks have gone forward. The one that counts on does not show it.
		await place.move(night);
		worker.kill("SIGUSR2");
		await outbox.enqueue(text());
		await expect.poll(() => states("text-2")).toEqual([["waiting", "quiet_hours"]]);
		expect(texts()).toEqual(["Text 1"]);
		await stopped(worker);
	});
});
