// An outbox that can only wait, on databases. With one in its process, nothing but a timer ends a worker that never sleeps.
import Libsql from "libsql";
import { describe, test } from "vitest";
import { isLong } from "../../length.ts";
import { expectCalm, situations } from "../idle.ts";
import { mysqlStore, postgresStore, sqliteStore } from "../port.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";

/** The statements of these differ from those of the store of the tests. */
const some = situations.filter(({ title }) => isLong || /backup|paused/.test(title));

describe("libsql", () => {
	test.each(some)("$title", async (situation) => {
		const db = new Libsql(newFile());
		await expectCalm(situation, {
			store: sqliteStore(db),
			async transaction(act) {
				db.exec("begin immediate");
				await act(db);
				db.exec("commit");
			},
		});
	});
});

describe("PostgreSQL", () => {
	const { openPool } = usePostgres(import.meta.url);

	test.each(some)("$title", async (situation) => {
		const pool = await openPool();
		await expectCalm(situation, {
			store: postgresStore(pool),
			async transaction(act) {
				const client = await pool.connect();
				await client.query("begin");
				await act(client);
				await client.query("commit");
				client.release();
			},
		});
	});
});

describe.each(mysqlKinds)("%s", (kind) => {
	const { openPool } = useMysql(kind);

	test.each(some)("$title", async (situation) => {
		const pool = await openPool();
		await expectCalm(situation, {
			store: mysqlStore(pool),
			async transaction(act) {
				const connection = await pool.getConnection();
				await connection.beginTransaction();
				await act(connection);
				await connection.commit();
				connection.release();
			},
		});
	});
});
