import { mysqlStore } from "messaging-conversations/outbox";
import { describe } from "vitest";
import { storeSuite } from "../store-suite.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";

describe.each(mysqlKinds)("%s", (kind) => {
	const { openPool } = useMysql(kind);

	let shared: Promise<Awaited<ReturnType<typeof openPool>>> | undefined;
	/** An empty database. A suite shares one, because creating it takes longer than emptying it. */
	async function emptyPool() {
		shared ??= openPool();
		const pool = await shared;
		for (const table of ["outbox_text", "outbox_text_worker", "outbox_text_stop"])
			await pool.query(`delete from ${table}`).catch(() => {});
		return pool;
	}
	describe("mysql2", () => storeSuite(async () => mysqlStore(await emptyPool())));
});
