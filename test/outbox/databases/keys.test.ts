// Rows that are put back by hand with the keys that they had in another database, as `COPY` does, which leaves its sequences behind.
import { expect, test } from "vitest";
import { createWorld, type Kind, onEachDatabase, people } from "./healing.ts";

/** Empties a table, whose next key is the first one again. */
const emptyBy: Record<Kind, (table: string) => string[]> = {
	SQLite: (table) => [`delete from ${table}`, `delete from sqlite_sequence where name = '${table}'`],
	PostgreSQL: (table) => [`truncate ${table} restart identity`],
	MariaDB: (table) => [`truncate ${table}`],
	MySQL: (table) => [`truncate ${table}`],
};

function literal(value: unknown): string {
	return value === null || typeof value === "number" ? String(value) : `'${String(value)}'`;
}

onEachDatabase(import.meta.url, (open, kind) => {
	/** Texts that are due later, whose rows of a table are put back by hand with their keys. */
	async function createCopy(table: string) {
		const world = createWorld(await open());
		const { outbox, enqueue, inHours, run } = world;
		await outbox.migrate();
		for (let at = 0; at < people - 2; at++) await enqueue(at, `${at}`, { notBefore: inHours(1) });
		await outbox.runOnce();
		const rows = await run(`select * from ${table}`);
		expect(rows).toHaveLength(people - 2);
		for (const sql of emptyBy[kind](table)) await run(sql);
		const own = kind === "PostgreSQL" ? "overriding system value" : "";
		for (const row of rows) {
			const given = Object.entries(row).filter(([name]) => !name.startsWith("part_"));
			const values = given.map(([, value]) => literal(value)).join(", ");
			await run(`insert into ${table} (${given.map(([name]) => name).join(", ")}) ${own} values (${values})`);
		}
		return world;
	}

	test.each(["outbox_queues", "outbox_texts"])(
		"rows of %s that were put back with their keys keep no new text back, and all go out once",
		async (table) => {
			const { outbox, enqueue, bodies, sandbox } = await createCopy(table);
			for (const at of [people - 2, people - 1]) await enqueue(at, `${at}`);
			await outbox.runOnce();
			expect([bodies(people - 2), bodies(people - 1)]).toEqual([[`${people - 2}`], [`${people - 1}`]]);
			sandbox.clock.advance({ hours: 1 });
			await outbox.runOnce();
			for (let at = 0; at < people; at++) expect(bodies(at)).toEqual([`${at}`]);
			expect(sandbox.violations()).toEqual([]);
		},
	);

	if (kind === "PostgreSQL")
		test("a worker moves the sequence of texts that were put back with their keys, so that no transaction fails", async () => {
			const { run, passMinute } = await createCopy("outbox_texts");
			await passMinute();
			const [row] = await run("select nextval(pg_get_serial_sequence('outbox_texts', 'seq')) as next");
			expect(Number(row?.next)).toBe(people - 1);
		});
});
