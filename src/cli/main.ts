import { version } from "../../package.json";
import { captureCommand } from "./capture.ts";
import { completionOf } from "./completion.ts";
import { doctorCommand } from "./doctor.ts";
import type { Host } from "./host.ts";
import { lookOf, mostColumns, wrapped } from "./look.ts";
import { type Options, refuseUnknownCommand, table, UsageError } from "./options.ts";
import { outboxCommand } from "./outbox.ts";
import { sandboxCommand } from "./sandbox.ts";
import { tailCommand } from "./tail.ts";
import { harmless, printable } from "./text.ts";

/** A command: the words after its name are for it. */
interface Command {
	readonly summary: string;
	/** The exit status when it cannot run. */
	readonly failure: number;
	readonly options: Options;
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
	const more = "messaging-conversations <command> --help shows the options of a command.";
	return `${wrapped(usage, columns).join("\n")}

Commands:
${table(rows, columns).join("\n")}

${wrapped(more, columns).join("\n")}
`;
}

/** Runs a command line to its end, and resolves with the exit status. */
export async function main(args: readonly string[], given: Host): Promise<number> {
	const host: Host = {
		...given,
		print: (text) => given.print(harmless(text)),
		printError: (text) => printErrorOf(given, text),
	};
	try {
		return await run(args, host);
	} catch (error) {
		const [name = ""] = args;
		const command = commands.get(name);
		const called = command ? `messaging-conversations ${name}` : "messaging-conversations";
		const message = error instanceof Error ? error.message : String(error);
		host.printError(error instanceof UsageError ? `${message}\n\n${called} --help shows the options.` : message);
		return command?.failure ?? 1;
	}
}

/** Prints an error or a warning, as wide as the terminal and without what could steer it. In a pipe, a paragraph is a line. */
function printErrorOf(host: Host, text: string): void {
	const columns = host.terminal.columns ? Math.min(lookOf(host).columns(), mostColumns) : Number.POSITIVE_INFINITY;
	for (const line of text.split("\n")) for (const part of wrapped(printable(line), columns)) host.printError(part);
}

async function run([name, ...args]: readonly string[], host: Host): Promise<number> {
	if (name === undefined || ["--version", "-v", "--help", "-h"].includes(name)) {
		const columns = Math.min(lookOf(host).columns(), mostColumns);
		host.print(name === "--version" || name === "-v" ? version : helpOf(columns));
		return 0;
	}
	const command = commands.get(name);
	if (!command) refuseUnknownCommand(name, [...commands.keys()]);
	return command.run(args, host);
}
