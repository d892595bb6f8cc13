import { type ParseArgsConfig, parseArgs } from "node:util";
import { version } from "../../package.json";
import { nearest } from "./nearest.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;

/** A wrong use of the command line, for which its help is the remedy. */
export class UsageError extends Error {}

/** What each command has. */
const common = {
	version: { type: "boolean", short: "v", default: false },
	help: { type: "boolean", short: "h", default: false },
} as const;

/** Reads the options of a command. Undefined when its help or version was asked for, which is then printed. */
export function readOptions<const Own extends Options>(command: string, args: string[], own: Own, help: string) {
	const options = { ...own, ...common };
	refuseUnknownOption(args, options);
	const { values, positionals } = parsed(() => parseArgs({ args, options, allowPositionals: true }));
	const asked: { help?: unknown; version?: unknown } = values;
	if (asked.help || asked.version) {
		console.log(asked.help ? help : version);
		return undefined;
	}
	// Not quoted: it may be a key.
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

/** Names the nearest option that there is, and never quotes an option's value. */
function refuseUnknownOption(args: string[], options: Options): void {
	const { tokens } = parseArgs({ args, options, strict: false, tokens: true, allowPositionals: true });
	for (const token of tokens) {
		if (token.kind !== "option" || Object.hasOwn(options, token.name)) continue;
		const meant = nearest(token.name, Object.keys(options));
		throw new UsageError(`Unknown option ${token.rawName}.${meant === undefined ? "" : ` Did you mean --${meant}?`}`);
	}
}

/** Refuses a command that there is not, and names the nearest one that there is. */
export function refuseUnknownCommand(name: string, commands: readonly string[]): never {
	const meant = nearest(name, commands);
	// What is no plain word may be a key.
	const quoted = /^[a-z]{1,20}$/.test(name) ? `"${name}"` : "of this name";
	throw new UsageError(`There is no command ${quoted}.${meant === undefined ? "" : ` Did you mean ${meant}?`}`);
}
