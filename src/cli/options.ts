import { parseArgs } from "node:util";
import manifest from "../../package.json" with { type: "json" };
import type { Host } from "./host.ts";
import { lookOf, mostColumns, wrapped } from "./look.ts";
import { nearest } from "./nearest.ts";

/** An option: as `parseArgs` takes it, and what its help and its completion show. */
export interface Option {
	readonly type: "string" | "boolean";
	readonly short?: string;
	readonly default?: string | boolean;
	readonly multiple?: boolean;
	readonly help: string;
	/** The value in the help, such as `<port>`. */
	readonly value?: string;
	/** The only values that it takes. */
	readonly choices?: readonly string[];
	/** Values to complete, beside others that it takes. */
	readonly examples?: readonly string[];
	/** Whether its value is the path of a file. */
	readonly isFile?: boolean;
}

export type Options = Readonly<Record<string, Option>>;

/** What a command's help says. */
export interface Usage {
	readonly command: string;
	readonly about: string;
	readonly options: Options;
	/** A file, or another word, that may follow the command. */
	readonly file?: { readonly value: string; readonly help: string; readonly noun?: string };
	/** What follows the options. */
	readonly notes?: string;
	readonly end: End;
}

/** What each help ends with. */
export interface End {
	/** The words after `messaging-conversations` of a command line that works as it is written. */
	readonly example: string;
	/** The page of the docs. */
	readonly page: string;
}

/** A wrong use of the command line. The error is printed with a hint to the help. */
export class UsageError extends Error {}

/** The options of every command. */
export const commonOptions = {
	version: { type: "boolean", short: "v", default: false, help: "Prints the version; also -v." },
	help: { type: "boolean", short: "h", default: false, help: "Shows this; also -h." },
} as const satisfies Options;

/** What may stand in place of a command or an action. */
export const commonWords = ["help", "version"] as const;

/** Whether a word in place of a command or an action asks for help. */
export const isHelp = (word: string): boolean => ["help", "--help", "-h"].includes(word);

/** Whether a word in place of a command or an action asks for the version. */
export const isVersion = (word: string): boolean => ["version", "--version", "-v"].includes(word);

/** Reads the options of a command. Prints its help or version if asked to, and returns undefined. */
export function readOptions<const Own extends Options>(
	usage: Usage & { readonly options: Own },
	args: string[],
	host: Host,
) {
	const { print } = host;
	const options = { ...usage.options, ...commonOptions };
	refuseUnknownOption(args, options);
	const { values, positionals } = parsed(() => parseArgs({ args, options, allowPositionals: true }));
	const asked: { help?: unknown; version?: unknown } = values;
	// "doctor help", but not where an id can be "help".
	const [word] = usage.file?.noun === undefined ? positionals : [];
	if (asked.help || word === "help") {
		print(helpOf(usage, Math.min(lookOf(host).columns(), mostColumns)));
		return undefined;
	}
	if (asked.version || word === "version") {
		print(manifest.version);
		return undefined;
	}
	// The word is not quoted, because it may be a key.
	if (positionals.length > (usage.file ? 1 : 0)) {
		const meant = Object.keys(options).find((name) => positionals.includes(name));
		throw new UsageError(
			`${usage.command} takes ${usage.file ? `one ${usage.file.noun ?? "file"} and options` : "options only"}. ${meant === undefined ? "A key comes from the environment." : `Did you mean --${meant}?`}`,
		);
	}
	for (const [name, { choices, isFile }] of Object.entries<Option>(options)) {
		const given: unknown = Object.entries(values).find(([each]) => each === name)?.[1];
		// As from a variable of the shell that is not set: without an agency, for example, it would be about all of them.
		if (given === "")
			throw new UsageError(`--${name} is empty. It needs ${isFile ? "the path of a file" : "a value"}.`);
		if (choices && typeof given === "string") refuseOther(`--${name}`, given, choices);
	}
	return { ...values, file: positionals[0] };
}

function parsed<Result>(parse: () => Result): Result {
	try {
		return parse();
	} catch (error) {
		throw new UsageError(error instanceof Error ? error.message : String(error));
	}
}

/** Refuses the first unknown option, and never quotes an option's value. */
function refuseUnknownOption(args: string[], options: Options): void {
	const { tokens } = parseArgs({ args, options, strict: false, tokens: true, allowPositionals: true });
	for (const token of tokens) {
		if (token.kind !== "option") continue;
		// `parseArgs` makes four options of -port. The first of them may be a known one, as in -help.
		const [whole = ""] = /^-\w[\w-]+/.exec(args[token.index] ?? "") ?? [];
		if (whole !== "" && nearest(whole.slice(1), Object.keys(options)) !== undefined) refuseOption(whole, options);
		if (!Object.hasOwn(options, token.name)) refuseOption(token.rawName, options);
	}
}

/** Refuses an unknown option, such as `--jsn` or `--jsn=1`, and says which one may have been meant. */
export function refuseOption(given: string, options: Options, more = ""): never {
	const [, option = "", name = ""] = /^(--?([^=]*))/.exec(given) ?? [];
	// Quotes only a plain word, because anything else may be a key.
	const quoted = /^-[a-z?]$|^--?[a-z][a-z-]{0,30}$/i.test(option) ? ` ${option}` : "";
	throw new UsageError(`Unknown option${quoted}.${meantBy(name, options)}${more}`);
}

