// What it costs to be there: import, first answer, size.
import { execFileSync } from "node:child_process";
import { builtinModules } from "node:module";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { figure, print, spread } from "./rounds.ts";

const [baseUrl = "", rounds = "30"] = process.argv.slice(2);
const here = new URL(".", import.meta.url);

/** What to import, and with it one send. */
const field: Record<string, { from: string[]; send: string }> = {
	fetch: { from: [], send: "await (await fetch(url, { method: 'POST', headers, body })).json()" },
	"this package": {
		from: ["./build/index.js"],
		send: "await a.createClient({ baseUrl, apiKey }).agency('agy_p1').messages.send(message)",
	},
	"this package, nodeHttp": {
		from: ["./build/index.js", "./build/node.js"],
		send: "await a.createClient({ baseUrl, apiKey, transport: b.nodeHttp() }).agency('agy_p1').messages.send(message)",
	},
	"openapi-fetch": {
		from: ["openapi-fetch"],
		send: "await a.default({ baseUrl, headers }).POST('/agencies/agy_p1/messages', { body: message })",
	},
	"hey-api": {
		from: ["./build/hey-api.js"],
		send: "(a.client.setConfig({ baseUrl, headers }), await a.messagesSend({ path: { agencyId: 'agy_p1' }, body: message }))",
	},
	ky: { from: ["ky"], send: "await a.default.post(url, { json: message, headers }).json()" },
	axios: { from: ["axios"], send: "await a.default.post(url, message, { headers })" },
	openai: {
		from: ["openai"],
		send: "await new a.default({ apiKey, baseURL: baseUrl }).post('/agencies/agy_p1/messages', { body: message })",
	},
	stripe: {
		from: ["stripe"],
		send: "await new a.default(apiKey, { host, port, protocol: 'http', telemetry: false }).rawRequest('POST', path, message)",
	},
	svix: { from: ["svix"], send: "" },
	twilio: { from: ["twilio"], send: "" },
};

const { hostname, port, pathname } = new URL(baseUrl);
const given = `
	const baseUrl = ${JSON.stringify(baseUrl)}, url = baseUrl + "/agencies/agy_p1/messages";
	const host = "${hostname}", port = "${port}", path = "${pathname}/agencies/agy_p1/messages";
	const apiKey = "bench_live.key.secret", headers = { authorization: "Bearer " + apiKey, "content-type": "application/json" };
	const message = { to: "+447700900101", body: "Hello", operationId: "11111111-2222-4333-8444-555555555555" };
	const body = JSON.stringify(message);`;
const load = (from: string[]) =>
	from.map((each, index) => `const ${"ab"[index]} = await import("${each}");`).join("\n");

/** Runs a script in a process of its own and reads the milliseconds that it prints. */
function run(script: string): number {
	const code = `const began = performance.now();${script};console.log(performance.now() - began);process.exit()`;
	return Number(execFileSync(process.execPath, ["--input-type=module", "-e", code], { cwd: here, encoding: "utf8" }));
}

const importMs = new Map<string, number[]>();
const answerRatio = new Map<string, number[]>();
for (let round = 0; round < Math.max(5, Math.ceil(Number(rounds) / 3)); round++) {
	let base = Number.NaN;
	for (const [name, { from, send }] of Object.entries(field)) {
		if (from.length) importMs.set(name, [...(importMs.get(name) ?? []), run(load(from))]);
		if (!send) continue;
		const ms = run(`${given}${load(from)}${send}`);
		if (name === "fetch") base = ms;
		answerRatio.set(name, [...(answerRatio.get(name) ?? []), ms / base]);
	}
}

async function sizeOf(contents: string): Promise<string> {
	const { outputFiles } = await build({
		stdin: { contents, resolveDir: here.pathname },
		bundle: true,
		minify: true,
		format: "esm",
		platform: "node",
		external: builtinModules.flatMap((name) => [name, `node:${name}`]),
		write: false,
		logLevel: "error",
	});
	return `${(gzipSync(outputFiles[0]?.contents ?? "", { level: 9 }).length / 1000).toFixed(1)} kB`;
}
const sizes = new Map<string, string>();
for (const [name, { from }] of Object.entries(field)) {
	if (!from.length) continue;
	sizes.set(name, await sizeOf(from.map((each, index) => `export * as ${"ab"[index]} from "${each}"`).join("\n")));
}
sizes.set("this package without its phone library", await sizeOf(`export * from "./build/without-phone.js"`));

print("start: medians (min–max), each in a process of its own", {
	"import, ms over bare node": new Map([...importMs].map(([name, each]) => [name, figure(spread(each), 1)])),
	"import to first answer, ratio to fetch": new Map(
		[...answerRatio].map(([name, each]) => [name, figure(spread(each))]),
	),
	"bundled, minified, gzip": sizes,
});
process.exit();
