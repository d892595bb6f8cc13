import { EncodingError, longestBug } from "../sandbox/base/encoding.ts";
import { createSandbox, type Sandbox, scenarioNames } from "../sandbox/index.ts";
import { insideOf, type OpenedBug } from "../sandbox/inside.ts";
import { hostOf } from "../sandbox/server/hosts.ts";
import { type SandboxServer, type ServeOptions, serve } from "../sandbox/server.ts";
import { isLoopback } from "../shared/hosts.ts";
import { banner, examples, writeEnvironment } from "./announce.ts";
import { readVariables } from "./connection.ts";
import type { Host } from "./host.ts";
import { printEvents } from "./lines.ts";
import { lookOf } from "./look.ts";
import { type Options, readOptions, UsageError } from "./options.ts";
import { policyFrom, policyHelp, policyPairs } from "./policy.ts";
import { openState, type State } from "./state.ts";
import { jsonLine, readTextFile } from "./text.ts";

const tokenVariable = "MESSAGING_SANDBOX_TOKEN";

const options = {
	port: {
		type: "string",
		default: "4010",
		value: "<port>",
		help: "Port to listen on; 0 is any free one. Default 4010.",
	},
	scenario: {
		type: "string",
		value: "<name>",
		choices: scenarioNames,
		help: `Starts with a scenario: ${scenarioNames.join(", ")}. Default fresh.`,
	},
	import: {
		type: "string",
		value: "<file>",
		isFile: true,
		help: "Starts with a bug file whose world it may change. Without --import, a bug file opens read-only.",
	},
	state: {
		type: "string",
		value: "<file>",
		isFile: true,
		help: "Keeps the world in a file, across restarts. --scenario, --import and --now are for a new file.",
	},
	now: {
		type: "string",
		value: "<instant>",
		help: "Sets the clock, in ISO 8601. Default 2026-01-05T09:00:00Z, or the present with --follow.",
	},
	follow: {
		type: "boolean",
		default: false,
		help: "Lets the clock run with real time. Otherwise only controls move it.",
	},
	policy: {
		type: "string",
		multiple: true,
		value: "<name=value>",
		examples: policyPairs,
		help: `Chooses another interpretation where the documentation is silent. Repeat it for several. ${policyHelp}`,
	},
	variation: {
		type: "string",
		value: "<seed>",
		help: "Any number or word: varies what the service does not promise, such as the order of fields. The same one varies it in the same way.",
	},
	token: {
		type: "string",
		value: "<token>",
		help: `The control token, 8 characters or more. Default ${tokenVariable}, or a random one.`,
	},
	open: { type: "boolean", default: false, help: "Opens the sandbox's page in a browser." },
	examples: { type: "boolean", default: false, help: "Prints lines to paste: TypeScript and curl." },
	quiet: { type: "boolean", default: false, help: "Prints no lines for requests and what follows from them." },
	json: {
		type: "boolean",
		default: false,
		help: "Prints the connection as one line of JSON, and nothing else.",
	},
	env: {
		type: "string",
		value: "<file>",
		isFile: true,
		help: `Reads environment variables from a file, such as ${tokenVariable}.`,
	},
	"write-env": {
		type: "string",
		value: "<file>",
		isFile: true,
		help: "Writes base URL, key, agency, control URL and token to a file, as lines NAME=value.",
	},
	listen: {
		type: "string",
		value: "<address>",
		help: "Address to listen on, for containers. Anyone who reaches it can use the sandbox.",
	},
	"allow-host": {
		type: "string",
		multiple: true,
		value: "<name>",
		help: "Another host name that it answers to, such as a container's. Repeat it for several.",
	},
} as const satisfies Options;

const usage = {
	command: "sandbox",
	about: "Runs the whole service on this machine, on 127.0.0.1 only: no message reaches anybody.",
	options,
	file: { value: "<bug.json>", help: "Opens a bug file read-only, at the place that it names." },
	end: { example: "sandbox --scenario busy --port 0", page: "sandbox-server" },
};

