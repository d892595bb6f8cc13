// What proves to a worker that the database has lost something, and what does not.
import Libsql from "libsql";
import { describe, expect, test } from "vitest";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import { newText } from "../store-suite.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";

interface Opened {
	/** The store of a process of its own. */
	open: () => OutboxStore;
	run: (sql: string) => Promise<unknown>;
}

const sign = { id: "a", version: "1.0.0", runsOnce: false };

function signs(begin: () => Promise<Opened>): void {
	async function start() {
		const opened = await begin();
		const store = opened.open();
		await store.migrate();
		await store.insert({ ...newText, id: "t" }, undefined);
		let at = newText.createdAt;
		const beat = async () => (await store.beat({ ...sign, at: ++at })).lostSince;
		const end = async () => {
			const row = await store.find("t");
			if (!row) throw new Error("no row");
			expect(await store.save({ ...row, state: "sent", nextAt: null })).toBe(true);
		};
		expect([await beat(), await beat()]).toEqual([undefined, undefined]);
		return { ...opened, store, beat, end, lastSign: () => at };
	}

	test("#56 a number that is lower, a row that is missing and a version that is lower prove a loss", async () => {
		for (const lose of [
			"update outbox_workers set number = number - 1",
			"delete from outbox_workers",
			"update outbox_texts set version = version - 1",
			"delete from outbox_texts",
		]) {
			const { store, beat, end, run, lastSign } = await start();
			await end();
			const last = lastSign();
			await run(lose);
			const since = await beat();
			expect(since).toBeLessThanOrEqual(last);
			const declared = await store.restored({ from: since ?? 0, to: last + 10 }, "worker");
			expect(declared.isNew).toBe(true);
			// It goes on from what it finds.
			expect([await beat(), await beat()]).toEqual([undefined, undefined]);
		}
	});

	test("#56 a worker that finds a loss declared goes on from there", async () => {
		const { store, beat, open, run, lastSign } = await start();
		const other = open();
		await other.beat({ ...sign, id: "b", at: lastSign() });
		await run("update outbox_workers set number = 0");
		const since = await beat();
		await store.restored({ from: since ?? 0, to: lastSign() + 10 }, "worker");
		expect(await other.beat({ ...sign, id: "b", at: lastSign() })).toMatchObject({ restore: 1 });
		expect((await other.beat({ ...sign, id: "b", at: lastSign() })).lostSince).toBe(undefined);
		expect(await beat()).toBe(undefined);
	});

	test("#56 purge, erase and changes of others take nothing for lost", async () => {
		const { store, beat, end, open } = await start();
		await end();
		await open().erase({ id: "t" });
		expect(await beat()).toBe(undefined);
		await store.insert({ ...newText, id: "u" }, undefined);
		const row = await store.find("u");
		if (!row) throw new Error("no row");
		await store.save({ ...row, state: "sent", since: 1, nextAt: null });
		expect(await open().purge(1_000)).toBe(1);
		expect(await beat()).toBe(undefined);
	});

	test("#56 a worker that was forgotten after a day, or left, or whose id a second one has, takes nothing for lost", async () => {
		const { store, beat, open, run, lastSign } = await start();
		await run("update outbox_workers set seen_at = seen_at - 90000000");
		const other = open();
		await other.beat({ ...sign, id: "b", at: lastSign() });
		expect((await store.workers()).map(({ id }) => id)).toEqual(["b"]);
		expect(await beat()).toBe(undefined);
		await other.beat({ ...sign, at: lastSign() });
		await other.leave("a");
		expect([await beat(), await beat()]).toEqual([undefined, undefined]);
		for (let count = 0; count < 3; count++) await other.beat({ ...sign, at: lastSign() });
		expect(await beat()).toBe(undefined);
	});
}

describe("SQLite", () =>
	signs(async () => {
		const file = newFile();
		const db = new Libsql(file);
		return { open: () => sqliteStore(new Libsql(file)), run: async (sql) => db.exec(sql) };
	}));

describe("PostgreSQL", () => {
	const { openPool } = usePostgres(import.meta.url);
	signs(async () => {
		const pool = await openPool();
		return { open: () => postgresStore(pool), run: (sql) => pool.query(sql) };
	});
});

describe.each(mysqlKinds)("%s", (kind) => {
	const { openPool } = useMysql(kind);
	signs(async () => {
		const pool = await openPool();
		return { open: () => mysqlStore(pool), run: (sql) => pool.query(sql) };
	});
});
