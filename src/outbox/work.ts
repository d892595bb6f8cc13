import { refuse } from "./check.ts";
import type { OutboxEngine } from "./pg-boss.ts";
import type { OutboxStore, Worker } from "./store.ts";
import type { Lane } from "./text.ts";
import type { Troubles } from "./trouble.ts";

/** The parts of the outbox that a worker uses. */
export interface LaneWork {
	store: OutboxStore;
	/** Does what is due in a lane, until the signal aborts. Returns the time of the next step. */
	step: (lane: Lane, signal?: AbortSignal) => Promise<number | undefined>;
	now: () => number;
	concurrency: number;
	/** A lane that has been due for half of this time is woken again, because its job was lost or its worker died. */
	sweepMs: number;
}

/** A loop over what is due. */
export interface Loop {
	/** Looks again at once: something was stored. */
	nudge: () => void;
	/** Steps all lanes that are due; with `forever` until the signal aborts. Steps under way end first. */
	run: (forever: boolean, signal?: AbortSignal) => Promise<void>;
}

const idleMs = 1_000;
const beatMs = 5_000;

/** @param troubles give the time until which all lanes wait */
export function createLoop({ store, step, now, concurrency }: LaneWork, troubles: Troubles): Loop {
	let wakeUp: (() => void) | undefined;
	let nudged = false;

	function nudge(): void {
		nudged = true;
		wakeUp?.();
	}

	async function run(forever: boolean, signal?: AbortSignal): Promise<void> {
		const running = new Map<string, Promise<unknown>>();
		let last = 0;
		let failure: { error: unknown } | undefined;
		const start = (lane: Lane): void => {
			const name = `${lane.agencyId} ${lane.to}`;
			const ended = step(lane, signal)
				.catch((error: unknown) => {
					failure = { error };
				})
				.finally(() => {
					running.delete(name);
					nudge();
				});
			running.set(name, ended);
		};
		try {
			while (!signal?.aborted && !failure) {
				nudged = false;
				const at = now();
				if (at + beatMs < last) {
					// The clock was set back. A text that waits for some seconds would wait until the clock comes to that time again.
					troubles.forget();
					await store.recover(at);
				}
				last = at;
				const paused = troubles.pausedUntil() - at;
				const free = paused > 0 ? 0 : concurrency - running.size;
				const lanes = free > 0 ? await store.due(at, free + running.size) : [];
				const idle = lanes.filter(({ agencyId, to }) => !running.has(`${agencyId} ${to}`)).slice(0, free);
				for (const lane of idle) start(lane);
				if (running.size === 0 && idle.length === 0 && !forever) break;
				if (running.size >= concurrency || (idle.length === 0 && running.size > 0 && !forever)) {
					await Promise.race(running.values());
					continue;
				}
				if (idle.length > 0) continue;
				// All that is due now is in lanes that run, whose ends wake this loop.
				const next = await store.nextDue(at);
				const wait = Math.max(1, paused, next === undefined ? idleMs : next - now());
				// At most until something is stored or a step ends.
				if (!nudged) await sleep(Math.min(idleMs, wait), signal, (end) => (wakeUp = end));
			}
		} finally {
			// The lock may not go before them, also when the store fails.
			await Promise.all(running.values());
		}
		if (failure) throw failure.error;
	}

	return { run, nudge };
}

/**
 * Steps the lanes that the engine wakes, until the signal aborts. Steps under way end first.
 * @throws what the store or the engine throws; `failed` is aborted then
 */
export async function workWith(
	engine: OutboxEngine,
	{ store, step, now, concurrency, sweepMs }: LaneWork,
	failed: AbortController,
	ended: AbortSignal,
): Promise<void> {
	const wake = (lane: Lane, at: number): Promise<void> => engine.wake(lane, Math.ceil(at / 1_000) * 1_000);
	await engine.start();
	const stop = await engine.work(async (lane) => {
		try {
			const next = await step(lane, ended);
			if (next !== undefined) await wake(lane, next);
		} catch (error) {
			failed.abort(error);
			throw error;
		}
	}, concurrency);
	try {
		while (!ended.aborted) {
			for (const lane of await store.due(now() - sweepMs / 2, 1_000)) await wake(lane, now());
			await sleep(sweepMs, ended);
		}
	} finally {
		await stop();
	}
	failed.signal.throwIfAborted();
}