type Flags = NonNullable<ReturnType<typeof readOptions<typeof options>>>;

export const sandboxCommand = { summary: "Runs the service on this machine, for tests.", failure: 1, options, run };

async function run(args: string[], host: Host): Promise<number> {
	const values = readOptions(usage, args, host);
	if (!values) return 0;
	// A reader that stops early, such as head, does not end the sandbox.
	host.onOutputClosed(() => {});
	const file = values.env;
	const inFile = file === undefined ? undefined : readVariables(file);
	const closing: (() => unknown)[] = [];
	try {
		const state = values.state === undefined ? undefined : openState(values.state);
		if (state) closing.push(state.release);
		const { sandbox, server, bug } = await start(
			values,
			state,
			host.variable(tokenVariable) ?? inFile?.(tokenVariable),
			host,
		);
		closing.push(server.close); // or the process would not end
		if (state) closing.push(state.keep(sandbox, host.printError));
		await new Promise<void>((resolve) => {
			host.onStop(resolve);
			closing.push(announce(values, { sandbox, server, bug }, host, resolve));
		});
		const unused = sandbox.faults.unused();
		if (unused.length > 0 && !values.json) host.print(`Faults that never hit: ${JSON.stringify(unused, null, 2)}`);
		return 0;
	} finally {
		for (const close of closing.reverse()) await close();
	}
}

interface Started {
	readonly sandbox: Sandbox;
	readonly server: SandboxServer;
	/** The bug file that is open read-only. */
	readonly bug: OpenedBug | null;
}

async function start(
	values: Flags,
	state: State | undefined,
	tokenOfVariable: string | undefined,
	{ printError }: Host,
): Promise<Started> {
	try {
		const { file } = values;
		const readOnly = file !== undefined;
		const sandbox = readOnly ? readBug(values, file) : sandboxFrom(values, state, printError);
		const server = await serve(sandbox, { ...serveOptions(values, tokenOfVariable), readOnly });
		const bug = readOnly ? insideOf(sandbox).opened : null;
		return { sandbox, server, bug };
	} catch (error) {
		throw error instanceof Error ? byOption(error, values.token === undefined) : error;
	}
}

/** The sandbox of the bug file that the command names. What would change its world is refused. */
function readBug(values: Flags, file: string): Sandbox {
	for (const name of ["scenario", "import", "state", "now", "policy", "variation"] as const)
		if (values[name] !== undefined) throw new UsageError(`--${name} is not for a bug file, which has its own world.`);
	if (values.follow) throw new UsageError("--follow is not for a bug file, whose clock stands still.");
	let text: string;
	try {
		text = readTextFile(file, longestBug);
	} catch (error) {
		if (error instanceof EncodingError) throw new Error(`The bug file ${error.message}`);
		// Without the word that was given, which may be a key.
		const code = error instanceof Error && "code" in error ? ` (${error.code})` : "";
		throw new UsageError(`The bug file cannot be read${code}. sandbox takes one file and options.`);
	}
	return named(file, () => createSandbox({ from: text }));
}

/** Words what createSandbox and serve refuse by the option that it came from; returns any other error as it is. */
function byOption(error: Error, isTokenOfVariable: boolean): Error {
	const options: Readonly<Record<string, string>> = {
		allowHosts: "--allow-host",
		token: isTokenOfVariable ? tokenVariable : "--token",
	};
	// Of the file of --import: another file's errors begin with its name.
	if (/^(?:bug|world): /.test(error.message)) return new Error(`--import: ${error.message}`);
	const message = error.message
		.replace(/^(?:createSandbox|serve): (\w+)(?:\[\d+\])?/, (_, field: string) => options[field] ?? `--${field}`)
		.replace(/^policy:?/, "--policy");
	return message === error.message ? error : new UsageError(message);
}

