import { type ParseArgsConfig, parseArgs } from "node:util";
import { version } from "../../package.json";
import type { Host } from "./host.ts";
import { nearest } from "./nearest.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;

/** A wrong use of the command line. The error is printed with a hint to the help. */
export class UsageError extends Error {}

/** The options of every command. */
const common = {
	version: { type: "boolean", short: "v", default: false },
	help: { type: "boolean", short: "h", default: false },
} as const;

/** Reads the options of a command. Prints its help or version when that is asked for, and returns undefined. */
export function readOptions<const Own extends Options>(
	{ command, help, own }: { command: string; help: string; own: Own },
	args: string[],
	{ print }: Host,
) {
	const options = { ...own, ...common };
	refuseUnknownOption(args, options);
	const { values, positionals } = parsed(() => parseArgs({ args, options, allowPositionals: true }));
	const asked: { help?: unknown; version?: unknown } = values;
	if (asked.help || asked.version) {
		print(asked.help ? help : version);
		return undefined;
	}
	// The word is not quoted, because it may be a key.
	if (positionals.length > 0) throw new UsageError(`${command} takes options only. A key comes from the environment.`);
	return values;
}

function parsed<Result>(parse: () => Result): Result {
	try {
		return parse();
	} catch (error) {
		throw new UsageError(error instanceof Error ? error.message : String(error));
	}
}

/** Names the nearest known option, and never quotes an option's value. */
function refuseUnknownOption(args: string[], options: Options): void {
	const { tokens } = parseArgs({ args, options, strict: false, tokens: true, allowPositionals: true });
	for (const token of tokens) {
		if (token.kind !== "option" || Object.hasOwn(options, token.name)) continue;
		const meant = nearest(token.name, Object.keys(options));
		throw new UsageError(`Unknown option ${token.rawName}.${meant === undefined ? "" : ` Did you mean --${meant}?`}`);
	}
}

/** Refuses an unknown command, and names the nearest known one. */
export function refuseUnknownCommand(name: string, commands: readonly string[]): never {
	const meant = nearest(name, commands);
	// Quotes only a plain word, because anything else may be a key.
	const quoted = /^[a-z]{1,20}$/.test(name) ? `"${name}"` : "of this name";
	throw new UsageError(`There is no command ${quoted}.${meant === undefined ? "" : ` Did you mean ${meant}?`}`);
}
