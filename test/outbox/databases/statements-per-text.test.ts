// How many statements a text costs, from the claim of its queue to the release.
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { describe, expect, test } from "vitest";
import { isLong } from "../../length.ts";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";

const contacts = 60;
/** What a worker asks again and again, whatever the number of texts: how often depends on how busy the machine is. */
const isPolled =
	/^(select agency_id, (served_at|paused_until|suspended_since)|select seq, agency_id|select id, version|select seq, id, version|select \(select concat_ws|select 'waiting'|(insert into|update) outbox_(workers|agencies))/;

/** The first words of a statement, which say what it is for. */
const nameOf = (sql: string): string =>
	sql
		.replaceAll(/_utf8mb4 x'\w*'|\?|\d+/g, "…")
		.replaceAll(/\s+/g, " ")
		.slice(0, 100);

/**
 * Sends a notice to each of many contacts, whose windows are open. Returns how many statements were made for each: the fewest of three
 * counts, because on a busy machine a worker claims fewer queues at once.
 */
async function statementsOf(store: OutboxStore, seen: string[]): Promise<number> {
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	let requests = 0;
	// Answers take longer or shorter, so that a worker claims a queue as soon as one is free.
	const fetch: typeof globalThis.fetch = async (url, init) => {
		await new Promise((resolve) => setTimeout(resolve, 5 + ((requests++ * 17) % 23)));
		return sandbox.fetch(url, init);
	};
	const client = createClient({ ...sandbox.connection, fetch });
	const outbox = createOutbox({ client, store, now: sandbox.clock.now });
	await outbox.migrate();
	async function send(from: number, count: number): Promise<void> {
		for (let at = from; at < from + count; at++) {
			const contact = agency.contact(`+447700900${100 + at}`);
			contact.writes("Hello");
			await outbox.enqueue({
				id: `${at}`,
				agencyId: agency.id,
				to: contact.phoneNumber,
				body: "Your visit is at 14:00.",
			});
		}
		seen.length = 0;
		await outbox.runOnce();
	}
	// What is asked once, such as the key.
	await send(0, 1);
	const counted: number[] = [];
	for (const at of [0, 1, 2]) {
		await send(1 + at * contacts, contacts);
		counted.push(countIn(seen));
	}
	expect((await outbox.health()).texts.waiting).toBe(0);
	return Math.min(...counted);
}

/** How many statements were made for each of the contacts. */
function countIn(seen: readonly string[]): number {
	const counts = new Map<string, number>();
	for (const sql of seen) counts.set(nameOf(sql), (counts.get(nameOf(sql)) ?? 0) + 1);
	const list = [...counts].sort((one, other) => other[1] - one[1]);
	if (isLong) for (const [name, count] of list) console.info((count / contacts).toFixed(2), name);
	const polls = seen.filter((sql) => isPolled.test(sql)).length;
	// Each claim has asked once which agency's turn it is.
	const claims = seen.filter((sql) => /^update outbox_queues .*set token/.test(sql)).length;
	const each = (seen.length - polls + claims) / contacts;
	if (isLong)
		console.info(
			`${each.toFixed(2)} for each text, ${(seen.length / contacts).toFixed(2)} with what is asked again and again`,
		);
	return each;
}

test("at most seven on SQLite", async () => {
	const db = new Libsql(newFile());
	const seen: string[] = [];
	const spying = {
		prepare(sql: string) {
			return new Proxy(db.prepare(sql), {
				get(statement, name) {
					const act: unknown = Reflect.get(statement, name);
					if (typeof act !== "function") return act;
					return (...values: unknown[]) => {
						if (/^(all|get|run|iterate)$/.test(String(name))) seen.push(sql);
						return Reflect.apply(act, statement, values);
					};
				},
			});
		},
	};
	expect(await statementsOf(sqliteStore(spying), seen)).toBeLessThanOrEqual(7);
});

describe("PostgreSQL", () => {
	const { openPool } = usePostgres(import.meta.url);
	test("at most seven", async () => {
		const pool = await openPool();
		const seen: string[] = [];
		const spying = {
			query(sql: string | { text: string }, values?: unknown[]) {
				seen.push(typeof sql === "string" ? sql : sql.text);
				return pool.query(sql as string, values);
			},
		};
		expect(await statementsOf(postgresStore(spying as never), seen)).toBeLessThanOrEqual(7);
	});
});

describe.each(mysqlKinds)("%s", (kind) => {
	const { openPool } = useMysql(kind);
	test("at most ten", async () => {
		const pool = await openPool();
		const seen: string[] = [];
		const spying = {
			escape: pool.escape,
			query(options: { sql: string }) {
				seen.push(options.sql);
				return pool.query(options);
			},
		};
		expect(await statementsOf(mysqlStore(spying), seen)).toBeLessThanOrEqual(10);
	});
});