/** Says how to reach the sandbox, and what happens in it. `quit` is for the key q. Returns what ends the reading of keys. */
function announce(values: Flags, { sandbox, server, bug }: Started, host: Host, quit: () => void): () => void {
	const { print, printError } = host;
	const page = `${server.controlUrl}/ui/#${bug ? placeOf(bug) : ""}token=${server.token}`;
	const file = values["write-env"];
	if (file !== undefined) named("--write-env", () => writeEnvironment(file, server));
	if (values.listen !== undefined && !isLoopback(hostOf(values.listen)))
		printError(`Warning: everybody who reaches ${values.listen} reaches this sandbox.`);
	if (values.open) host.openInBrowser(page);
	if (values.json) {
		print(jsonLine({ ...plain(server), pageUrl: page, pid: process.pid }));
		return () => {};
	}
	const stopKeys = host.onKeys((key) => {
		if (key === "q") quit();
		if (key !== "o") return;
		print(`Opening ${page}`);
		host.openInBrowser(page);
	});
	const { follow, state } = values;
	const look = lookOf(host);
	const isBug = bug !== null;
	const announced = { page, now: sandbox.clock.now(), follow, isBug, state, hasKeys: stopKeys !== undefined };
	print(banner(server, announced, look.columns()));
	if (values.examples) print(examples(server));
	const stopPrinting = values.quiet ? undefined : printEvents(sandbox, look, print);
	return () => {
		stopKeys?.();
		stopPrinting?.();
	};
}

/** The place of a bug file as the address of the page has it. */
function placeOf({ place: { agencyId, contact, request } }: OpenedBug): string {
	const query = new URLSearchParams();
	for (const [name, value] of Object.entries({ agency: agencyId, contact, request })) if (value) query.set(name, value);
	return `/?${query}&`;
}

const plain = ({ baseUrl, apiKey, agencyId, controlUrl, token }: SandboxServer) => ({
	baseUrl,
	apiKey,
	agencyId,
	controlUrl,
	token,
});

function sandboxFrom(values: Flags, state: State | undefined, printError: Host["printError"]): Sandbox {
	const scenario = scenarioNames.find((name) => name === values.scenario);
	const policy = policyFrom(values.policy ?? []);
	const file = values.import;
	const from = file === undefined ? undefined : named("--import", () => readTextFile(file, longestBug));
	const now = values.now ?? (values.follow && !from ? new Date().toISOString() : undefined);
	const sandbox = createSandbox({ scenario, policy, now, from, variation: values.variation });
	if (state?.read(sandbox)) {
		const given = (["scenario", "import", "now"] as const).filter((name) => values[name] !== undefined);
		const names = given.map((name) => `--${name}`).join(" and ");
		if (given.length > 0)
			printError(
				`Note: ${names} ${given.length > 1 ? "are" : "is"} for a new world. --state ${values.state} continues an earlier one.`,
			);
	}
	// With --follow the clock of an earlier run continues from now.
	if (values.follow && values.now === undefined && sandbox.clock.now() < new Date())
		sandbox.clock.advanceTo(new Date());
	return sandbox;
}

/** Begins an error with the option that led to it. */
function named<Result>(flag: string, act: () => Result): Result {
	try {
		return act();
	} catch (error) {
		const given = error instanceof Error ? error.message : String(error);
		if (error instanceof EncodingError) throw new Error(`${flag}: the file ${given}`);
		throw new Error(given.startsWith(flag) ? given : `${flag}: ${given}`);
	}
}

function serveOptions(values: Flags, tokenOfVariable: string | undefined): ServeOptions {
	const port = /^\d{1,5}$/.test(values.port) ? Number(values.port) : Number.NaN;
	if (!(port <= 65_535)) throw new UsageError("--port must be a number from 0 to 65535.");
	const token = values.token ?? tokenOfVariable;
	const { follow, listen } = values;
	return { port, follow, listen, token, allowHosts: values["allow-host"] };
}
