// Polls many agencies from any number of processes, on pg-boss. Each agency has one job, which runs in one place at a time
// and schedules its own next run. That is soon after activity, and later the quieter the agency is. A process that is killed loses
// nothing: its job is given to another when it has expired, and continues from the checkpoint in the tables.
import type { Client } from "messaging-conversations";
import { isPartnerError } from "messaging-conversations";
import PgBoss from "pg-boss";
import { createTables, type Database, type Sql } from "../database.ts";
import { OvertakenError, poll, tables } from "./mirror.ts";

const queueName = "poll-agency";

export interface MirrorOptions {
	/** After a poll that found something; it grows by half with each that finds nothing. */
	minSeconds?: number;
	maxSeconds?: number;
	/** After so long a worker that says nothing is taken for dead. A poll that takes half of it continues in the next job. */
	expireInSeconds?: number;
	/** Agencies polled at once by this process: with `pollSeconds` the most polls that it makes in a second. */
	concurrency?: number;
	pollSeconds?: number;
	schema?: string;
}

interface Job {
	agencyId: string;
	pauseSeconds: number;
}

export type Mirror = Awaited<ReturnType<typeof createMirror>>;

export async function createMirror(database: Database, options: MirrorOptions = {}) {
	const {
		minSeconds = 15,
		maxSeconds = 300,
		expireInSeconds = 900,
		concurrency = 4,
		pollSeconds = 1,
		schema = "pgboss",
	} = options;
	/** Statements and jobs under way. */
	const underWay = new Set<Promise<unknown>>();
	function track<Result>(work: Promise<Result>): Promise<Result> {
		const ended: Promise<unknown> = work.catch(() => {}).finally(() => underWay.delete(ended));
		underWay.add(ended);
		return work;
	}
	const boss = new PgBoss({
		db: { executeSql: (text, values) => track(database.query(text, values)) },
		schema,
		schedule: false,
		maintenanceIntervalSeconds: Math.max(1, Math.floor(expireInSeconds / 4)),
	});
	boss.on("error", (error) => console.error(error.message));
	await boss.start();
	// Of the jobs with one key one may wait and one may run.
	await boss.createQueue(queueName, { name: queueName, policy: "stately" });
	await createTables(database, tables);

	/** The polls under way. */
	const polls = new Set<AbortController>();
	let isStopping = false;

	function start(sql: Sql, { agencyId, pauseSeconds }: Job, afterSeconds: number): Promise<string | null> {
		return boss.send(
			queueName,
			{ agencyId, pauseSeconds },
			{
				singletonKey: agencyId,
				startAfter: afterSeconds,
				expireInSeconds,
				retryLimit: 1_000_000,
				retryDelay: 1,
				db: { executeSql: sql.query },
			},
		);
	}

	/** Begins to mirror an agency; an agency that is mirrored already stays as it is. */
	async function add(agencyId: string): Promise<void> {
		// As long as one job of an agency runs, pg-boss cannot start another one, and takes none that is in line behind it.
		const { rows } = await database.query(
			`select 1 from ${schema}.job where name = $1 and singleton_key = $2 and state < 'completed'`,
			[queueName, agencyId],
		);
		if (rows.length === 0) await start(database, { agencyId, pauseSeconds: minSeconds }, 0);
	}

	async function run(client: Client, id: string, { agencyId, pauseSeconds }: Job): Promise<void> {
		let pause = Math.min(maxSeconds, pauseSeconds * 1.5);
		const enough = new AbortController();
		const timer = setTimeout(() => enough.abort(), expireInSeconds * 500);
		polls.add(enough);
		if (isStopping) enough.abort();
		try {
			if ((await poll({ database, agency: client.agency(agencyId), signal: enough.signal })) > 0) pause = minSeconds;
		} catch (error) {
			// A worker that was overtaken makes the next job too, because the other one may die. Of two jobs the first one stays.
			if (!(error instanceof OvertakenError)) {
				if (!isPartnerError(error)) throw error;
				// The link may have ended, or the service is down: the agency is polled less often, and nothing is lost.
				if (!enough.signal.aborted) console.error(`${agencyId}: ${error.message}`);
				pause = error.retryable ? Math.min(maxSeconds, 2 * pauseSeconds) : maxSeconds;
			}
		} finally {
			clearTimeout(timer);
			polls.delete(enough);
		}
		if (enough.signal.aborted) pause = minSeconds; // more is to come
		// Together, so that the next job is never in line while this one is left over from a worker that was killed.
		await database.transaction(async (sql) => {
			await boss.complete(queueName, id, {}, { db: { executeSql: sql.query } });
			await start(sql, { agencyId, pauseSeconds: pause }, pause);
		});
	}

	/** Starts polling: in as many processes, on as many machines, as you like. */
	async function work(client: Client): Promise<void> {
		for (let worker = 0; worker < concurrency; worker++) {
			await boss.work<Job>(queueName, { pollingIntervalSeconds: pollSeconds }, async (jobs) => {
				for (const { id, data } of jobs) await track(run(client, id, data));
			});
		}
	}

	/** Ends polls once their current change is stored. The next worker continues them. */
	async function stop(): Promise<void> {
		isStopping = true;
		for (const poll of polls) poll.abort();
		await boss.stop({ graceful: true, wait: true, timeout: 30_000 });
		// pg-boss does not wait for a job that it is just fetching.
		while (underWay.size > 0) {
			await Promise.all(underWay);
			await new Promise((resolve) => setImmediate(resolve));
		}
	}

	return { add, work, stop };
}
