/**
 * `npm run bench:sandbox [-- rounds]`: the sandbox beside a canned node:http server, Prism and msw, over HTTP and in
 * process, and with 10,000 conversations beside 1,000. In turns, medians of the ratios. Prints and writes nothing.
 */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { HttpResponse, http as handle } from "msw";
import { setupServer } from "msw/node";
import { createSandbox, type Sandbox } from "../../../src/sandbox/index.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const rounds = Number(process.argv[2] ?? 15);
const children: ChildProcess[] = [];

interface Contender {
	name: string;
	/** Makes `count` calls. */
	run: (count: number) => Promise<void>;
}

/** Contenders in turn; of each the milliseconds of a call, and the median of its ratios to the first. */
async function race(title: string, unit: string, contenders: Contender[], count: number): Promise<void> {
	const times = new Map(contenders.map(({ name }) => [name, [] as number[]]));
	for (let round = -2; round < rounds; round++) {
		for (const { name, run } of contenders) {
			const start = performance.now();
			await run(count);
			if (round >= 0) times.get(name)?.push((performance.now() - start) / count);
		}
	}
	console.log(`\n${title}`);
	const first = times.get(contenders[0]?.name ?? "") ?? [];
	for (const [name, taken] of times) {
		const ratios = taken.map((time, round) =>
			unit === "rate" ? (first[round] ?? 0) / time : time / (first[round] ?? 1),
		);
		const [low, middle, high] = spread(ratios).map((ratio) => ratio.toFixed(2));
		console.log(
			`  ${name.padEnd(44)} ${middle}  (${low} … ${high})  ${(1000 * (spread(taken)[1] ?? 0)).toFixed(0)} µs`,
		);
	}
}

function spread(values: number[]): [number, number, number] {
	const sorted = [...values].sort((a, b) => a - b);
	return [sorted[0] ?? 0, sorted[Math.floor(sorted.length / 2)] ?? 0, sorted.at(-1) ?? 0];
}

async function started(file: string): Promise<number> {
	const child = fork(join(here, file), { execArgv: ["--import", "tsx"] });
	children.push(child);
	const [{ port }] = await once(child, "message");
	return port;
}

/** Prism answers from the contract; an example makes it answer with the same page as the others. */
async function prism(page: unknown): Promise<number> {
	const contract = JSON.parse(await readFile(join(here, "../../../openapi.json"), "utf8"));
	const answer = contract.paths["/agencies/{agencyId}/conversations"].get.responses[200];
	answer.content["application/json"].example = page;
	const folder = await mkdtemp(join(tmpdir(), "prism-"));
	await writeFile(join(folder, "openapi.json"), JSON.stringify(contract));
	const child = spawn(join(here, "node_modules/.bin/prism"), [
		"mock",
		"-p",
		"0",
		"-v",
		"info",
		join(folder, "openapi.json"),
	]);
	children.push(child);
	const port = await new Promise<number>((resolve, reject) => {
		let said = "";
		child.on("exit", () => reject(new Error("prism did not start")));
		child.stdout.on("data", (chunk) => {
			said = (said + chunk).slice(-10_000);
			const listening = said.match(/listening on http:\/\/127\.0\.0\.1:(\d+)/)?.[1];
			if (listening) resolve(Number(listening));
		});
	});
	await rm(folder, { recursive: true });
	// It says so before it does.
	for (let tries = 0; tries < 300; tries++) {
		const up = await get(port, "/me", "").then(
			() => true,
			() => new Promise<false>((resolve) => setTimeout(resolve, 100, false)),
		);
		if (up) break;
	}
	return port;
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 10 });

function get(port: number, path: string, key: string): Promise<void> {
	return new Promise((resolve, reject) => {
		const headers = { authorization: `Bearer ${key}` };
		http
			.get({ host: "127.0.0.1", port, path, agent, headers }, (response) => response.resume().on("end", resolve))
			.on("error", reject);
	});
}

/** Ten at a time, as a server is used. */
function overHttp(name: string, port: number, path: string, key: string): Contender {
	const run = async (count: number): Promise<void> => {
		const worker = async (): Promise<void> => {
			for (let call = 0; call < count / 10; call++) await get(port, path, key);
		};
		await Promise.all(Array.from({ length: 10 }, worker));
	};
	return { name, run };
}

