import { getEventListeners } from "node:events";
import type { ClientOptions, Transport } from "../../src/index.ts";
import { longestWaitMs } from "../patience.ts";
import { judge, reached, type Violation } from "./invariants.ts";
import { createPicker } from "./picker.ts";
import { randomFrom } from "./random.ts";
import { type Service, startService } from "./service.ts";
import { watchRequests } from "./watch.ts";

export interface Message {
	readonly to: string;
	readonly body: string;
	readonly operationId?: string;
}

/** What a caller says of a send once it has settled. */
export interface Claim {
	readonly claim: "sent" | "not_sent" | "unknown";
	readonly operationId?: string;
	readonly attempts?: number;
	/** The text of an error that is none of the package's own. */
	readonly untyped?: string;
}

export interface Wiring {
	readonly baseUrl: string;
	/** For callers that speak fetch. */
	readonly fetch: typeof fetch;
	/** The client options of the adapter under test. */
	readonly transport: Pick<ClientOptions, "fetch" | "transport">;
	readonly timeoutMs: number;
	readonly deadlineMs: number;
	/** For callers that tell their waits: one note for each wait that they announce. */
	readonly onWait: (operationId: string, waitMs: number) => void;
}

export interface Caller {
	send(message: Message, signal?: AbortSignal): Promise<Claim>;
}

export interface CampaignOptions {
	readonly makeCaller: (wiring: Wiring) => Caller;
	readonly seed: number;
	readonly sends: number;
	/** The share of attempts that fail. */
	readonly rate: number;
	readonly window?: "open" | "closed";
	/** Abort sends at a random moment within this time. Each eighth is left alone, so that some arrive on a busy machine too. */
	readonly abortWithinMs?: number;
	readonly inFlight?: number;
	/** @default 400 */
	readonly timeoutMs?: number;
	/** @default 4000 */
	readonly deadlineMs?: number;
	/**
	 * How long connections and timers may outlive the calls. It is less than the time-out of the second round, because a
	 * timer that leaks there ends by itself after that.
	 *
	 * @default 20_000
	 */
	readonly leakAfterMs?: number;
	/** True if other campaigns run at the same time. Their caller then checks that no timer is left. @default false */
	readonly sharesTimers?: boolean;
	/** The transport to use in place of `fetch`. */
	readonly over?: Transport | undefined;
}

/** What was asked and what was said of one send. */
export interface Settled extends Claim {
	readonly message: Message;
	readonly startedAt: number;
}

export interface Report {
	readonly sends: number;
	readonly sent: number;
	readonly notSent: number;
	readonly unknown: number;
	/** Of the unknown ones, those that ended with the first attempt: a redirect, another shape, too large, or no budget for a retry. */
	readonly unknownAtOnce: number;
	readonly requests: number;
	readonly kindsPlayed: number;
	readonly seconds: number;
	readonly violations: readonly Violation[];
}