function meantBy(name: string, options: Options): string {
	if (/^(no-?)?colou?rs?$/i.test(name)) return " NO_COLOR=1 turns colours off, and FORCE_COLOR=1 on.";
	const names = Object.keys(options);
	if (name.length === 1) {
		const letter = name === "?" ? "h" : name.toLowerCase();
		const isShort = Object.values(options).some(({ short }) => short === letter);
		const long = names.find((each) => each.startsWith(letter));
		if (isShort) return ` Did you mean -${letter}?`;
		return long === undefined ? meantOf(name, names, "--") : ` Did you mean --${long}?`;
	}
	const [, negated = ""] = /^no-(.+)$/i.exec(name) ?? [];
	const off = negated === "" ? undefined : nearest(negated, names);
	if (off !== undefined && options[off]?.type === "boolean") return ` --${off} is off unless it is given.`;
	return meantOf(name, names, "--");
}

/** The known word that may have been meant, or all of them. */
const meantOf = (word: string, known: readonly string[], before = ""): string =>
	didYouMean(word, known, before) || ` There are ${known.map((each) => `${before}${each}`).join(", ")}.`;

/** Refuses a value that is none of the choices, and names the nearest one. */
export function refuseOther(what: string, value: string, choices: readonly string[]): void {
	if (!choices.includes(value))
		throw new UsageError(`${what} must be one of ${choices.join(", ")}.${didYouMean(value, choices)}`);
}

/** Refuses an unknown command, and names the nearest known one. */
export function refuseUnknownCommand(name: string, commands: readonly string[]): never {
	// Quotes only a plain word, because anything else may be a key.
	const quoted = /^[a-z]{1,20}$/.test(name) ? `"${name}"` : "of this name";
	throw new UsageError(`There is no command ${quoted}.${meantOf(name, [...commands, ...commonWords])}`);
}

/** Refuses an unknown action of a command, and names the nearest known one. */
export function refuseUnknownAction(command: string, name: string, actions: readonly string[]): never {
	// Quotes only a plain word, because anything else may be the address of a database.
	const quoted = /^[a-z]{1,20}$/.test(name) ? `"${name}"` : "of this name";
	throw new UsageError(`${command} has no action ${quoted}.${meantOf(name, [...actions, ...commonWords])}`);
}

/** The help of a command that has actions, each with options of its own. */
export function helpOfActions(
	{
		command,
		about,
		actions,
		notes,
		end,
	}: {
		readonly command: string;
		readonly about: string;
		readonly actions: ReadonlyMap<string, { readonly summary: string }>;
		readonly notes: string;
		readonly end: End;
	},
	columns: number,
): string {
	const rows = [...actions].map(([name, { summary }]) => ({ head: `  ${name}`, help: summary }));
	const usage = `Usage: messaging-conversations ${command} ${[...actions.keys()].join(" | ")} [options]`;
	const whole = (text: string): string => wrapped(text.replaceAll("\n", " "), columns).join("\n");
	return `${whole(usage)}

${whole(about)}

Actions:
${table(rows, columns).join("\n")}

${whole(`messaging-conversations ${command} <action> --help shows the options of an action.`)}

${notes.split("\n\n").map(whole).join("\n\n")}

${endOf(end, columns)}`;
}

/** The example and the address of the page with which each help ends. */
export function endOf({ example, page }: End, columns: number): string {
	const { homepage }: { readonly version: string; readonly homepage?: string } = manifest;
	// An address stays in one piece.
	const guide =
		homepage === undefined
			? wrapped(`Guide: docs/${page}.md of this package`, columns).join("\n")
			: `Guide: ${homepage.replace(/\/$/, "")}/${page}.html`;
	// A shell reads on behind a backslash at the end of a line.
	const lines = wrapped(`npx messaging-conversations ${example}`, columns - 6);
	return `Example:
  ${lines.join(" \\\n    ")}

${guide}`;
}

/** A question that follows a sentence; empty when no known word is near. */
export function didYouMean(word: string, known: readonly string[], before = ""): string {
	const meant = nearest(word, known);
	return meant === undefined ? "" : ` Did you mean ${before}${meant}?`;
}

function helpOf({ command, about, options, file, notes, end }: Usage, columns: number): string {
	const rows = [
		...(file ? [{ head: `  ${file.value}`, help: file.help }] : []),
		...Object.entries({ ...options, ...commonOptions }).map(([name, { value, help }]: [string, Option]) => ({
			head: `  --${name}${value === undefined ? "" : ` ${value}`}`,
			help,
		})),
	];
	const whole = (text: string): string => wrapped(text.replaceAll("\n", " "), columns).join("\n");
	return `${whole(`Usage: messaging-conversations ${command} ${file ? `[${file.value}] ` : ""}[options]`)}

${whole(about)}

Options:
${table(rows, columns).join("\n")}
${notes === undefined ? "" : `\n${notes.split("\n\n").map(whole).join("\n\n")}\n`}
${endOf(end, columns)}`;
}

const narrowest = 76;

/** Rows of a head and its help, in two columns, or in a narrow terminal one below the other. */
export function table(rows: readonly { readonly head: string; readonly help: string }[], columns: number): string[] {
	const isNarrow = columns < narrowest;
	const indent = isNarrow ? 6 : Math.max(...rows.map(({ head }) => head.length)) + 2;
	return rows.flatMap(({ head, help }) => {
		const lines = wrapped(help, columns - indent).map((line) => `${" ".repeat(indent)}${line}`);
		return isNarrow ? [head, ...lines] : [`${head.padEnd(indent)}${lines[0]?.trimStart() ?? ""}`, ...lines.slice(1)];
	});
}