function inProcess(name: string, call: () => Promise<Response>): Contender {
	const run = async (count: number): Promise<void> => {
		for (let turn = 0; turn < count; turn++) {
			const response = await call();
			if (response.status !== 200) throw new Error(`${name}: ${response.status} ${await response.text()}`);
			await response.text();
		}
	};
	return { name, run };
}

/** So many conversations of ten messages each, which came in an order of their own each time. */
function crowd(conversations: number): Sandbox {
	const sandbox = createSandbox({ now: "2026-01-05T09:00:00Z" });
	const agency = sandbox.agency();
	const contacts = Array.from({ length: conversations }, (_, index) =>
		agency.contact(`+4477${10_000_000 + index}`, { name: `Contact ${index.toString(36)} of many` }),
	);
	for (let turn = 0; turn < 10; turn++) {
		// A step that no number of conversations shares a divisor with visits each once.
		for (let index = 0; index < conversations; index++)
			contacts[(index * 7919 + turn * 31) % conversations]?.writes(`Message ${turn}`);
		sandbox.clock.advance({ minutes: 1 });
	}
	return sandbox;
}

try {
	const sandbox = createSandbox({ scenario: "busy" });
	const { baseUrl, apiKey, fetch: ask } = sandbox.connection;
	const list = `/agencies/${sandbox.agency().id}/conversations`;
	const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
	const page = await (await ask(baseUrl + list, { headers })).json();

	const canned = await started("canned.ts");
	const served = await started("served.ts");
	const mocked = await prism(page);
	await race(
		"Over HTTP, a page of 50 rows: requests per second as a share of canned bytes",
		"rate",
		[
			overHttp("node:http with canned bytes", canned, `/api/v1${list}`, apiKey),
			overHttp("the sandbox", served, `/api/v1${list}`, apiKey),
			overHttp("Prism, the same page as an example", mocked, list, apiKey),
		],
		300,
	);
	for (const child of children.splice(0)) child.kill();

	const url = "https://canned.invalid/page";
	const msw = setupServer(handle.get(url, () => HttpResponse.json(page)));
	msw.listen({ onUnhandledRequest: "bypass" });
	await race(
		"In process, a page of 50 rows: time as a multiple of a function that answers it",
		"time",
		[
			inProcess("new Response(JSON.stringify(rows))", async () => new Response(JSON.stringify(page))),
			inProcess("the sandbox", () => ask(baseUrl + list, { headers })),
			inProcess("msw with a canned answer", () => fetch(url)),
		],
		200,
	);
	msw.close();

	const few = crowd(1_000);
	const many = crowd(10_000);
	const numbers = Array.from({ length: 100 }, (_, index) => `+4477${10_000_000 + index * 7}`);
	const { nextCursor } = await (await many.fetch(`${baseUrl}${list}?search=4477100050&pageSize=1`, { headers })).json();
	const post = (path: string, body: object) => (box: Sandbox) =>
		box.fetch(baseUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
	let sent = 0;
	const send = (box: Sandbox) =>
		post(list.replace("conversations", "messages"), { to: numbers[sent++ % 100], body: "Hello" })(box);
	const calls: Record<string, (box: Sandbox) => Promise<Response>> = {
		"a list page": (box) => box.fetch(baseUrl + list, { headers }),
		"a list page, from the middle": (box) =>
			box.fetch(box === many ? `${baseUrl}${list}?cursor=${nextCursor}` : baseUrl + list, { headers }),
		"a search page that matches all": (box) => box.fetch(`${baseUrl}${list}?search=of%20many`, { headers }),
		"a search that matches nothing": (box) => box.fetch(`${baseUrl}${list}?search=nobody`, { headers }),
		"a lookup of 100": post(`${list}/lookup`, { phoneNumbers: numbers }),
		"a send": send,
	};
	for (const [name, call] of Object.entries(calls)) {
		await race(
			`${name}: time as a multiple of the same with 1,000 conversations`,
			"time",
			[
				inProcess("1,000 conversations, 10,000 messages", () => call(few)),
				inProcess("10,000 conversations, 100,000 messages", () => call(many)),
			],
			50,
		);
	}
} finally {
	for (const child of children) child.kill();
	agent.destroy();
}
