// Each statement finds what it needs by an index, and each index is there for a statement.
import Libsql from "libsql";
import type pg from "pg";
import { expect, test } from "vitest";
import { postgresStore, sqliteStore } from "../port.ts";
import { storeChecks } from "../store-checks/index.ts";
import { usePostgres } from "./server.ts";

const { openPool } = usePostgres(import.meta.url);

interface Statement {
	sql: string;
	values: readonly unknown[];
}

/** Statements, each once, whatever the number of the rows that they are about. */
function collect() {
	const found = new Map<string, Statement>();
	return {
		add(sql: string, values: readonly unknown[] = []): void {
			const shape = sql.replaceAll(/'[0-9a-f-]{36}'|\d+/g, "0").replaceAll(/(\(?[$?]0?(::\w+)?\)?, )+/g, "");
			if (!found.has(shape)) found.set(shape, { sql, values });
		},
		/** Those that look for rows. What asks whether a table has any reads one of them. */
		all: () =>
			[...found.values()].filter(
				({ sql }) =>
					/^\s*(with|select|update|delete|insert)\b/.test(sql) && !/^select 1 as found from \w+ limit 1$/.test(sql),
			),
	};
}

/** Runs every method of a store in every way that it has, which is what its checks do. */
async function useAll(...given: Parameters<typeof storeChecks>): Promise<void> {
	for (const { run } of storeChecks(...given)) await run();
}

const texts = 20_000;
const noon = Date.parse("2026-01-05T12:00:00Z");

/** Texts as an outbox has them after a while: most have ended, and a few of each kind have not. */
const fill = (numbers: string): string[] => [
	`insert into outbox_texts (id, agency_id, recipient, body, created_at, purpose, state, reason, since, next_at, ready_at, version,
		progress, begun_at, arrived, message_id, unacknowledged)
	select 't' || n, 'agy_' || (n / 5 % 20), case when n % 100 = 99 then '' else '+4477009' || (10000 + n / 3 % 5000) end, 'See you.',
		${noon} - n, case n % 3 when 0 then 'reply' when 1 then 'notice' else 'marketing' end,
		case when n % 100 < 80 or n % 100 = 99 then 'read' when n % 100 < 92 then 'waiting' when n % 100 = 92 then 'held'
			when n % 100 = 93 then 'sending' when n % 100 = 94 then 'unknown' when n % 100 < 97 then 'sent' when n % 100 = 97 then 'delivered'
			else 'cancelled' end,
		case when n % 100 = 90 then 'quiet_hours' when n % 100 = 98 then 'requested' end, ${noon} - n,
		case when n % 100 between 80 and 93 or n % 100 between 95 and 97 then ${noon} + n * 100 end, 0, 0, '{}', n,
		case when n % 100 = 91 then 1 end, case when n % 100 < 80 or n % 100 between 95 and 97 then 'SM' || n end,
		case when n % 100 = 98 then 1 end
	from ${numbers}`,
	`insert into outbox_queues (recipient, agency_id, band, due_at, token)
	select recipient, agency_id, min(case when state = 'waiting' then 1 else 3 end), min(next_at),
		case when min(seq) % 200 = 80 then 'token ' || min(seq) end
	from outbox_texts where next_at is not null and arrived is null group by recipient, agency_id`,
];

/** Asks for what is due in a queue, or in the queues of an agency. There may be many, so it must not sort them. */
const findsDue = (sql: string): boolean =>
	/order by (due_at|seq( desc)?|\(attempts > 0\)[^()]*) limit (?!500)/.test(sql);

/** What is wrong with the plans of statements, and with indexes. */
interface Findings {
	/** Statements that read a large table from end to end, or sort what is due. */
	slow: string[];
	/** Indexes that no statement uses. */
	unused: string[];
}
const nothing: Findings = { slow: [], unused: [] };

/** Whether a step of a plan of SQLite reads a large table from end to end. Agencies, workers and their leases are few. */
function isScan(detail: string, sql: string): boolean {
	const [, name] = /^SCAN (\w+)/.exec(detail) ?? [];
	if (name === undefined) return false;
	const [, table = name] = new RegExp(`(outbox_\\w+)(?: as)? ${name}\\b`).exec(sql) ?? [];
	// What is limited reads the first rows of an index.
	const isFirst = / limit (\?|\d+)$/.test(sql) && detail.includes(" INDEX ");
	return table.startsWith("outbox_") && !/_(agencies|workers|leases|meta)$/.test(table) && !isFirst;
}

