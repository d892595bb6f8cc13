// Measures the longest `enqueue` on PostgreSQL while `migrate` builds an index that is missing, beside a transaction that is open for
// two seconds at a time. Run by hand: `npx tsx test/outbox/databases/measure-migrate.ts`, and with a number of texts after it.
import pg from "pg";
import { startServer } from "../../postgres.ts";
import { postgresStore } from "../port.ts";
import { newText } from "../store-suite.ts";
import { manyOnPostgres } from "./many.ts";

const count = Number(process.argv[2] ?? "5000000");
const server = await startServer(import.meta.url);
const url = await server.create();
const many = await manyOnPostgres(url, count, 0);
const pool = new pg.Pool({ connectionString: url, max: 4 });
pool.on("connect", (client) => client.on("error", () => {}));
const store = postgresStore(pool);

/** The longest of the enqueues while something runs, in milliseconds, and how many there were. */
async function longestWhile(act: () => Promise<unknown>): Promise<Record<string, string>> {
	let isOver = false;
	let longest = 0;
	let times = 0;
	const enqueuing = (async () => {
		while (!isOver) {
			const began = performance.now();
			await store.insert({ ...newText, id: crypto.randomUUID() }, undefined);
			longest = Math.max(longest, performance.now() - began);
			times++;
		}
	})();
	const writing = (async () => {
		while (!isOver) {
			const client = await pool.connect();
			await client.query("begin");
			await store.insert({ ...newText, id: crypto.randomUUID() }, client);
			await new Promise((resolve) => setTimeout(resolve, 2_000));
			await client.query("commit");
			client.release();
		}
	})();
	const began = performance.now();
	await act();
	const seconds = (performance.now() - began) / 1_000;
	isOver = true;
	await Promise.all([enqueuing, writing]);
	return { seconds: seconds.toFixed(1), enqueues: String(times), "longest, ms": longest.toFixed(0) };
}

const later = { version: "9.0.0", changes: ["alter table outbox_texts add column later bigint"] };
const pause = () => new Promise((resolve) => setTimeout(resolve, 10_000));
const figures = {
	"nothing else": await longestWhile(pause),
	"migrate, two indexes to build": await longestWhile(async () => {
		await pool.query("drop index outbox_texts_health, outbox_texts_number");
		await store.migrate();
	}),
	"migrate of a later version, a column": await longestWhile(() => store.migrate([later])),
};
console.log(`PostgreSQL, ${count} texts`);
console.table(figures);
await pool.end();
await many.close();
await server.close();
