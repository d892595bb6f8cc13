import { parseEnv } from "node:util";
import { type Client, type ClientOptions, createClient } from "messaging-conversations";
import { EncodingError } from "../sandbox/base/encoding.ts";
import { createSandbox, type Sandbox } from "../sandbox/index.ts";
import { serve } from "../sandbox/server.ts";
import { Secret } from "../shared/secret.ts";
import type { Host } from "./host.ts";
import type { Options } from "./options.ts";
import { readTextFile } from "./text.ts";

/** The option by which a command finds the service. */
export const connectionOptions = {
	env: {
		type: "string",
		value: "<file>",
		isFile: true,
		help: "Reads MESSAGING_BASE_URL and MESSAGING_API_KEY from a file.",
	},
} as const satisfies Options;

export const connectionHelp = `The base URL and the key come from MESSAGING_BASE_URL and MESSAGING_API_KEY, in the environment or
in the file of --env. The environment wins. No option takes them, because a list of processes
shows the options of a command.`;

/** A setting, and where it comes from, in words. */
export interface Setting {
	readonly name: string;
	/** A secret, because a base URL can hold a key by mistake. */
	readonly value: Secret<string> | undefined;
	readonly from: string;
}

/** The settings that reach the service. */
export interface Connection {
	readonly baseUrl: Setting;
	readonly apiKey: Setting;
}

/** Reads the settings from the environment, then from the file. */
export function readConnection(file: string | undefined, { variable }: Host): Connection {
	const inFile = file === undefined ? () => undefined : readVariables(file);
	const setting = (name: string): Setting => {
		const value = secretOf(variable(name));
		const other = secretOf(inFile(name));
		const isOther = other !== undefined && other.reveal() !== value?.reveal();
		if (value) return { name, value, from: `the environment${isOther ? `, not from ${file}` : ""}` };
		if (other) return { name, value: other, from: file ?? "" };
		return { name, value: undefined, from: `the environment${file === undefined ? "" : ` and ${file}`}` };
	};
	return { baseUrl: setting("MESSAGING_BASE_URL"), apiKey: setting("MESSAGING_API_KEY") };
}

const secretOf = (value: string | undefined): Secret<string> | undefined =>
	value === undefined ? undefined : new Secret(value);

/** A client of the settings. Throws if one of them is not there, and names the command that finds out why. */
export function clientOf({ baseUrl, apiKey }: Connection, options: Partial<ClientOptions>): Client {
	for (const { name, value, from } of [baseUrl, apiKey])
		if (!value?.reveal())
			throw new Error(`${name} is ${value === undefined ? "not set" : "empty"} in ${from}. ${remedy}`);
	return createClient({ ...options, baseUrl: baseUrl.value?.reveal(), apiKey: apiKey.value?.reveal() });
}

/** What to do when the service cannot be used with the settings. */
export const remedy = "The command doctor finds out why.";

/** Reads the variables in the file of `--env`. Returns a function for the same reason as {@link Host.variable}. */
export function readVariables(file: string): Host["variable"] {
	try {
		const variables = new Secret(parseEnv(readTextFile(file)));
		return (name) => variables.reveal()[name];
	} catch (error) {
		if (error instanceof EncodingError) throw new Error(`--env ${file} ${error.message}`);
		const code = error instanceof Error && "code" in error ? ` (${error.code})` : "";
		throw new Error(`--env ${file} cannot be read${code}.`);
	}
}

/** A sandbox of this process that listens, to try a command without a key. */
export interface LocalSandbox {
	readonly sandbox: Sandbox;
	readonly connection: Connection;
	close(): Promise<void>;
}

/** Starts a sandbox whose clock is this machine's, with one contact who wrote 30 hours ago. */
export async function startSandbox(): Promise<LocalSandbox> {
	const sandbox = createSandbox({ now: new Date(), scenario: "closed" });
	const server = await serve(sandbox, { port: 0, follow: true });
	const connection: Connection = {
		baseUrl: { name: "MESSAGING_BASE_URL", value: new Secret(server.baseUrl), from: "--sandbox" },
		apiKey: { name: "MESSAGING_API_KEY", value: new Secret(server.apiKey), from: "--sandbox" },
	};
	return { sandbox, connection, close: () => server.close() };
}
