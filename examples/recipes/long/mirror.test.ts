// The mirror of the recipe, killed in the middle of its first poll.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createDatabase, startProgram, startService } from "../test/service.ts";

test("a mirror that is killed continues, and stores each message once", async () => {
	const { sandbox, env, agencyId, anna } = await startService({ scenario: "busy", now: new Date() });
	const { url, pool } = await createDatabase();
	await pool.query(readFileSync("mirror/schema.sql", "utf8"));
	await pool.query(`create table arrival (sid text);
		create function note_arrival() returns trigger language plpgsql as $$
			begin insert into arrival values (new.sid); return new; end $$;
		create trigger arrived after insert or update on message for each row execute function note_arrival()`);
	const count = async (table: string): Promise<number> =>
		Number((await pool.query(`select count(*) from ${table}`)).rows[0].count);
	const run = () =>
		startProgram("mirror/mirror", { ...env, MESSAGING_AGENCY_ID: agencyId, DATABASE_URL: url }, [
			/(rows\[0\]\?\.checkpoint \?\? "beginning",)/,
			"$1 minMs: 200,",
		]);

	const first = run();
	await expect.poll(() => count("conversation"), { interval: 5 }).toBeGreaterThan(20);
	first.child.kill("SIGKILL");
	await first.ended;
	const stored = await count("conversation");
	expect(stored).toBeLessThan(250);

	sandbox.faults.add({ operation: "conversations.list", effect: { status: 500 } });
	sandbox.faults.add({ operation: "conversations.list", effect: { status: 429, retryAfter: 1 } });
	const second = run();
	const conversations = sandbox.agency().contacts().length;
	await expect.poll(() => count("conversation")).toBe(conversations);
	anna.writes("Is the other flat free?");
	const bodies = async () => (await pool.query("select body from message where body like '%other flat%'")).rows;
	await expect.poll(bodies).toEqual([{ body: "Is the other flat free?" }]);
	expect(await count("arrival")).toBe(await count("message"));
	second.child.kill("SIGTERM");
	expect(await second.ended).toBe(0);
});
