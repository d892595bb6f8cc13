// The code of the recipes for BullMQ and MySQL, in processes of its own. `npm run generate` puts it into the pages.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Queue } from "bullmq";
import { build } from "esbuild";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useMysql } from "./mysql-server.ts";
import { type RedisServer, startRedis } from "./redis-server.ts";

const { create, query } = useMysql("MariaDB");
const recipes = fileURLToPath(new URL("../../../examples/recipes/bullmq/", import.meta.url));
const folder = fileURLToPath(new URL("node_modules/", import.meta.url));
const files: string[] = [];
const running: ChildProcess[] = [];
let redis: RedisServer;
beforeAll(async () => {
	redis = await startRedis();
});
afterAll(async () => {
	for (const child of running) child.kill("SIGKILL");
	for (const file of files) rmSync(file, { force: true });
	await redis.close();
});

/** Compiles a module beside the packages that it imports, and runs it. */
async function run(contents: string, env: NodeJS.ProcessEnv): Promise<ChildProcess> {
	const outfile = `${folder}recipe-${process.pid}-${files.length}.mjs`;
	files.push(outfile);
	await build({
		stdin: { contents, resolveDir: recipes, loader: "ts" },
		outfile,
		bundle: true,
		packages: "external",
		platform: "node",
		format: "esm",
		target: "node20",
	});
	const child = spawn(process.execPath, [outfile], {
		env: { ...process.env, ...env },
		stdio: ["ignore", "pipe", "inherit"],
	});
	running.push(child);
	return child;
}

async function ended(child: ChildProcess): Promise<void> {
	if (child.exitCode === null) await once(child, "exit");
	expect(child.exitCode).toBe(0);
}

test("notes are saved with their texts, and the jobs of an old queue are moved, once each", async () => {
	const sandbox = createSandbox({ now: new Date() });
	const agencyId = sandbox.agency().id;
	const [anna, bert] = ["+447700900101", "+447700900102"].map((number) => sandbox.agency().contact(number));
	if (!anna || !bert) throw new Error("no contacts");
	for (const person of [anna, bert]) person.writes("Hello");
	const { baseUrl, apiKey, close } = await serve(sandbox);
	const url = await create();
	await query(url, readFileSync(`${recipes}schema.sql`, "utf8"));
	const env = {
		MESSAGING_BASE_URL: baseUrl,
		MESSAGING_API_KEY: apiKey,
		DATABASE_URL: url,
		REDIS_URL: `redis://127.0.0.1:${redis.port}`,
	};
	const [worker, second] = [await run('import "./worker.ts";', env), await run('import "./worker.ts";', env)];
	const visitAt = new Date(Date.now() + 3_600_000).toISOString();
	const note = (id: string) => ({ id, agencyId, to: anna.phoneNumber, body: `Text ${id}`, visitAt });
	const saving = await run(
		`import { saveNote } from "./notes.ts";
		import { outbox, pool, queue } from "./outbox.ts";
		await outbox.migrate();
		const notes = ${JSON.stringify([note("1"), note("2"), note("2"), note("3")])};
		for (const note of notes) await saveNote(note);
		const refused = await saveNote({ ...notes[0], id: "4", to: "nobody" }).catch((error) => error.field);
		if (refused !== "to") throw new Error("It was not refused.");
		await queue.close();
		await pool.end();`,
		env,
	);
	await ended(saving);
	const inbox = (person: typeof anna) => person.inbox().map(({ body }) => body);
	await expect.poll(() => inbox(anna)).toEqual(["Text 1", "Text 2", "Text 3"]);
	expect(await query(url, "select id from note order by id")).toEqual([{ id: "1" }, { id: "2" }, { id: "3" }]);

	const old = new Queue("send-text", { connection: { host: "127.0.0.1", port: redis.port } });
	const job = (noteId: string) => ({ noteId, agencyId, to: bert.phoneNumber, body: `Old ${noteId}`, visitAt });
	for (const id of ["7", "8", "8"]) await old.add("send", job(id));
	const moving = await run('import "./move-jobs.ts";', env);
	await expect.poll(() => inbox(bert)).toEqual(["Old 7", "Old 8"]);
	await expect.poll(async () => (await old.getJobCounts("completed")).completed).toBe(3);
	await old.close();
	const stop = async (...children: ChildProcess[]) => {
		for (const child of children) child.kill("SIGTERM");
		for (const child of children) await ended(child);
	};
	await stop(worker);
	// The others end while Redis is away.
	await redis.stop();
	await stop(second, moving);
	await close();
	expect(sandbox.violations()).toEqual([]);
});
