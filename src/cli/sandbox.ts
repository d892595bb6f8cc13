import { createSandbox, type Policy, type Sandbox, scenarioNames } from "../sandbox/index.ts";
import { type SandboxServer, type ServeOptions, serve } from "../sandbox/server.ts";
import { banner, openPage, writeEnvironment } from "./announce.ts";
import { readVariables } from "./connection.ts";
import type { Host } from "./host.ts";
import { printEvents } from "./lines.ts";
import { readOptions, UsageError } from "./options.ts";
import { EncodingError, readTextFile } from "./text.ts";

const tokenVariable = "MESSAGING_SANDBOX_TOKEN";

const help = `Usage: messaging-conversations sandbox [options]

Runs the whole service on this machine, on 127.0.0.1 only: no message reaches anybody.

Options:
  --port <port>          Port to listen on; 0 is any free one. Default 4010.
  --scenario <name>      The world it begins with: ${scenarioNames.join(", ")}. Default fresh.
  --import <file>        Begins with what another sandbox exported, as JSON.
  --now <instant>        The time of its clock, ISO 8601. Default 2026-01-05T09:00:00Z, with --follow this instant.
  --follow               Lets the clock run with real time; else only controls move it.
  --policy <name=value>  Another interpretation where the specification is silent; give it once for each.
  --variation <value>    Varies what a caller must not rely on.
  --token <token>        What control routes need. Default ${tokenVariable}, else random.
  --open                 Opens the sandbox's page in a browser.
  --quiet                Prints no line for requests and what follows from them.
  --json                 Prints one line of JSON, with what a program needs, and nothing else.
  --env-file <file>      Reads environment variables from a file, such as ${tokenVariable}.
  --write-env <file>     Writes base URL, key, agency, control URL and token to a file, as lines NAME=value.
  --listen <address>     Address to listen on, for containers. Everybody who reaches it reaches the sandbox.
  --allow-host <name>    Another name by which it may be asked, such as a container's; give it once for each.
  --version              Prints the version.
  --help                 Shows this.
`;

const options = {
	port: { type: "string", default: "4010" },
	scenario: { type: "string", default: "fresh" },
	import: { type: "string" },
	now: { type: "string" },
	follow: { type: "boolean", default: false },
	policy: { type: "string", multiple: true },
	variation: { type: "string" },
	token: { type: "string" },
	open: { type: "boolean", default: false },
	quiet: { type: "boolean", default: false },
	json: { type: "boolean", default: false },
	"env-file": { type: "string" },
	"write-env": { type: "string" },
	listen: { type: "string" },
	"allow-host": { type: "string", multiple: true },
} as const;

type Flags = NonNullable<ReturnType<typeof readOptions<typeof options>>>;

export const sandboxCommand = { summary: "Runs the service on this machine, for tests.", failure: 1, run };

async function run(args: string[], host: Host): Promise<number> {
	const values = readOptions({ command: "sandbox", help, own: options }, args, host);
	if (!values) return 0;
	// A reader that stops early, such as head, does not end the sandbox.
	host.onOutputClosed(() => {});
	const file = values["env-file"];
	const env = file === undefined ? host.env : { ...readVariables(file), ...host.env };
	const { sandbox, server } = await start(values, env[tokenVariable]);
	try {
		announce(values, { sandbox, server }, host);
	} catch (error) {
		await server.close(); // or the process would not end
		throw error;
	}
	await new Promise<void>((resolve) => host.onStop(resolve));
	const unused = sandbox.faults.unused();
	if (unused.length > 0 && !values.json) host.print(`Faults that never hit: ${JSON.stringify(unused, null, 2)}`);
	await server.close();
	return 0;
}

interface Started {
	readonly sandbox: Sandbox;
	readonly server: SandboxServer;
}

async function start(values: Flags, tokenOfVariable: string | undefined): Promise<Started> {
	try {
		const sandbox = sandboxFrom(values);
		return { sandbox, server: await serve(sandbox, serveOptions(values, tokenOfVariable)) };
	} catch (error) {
		throw error instanceof Error ? byOption(error, values.token === undefined) : error;
	}
}

/** Words what createSandbox and serve refuse by the option that it came from; returns any other error as it is. */
function byOption(error: Error, isTokenOfVariable: boolean): Error {
	const options: Readonly<Record<string, string>> = {
		allowHosts: "--allow-host",
		token: isTokenOfVariable ? tokenVariable : "--token",
	};
	const message = error.message
		.replace(/^(?:createSandbox|serve): (\w+)(?:\[\d+\])?/, (_, field: string) => options[field] ?? `--${field}`)
		.replace(/^policy:?/, "--policy");
	return message === error.message ? error : new UsageError(message);
}

function announce(values: Flags, { sandbox, server }: Started, { print, printError }: Host): void {
	const page = `${server.controlUrl}/ui/#token=${server.token}`;
	const file = values["write-env"];
	if (file !== undefined) named("--write-env", () => writeEnvironment(file, server));
	if (values.listen !== undefined) printError(`Warning: everybody who reaches ${values.listen} reaches this sandbox.`);
	if (values.json) print(JSON.stringify({ ...plain(server), pageUrl: page, pid: process.pid }));
	else {
		print(banner(server, { page, now: sandbox.clock.now(), follow: values.follow }));
		if (!values.quiet) printEvents(sandbox, print);
	}
	if (values.open) openPage(page);
}

const plain = ({ baseUrl, apiKey, agencyId, controlUrl, token }: SandboxServer) => ({
	baseUrl,
	apiKey,
	agencyId,
	controlUrl,
	token,
});

function sandboxFrom(values: Flags): Sandbox {
	const scenario = scenarioNames.find((name) => name === values.scenario);
	if (!scenario) throw new UsageError(`--scenario must be one of ${scenarioNames.join(", ")}.`);
	const now = values.now ?? (values.follow ? new Date().toISOString() : undefined);
	const policy = policyFrom(values.policy ?? []);
	const sandbox = createSandbox({ scenario, policy, now, variation: values.variation });
	const file = values.import;
	if (file !== undefined) named("--import", () => sandbox.import(readTextFile(file)));
	return sandbox;
}

/** Begins an error with the option that led to it. */
function named<Result>(flag: string, act: () => Result): Result {
	try {
		return act();
	} catch (error) {
		const given = error instanceof Error ? error.message : String(error);
		if (error instanceof EncodingError) throw new Error(`${flag}: the file ${given}`);
		const message = given.replace(/^import:? ?/, `${flag} `);
		throw new Error(message.startsWith(flag) ? message : `${flag}: ${message}`);
	}
}

/** `name=value` of each policy; a value is JSON or a word. */
function policyFrom(given: readonly string[]): Partial<Policy> {
	const pairs = given.map((pair): [string, unknown] => {
		const [, name = "", value = ""] = /^(\w+)=(.+)$/.exec(pair) ?? [];
		if (name === "") throw new UsageError("--policy must be name=value, such as --policy openSendWhileHeld=keep.");
		return [
			name,
			/^(true|false|null|\d+(\.\d+)?)$/.test(value) && name !== "lookupInvalid" ? JSON.parse(value) : value,
		];
	});
	return Object.fromEntries(pairs);
}

function serveOptions(values: Flags, tokenOfVariable: string | undefined): ServeOptions {
	const port = /^\d{1,5}$/.test(values.port) ? Number(values.port) : Number.NaN;
	if (!(port <= 65_535)) throw new UsageError("--port must be a number from 0 to 65535.");
	const token = values.token ?? tokenOfVariable;
	const { follow, listen } = values;
	return { port, follow, listen, token, allowHosts: values["allow-host"] };
}
