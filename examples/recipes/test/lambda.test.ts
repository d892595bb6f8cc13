// The bundles of the recipe in a process that is frozen between two events, as Lambda freezes it.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "messaging-conversations";
import { createOutbox, postgresStore } from "messaging-conversations/outbox";
import { serve } from "messaging-conversations/sandbox/server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundle } from "../lambda/build.ts";
import { afterTest, createDatabase, start, startService } from "./service.ts";

const folder = mkdtempSync(join(tmpdir(), "lambda-"));
beforeAll(() => bundle(folder));
afterAll(() => rmSync(folder, { recursive: true }));

/** A warm function: frozen, except while it answers an event. */
async function startFunction(name: string, env: Record<string, string>) {
	const program = start("test/lambda-runtime.mjs", { ...env, BUNDLE: join(folder, `${name}.mjs`) });
	await program.printed(/^ready$/);
	program.child.kill("SIGSTOP");
	let answers = 0;
	return async (event: unknown, remainingMs = 10_000) => {
		program.child.kill("SIGCONT");
		program.child.stdin?.write(`${JSON.stringify({ event, remainingMs })}\n`);
		const said = () => program.lines.filter((line) => line.startsWith("answer "));
		await expect.poll(() => said().length).toBe(++answers);
		program.child.kill("SIGSTOP");
		return JSON.parse(said().at(-1)?.slice("answer ".length) ?? "");
	};
}

test("a frozen function sends once on a connection that broke meanwhile", async () => {
	const { sandbox, server, anna, env, agencyId } = await startService();
	const invoke = await startFunction("handler", env);
	const event = (operationId: string, to = anna.phoneNumber) => ({
		pathParameters: { agencyId },
		body: JSON.stringify({ operationId, to, body: `Text ${operationId}` }),
	});
	expect(await invoke(event("1"))).toMatchObject({ statusCode: 200, body: '{"queued":false}' });

	await server.close(); // every connection ends while the function is frozen
	const again = await serve(sandbox, { port: Number(new URL(server.baseUrl).port) });
	afterTest(again.close);
	expect(await invoke(event("2"))).toMatchObject({ statusCode: 200 });

	expect(await invoke(event("3", "nobody"))).toMatchObject({ statusCode: 422 });
	sandbox.faults.add({ operation: "messages.send", effect: { status: 429, retryAfter: 60 } });
	expect(await invoke(event("4"))).toMatchObject({ statusCode: 503, body: expect.stringContaining("unknown") });
	anna.setReachable(false);
	expect(await invoke(event("5"))).toMatchObject({ statusCode: 200 });
	expect(anna.inbox().map(({ body }) => body)).toEqual(["Text 1", "Text 2"]);
});

test("a call ends before the function is cut off, and its repetition is the same text", async () => {
	const { sandbox, anna, env, agencyId } = await startService();
	const invoke = await startFunction("handler", env);
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "hang" });
	const body = JSON.stringify({ operationId: "1", to: anna.phoneNumber, body: "Hello" });
	const cut = await invoke({ pathParameters: { agencyId }, body }, 3_000);
	expect([cut.statusCode, JSON.parse(cut.body)]).toEqual([
		503,
		{ code: "PartnerTimeoutError", outcome: "unknown", operationId: "1" },
	]);
	expect(await invoke({ pathParameters: { agencyId }, body })).toMatchObject({ statusCode: 200 });
	expect(anna.inbox().map((text) => text.body)).toEqual(["Hello"]);
});

test("a function that runs once ends in time, and the next one sends the rest", async () => {
	const { sandbox, anna, env, agencyId } = await startService({ now: new Date() });
	const { url, pool } = await createDatabase();
	const outbox = createOutbox({ client: createClient({ ...sandbox.connection }), store: postgresStore(pool) });
	await outbox.migrate();
	for (const id of ["1", "2", "3"]) await outbox.enqueue({ id, agencyId, to: anna.phoneNumber, body: id });
	const invoke = await startFunction("run-once", { ...env, DATABASE_URL: url });
	// Ten seconds to begin, on a busy machine too, and the first send takes longer than what is left.
	sandbox.faults.add({ operation: "messages.send", effect: { latencyMs: 12_000 } });
	expect(await invoke({}, 40_000)).toBeNull();
	expect(anna.inbox().map(({ body }) => body)).toEqual(["1"]);
	await pool.query(
		"select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
	);
	expect(await invoke({}, 60_000)).toBeNull();
	expect(anna.inbox().map(({ body }) => body)).toEqual(["1", "2", "3"]);
	sandbox.check();
});

test("each bundle is one small file", () => {
	expect(statSync(join(folder, "handler.mjs")).size).toBeLessThan(200_000);
	expect(statSync(join(folder, "run-once.mjs")).size).toBeLessThan(600_000);
});
