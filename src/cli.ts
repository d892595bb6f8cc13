#!/usr/bin/env node
import { parseArgs } from "node:util";
import { createSandbox, scenarioNames } from "./sandbox/index.ts";
import { type SandboxServer, serve } from "./sandbox/server.ts";

const help = `Usage: messaging-conversations sandbox [options]

Runs the whole service on this machine, on 127.0.0.1 only: no message reaches anybody.

Options:
  --port <port>       Port to listen on; 0 is any free one. Default 4010.
  --seed <scenario>   The world it begins with: ${scenarioNames.join(", ")}. Default fresh.
  --now <instant>     Where its clock stands, ISO 8601. Default 2026-01-05T09:00:00Z, with --follow this instant.
  --follow            Lets the clock run with real time; else it stands still until a control moves it.
  --help              Shows this.
`;

const options = {
	port: { type: "string", default: "4010" },
	seed: { type: "string", default: "fresh" },
	now: { type: "string" },
	follow: { type: "boolean", default: false },
	help: { type: "boolean", short: "h", default: false },
} as const;

try {
	await main(process.argv.slice(2));
} catch (error) {
	console.error(
		`${error instanceof Error ? error.message : String(error)}\n\nmessaging-conversations --help shows the options.`,
	);
	process.exitCode = 1;
}

async function main(args: string[]): Promise<void> {
	const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
	if (values.help || positionals.length === 0) return console.log(help);
	const [command, ...rest] = positionals;
	if (command !== "sandbox" || rest.length > 0) throw new Error(`There is no command "${positionals.join(" ")}".`);
	const port = /^\d{1,5}$/.test(values.port) ? Number(values.port) : Number.NaN;
	if (!(port <= 65_535)) throw new Error("--port must be a number from 0 to 65535.");
	const seed = scenarioNames.find((name) => name === values.seed);
	if (!seed) throw new Error(`--seed must be one of ${scenarioNames.join(", ")}.`);
	const now = values.now ?? (values.follow ? new Date().toISOString() : undefined);
	const sandbox = createSandbox({ seed, ...(now === undefined ? {} : { now }) });
	const server = await serve(sandbox, { port, follow: values.follow });
	console.log(
		banner(server, sandbox.agency().id, values.follow ? "runs" : `stands at ${sandbox.clock.now().toISOString()}`),
	);
	for (const signal of ["SIGINT", "SIGTERM"] as const) {
		process.once(signal, () => {
			const unused = sandbox.faults.unused();
			if (unused.length > 0) console.log(`Faults that never hit: ${JSON.stringify(unused, null, 2)}`);
			void server.close();
		});
	}
}

function banner({ baseUrl, controlUrl, token, apiKey }: SandboxServer, agencyId: string, clock: string): string {
	return `Messaging Conversations sandbox: no message reaches anybody. The clock ${clock}.

  Base URL       ${baseUrl}
  API key        ${apiKey}
  Agency         ${agencyId}
  Control URL    ${controlUrl}
  Control token  ${token}

TypeScript:

  import { createClient } from "messaging-conversations";

  const client = createClient({ baseUrl: "${baseUrl}", apiKey: "${apiKey}" });
  const sent = await client.agency("${agencyId}").messages.send({ to: "+447700900101", body: "Hello" });

curl:

  curl -H "Authorization: Bearer ${apiKey}" ${baseUrl}/me
  curl -H "X-Sandbox-Token: ${token}" -d '{"text":"Hello"}' ${controlUrl}/contacts/+447700900101/writes
  curl -H "X-Sandbox-Token: ${token}" -d '{"hours":25}' ${controlUrl}/clock/advance

Ctrl-C stops it.`;
}