async function onSqlite(indexes: readonly string[] = []): Promise<Findings> {
	const statements = collect();
	const open = () => {
		const db = new Libsql(":memory:");
		const prepare = (sql: string) => {
			statements.add(sql);
			return db.prepare(sql);
		};
		return { db, spying: { prepare } };
	};
	let last = open();
	await useAll(
		() => {
			last = open();
			return sqliteStore(last.spying);
		},
		{
			async transaction(act) {
				last.db.exec("begin");
				try {
					await act(last.spying);
				} catch (error) {
					last.db.exec("rollback");
					throw error;
				}
				last.db.exec("commit");
			},
		},
	);
	const { db } = open();
	await sqliteStore(db).migrate();
	const numbers = `(with recursive numbers (n) as (select 0 union all select n + 1 from numbers where n < ${texts - 1}) select n from numbers)`;
	for (const sql of [...fill(numbers), ...indexes]) db.exec(sql);
	const slow: string[] = [];
	const used = new Set<string>();
	for (const { sql } of statements.all()) {
		const values = (sql.match(/\?/g) ?? []).map(() => 1);
		const plan = db.prepare(`explain query plan ${sql}`).all(...values) as { detail: string }[];
		for (const { detail } of plan) {
			for (const [, name] of detail.matchAll(/INDEX (\w+)/g)) used.add(name ?? "");
			if (isScan(detail, sql) || (findsDue(sql) && detail.includes("TEMP B-TREE"))) slow.push(`${detail} for ${sql}`);
		}
	}
	const all = db
		.prepare("select name from sqlite_master where type = 'index' and sql is not null and tbl_name like 'outbox_%'")
		.all() as { name: string }[];
	return { slow, unused: all.flatMap(({ name }) => (used.has(name) ? [] : [name])) };
}

interface Node {
	"Node Type": string;
	"Relation Name"?: string;
	"Index Name"?: string;
	Plans?: Node[];
}

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

async function onPostgres(indexes: readonly string[] = []): Promise<Findings> {
	const pool = await openPool();
	const statements = collect();
	const spyOn = (run: Pick<pg.Pool, "query">) => ({
		query(sql: string, values: unknown[] = []) {
			statements.add(sql, values);
			return run.query(sql, values);
		},
	});
	await postgresStore(pool).migrate();
	const { rows: tables } = await pool.query(
		"select relname from pg_class where relname like 'outbox_%' and relkind = 'r'",
	);
	const names = tables.map(({ relname }) => relname).join(", ");
	await useAll(
		async () => {
			await pool.query(`truncate ${names}`);
			return postgresStore(spyOn(pool));
		},
		{
			async transaction(act) {
				const client = await pool.connect();
				try {
					await client.query("begin");
					await act(spyOn(client));
					await client.query("commit");
				} catch (error) {
					await client.query("rollback");
					throw error;
				} finally {
					client.release();
				}
			},
		},
	);
	await pool.query(`truncate ${names}`);
	for (const sql of [...fill(`generate_series(0, ${texts - 1}) as numbers (n)`), ...indexes]) await pool.query(sql);
	await pool.query("analyze");
	const slow: string[] = [];
	const used = new Set<string>();
	for (const { sql, values } of statements.all()) {
		const { rows } = await pool.query(`explain (format json) ${sql}`, [...values]);
		for (const node of nodesOf(rows[0]["QUERY PLAN"][0].Plan)) {
			if (node["Index Name"]) used.add(node["Index Name"]);
			const isScan = node["Node Type"] === "Seq Scan" && /^outbox_(texts|queues)$/.test(node["Relation Name"] ?? "");
			if (isScan || (findsDue(sql) && node["Node Type"] === "Sort")) slow.push(`${node["Node Type"]} for ${sql}`);
		}
	}
	const { rows: all } = await pool.query(`select indexrelid::regclass::text as name from pg_index
		where indrelid::regclass::text like 'outbox_%' and not indisunique`);
	return { slow, unused: all.flatMap(({ name }) => (used.has(name) ? [] : [name])) };
}

test.each([
	["SQLite", onSqlite],
	["PostgreSQL", onPostgres],
])("each statement is answered by an index, and each index answers one: %s", async (_, find) => {
	expect(await find()).toEqual(nothing);
	const superfluous = "create index outbox_superfluous on outbox_texts (priority)";
	expect(await find([superfluous, "drop index outbox_texts_message"])).toEqual({
		slow: [expect.stringContaining("message_id = ")],
		unused: ["outbox_superfluous"],
	});
});
