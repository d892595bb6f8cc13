import type mysql from "mysql2/promise";
import { describe, expect, test } from "vitest";
import { isLong } from "../../length.ts";
import { playAll } from "../histories.ts";
import { mysqlStore } from "../port.ts";
import { newText, storeSuite } from "../store-suite.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";
import { checkSources } from "./sources.ts";
import { runStatements } from "./statements.ts";

describe.each(mysqlKinds)("%s", (kind) => {
	const { openPool } = useMysql(kind);

	let shared: Promise<mysql.Pool> | undefined;
	/** An empty database. All tests share one, because emptying it takes less time than creating it. */
	async function emptyPool(): Promise<mysql.Pool> {
		shared ??= openPool();
		const pool = await shared;
		for (const end of ["texts", "workers", "contacts", "queues", "agencies", "leases", "meta"])
			await pool.query(`delete from outbox_${end}`).catch(() => {});
		return pool;
	}

	describe("the store suite", () => storeSuite(async () => mysqlStore(await emptyPool())));

	test("each fact is stored with what told of it", async () => {
		const pool = await emptyPool();
		await checkSources(mysqlStore(pool), async (sql) => (await pool.query<mysql.RowDataPacket[]>(sql))[0]);
	});

	test("many waiting texts to many contacts cost no scan, and no sort of what is due", async () => {
		const texts = isLong ? 10_000 : 2_000;
		const pool = await emptyPool();
		const seen: string[] = [];
		const store = mysqlStore({
			escape: pool.escape,
			query(options: { sql: string }) {
				seen.push(options.sql);
				return pool.query(options);
			},
		});
		await store.migrate();
		await store.insert({ ...newText, id: "t", createdAt: 1 }, undefined);
		const columns =
			"agency_id, body, created_at, state, since, next_at, ready_at, version, progress, begun_at, purpose, priority";
		const [copied] = await pool.query(`select ${columns} from outbox_texts`);
		const [row] = copied as Record<string, unknown>[];
		const rows = Array.from({ length: texts }, (_, at) => {
			const to = `+44770090${String(at % 1_000).padStart(4, "0")}`;
			return [`t${at}`, to, ...Object.values(row ?? {})];
		});
		await pool.query(`insert into outbox_texts (id, recipient, ${columns}) values ?`, [rows]);
		await pool.query("analyze table outbox_texts");
		seen.length = 0;
		await runStatements(store);
		expect(seen.length).toBeGreaterThan(20);
		for (const sql of seen) {
			if (!/^\s*(select|update|delete)/.test(sql)) continue;
			const [plan] = await pool.query(`explain ${sql}`);
			for (const { table, type, Extra } of plan as Record<string, unknown>[]) {
				if (!["outbox_texts", "outbox_queues", "t", "q"].includes(String(table))) continue;
				expect(`${type} for ${sql}`).not.toMatch(/^ALL/);
				if (/order by (part_open|due_at)/.test(sql)) expect(`${Extra} for ${sql}`).not.toMatch(/filesort/);
			}
		}
	});

	test("random histories: no text arrives twice, none is falsely reported, and each queue keeps its order", async () => {
		await playAll(isLong ? 500 : 6, async () => {
			const pool = await emptyPool();
			return {
				...mysqlStore(pool),
				async nextDue() {
					const sql = `select min(at) as at from (select min(due_at) as at from outbox_queues
						union all select min(next_at) from outbox_texts where arrived = 1) as due`;
					const [[row]] = await pool.query<mysql.RowDataPacket[]>(sql);
					return row?.at === null ? undefined : Number(row?.at);
				},
				expire: async () => void (await pool.query("update outbox_queues set lease_until = 0")),
			};
		});
	}, 1_200_000);
});
