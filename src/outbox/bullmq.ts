import { operationIdFrom } from "messaging-conversations";
import type { OutboxEngine, WakeUp } from "./engine.ts";
import { can, fields, refuse } from "./input.ts";

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
	/** How often it is tried. */
	attempts: number;
	/** How long it waits before each further attempt. */
	backoff: {
		/** Each wait is twice as long as the one before. */
		type: "exponential";
		/** The first wait, in milliseconds. */
		delay: number;
	};
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
/** Of a priority of 0. BullMQ takes 1 to 2,097,152, the smaller number first. */
const middlePriority = 1_048_576;
/** A job of an open transaction is repeated after 0.1, 0.2, 0.4 … seconds, for 51 seconds in all. */
const untilCommitted = { attempts: 10, backoff: { type: "exponential", delay: 100 } } as const;
/** How long a caller waits for Redis. The text is stored by then. */
const longestWakeMs = 1_000;
/** How long no wake-up is tried after one that took too long. */
const awayMs = 5_000;
const longestStartMs = 10_000;
const longestCloseMs = 5_000;

/**
 * Lets any number of processes work on one store, by jobs of BullMQ 5 or 6 on Redis. The store is a {@link mysqlStore} or a
 * {@link postgresStore}. A job is a wake-up, and the rows decide: what Redis loses, doubles or reorders does no harm. While Redis is away,
 * `enqueue` stores its texts, and they are sent when it is back.
 *
 * @throws PartnerInvalidInput naming the option and the rule
 * @example
 * const engine = bullmqEngine({ queue, Worker }); // const queue = new Queue("messaging-outbox", { connection })
 * const crmOutbox = createOutbox({ client, store: mysqlStore(mysqlPool), engine });
 * await crmOutbox.migrate();
 */
export function bullmqEngine(options: BullmqEngineOptions): OutboxEngine {
	fields("options", options, "bullmqEngine", "queue", "Worker");
	const { queue, Worker } = options;
	if (!can(queue, "add", "waitUntilReady", "on"))
		refuse("queue", "must be a Queue of BullMQ: new Queue(name, { connection })", "bullmqEngine");
	if (typeof Worker !== "function") refuse("Worker", "must be the class Worker of BullMQ", "bullmqEngine");
	let awayUntil = 0;
	/** The last error of the queue, if it has not been reached since. */
	let lastError: unknown;
	queue.on("error", (error) => {
		lastError = error;
	});
	const reached = (): void => {
		awayUntil = 0;
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
		async wake({ agencyId, to, seq, priority = 0 }, at, key = "", tx) {
			if (Date.now() < awayUntil) throw unavailable(lastError);
			const job: BullmqJobOptions = {
				jobId: await operationIdFrom("wake", agencyId, to, `${at}`, `key ${key}`),
				delay: Math.max(0, Math.ceil(at - Date.now())),
				priority: middlePriority - priority,
				// Redis takes no part in the transaction, so that a worker may come before its end.
				...(tx === undefined ? { ...untilCommitted, attempts: 1 } : untilCommitted),
				removeOnComplete: true,
				removeOnFail: true,
			};
			await within(longestWakeMs, queue.add(jobName, { text: seq }, job)).catch((error: unknown) => {
				awayUntil = Date.now() + awayMs;
				lastError = error ?? lastError;
				throw unavailable(lastError);
			});
			reached();
		},
		async work(step, concurrency) {
			const { connection }: { connection?: { options?: { maxRetriesPerRequest?: unknown } } } = queue.opts;
			if (can(connection, "duplicate") && connection?.options?.maxRetriesPerRequest)
				refuse(
					"queue",
					"its connection must have maxRetriesPerRequest: null, because a worker waits on it for jobs",
					"work",
				);
			const running = new Set<Promise<unknown>>();
			const run = async ({ name, data }: BullmqJob): Promise<void> => {
				if (name !== jobName) throw new Error("This queue belongs to an outbox. Give your jobs a queue of their own.");
				if (!(await step(data.text))) throw new Error("The transaction that stores the text is still open.");
			};
			// BullMQ connects again by itself.
			let isAway = false;
			const worker = new Worker(
				queue.name,
				async (job) => {
					isAway = false;
					reached();
					const ended = run(job);
					running.add(ended);
					await ended.finally(() => running.delete(ended));
				},
				{ ...queue.opts, concurrency } as never,
			);
			worker.on("error", () => {
				isAway = true;
			});
			worker.on("ready", () => {
				isAway = false;
			});
			return async () => {
				// Without force it would wait for a Redis that is away.
				const closed = worker.close(isAway);
				await Promise.allSettled(running);
				await within(longestCloseMs, closed).catch(() => {});
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
