// The commands of the README start, and say what they should.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createClient } from "@libsql/client";
import { afterAll, expect, test } from "vitest";

const cwd = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "example-apps-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// A key in the environment of whoever runs the tests must reach nobody, and this half is the embedded one.
const env = {
	...process.env,
	MESSAGING_BASE_URL: "",
	DATABASE_URL: "",
	CRM_DATABASE_URL: `file:${join(folder, "crm.db")}`,
	PORT: "0",
};
const run = async (file: string) =>
	(await promisify(execFile)(process.execPath, ["--import", "tsx", file], { cwd, env })).stdout;

test("the README lists every example and every command", () => {
	const readme = readFileSync(join(cwd, "../README.md"), "utf8");
	const files = readdirSync(join(cwd, "..")).filter((file) => file.endsWith(".ts"));
	const { scripts } = JSON.parse(readFileSync(join(cwd, "package.json"), "utf8"));
	const told = [...files.map((file) => `[${file}](${file})`), ...Object.keys(scripts)];
	expect(told.filter((name) => !readme.includes(name))).toEqual([]);
});

test("npm run send-queue", async () => {
	expect(await run("send-queue/demo.ts")).toBe("3 requests, 2 texts: It is! Would Friday suit you?\n");
});

test("npm run send-queue:worker", async () => {
	const place = { DATABASE_URL: join(folder, "queue") };
	const worker = spawn(process.execPath, ["--import", "tsx", "send-queue/worker.ts"], {
		cwd,
		env: { ...env, ...place },
	});
	const [said] = await once(worker.stdout, "data");
	expect(String(said)).toBe("ready; a sandbox takes the texts, nobody is reached\n");
	worker.kill("SIGINT");
	expect(await once(worker, "exit")).toEqual([0, null]);
});

test("npm run nightly, twice", async () => {
	expect(await run("nightly/main.ts")).toBe("250 of 50000 contacts have a conversation.\n");
	expect(await run("nightly/main.ts")).toBe("250 of 50000 contacts have a conversation.\n");
});

const starts: [string, string[]][] = [
	[process.execPath, ["--import", "tsx", "nightly/main.ts"]],
	["npm", ["run", "--silent", "nightly"]],
];

test.each(starts)("the nightly job of %s stops by Ctrl-C, and keeps what it has", async (program, args) => {
	const url = `file:${join(mkdtempSync(join(folder, "stopped-")), "crm.db")}`;
	// A terminal sends the signal to all processes of its foreground group.
	const job = spawn(program, args, { cwd, env: { ...env, CRM_DATABASE_URL: url }, detached: true });
	const said = text(job.stdout);
	await once(job.stderr, "data");
	process.kill(-(job.pid ?? Number.NaN), "SIGINT");
	const [code] = await once(job, "close");
	expect(await said).toBe("\nStopped. Start it again to go on.\n");
	if (program === process.execPath) expect(code).toBe(0); // npm says that there was a Ctrl-C
	const db = createClient({ url });
	const { rows } = await db.execute("select (select count(*) from chat) as rows, up_to, finished from nightly_run");
	db.close();
	expect(rows[0]?.rows).toBe(rows[0]?.up_to);
	expect(rows[0]?.up_to).toBeGreaterThan(0);
	expect(rows[0]?.up_to).toBeLessThan(50_000);
	expect(rows[0]?.finished).toBe(0);
});

test("npm run contact-page", async () => {
	const server = spawn(process.execPath, ["--import", "tsx", "contact-page/server.ts"], { cwd, env });
	const [said] = await once(server.stdout, "data");
	const page = await fetch(String(said).trim());
	server.kill();
	await once(server, "exit");
	expect(await page.json()).toMatchObject({ name: "Anna Peeters", verdict: "goes out at once" });
});

test("npm run contact-page ends, and says why, when its port is taken", async () => {
	const other = createServer().listen(0, "127.0.0.1");
	await once(other, "listening");
	const { port } = other.address() as AddressInfo;
	const server = spawn(process.execPath, ["--import", "tsx", "contact-page/server.ts"], {
		cwd,
		env: { ...env, PORT: String(port) },
	});
	const said = text(server.stderr);
	const [code] = await once(server, "exit");
	other.close();
	expect(await said).toContain("EADDRINUSE");
	expect(code).toBe(1);
});
