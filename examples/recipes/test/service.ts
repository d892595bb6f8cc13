/** What the tests of the recipes share: a sandbox over HTTP, and programs that run beside it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createSandbox, type SandboxOptions } from "messaging-conversations/sandbox";
import { type SandboxServer, serve } from "messaging-conversations/sandbox/server";
import pg from "pg";
import { afterEach, expect, inject } from "vitest";
import { quickCopy } from "../../../test/quick.ts";

const folder = fileURLToPath(new URL("..", import.meta.url));
const closing: (() => unknown)[] = [];
afterEach(async () => {
	for (const close of closing.splice(0).reverse()) await close();
});

/** Does something when the test has ended. */
export function afterTest(close: () => unknown): void {
	closing.push(close);
}

/** A sandbox over HTTP, and the environment of a program that uses it. */
export async function startService(options: SandboxOptions = {}) {
	const sandbox = createSandbox(options);
	const server: SandboxServer = await serve(sandbox, { port: 0 });
	afterTest(server.close);
	const anna = sandbox.agency().contact("+447700900101", { name: "Anna" });
	anna.writes("Is the flat still free?");
	const env = { MESSAGING_BASE_URL: server.baseUrl, MESSAGING_API_KEY: server.apiKey };
	return { sandbox, server, anna, env, agencyId: sandbox.agency().id };
}

/** An empty database with a table of notes, as a CRM has one. */
export async function createDatabase(): Promise<{ url: string; pool: pg.Pool }> {
	const server = new pg.Client({ connectionString: inject("postgres") });
	await server.connect();
	const name = `recipe_${crypto.randomUUID().slice(0, 8)}`;
	await server.query(`create database ${name}`);
	await server.end();
	const url = new URL(inject("postgres"));
	url.pathname = `/${name}`;
	const pool = new pg.Pool({ connectionString: url.href });
	afterTest(() => pool.end());
	await pool.query("create table note (id text primary key, body text not null)");
	return { url: url.href, pool };
}

export interface Program {
	child: ChildProcess;
	/** Everything that it has printed so far. */
	lines: string[];
	/** The first line that matches, and the text of its first group. */
	printed: (line: RegExp) => Promise<string>;
	/** The exit code, or the signal that ended it. */
	ended: Promise<number | string>;
}

/** Runs a compiled program of a recipe, such as `nestjs/main`. The test may replace a piece of its code. */
export function startProgram(
	name: string,
	env: Record<string, string>,
	[code, replacement]: readonly [string | RegExp, string] = ["", ""],
): Program {
	const file = `${folder}node_modules/.programs/${name}.mjs`;
	return start(replacement ? quickCopy(file, code, replacement) : file, env);
}

/** Runs a file of this folder with Node. Its standard input is open. */
export function start(
	file: string,
	env: Record<string, string>,
	nodeOptions: readonly string[] = [],
	args: readonly string[] = [],
): Program {
	const child = spawn(process.execPath, [...nodeOptions, file, ...args], {
		cwd: folder,
		env: { ...process.env, ...env },
		stdio: ["pipe", "pipe", "inherit"],
	});
	const lines: string[] = [];
	const ended = once(child, "exit").then(([code, signal]) => code ?? signal);
	createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
	afterTest(async () => {
		child.kill("SIGKILL");
		await ended;
	});
	const printed = (pattern: RegExp) =>
		expect
			.poll(() => lines.some((line) => pattern.test(line)) || child.exitCode !== null)
			.toBe(true)
			.then(() => {
				const match = lines.map((line) => pattern.exec(line)).find(Boolean);
				if (!match) throw new Error(`${file} ended with ${child.exitCode}:\n${lines.join("\n")}`);
				return match[1] ?? match[0];
			});
	return { child, lines, printed, ended };
}
