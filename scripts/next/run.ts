/**
 * `npm run test:long -- next`: the packed package in a small site. Each Next.js that the guide names builds it without
 * a key and starts it against a sandbox. Then each of its pages and routes is requested once. `npx tsx scripts/next/run.ts 16`
 * tries one of them.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { child } from "../runtimes/child.ts";
import { buildAndPack } from "../runtimes/consumer.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const quiet = { NEXT_TELEMETRY_DISABLED: "1" };
const asked = process.argv.slice(2);
const versions = ["15", "16"].filter((version) => asked.length === 0 || asked.includes(version));
const work = mkdtempSync(join(tmpdir(), "next-"));
process.once("exit", () => rmSync(work, { recursive: true, force: true }));

const tarball = await buildAndPack(work);
for (const version of versions) {
	const folder = join(work, version);
	cpSync(join(here, "site"), folder, { recursive: true });
	for (const file of ["package.json", "package-lock.json", ".npmrc"])
		cpSync(join(here, version, file), join(folder, file));
	await run(folder, "npm", "ci");
	await run(folder, "npm", "install", "--no-save", "--offline", tarball);
	console.log(await run(folder, "npx", "next", "build"));
	noneOf("messaging-conversations/", join(folder, ".next/static"));
	await visit(folder);
	console.log(`ok Next.js ${version}`);
}

/** Runs a command to its end, and returns what it said. */
async function run(cwd: string, command: string, ...args: string[]): Promise<string> {
	const { ok, output } = await child(command, args, { cwd, env: quiet, timeoutMs: 600_000 });
	if (!ok) throw new Error(`${command} ${args.join(" ")}\n${output}`);
	return output;
}

/** Throws if a file that browsers load has this text: the client is for the server alone. */
function noneOf(text: string, folder: string): void {
	for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
		if (entry.isFile() && readFileSync(join(entry.parentPath, entry.name), "utf8").includes(text))
			throw new Error(`${entry.name} has the client`);
	}
}

/** Starts the site beside a sandbox, and asks for everything once. */
async function visit(folder: string): Promise<void> {
	const sandbox = createSandbox({ scenario: "fresh" });
	const agency = sandbox.agency();
	const anna = agency.contact("+447700900101", { name: "Anna" });
	anna.writes("Is the flat still free?");
	const { baseUrl, close } = await serve(sandbox, { port: 0 });
	const env = {
		MESSAGING_BASE_URL: baseUrl,
		MESSAGING_API_KEY: sandbox.connection.apiKey,
		MESSAGING_AGENCY_ID: agency.id,
	};
	const site = spawn(process.execPath, ["node_modules/next/dist/bin/next", "start", "-H", "127.0.0.1", "-p", "0"], {
		cwd: folder,
		env: { ...process.env, ...quiet, ...env },
		stdio: ["ignore", "pipe", "inherit"],
	});
	try {
		const url = await addressOf(site);
		const page = await textOf(`${url}/`);
		check("the page", page, "<p>Anna</p>");
		check(
			"the page that the signal made dynamic",
			await textOf(`${url}/signal`),
			"conversations:read and messages:write",
		);
		check("the edge route", await textOf(`${url}/edge`), '{"scopes":["conversations:read","messages:write"]}');
		const [, operationId = ""] = /name="operationId" value="([^"]+)"/.exec(page) ?? [];
		const post = async (fields: Record<string, string>) => {
			const body = new URLSearchParams({ to: anna.phoneNumber, body: "Yes!", operationId, ...fields });
			const answer = await fetch(`${url}/api/send`, { method: "POST", body });
			return `${answer.status} ${await answer.text()}`;
		};
		for (const click of await Promise.all([post({}), post({})])) check("a double click", click, '200 {"queued":false}');
		check("a bad number", await post({ to: "nobody" }), "422");
		check("a form without an id", await post({ operationId: "" }), "422");
		check(
			"the phone",
			anna
				.inbox()
				.map(({ body }) => body)
				.join(),
			"Yes!",
		);
		sandbox.clock.advance({ hours: 25 });
		check("a held text", await post({ operationId: "held", body: "Friday?" }), '200 {"queued":true}');
		check("a text that would replace it", await post({ operationId: "next", body: "Monday?" }), "409");
		sandbox.check();
	} finally {
		site.kill();
		await close();
	}
}

/** The address that the site prints once it is ready. */
async function addressOf(site: ChildProcess): Promise<string> {
	if (site.stdout)
		for await (const line of createInterface({ input: site.stdout })) {
			const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
			if (url) return url;
		}
	throw new Error("the site did not start");
}

async function textOf(url: string, init?: RequestInit): Promise<string> {
	return (await fetch(url, init)).text();
}

function check(what: string, found: string, expected: string): void {
	if (!found.includes(expected)) throw new Error(`${what} has no ${expected}: ${found}`);
}