/** Runs sends through a failing service, settles the unknown ones by a second round, and judges the whole. */
export async function campaign(options: CampaignOptions): Promise<Report> {
	const {
		makeCaller,
		seed,
		sends,
		rate,
		window = "open",
		inFlight = 48,
		timeoutMs = 400,
		deadlineMs = 4000,
		leakAfterMs = longestWaitMs,
		sharesTimers = false,
		abortWithinMs,
	} = options;
	const startedAt = performance.now();
	const timersBefore = timers();
	const rejections: string[] = [];
	const onRejection = (reason: unknown) => rejections.push(String(reason));
	process.on("unhandledRejection", onRejection);
	const picker = createPicker({ seed, rate });
	const service = await startService({ window, plan: picker.plan });
	const watch = watchRequests(service, picker, options.over);
	const waits = new Map<string, number[]>();
	const wiring = {
		baseUrl: service.baseUrl,
		fetch: watch.fetch,
		transport: watch.transport ? { transport: watch.transport } : { fetch: watch.fetch },
		timeoutMs,
		deadlineMs,
		onWait: (id: string, waitMs: number) => waits.set(id, [...(waits.get(id) ?? []), waitMs]),
	};
	const caller = makeCaller(wiring);
	const random = randomFrom(seed);
	const violations: Violation[] = [];
	const settled: Settled[] = [];
	await inParallel(inFlight, sends, async (index) => {
		const message = { to: `+3247${String(index).padStart(7, "0")}`, body: `text ${seed}/${index}` };
		const controller = new AbortController();
		const isAborted = abortWithinMs !== undefined && index % 8 > 0;
		const timer = isAborted ? setTimeout(() => controller.abort(), random() * abortWithinMs) : undefined;
		const began = performance.now();
		const claim = await caller.send(message, controller.signal);
		clearTimeout(timer);
		settled.push({ ...claim, message, startedAt: began });
		const listeners = getEventListeners(controller.signal, "abort").length;
		if (listeners > 0) violations.push({ kind: "listener leaked", detail: `${listeners} on ${message.body}` });
	});
	await quiet(service, leakAfterMs);
	if (service.busy() > 0) violations.push({ kind: "connection leaked", detail: `${service.busy()} still in use` });
	const firstRound = service.requests.length;
	const firstWaits = new Map(waits);
	const firstDispatches = new Map(watch.dispatches);
	picker.stop();
	const reachedFirst = reached(service);
	const secondRound = new Map<string, Claim>();
	const open = settled.filter((each) => each.claim === "unknown");
	// What is tested is the service's memory of the id, so nothing fails now, and a busy machine gets all the time it needs.
	const patient = makeCaller({ ...wiring, timeoutMs: 60_000, deadlineMs: 120_000 });
	await inParallel(8, open.length, async (index) => {
		const one = open[index];
		if (one?.operationId === undefined) return;
		secondRound.set(one.message.body, await patient.send({ ...one.message, operationId: one.operationId }));
	});
	await quiet(service, leakAfterMs);
	service.accept();
	const leaked = sharesTimers ? 0 : await timersOver(timersBefore, leakAfterMs);
	if (leaked > 0) violations.push({ kind: "timer leaked", detail: `${leaked}` });
	await new Promise((resolve) => setImmediate(resolve));
	process.off("unhandledRejection", onRejection);
	violations.push(...rejections.map((detail): Violation => ({ kind: "unhandled rejection", detail })));
	violations.push(
		...judge({
			service,
			settled,
			reachedFirst,
			secondRound,
			waits: firstWaits,
			deadlineMs,
			dispatches: firstDispatches,
		}),
	);
	await service.close();
	return {
		sends,
		sent: settled.filter((each) => each.claim === "sent").length,
		notSent: settled.filter((each) => each.claim === "not_sent").length,
		unknown: open.length,
		unknownAtOnce: open.filter(({ attempts }) => attempts === 1).length,
		requests: firstRound,
		kindsPlayed: picker.played.size,
		seconds: (performance.now() - startedAt) / 1000,
		violations,
	};
}

export async function inParallel(width: number, count: number, run: (index: number) => Promise<void>): Promise<void> {
	let next = 0;
	const worker = async () => {
		while (next < count) await run(next++);
	};
	await Promise.all(Array.from({ length: Math.min(width, count) }, worker));
}

/** Waits until the service holds no unanswered request, but not for ever: what leaks is never answered. */
export async function quiet(service: Service, atMostMs = longestWaitMs): Promise<void> {
	const end = performance.now() + atMostMs;
	while (service.busy() > 0 && performance.now() < end) await new Promise((done) => setTimeout(done, 10));
}

export function timers(): number {
	return process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
}

/** Timers beyond those that were there before. The test runner's own come and go, so it waits for them to go. */
export async function timersOver(before: number, atMostMs = longestWaitMs): Promise<number> {
	const end = performance.now() + atMostMs;
	while (timers() > before && performance.now() < end) await new Promise((done) => setTimeout(done, 10));
	return Math.max(0, timers() - before);
}
