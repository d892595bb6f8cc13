// Queues and agencies that are emptied by TRUNCATE, lost one by one, or put back from an old dump, while workers run.
import { expect, test } from "vitest";
import { createWorld, forget, type Kind, type Opened, onEachDatabase, people } from "./healing.ts";

/** Empties a table as people do: its next keys may be those of before. */
const emptyBy: Record<Kind, (table: string) => string[]> = {
	SQLite: (table) => [`delete from ${table}`, `delete from sqlite_sequence where name = '${table}'`],
	PostgreSQL: (table) => [`truncate ${table} restart identity`],
	MariaDB: (table) => [`truncate ${table}`],
	MySQL: (table) => [`truncate ${table}`],
};

const literal = (value: unknown): string =>
	value === null || typeof value === "number" ? String(value) : `'${String(value)}'`;

/** Reads a queue, to put it back later in the place of whatever is there. */
async function dumpQueue({ run }: Pick<Opened, "run">, to: string, kind: Kind): Promise<() => Promise<void>> {
	const [row = {}] = await run(`select * from outbox_queues where recipient = '${to}'`);
	const names = Object.keys(row);
	return async () => {
		if (names.length === 0) return;
		const values = names.map((name) => literal(row[name])).join(", ");
		await run(`delete from outbox_queues where recipient = '${to}'`);
		const own = kind === "PostgreSQL" ? "overriding system value" : "";
		// A worker may be faster, or have given its key to another queue.
		await run(`insert into outbox_queues (${names.join(", ")}) ${own} values (${values})`).catch(() => {});
	};
}

onEachDatabase(import.meta.url, (open, kind) => {
	/** Two texts for each contact and two workers, beside which something is done again and again. */
	async function playBeside(
		prepare: (world: ReturnType<typeof createWorld>) => Promise<(round: number) => Promise<void>>,
	) {
		const world = createWorld(await open());
		const { outbox, contacts, sandbox, sending, enqueue, bodies } = world;
		await outbox.migrate();
		for (let at = 0; at < people; at++) for (const part of ["1", "2", "3"]) await enqueue(at, `${at} ${part}`);
		await outbox.optOut({ to: contacts[0]?.phoneNumber ?? "", agencyId: world.agency.id });
		const act = await prepare(world);
		const stop = new AbortController();
		sending.ms = 15;
		const working = Promise.all([world.open(), world.open()].map((each) => each.work({ signal: stop.signal })));
		let error: unknown;
		working.catch((thrown: unknown) => {
			error = thrown;
		});
		const isDone = async () => {
			const { waiting, sending } = (await outbox.health()).texts;
			return waiting + sending === 0;
		};
		for (let round = 0, end = Date.now() + 240_000; error === undefined && Date.now() < end; round++) {
			if (round < 12) await act(round);
			else if (await isDone()) break;
			await new Promise((resolve) => setTimeout(resolve, 25));
			sandbox.clock.advance({ ms: 5_000 });
		}
		stop.abort();
		await working;
		expect(contacts.map((_, at) => bodies(at))).toEqual(
			contacts.map((_, at) => (at === 0 ? [] : [`${at} 1`, `${at} 2`, `${at} 3`])),
		);
		expect(sending.count).toBe(3 * (people - 1));
		expect(sandbox.violations()).toEqual([]);
	}

	test("each text goes out once, and none after a No, although both tables are truncated again and again", () =>
		playBeside(async ({ run }) => async () => {
			for (const table of ["outbox_queues", "outbox_agencies"]) for (const sql of emptyBy[kind](table)) await run(sql);
		}));

	test("each text goes out once although the queue of one contact is deleted again and again", () =>
		playBeside(async ({ run, contacts }) => async () => {
			for (let times = 0; times < 10; times++) {
				await run(`delete from outbox_queues where recipient = '${contacts[1]?.phoneNumber}'`);
				await new Promise((resolve) => setTimeout(resolve, 5));
			}
		}));

	test("each text goes out once although queues are put back from an old dump, with the leases of then", () =>
		playBeside(async (world) => {
			let dumped: (() => Promise<void>)[] = [];
			return async (round) => {
				if (round % 3 === 0)
					dumped = await Promise.all(world.contacts.map(({ phoneNumber }) => dumpQueue(world, phoneNumber, kind)));
				else for (const putBack of dumped) await putBack();
			};
		}));

	test("an agency that was put back from an old dump is not paused for ever, and its turn comes", async () => {
		const world = createWorld(await open());
		const { outbox, enqueue, bodies, passMinute, run, sandbox } = world;
		await outbox.migrate();
		sandbox.faults.add({ operation: "conversations.get", phase: "before", effect: "reset", times: 4 });
		await enqueue(0, "0");
		await outbox.runOnce();
		const [row = {}] = await run("select * from outbox_agencies where failures > 0 and agency_id not like '!%'");
		expect(Number(row.paused_until)).toBeGreaterThan(0);
		for (let at = 0; at < 3; at++) await passMinute();
		expect(bodies(0)).toEqual(["0"]);
		await forget(world);
		await run(
			`insert into outbox_agencies (${Object.keys(row).join(", ")}) values (${Object.values(row).map(literal).join(", ")})`,
		);
		await enqueue(1, "1");
		for (let at = 0; at < 3; at++) await passMinute();
		expect(bodies(1)).toEqual(["1"]);
		expect((await outbox.health()).pauses).toEqual([]);
	});
});
