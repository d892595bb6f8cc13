// What an application with the module of the recipe must do, on a PostgreSQL server.
import { expect, test } from "vitest";
import { createDatabase, startProgram, startService } from "./service.ts";

/** @param program the compiled application */
export function testNotes(program: string): void {
	const visitAt = new Date(Date.now() + 86_400_000).toISOString();

	async function open() {
		const service = await startService({ now: new Date() });
		const { url, pool } = await createDatabase();
		const run = () => startProgram(program, { ...service.env, DATABASE_URL: url, PORT: "0" });
		let address = "";
		const ready = async (app: ReturnType<typeof run>) => {
			address = await app.printed(/listening on (\S+)$/);
		};
		const post = async (note: object) => {
			const response = await fetch(`${address}/notes`, {
				method: "POST",
				headers: { "content-type": "application/json" },
				body: JSON.stringify({
					id: "note-1",
					agencyId: service.agencyId,
					to: "+44 7700 900101",
					body: "It is.",
					visitAt,
					...note,
				}),
			});
			return { status: response.status, body: await response.json() };
		};
		const state = async (id: string) => (await (await fetch(`${address}/notes/${id}`)).json()).state;
		return { ...service, pool, run, ready, post, state };
	}

	test("a note and its text are stored together, and the answer to a wrong one is a 422", async () => {
		const { anna, pool, run, ready, post, state } = await open();
		const app = run();
		await ready(app);
		expect(await Promise.all([post({}), post({})])).toEqual(Array(2).fill(expect.objectContaining({ status: 201 })));
		await expect.poll(() => state("note-1")).toBe("sent");
		expect(anna.inbox().map(({ body }) => body)).toEqual(["It is."]);
		expect(await post({ id: "note-2", to: "nobody" })).toMatchObject({ status: 422, body: { field: "to" } });
		expect(await post({ id: undefined })).toMatchObject({ status: 422, body: { field: "id" } });
		expect(await post({ body: "Another text" })).toMatchObject({ status: 422, body: { field: "id" } });
		expect((await pool.query("select id from note")).rows).toEqual([{ id: "note-1" }]);
		app.child.kill("SIGTERM");
		expect(await app.ended).not.toBe("SIGKILL");
	});

	test("SIGTERM in the middle of a send waits for its answer, and the next start sends the rest", async () => {
		const { sandbox, anna, run, ready, post, state } = await open();
		const first = run();
		await ready(first);
		const slow = sandbox.faults.add({ operation: "messages.send", effect: { latencyMs: 700 } });
		for (const body of ["1", "2"]) await post({ id: body, body });
		await expect.poll(() => slow.remaining).toBe(0);
		first.child.kill("SIGTERM");
		await first.ended;
		expect(anna.inbox().map(({ body }) => body)[0]).toBe("1");

		const refused = sandbox.faults.add({ operation: "messages.send", effect: { status: 429, retryAfter: 1 } });
		const second = run();
		await ready(second);
		await expect.poll(() => state("2")).toBe("sent");
		expect(anna.inbox().map(({ body }) => body)).toEqual(["1", "2"]);
		expect(refused.hits + refused.remaining).toBe(1);
		sandbox.check({ allowReplaced: false });
	});
}
