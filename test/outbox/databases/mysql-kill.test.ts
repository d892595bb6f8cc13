// Two workers on BullMQ and MySQL, which are killed and stopped. Redis is flushed or restarted then. Every text is there once
// and in its order, and a contact who declined gets none.
import { Queue, Worker } from "bullmq";
import { bullmqEngine } from "messaging-conversations/outbox";
import type { RowDataPacket } from "mysql2";
import { afterAll, beforeAll, describe, test } from "vitest";
import { mysqlStore } from "../port.ts";
import { longestMs, playRounds } from "./kill-rounds.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";
import { type RedisServer, startRedis } from "./redis-server.ts";
import { useWorkers } from "./start-worker.ts";

let redis: RedisServer;
beforeAll(async () => {
	redis = await startRedis();
});
afterAll(() => redis.close());

describe.each(mysqlKinds)("%s", (kind) => {
	const { create, openPool } = useMysql(kind);
	const start = useWorkers();

	test("SIGKILL and SIGSTOP at each point, with Redis flushed and restarted", { timeout: longestMs }, async () => {
		const url = await create();
		const pool = await openPool(url);
		const queue = new Queue("outbox", { connection: { host: "127.0.0.1", port: redis.port } });
		queue.on("error", () => {});
		await playRounds({
			name: `BullMQ on ${kind}`,
			place: { database: "bullmq", url, redis: redis.port },
			start,
			store: mysqlStore(pool),
			engine: bullmqEngine({ queue, Worker }),
			async transaction(act) {
				const connection = await pool.getConnection();
				await connection.beginTransaction();
				await act(connection);
				await connection.commit();
				connection.release();
			},
			select: async (sql) => (await pool.query<RowDataPacket[]>(sql))[0],
			afterDeath: redis.flush,
			async whileStopped() {
				await redis.stop();
				await redis.start();
			},
		});
		await queue.close();
	});
});
