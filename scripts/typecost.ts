/**
 * What the types cost a user: instantiations and check time of a small file that uses them, over an empty one. Fails
 * over its budget of instantiations; time is printed alone, as machines differ.
 *
 *   npm run build && npm run types:cost
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

const consumers = [
	{
		name: "the client",
		budget: 550,
		code: `import { createClient, isWindowOpen, toE164 } from "messaging-conversations";
const client = createClient({ baseUrl: "https://messaging.example/api/v1", apiKey: "key" });
const agency = client.agency((await client.me.get()).agencies[0]?.id ?? "");
for await (const row of agency.conversations.list({ search: "Peeters" })) console.log(row.contactName, isWindowOpen(row));
for await (const message of agency.conversations.listMessages(toE164("0470 12 34 56"))) console.log(message.body);
console.log((await agency.conversations.lookup(["0470 12 34 56"])).map(({ input }) => input));
const result = await agency.messages.send({ to: "+32470123456", body: "Hi" }).result();
if (result.ok) console.log(result.data.queued ? result.data.queueId : result.data.messageId);
else {
	switch (result.error._tag) {
		case "PartnerConflict":
			console.log(result.error.outcome);
			break;
		default:
			console.log(result.error.operationId);
	}
}
`,
	},
	{
		name: "the sandbox",
		budget: 500,
		code: `import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
const sandbox = createSandbox({ seed: "busy" });
const client = createClient({ ...sandbox.connection });
const anna = sandbox.agency().contact("+447700900101", { name: "Anna" });
anna.writes("Hello?");
sandbox.clock.advance({ hours: 25 });
sandbox.faults.add({ operation: "messages.send", times: 1, phase: "after", effect: "reset" });
console.log((await client.agency(sandbox.agency().id).messages.send({ to: anna.phoneNumber, body: "Yes" })).queued);
`,
	},
];

const empty = cost("export {};\n");
for (const { name, code, budget } of consumers) {
	const { instantiations, seconds } = cost(code);
	const own = instantiations - empty.instantiations;
	const time = `${Math.max(0, seconds - empty.seconds).toFixed(2)} s over ${empty.seconds.toFixed(2)} s`;
	console.log(`${name.padEnd(12)} ${String(own).padStart(6)} instantiations of ${budget}, ${time} of checking`);
	if (own > budget) process.exitCode = 1;
}

function cost(code: string): { instantiations: number; seconds: number } {
	const folder = mkdtempSync(join(tmpdir(), "typecost-"));
	try {
		writeFileSync(join(folder, "main.ts"), code);
		const at = (path: string): string[] => [join(root, "dist", path)];
		const compilerOptions = {
			target: "ES2022",
			lib: ["ES2022", "DOM", "DOM.Iterable"],
			module: "ESNext",
			moduleResolution: "bundler",
			strict: true,
			skipLibCheck: false,
			noEmit: true,
			types: [],
			paths: {
				"messaging-conversations": at("index.d.ts"),
				"messaging-conversations/sandbox": at("sandbox/index.d.ts"),
			},
		};
		writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["main.ts"] }));
		const tsc = join(root, "node_modules/typescript/bin/tsc");
		const { stdout, status } = spawnSync(process.execPath, [tsc, "-p", folder, "--extendedDiagnostics"], {
			encoding: "utf8",
		});
		if (status !== 0) throw new Error(stdout);
		const figure = (label: string): number => Number(new RegExp(`^${label}:\\s+([\\d.]+)`, "m").exec(stdout)?.[1]);
		return { instantiations: figure("Instantiations"), seconds: figure("Check time") };
	} finally {
		rmSync(folder, { recursive: true });
	}
}
