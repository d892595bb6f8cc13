// Two workers on pg-boss and PostgreSQL, which are killed and stopped. Every text is there once and in its order, and a
// contact who declined gets none.
import { pgBossEngine } from "messaging-conversations/outbox";
import PgBoss from "pg-boss";
import { test } from "vitest";
import { postgresStore } from "../port.ts";
import { longestMs, playRounds } from "./kill-rounds.ts";
import { usePostgres } from "./server.ts";
import { startBoss } from "./shared-boss.ts";
import { useWorkers } from "./start-worker.ts";

const { create, openPool } = usePostgres(import.meta.url);
const start = useWorkers();

test("SIGKILL and SIGSTOP at each point", { timeout: longestMs }, async () => {
	const url = await create();
	const pool = await openPool(url);
	const boss = await startBoss(new PgBoss({ connectionString: url, schedule: false }));
	await playRounds({
		name: "pg-boss on PostgreSQL",
		place: { database: "pg-boss", url },
		start,
		store: postgresStore(pool),
		engine: pgBossEngine(boss),
		async transaction(act) {
			const connection = await pool.connect();
			await connection.query("begin");
			await act(connection);
			await connection.query("commit");
			connection.release();
		},
		select: async (sql) => (await pool.query(sql)).rows,
	});
	await boss.stop();
});