/** Runs with a signal that any of the given ones aborts. */
export async function untilAborted(
	signals: readonly (AbortSignal | undefined)[],
	act: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
	const either = new AbortController();
	const abort = (): void => either.abort();
	for (const signal of signals) {
		if (signal?.aborted) abort();
		signal?.addEventListener("abort", abort);
	}
	try {
		await act(either.signal);
	} finally {
		for (const signal of signals) signal?.removeEventListener("abort", abort);
	}
}

/** Waits until the time has passed, the signal aborts, or what `given` gets is called. */
function sleep(ms: number, signal?: AbortSignal, given?: (end: () => void) => void): Promise<void> {
	return new Promise((resolve) => {
		const done = (): void => {
			clearTimeout(timer);
			signal?.removeEventListener("abort", done);
			resolve();
		};
		const timer = setTimeout(done, ms);
		signal?.addEventListener("abort", done);
		if (signal?.aborted) done();
		given?.(done);
	});
}

const deadAfterMs = 30_000;

/** The workers of this process, across the ESM and the CommonJS copy of this module. */
function workersHere(): Set<string> {
	const shared: Record<symbol, Set<string> | undefined> = Object(globalThis);
	const key = Symbol.for("messaging-conversations/outbox");
	shared[key] ??= new Set();
	return shared[key];
}

/**
 * Does `act` as the only process that works on the store. The lock of a process that is gone is taken at once.
 * @throws PartnerInvalidInput when another one works
 */
export async function asOnlyWorker(
	store: OutboxStore,
	operation: "work" | "drain",
	act: (lost: AbortSignal) => Promise<void>,
): Promise<void> {
	const own = ownProcess();
	const me: Worker = { host: "", pid: 0, ...own, token: crypto.randomUUID(), beatAt: Date.now() };
	const other = await store.worker();
	if (other && (await isAlive(other, own, store))) refuseSecond(other, operation);
	if (!(await store.takeOver(me, other?.token ?? null))) refuseSecond(await store.worker(), operation);
	const lost = new AbortController();
	const here = workersHere().add(me.token);
	// Without the lock it is another process's turn: no further text is begun.
	const timer = setInterval(async () => {
		const isMine = await store.takeOver({ ...me, beatAt: Date.now() }, me.token).catch(() => true);
		if (!isMine) lost.abort();
	}, beatMs);
	try {
		await act(lost.signal);
	} finally {
		clearInterval(timer);
		here.delete(me.token);
		await store.leave(me.token);
	}
	if (lost.signal.aborted) refuseSecond(await store.worker(), operation);
}

/** This process; undefined in a runtime that has none, whose instances share a host name and a number. */
function ownProcess(): Pick<Worker, "host" | "pid"> | undefined {
	try {
		process.kill(process.pid, 0);
		return { host: process.getBuiltinModule("node:os").hostname(), pid: process.pid };
	} catch {
		return undefined;
	}
}

async function isAlive(
	{ token, host, pid, beatAt }: Worker,
	own: Pick<Worker, "host" | "pid"> | undefined,
	store: OutboxStore,
): Promise<boolean> {
	if (own?.host === host) {
		if (own.pid === pid) return workersHere().has(token);
		if (!isRunning(pid)) return false;
	}
	if (Math.abs(Date.now() - beatAt) < deadAfterMs) return true;
	// The clocks of two machines may differ by more than that, in both directions. A living worker gives a sign during this wait.
	await sleep(beatMs + 1_000);
	return ((await store.worker())?.beatAt ?? 0) > beatAt;
}

function isRunning(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch (error) {
		// It runs, and belongs to another user.
		return Reflect.get(Object(error), "code") === "EPERM";
	}
}

function refuseSecond(other: Worker | undefined, operation: "work" | "drain"): never {
	const isHere = other && workersHere().has(other.token);
	const name = isHere ? "this process" : other?.host ? `process ${other.pid} on ${other.host}` : "another process";
	const rule = `is worked on by ${name}: let one process work, or use postgresStore with pgBossEngine`;
	return refuse("store", rule, operation);
}
