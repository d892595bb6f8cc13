import { operationIdFrom } from "messaging-conversations";
import type { OutboxEngine, WakeUp } from "./engine.ts";
import { can, fields, refuse } from "./input.ts";
import { retryLocked } from "./sql-store.ts";
import { transactionOf } from "./transaction.ts";
import type { Rows } from "./transactions/pg.ts";

/** The methods of pg-boss 10 to 12 that the engine calls. */
export interface PgBossLike {
	/** Creates a queue; does nothing when it is there. */
	createQueue: (name: string) => Promise<unknown>;
	/** Stores a job. */
	send: (name: string, data: WakeUp, options: PgBossSendOptions) => Promise<unknown>;
	/** Takes jobs. */
	work: (
		name: string,
		options: { pollingIntervalSeconds: number; batchSize: number },
		handler: (jobs: { data: WakeUp }[]) => Promise<void>,
	) => Promise<string>;
	/** Stops one worker, named by its id: in the place of the queue's name up to pg-boss 11, beside it in 12. */
	offWork(name: string | { id: string }, options?: { id: string; wait: boolean }): Promise<unknown>;
}

/** The options of a job. */
export interface PgBossSendOptions {
	/** The job's id, a UUID. */
	id: string;
	/** The job does not start before. Absent for at once. */
	startAfter?: Date;
	/** Jobs of a higher priority are taken first. */
	priority: number;
	/** How often a failed job is repeated. */
	retryLimit: number;
	/** The caller's transaction, in which the job is stored. */
	db?: PgBossDatabase;
}

/** A database connection, as pg-boss takes it. */
export interface PgBossDatabase {
	/** Runs one statement. */
	executeSql: (sql: string, values?: unknown[]) => Promise<Rows>;
}

/** Wake-ups that a worker takes at once. */
const batchSize = 10;

/** Options of {@link pgBossEngine}. */
export interface PgBossEngineOptions {
	/** Name of the queue. Each table of texts needs one of its own. @default "messaging-outbox" */
	queue?: string | undefined;
	/** Seconds between two polls for a job. @default 1 */
	pollSeconds?: number | undefined;
}

/**
 * Lets any number of processes work on one {@link postgresStore}, by jobs of a started pg-boss: 10 on Node 20, 12 above.
 * `enqueue` with a `tx` makes its job in the same transaction. Outboxes with tables of their own need queues of their own,
 * because a worker knows the texts of its own table only.
 *
 * @throws PartnerInvalidInput if `boss` is not a pg-boss, or for an unknown option
 * @example
 * const crmOutbox = createOutbox({ client, store: postgresStore(pool), engine: pgBossEngine(boss) });
 * await crmOutbox.migrate();
 */
export function pgBossEngine(boss: PgBossLike, options: PgBossEngineOptions = {}): OutboxEngine {
	if (!can(boss, "send", "work", "offWork", "createQueue")) refuse("boss", "must be a pg-boss", "pgBossEngine");
	fields("options", options, "pgBossEngine", "queue", "pollSeconds");
	const { queue = "messaging-outbox", pollSeconds = 1 } = options;
	return {
		async start() {
			// It changes tables, so that PostgreSQL ends one of two that start at the same moment.
			await retryLocked(async () => {
				await boss.createQueue(queue);
				return [];
			});
		},
		async wake({ agencyId, to, seq, priority = 0 }, at, key = "", tx) {
			// A job that is there already stays as it is.
			const id = await operationIdFrom("wake", agencyId, to, `${at}`, `key ${key}`);
			const job: PgBossSendOptions = { id, priority, retryLimit: 0 };
			// What is due now starts by the clock of the database, which may be behind this one.
			if (at > Date.now()) job.startAfter = new Date(at);
			if (tx !== undefined) {
				const transaction = transactionOf(tx, "postgres", "enqueue");
				job.db = { executeSql: async (sql, values = []) => ({ rows: await transaction.query(sql, values) }) };
			}
			await boss.send(queue, { text: seq }, job);
		},
		async work(step, concurrency) {
			const running = new Set<Promise<void>>();
			const workers: string[] = [];
			async function run(jobs: { data: WakeUp }[]): Promise<void> {
				for (const { data } of jobs) await step(data.text);
			}
			async function handle(jobs: { data: WakeUp }[]): Promise<void> {
				const batch = run(jobs);
				running.add(batch);
				await batch.finally(() => running.delete(batch));
			}
			async function stop(): Promise<void> {
				// By the name alone every worker of the queue would stop, also those of another outbox.
				await Promise.all(
					workers.map((id) => boss.offWork({ id }).catch(() => boss.offWork(queue, { id, wait: true }))),
				);
				await Promise.allSettled(running);
			}
			try {
				const often = { pollingIntervalSeconds: pollSeconds, batchSize };
				while (workers.length < concurrency) workers.push(await boss.work(queue, often, handle));
			} catch (error) {
				await stop();
				throw error;
			}
			return stop;
		},
	};
}
