import { mysqlStore } from "messaging-conversations/outbox";
import type mysql from "mysql2/promise";
import { describe, test } from "vitest";
import { isLong } from "../../length.ts";
import { playAll } from "../histories.ts";
import { storeSuite } from "../store-suite.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";

describe.each(mysqlKinds)("%s", (kind) => {
	const { openPool } = useMysql(kind);

	let shared: Promise<mysql.Pool> | undefined;
	/** An empty database. All tests share one, because emptying it takes less time than creating it. */
	async function emptyPool(): Promise<mysql.Pool> {
		shared ??= openPool();
		const pool = await shared;
		for (const table of ["outbox_text", "outbox_text_worker", "outbox_text_stop"])
			await pool.query(`delete from ${table}`).catch(() => {});
		return pool;
	}

	describe("the store suite", () => storeSuite(async () => mysqlStore(await emptyPool())));

	test("random histories: no text arrives twice, none is falsely reported, and each queue keeps its order", async () => {
		await playAll(isLong ? 500 : 6, async () => mysqlStore(await emptyPool()));
	}, 1_200_000);
});
