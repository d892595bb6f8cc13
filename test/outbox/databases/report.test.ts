// The report of a history on each database, which counts by an index.
import Libsql from "libsql";
import { expect, test } from "vitest";
import { mysqlStore, postgresStore, sqliteStore } from "../port.ts";
import { checkReport } from "../reports.ts";
import { useMysql } from "./mysql-server.ts";
import { usePostgres } from "./server.ts";

const postgres = usePostgres(import.meta.url);
const mariadb = useMysql("MariaDB");

test("PostgreSQL counts a history by the days of a time zone", async () => {
	await checkReport(postgresStore(await postgres.openPool()), "Europe/Brussels");
});

test("MariaDB counts a history by the days of a time zone, by the index of the days", async () => {
	const pool = await mariadb.openPool();
	await checkReport(mysqlStore(pool), "America/New_York");
	const sql = `select count(*) from outbox_texts force index (report)
		where agency_id = 'agy_1' and planned_at >= 1774000000000 and planned_at < 1774086400000`;
	const [plan] = await pool.query(`explain ${sql}`);
	expect(plan).toMatchObject([{ type: "range", key: "report" }]);
});

test("SQLite counts a history by the days of a time zone", async () => {
	await checkReport(sqliteStore(new Libsql(":memory:")), "Africa/Cairo");
});
