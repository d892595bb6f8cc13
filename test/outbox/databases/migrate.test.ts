// What `migrate` does to tables that are there: nothing, except that it builds an index that is missing, beside the work.

import { expect, test } from "vitest";
import { postgresStore } from "../port.ts";
import { newText } from "../store-suite.ts";
import { usePostgres } from "./server.ts";

const { openPool } = usePostgres(import.meta.url);

test("an index whose build was ended on PostgreSQL is built again", async () => {
	const pool = await openPool();
	const store = postgresStore(pool);
	await store.migrate();
	await pool.query("update pg_index set indisvalid = false where indexrelid = 'outbox_texts_arrived'::regclass");
	await Promise.all([store.migrate(), store.migrate()]);
	const { rows: indexes } = await pool.query(
		"select indisvalid from pg_index where indrelid = 'outbox_texts'::regclass",
	);
	expect(indexes.length).toBeGreaterThan(10);
	expect(indexes.every(({ indisvalid }) => indisvalid === true)).toBe(true);
});

test("a migration that finds every index on PostgreSQL waits for nobody's turn", async () => {
	const pool = await openPool();
	const store = postgresStore(pool);
	await store.migrate();
	const sign = "update outbox_meta set migrating_at = 9000000000000";
	await pool.query(sign);
	await store.migrate();
	const { rowCount } = await pool.query("select 1 from outbox_meta where migrating_at = 9000000000000");
	expect(rowCount).toBe(1);
});

test("processes that migrate at once beside long transactions build every index on PostgreSQL", async () => {
	const pool = await openPool();
	const deadlocks: unknown[] = [];
	const query = async (sql: string, values: unknown[]) => {
		try {
			return await pool.query(sql, values);
		} catch (error) {
			if (Object(error).code === "40P01") deadlocks.push(error);
			throw error;
		}
	};
	const store = postgresStore({ query, connect: pool.connect.bind(pool) } as never);
	await store.migrate();
	const validOnes = async () =>
		(
			await pool.query(
				"select indexrelid::regclass::text as name from pg_index where indrelid = 'outbox_texts'::regclass and indisvalid order by 1",
			)
		).rows;
	const all = await validOnes();
	await store.insert({ ...newText, id: "a" }, undefined);
	await pool.query("drop index outbox_texts_arrived, outbox_texts_health");
	// A build waits for them, and longer than the database takes to see that two wait for each other.
	let isOver = false;
	const write = async () => {
		while (!isOver) {
			const client = await pool.connect();
			await client.query("begin");
			await client.query("update outbox_texts set since = since where id = 'a'");
			await new Promise((resolve) => setTimeout(resolve, 1_500));
			await client.query("commit");
			client.release();
		}
	};
	const writing = write();
	await Promise.all([store.migrate(), store.migrate(), store.migrate()]);
	isOver = true;
	await writing;
	expect(await validOnes()).toEqual(all);
	// Each of them ends a build of minutes on a large table.
	expect(deadlocks).toEqual([]);
});
