import { expect, test, vi } from "vitest";
import { openNotes as openDrizzle } from "../databases/drizzle.ts";
import { openNotes as openKnex } from "../databases/knex.ts";
import { openNotes as openPg } from "../databases/pg.ts";
import { openNotes as openTypeorm } from "../databases/typeorm.ts";
import { afterTest, createDatabase, startService } from "./service.ts";

const visitAt = new Date(Date.now() + 86_400_000).toISOString();

test.each([
	["pg", openPg],
	["Drizzle", openDrizzle],
	["Knex", openKnex],
	["TypeORM", openTypeorm],
])(
	"%s: a note and its text are stored together, and a contact who answers in words or declines gets nothing more",
	async (_name, openNotes) => {
		const { sandbox, anna, env, agencyId } = await startService({ now: new Date() });
		for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
		afterTest(() => vi.unstubAllEnvs());
		const { url, pool } = await createDatabase();
		const { outbox, save, close } = await openNotes(url);
		let isClosed = false;
		afterTest(() => isClosed || close());
		const note = { id: "note-1", agencyId, to: "+44 7700 900101", body: "It is.", visitAt };
		const state = async (id: string) => (await outbox.status(id))?.state;

		// A double click is one note and one text.
		await Promise.all([save(note), save(note)]);
		await expect.poll(() => state("note-1")).toBe("sent");
		expect(anna.inbox().map(({ body }) => body)).toEqual(["It is."]);

		// A number that is refused leaves no note.
		await expect(save({ ...note, id: "note-2", to: "nobody" })).rejects.toMatchObject({ field: "to" });
		await expect(save({ ...note, body: "Another text" })).rejects.toMatchObject({ field: "id" });
		expect((await pool.query("select id, body from note")).rows).toEqual([{ id: "note-1", body: "It is." }]);

		// A transaction that fails at its commit leaves no text.
		await pool.query(
			`create function fail() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$`,
		);
		await pool.query(`create constraint trigger late after insert on note deferrable initially deferred
		for each row when (new.id = 'note-5') execute function fail()`);
		await expect(save({ ...note, id: "note-5" })).rejects.toThrow();
		expect(await state("note-5")).toBeUndefined();

		// Bram has never written. He answers in words, then taps No: neither text reaches him.
		const bram = sandbox.agency().contact("+447700900102");
		for (const id of ["note-3", "note-4"]) await save({ ...note, id, to: bram.phoneNumber, body: `Text of ${id}` });
		await expect.poll(() => state("note-3")).toBe("held");
		bram.writes("Who is this?");
		expect(bram.inbox().filter(({ kind }) => kind === "text")).toEqual([]);
		bram.declines();
		expect(await state("note-4")).toBe("waiting");
		await outbox.cancelAll({ to: bram.phoneNumber });
		expect(await state("note-4")).toBe("cancelled");

		// It ends with its requests, and the rows stay.
		await close();
		isClosed = true;
		expect(bram.inbox().filter(({ kind }) => kind === "text")).toEqual([]);
		expect((await pool.query("select id from note order by id")).rows.map(({ id }) => id)).toEqual([
			"note-1",
			"note-3",
			"note-4",
		]);
	},
);
