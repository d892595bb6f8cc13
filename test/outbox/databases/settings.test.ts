// Schemas, tenants, isolation levels and locks, as databases are set up.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createClient as createLibsql } from "@libsql/client";
import Libsql from "libsql";
import { expect, test } from "vitest";
import { type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import { newText } from "../store-suite.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";

const { create, openPool } = usePostgres(import.meta.url);

const text = { ...newText, createdAt: 1 };

test("tenants by search_path have a table each, even if public has one", async () => {
	const url = await create();
	const stores: OutboxStore[] = [];
	for (const schema of ["public", "tenant_a", "tenant_b"]) {
		const pool = await openPool(url, `-c search_path=${schema},public`);
		await pool.query(`create schema if not exists ${schema}`);
		const store = postgresStore(pool);
		await store.migrate();
		await store.migrate();
		await store.insert({ ...text, id: "a", body: schema }, undefined);
		stores.push(store);
	}
	const bodies = stores.map(async (store) => (await store.find("a"))?.body);
	expect(await Promise.all(bodies)).toEqual(["public", "tenant_a", "tenant_b"]);
	const { rows } = await (await openPool(url)).query(
		"select schemaname, count(*)::int from pg_indexes where indexname like 'outbox_texts%' group by 1 order by 1",
	);
	expect(new Set(rows.map((row) => row.count)).size).toBe(1);
	expect(rows).toHaveLength(3);
});

test("the schema of the table is created, by processes that start at the same moment", async () => {
	const pool = await openPool();
	await Promise.all([1, 2, 3].map(() => postgresStore(pool, { prefix: "crm.outbox" }).migrate()));
	await postgresStore(pool, { prefix: "crm.outbox" }).insert({ ...text, id: "a" }, undefined);
	expect((await pool.query("select id from crm.outbox_texts")).rows).toEqual([{ id: "a" }]);
});

test("a user who may not create a schema uses the one that is there", async () => {
	const url = await create();
	const owner = await openPool(url);
	const name = `clerk_${crypto.randomUUID().slice(0, 8)}`;
	await owner.query(`create role ${name} login; create schema crm authorization ${name}`);
	const as = new URL(url);
	as.username = name;
	const store = postgresStore(await openPool(as.href), { prefix: "crm.outbox" });
	await store.migrate();
	await store.migrate();
	await expect(postgresStore(await openPool(as.href), { prefix: "elsewhere.outbox" }).migrate()).rejects.toMatchObject({
		code: "42501",
	});
	await owner.query(`drop schema crm cascade; drop role ${name}`);
});

test("with serializable transactions, a statement that fails because of another one is repeated", async () => {
	const pool = await openPool(undefined, "-c default_transaction_isolation=serializable");
	const store = postgresStore(pool);
	await store.migrate();
	const row = await store.insert({ ...text, id: "a" }, undefined);
	const other = await pool.connect();
	try {
		await other.query("begin");
		await other.query("update outbox_texts set body = 'Changed' where id = 'a'");
		// It waits for the row, and fails with 40001 when the other one commits.
		const saved = store.save({ ...row, nextAt: 50 });
		const waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
		await expect.poll(async () => (await pool.query(waiting)).rows.length).toBe(1);
		await other.query("commit");
		await saved;
	} finally {
		other.release(true);
	}
	expect(await store.find("a")).toMatchObject({ nextAt: 50, body: "Changed" });
});

/** Another process that holds the write lock for 150 ms at a time. */
const holder = `
const Libsql = require("libsql");
const db = new Libsql(process.argv[1], { timeout: 5000 });
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
(async () => {
	for (;;) {
		db.exec("begin exclusive");
		process.stdout.write("holds\\n");
		await wait(150);
		db.exec("commit");
		await wait(20);
	}
})();`;

test.each([
	["libsql", (file: string) => sqliteStore(new Libsql(file))],
	["@libsql/client", (file: string) => sqliteStore(createLibsql({ url: `file:${file}` }))],
])("%s, beside a process that holds the write lock: nothing fails, and no lock stays behind", async (_, openStore) => {
	const file = newFile();
	const store = openStore(file);
	await store.migrate();
	const other = spawn(process.execPath, ["-e", holder, file], {
		cwd: new URL(".", import.meta.url),
		stdio: ["ignore", "pipe", "inherit"],
	});
	try {
		await once(other.stdout ?? other, "data");
		for (let at = 0; at < 30; at++) {
			const row = await store.insert({ ...text, id: `t${at}` }, undefined);
			expect((await store.find(`t${at}`))?.id).toBe(row.id);
			await store.claim({ now: 10, limit: 5, each: 5, leaseMs: 1, isReading: false });
			expect(await store.save({ ...row, state: "sending" })).toBe(true);
		}
	} finally {
		other.kill("SIGKILL");
		await once(other, "exit");
	}
	// A third connection writes at once.
	const third = new Libsql(file);
	third.exec("update outbox_texts set body = 'changed'");
	expect((await store.find("t29"))?.body).toBe("changed");
});
