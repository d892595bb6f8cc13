import { version } from "../../package.json";
import { captureCommand } from "./capture.ts";
import { type Completed, completionOf } from "./completion.ts";
import { doctorCommand } from "./doctor.ts";
import type { Host } from "./host.ts";
import { lookOf, mostColumns, wrapped } from "./look.ts";
import {
	commonOptions,
	endOf,
	isHelp,
	isVersion,
	refuseOption,
	refuseUnknownCommand,
	table,
	UsageError,
} from "./options.ts";
import { outboxCommand } from "./outbox.ts";
import { sandboxCommand } from "./sandbox.ts";
import { tailCommand } from "./tail.ts";
import { harmless, jsonLine, printable } from "./text.ts";

/** A command: the words after its name are for it. */
interface Command extends Completed {
	/** The exit status when it cannot run. */
	readonly failure: number;
	/** Resolves with the exit status. */
	run(args: string[], host: Host): Promise<number>;
}

const commands = new Map<string, Command>([
	["sandbox", sandboxCommand],
	["doctor", doctorCommand],
	["tail", tailCommand],
	["outbox", outboxCommand],
	["capture", captureCommand],
]);
commands.set("completion", completionOf(commands));

function helpOf(columns: number): string {
	const rows = [...commands].map(([name, { summary }]) => ({ head: `  ${name}`, help: summary }));
	const usage = `Usage: messaging-conversations ${[...commands.keys()].join(" | ")} [options]`;
	const more = "messaging-conversations help <command> shows the options of a command, and version prints the version.";
	return `${wrapped(usage, columns).join("\n")}

Commands:
${table(rows, columns).join("\n")}

${wrapped(more, columns).join("\n")}

${endOf({ example: "sandbox --scenario busy --port 0", page: "first-send" }, columns)}`;
}

/** Runs a command line to its end, and resolves with the exit status. */
export async function main(args: readonly string[], given: Host): Promise<number> {
	const isJson = asksForJson(args);
	const host: Host = {
		...given,
		print: (text) => given.print(harmless(text)),
		printError: (text) => (isJson ? given.printError(jsonLine({ notice: text })) : printErrorOf(given, text)),
	};
	try {
		return await run(args, host);
	} catch (error) {
		const [name = "", action = ""] = args;
		const command = commands.get(name);
		const status = command?.failure ?? 1;
		const message = error instanceof Error ? error.message : String(error);
		const called = [
			"messaging-conversations",
			...(command ? [name] : []),
			...(command?.actions?.has(action) ? [action] : []),
		];
		const help = error instanceof UsageError ? `${called.join(" ")} --help shows the options.` : undefined;
		if (isJson) {
			const kind = help === undefined ? "failure" : "usage";
			given.printError(jsonLine({ error: { kind, message, ...(help !== undefined && { help }) }, status }));
		} else host.printError(help === undefined ? message : `${message}\n\n${help}`);
		return status;
	}
}

/** Whether it is for a program that reads JSON, even if the rest of the command line is wrong. */
function asksForJson(args: readonly string[]): boolean {
	const end = args.indexOf("--");
	return (end < 0 ? args : args.slice(0, end)).some((word) => /^--json(=|$)/.test(word));
}

/** Prints an error or a warning, as wide as the terminal and without what could steer it. In a pipe, a paragraph is a line. */
function printErrorOf(host: Host, text: string): void {
	const columns = host.terminal.columns ? Math.min(lookOf(host).columns(), mostColumns) : Number.POSITIVE_INFINITY;
	for (const line of text.split("\n")) for (const part of wrapped(printable(line), columns)) host.printError(part);
}

async function run([name, ...args]: readonly string[], host: Host): Promise<number> {
	if (name === undefined || isHelp(name)) {
		const words = args.filter((word) => !word.startsWith("-") && !isHelp(word) && !isVersion(word));
		if (words.length > 0) return run([...words, "--help"], host);
		host.print(helpOf(Math.min(lookOf(host).columns(), mostColumns)));
		return 0;
	}
	if (isVersion(name)) {
		host.print(version);
		return 0;
	}
	if (name.startsWith("-")) refuseOption(name, commonOptions, " The options of a command follow its name.");
	const command = commands.get(name);
	if (!command) refuseUnknownCommand(name, [...commands.keys()]);
	return command.run(args, host);
}
