// Looks at many agencies from any number of processes, on pg-boss. Each agency has one job, which runs in one place at a
// time and puts off its own next run: soon after activity, later the quieter the agency is. A process that is killed loses
// nothing: its job is given to another when it has expired, and goes on from the checkpoint in the tables.
import type { Client } from "messaging-conversations";
import { isPartnerError } from "messaging-conversations";
import PgBoss from "pg-boss";
import type { Database, Sql } from "../database.ts";
import { look, OvertakenError, tables } from "./mirror.ts";

const queueName = "look-at-agency";

export interface MirrorOptions {
	/** After a look that found something; it grows by half with each that finds nothing. */
	minSeconds?: number;
	maxSeconds?: number;
	/** After so long a worker that says nothing is taken for dead. Longer than one look may take. */
	expireInSeconds?: number;
	/** Agencies looked at at once, by this process: with `pollSeconds` the most looks that it makes in a second. */
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
		schema,
	} = options;
	const boss = new PgBoss({
		db: { executeSql: database.query },
		...(schema && { schema }),
		schedule: false,
		maintenanceIntervalSeconds: Math.max(1, Math.floor(expireInSeconds / 4)),
	});
	boss.on("error", (error) => console.error(error.message));
	await boss.start();
	// Of the jobs with one key one may wait and one may run.
	await boss.createQueue(queueName, { name: queueName, policy: "stately" });
	await database.query(tables);

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
		await start(database, { agencyId, pauseSeconds: minSeconds }, 0);
	}

	async function run(client: Client, { agencyId, pauseSeconds }: Job): Promise<void> {
		let pause = Math.min(maxSeconds, pauseSeconds * 1.5);
		try {
			if ((await look({ database, agency: client.agency(agencyId) })) > 0) pause = minSeconds;
		} catch (error) {
			if (error instanceof OvertakenError) return;
			if (!isPartnerError(error)) throw error;
			// The link may have ended, or the service is down: the agency is looked at less often, and nothing is lost.
			console.error(`${agencyId}: ${error.message}`);
			pause = error.retryable ? Math.min(maxSeconds, 2 * pauseSeconds) : maxSeconds;
		}
		await start(database, { agencyId, pauseSeconds: pause }, pause);
	}

	/** Starts looking: in as many processes, on as many machines, as you like. */
	async function work(client: Client): Promise<void> {
		for (let worker = 0; worker < concurrency; worker++) {
			await boss.work<Job>(queueName, { pollingIntervalSeconds: pollSeconds }, async (jobs) => {
				for (const { data } of jobs) await run(client, data);
			});
		}
	}

	return { add, work, stop: () => boss.stop({ graceful: true, wait: true, timeout: 30_000 }) };
}
