import { type ParseArgsConfig, parseArgs } from "node:util";
import { nearest } from "./nearest.ts";

/** Refuses an option that a command lacks, and names the nearest one that it has. It never quotes an option's value. */
export function refuseUnknownOption(args: string[], options: NonNullable<ParseArgsConfig["options"]>): void {
	const { tokens } = parseArgs({ args, options, strict: false, tokens: true, allowPositionals: true });
	for (const token of tokens) {
		if (token.kind !== "option" || Object.hasOwn(options, token.name)) continue;
		const meant = nearest(token.name, Object.keys(options));
		throw new Error(`Unknown option ${token.rawName}.${meant === undefined ? "" : ` Did you mean --${meant}?`}`);
	}
}

/** Refuses a command that there is not, and names the nearest one that there is. */
export function refuseUnknownCommand(name: string, commands: readonly string[]): never {
	const meant = nearest(name, commands);
	throw new Error(`There is no command "${name}".${meant === undefined ? "" : ` Did you mean ${meant}?`}`);
}
