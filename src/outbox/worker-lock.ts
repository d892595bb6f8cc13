import { sleep } from "../shared/sleep.ts";
import { isPassing } from "./database-error.ts";
import { refuse } from "./input.ts";
import type { OutboxStore, Worker } from "./store.ts";

const beatMs = 5_000;
const deadAfterMs = 30_000;
/** Starts that differ by less are those of one process: a container takes longer to start again. */
const sameStartMs = 500;

/** The workers of this process, across the ESM and the CommonJS copy of this module. */
function workersHere(): Set<string> {
	const shared: Record<symbol, Set<string> | undefined> = Object(globalThis);
	const key = Symbol.for("messaging-conversations/outbox");
	shared[key] ??= new Set();
	return shared[key];
}

/** Workers of this process that ended while the database was away, so that their lock is still there. */
const ended = new Set<string>();

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
		// While the database is away, the lock expires by itself.
		await store.leave(me.token).catch((error: unknown) => {
			if (!isPassing(error)) throw error;
			ended.add(me.token);
		});
	}
	if (lost.signal.aborted) refuseSecond(await store.worker(), operation);
}

type Process = Pick<Worker, "host" | "pid" | "startedAt">;

/** This process; undefined in a runtime that has none, whose instances share a host name and a number. */
function ownProcess(): Process | undefined {
	try {
		process.kill(process.pid, 0);
		// All threads of a process have the same uptime.
		const startedAt = Math.round(Date.now() - process.uptime() * 1_000);
		return { host: process.getBuiltinModule("node:os").hostname(), pid: process.pid, startedAt };
	} catch {
		return undefined;
	}
}

async function isAlive(
	{ token, host, pid, startedAt, beatAt }: Worker,
	own: Process | undefined,
	store: OutboxStore,
): Promise<boolean> {
	if (own?.host === host) {
		if (own.pid === pid) {
			if (workersHere().has(token)) return true;
			if (ended.has(token)) return false;
			// A container that starts again has the same host and the same number. Another thread of this process has its start.
			if (!isSameStart(own.startedAt, startedAt)) return false;
		} else if (!isRunning(pid)) return false;
	}
	if (Math.abs(Date.now() - beatAt) < deadAfterMs) return true;
	// The clocks of two machines may differ by more than that, in both directions. A living worker gives a sign during this wait.
	await sleep(beatMs + 1_000);
	return ((await store.worker())?.beatAt ?? 0) > beatAt;
}

/** The clock may have been set since, by which a start is computed. */
function isSameStart(own: number | undefined, other: number | undefined): boolean {
	return own !== undefined && other !== undefined && Math.abs(own - other) < sameStartMs;
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
	const rule = `another worker is already running (${name}). Run a single worker, or let several share the work by pgBossEngine or bullmqEngine`;
	return refuse("store", rule, operation);
}
