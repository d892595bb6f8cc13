import { operationIdFrom } from "messaging-conversations";
import { checkedLater, fieldsOf } from "../../shared/validation.ts";
import { can, check, refuse } from "../input.ts";
import { retryLocked } from "../stores/retry.ts";
import { transactionOf } from "../transaction.ts";
import type { Rows } from "../transactions/pg.ts";
import type { OutboxEngine, WakeUp } from "./engine.ts";

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
		handler: () => Promise<void>,
	) => Promise<string>;
	/** Stops one worker, named by its id: in the place of the queue's name up to pg-boss 11, beside it in 12. */
	offWork(name: string | { id: string }, options?: { id: string; wait: boolean }): Promise<unknown>;
}

/** The options of a job. */
export interface PgBossSendOptions {
	/** The job's id, a UUID. */
	id: string;
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
const batchSize = 100;

/** Options of {@link pgBossEngine}. */
export interface PgBossEngineOptions {
	/** Name of the queue. Each table of texts needs one of its own. @default "messaging-outbox" */
	queue?: string | undefined;
	/** Seconds between two polls for a job. @default 1 */
	pollSeconds?: number | undefined;
}

// pg-boss checks the values.
const schema = fieldsOf<PgBossEngineOptions>({ queue: checkedLater(), pollSeconds: checkedLater() });

/**
 * Wakes the workers of a {@link postgresStore} by jobs of a started pg-boss: version 10 on Node 20, 12 on later ones. A text then
 * goes out moments after another process enqueued it. Without an engine it may take a second. `enqueue` with a `tx` makes its job in the same
 * transaction. Outboxes with tables of their own need queues of their own, because a job wakes the workers of one table only.
 *
 * @throws PartnerInvalidInput if `boss` is not a pg-boss, or for an unknown option
 * @example
 * const crmOutbox = createOutbox({ client, store: postgresStore(pool), engine: pgBossEngine(boss) });
 * await crmOutbox.migrate();
 */
export function pgBossEngine(boss: PgBossLike, options: PgBossEngineOptions = {}): OutboxEngine {
	if (!can(boss, "send", "work", "offWork", "createQueue")) refuse("boss", "must be a pg-boss", "pgBossEngine");
	const { queue = "messaging-outbox", pollSeconds = 1 } = check(schema, "options", options, "pgBossEngine");
	return {
		async start() {
			// It changes tables, so that PostgreSQL ends one of two that start at the same moment.
			await retryLocked(async () => {
				await boss.createQueue(queue);
				return [];
			});
		},
		async wake(wakeUp, { key, priority, tx }) {
			// A job that is there already stays as it is.
			const job: PgBossSendOptions = { id: await operationIdFrom("wake", `key ${key}`), priority, retryLimit: 0 };
			if (tx !== undefined) {
				const transaction = transactionOf(tx, "postgres", "enqueue");
				job.db = { executeSql: async (sql, values = []) => ({ rows: await transaction.query(sql, values) }) };
			}
			await boss.send(queue, wakeUp, job);
		},
		async work(wake) {
			const often = { pollingIntervalSeconds: pollSeconds, batchSize };
			const id = await boss.work(queue, often, async () => wake());
			// By the name alone every worker of the queue would stop, also those of another outbox.
			return () =>
				boss.offWork({ id }).then(
					() => {},
					async () => void (await boss.offWork(queue, { id, wait: true })),
				);
		},
	};
}
