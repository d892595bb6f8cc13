import { operationIdFrom } from "messaging-conversations";
import { fieldsOf, rule } from "../../shared/validation.ts";
import { can, check, refuse } from "../input.ts";
import type { OutboxEngine, WakeUp } from "./engine.ts";

/** What the engine uses of a `Queue` of BullMQ 5 or 6. */
export interface BullmqQueueLike {
	/** Its name. */
	readonly name: string;
	/** The options that it was created with, such as `connection` and `prefix`. Workers take the same. */
	readonly opts: object;
	/** Stores a job; does nothing while there is one with its id. */
	add(name: string, data: WakeUp, options: BullmqJobOptions): Promise<unknown>;
	/** Resolves when the queue is connected. */
	waitUntilReady(): Promise<unknown>;
	/** Listens to errors of the connection. */
	on(event: "error", listener: (error: Error) => void): unknown;
}

/** What the engine uses of a `Worker` of BullMQ 5 or 6. */
export interface BullmqWorkerLike {
	/** Listens to the state of the connection. */
	on(event: "error" | "ready", listener: () => void): unknown;
	/** Stops it after the running jobs; with `force` at once. */
	close(force?: boolean): Promise<void>;
}

/** The options of a job. */
export interface BullmqJobOptions {
	/** The job's id, a UUID. */
	jobId: string;
	/** How long it waits before its first attempt, in milliseconds. */
	delay: number;
	/** Jobs with a smaller number are taken first. */
	priority: number;
	/** A job that is done leaves nothing behind. */
	removeOnComplete: true;
	/** Nor does one that has failed. */
	removeOnFail: true;
}

/** Options of {@link bullmqEngine}. */
export interface BullmqEngineOptions {
	/** A queue for the outbox alone. Each table of texts needs one of its own. */
	queue: BullmqQueueLike;
	/** The class `Worker` of BullMQ. `work` creates one with the options of the queue. */
	Worker: {
		/** Takes jobs from the queue of this name until it is closed. */
		new (name: string, processor: (job: BullmqJob) => Promise<void>, options: never): BullmqWorkerLike;
	};
}

/** A job, as the engine uses it. */
export interface BullmqJob {
	/** Its name. */
	name: string;
	/** Its data. */
	data: WakeUp;
}

const jobName = "outbox-wake";
const schema = fieldsOf<BullmqEngineOptions>({
	queue: rule<BullmqEngineOptions["queue"]>(
		(value) => can(value, "add", "waitUntilReady", "on"),
		"must be a Queue of BullMQ: new Queue(name, { connection })",
	),
	Worker: rule<BullmqEngineOptions["Worker"]>(
		(value) => typeof value === "function",
		"must be the class Worker of BullMQ",
	),
});

/** Of a priority of 0. BullMQ takes 1 to 2,097,152, the smaller number first. */
const middlePriority = 1_048_576;
/** Redis takes no part in a transaction, which ends after `enqueue`. A worker that comes too early finds the text a second later. */
const untilCommittedMs = 100;
/** How long a caller waits for Redis. The text is stored by then. */
const longestWakeMs = 1_000;
/** How long no wake-up is tried after one that took too long. */
const awayMs = 5_000;
const longestStartMs = 10_000;
const longestCloseMs = 5_000;

/**
 * Wakes the workers of a store by jobs of BullMQ 5 or 6 on Redis. A text then goes out moments after another process enqueued
 * it. Without an engine it may take a second. A job is a wake-up, and the rows decide: what Redis loses, doubles or reorders
 * does no harm. While Redis is down, `enqueue` stores its texts.
 *
 * @throws PartnerInvalidInput naming the option and the rule
 * @example
 * const engine = bullmqEngine({ queue, Worker }); // const queue = new Queue("messaging-outbox", { connection })
 * const crmOutbox = createOutbox({ client, store: mysqlStore(mysqlPool), engine });
 * await crmOutbox.migrate();
 */
export function bullmqEngine(options: BullmqEngineOptions): OutboxEngine {
	const { queue, Worker } = check(schema, "options", options, "bullmqEngine");
	let awayUntil = Number.NEGATIVE_INFINITY;
	/** The last error of the queue, if it has not been reached since. */
	let lastError: unknown;
	queue.on("error", (error) => {
		lastError = error;
	});
	const reached = (): void => {
		awayUntil = Number.NEGATIVE_INFINITY;
		lastError = undefined;
	};
	return {
		async start(signal) {
			await within(longestStartMs, queue.waitUntilReady(), signal).catch((error: unknown) => {
				throw unavailable(error ?? lastError);
			});
			reached();
		},
		// The text is stored by then, and the scan of the workers finds it.
		mayFailToWake: true,
		async wake(wakeUp, { key, priority, tx }) {
			if (performance.now() < awayUntil) throw unavailable(lastError);
			const job: BullmqJobOptions = {
				jobId: await operationIdFrom("wake", `key ${key}`),
				delay: tx === undefined ? 0 : untilCommittedMs,
				priority: middlePriority - priority,
				removeOnComplete: true,
				removeOnFail: true,
			};
			await within(longestWakeMs, queue.add(jobName, wakeUp, job)).catch((error: unknown) => {
				awayUntil = performance.now() + awayMs;
				lastError = error ?? lastError;
				throw unavailable(lastError);
			});
			reached();
		},
		async work(wake) {
			const { connection }: { connection?: { options?: { maxRetriesPerRequest?: unknown } } } = queue.opts;
			if (can(connection, "duplicate") && connection?.options?.maxRetriesPerRequest)
				refuse(
					"queue",
					"its connection must have maxRetriesPerRequest: null, because a worker waits on it for jobs",
					"work",
				);
			// BullMQ connects again by itself.
			let isAway = false;
			const worker = new Worker(
				queue.name,
				async ({ name }) => {
					if (name !== jobName)
						throw new Error("This queue belongs to an outbox. Give your jobs a queue of their own.");
					isAway = false;
					reached();
					wake();
				},
				queue.opts as never,
			);
			worker.on("error", () => {
				isAway = true;
			});
			worker.on("ready", () => {
				isAway = false;
			});
			return async () => {
				// Without force it would wait for a Redis that is down.
				await within(longestCloseMs, worker.close(isAway)).catch(() => {});
			};
		},
	};
}

/** Rejects without an error if it takes too long. Resolves early if the signal aborts. */
function within(ms: number, act: Promise<unknown>, signal?: AbortSignal): Promise<unknown> {
	return new Promise((resolve, reject) => {
		const timer = setTimeout(reject, ms);
		const end = (): void => {
			clearTimeout(timer);
			signal?.removeEventListener("abort", end);
			resolve(undefined);
		};
		signal?.addEventListener("abort", end);
		if (signal?.aborted) end();
		act.then(end, reject).finally(end);
	});
}

/** Names an error of Redis by its code, such as OOM or NOAUTH, because a message may hold more. It heals by itself. */
function unavailable(error: unknown): Error {
	const { code = /\b(?!ERR\b)[A-Z]{3,}\b/.exec(Object(error).message)?.[0] } = Object(error);
	const message = code ? `Redis takes no jobs: ${code}.` : "Redis does not answer.";
	return Object.assign(new Error(message), { code: "ETIMEDOUT" });
}
