// Measures what changes very many texts, on a table of a million: a third of them are to one number. No statement may last longer
// than 5 seconds on PostgreSQL (statement_timeout) and on MariaDB (max_statement_time). Run by hand:
// `npx tsx test/outbox/databases/measure-many.ts postgres`, `… mariadb` or `… sqlite`, and with a number of texts after it.
import { startServer } from "../../postgres.ts";
import { agencyId, frequent, type Many, manyOnMariadb, manyOnPostgres, manyOnSqlite } from "./many.ts";
import { startMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";

const [kind = "postgres", given = "1000000"] = process.argv.slice(2);
const count = Number(given);
const limitMs = 5_000;
const to = { to: frequent };

async function measure(many: Many): Promise<void> {
	const { store } = many;
	const steps: [name: string, act: () => Promise<unknown>][] = [
		["wake, of the number", () => store.wake({ ...to, agencyId }, 900_000)],
		["unfinished, of the number", async () => (await store.unfinished(to)).length],
		["recover", () => store.recover(800_000)],
		["restored", () => store.restored({ from: 1, to: 9e12 }, "restored")],
		["endSuspension", () => store.endSuspension(agencyId, 700_000)],
		["erase, of the number", () => store.erase(to)],
		["purge", () => store.purge(1_000)],
	];
	const figures: Record<string, unknown> = {};
	for (const [name, act] of steps) {
		many.statements();
		const began = performance.now();
		const result = await act().catch((error: unknown) => `${error}`);
		const all = many.statements();
		figures[name] = {
			result: typeof result === "object" ? "" : result,
			seconds: ((performance.now() - began) / 1_000).toFixed(1),
			statements: all.length,
			"longest, ms": Math.max(...all.map(({ ms }) => ms)).toFixed(0),
		};
	}
	console.log(`${kind}, ${count} texts`);
	console.table(figures);
	await many.close();
}

if (kind === "sqlite") await measure(await manyOnSqlite(newFile(), count));
else {
	const server = await (kind === "postgres" ? startServer(import.meta.url) : startMysql());
	const open = kind === "postgres" ? manyOnPostgres : manyOnMariadb;
	await measure(await open(await server.create(), count, limitMs));
	await server.close();
}
