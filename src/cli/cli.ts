#!/usr/bin/env node
import { version } from "../../package.json";
import { doctorCommand } from "./doctor.ts";
import { refuseUnknownCommand, UsageError } from "./options.ts";
import { sandboxCommand } from "./sandbox.ts";
import { tailCommand } from "./tail.ts";

/** A command: the words after its name are for it. */
interface Command {
	readonly summary: string;
	/** The exit status when it cannot run. */
	readonly failure: number;
	run(args: string[]): Promise<void>;
}

const commands: ReadonlyMap<string, Command> = new Map([
	["sandbox", sandboxCommand],
	["doctor", doctorCommand],
	["tail", tailCommand],
]);

const help = `Usage: messaging-conversations ${[...commands.keys()].join(" | ")} [options]

Commands:
${[...commands].map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`).join("\n")}

messaging-conversations <command> --help shows the options of a command.
`;

try {
	await main(process.argv.slice(2));
} catch (error) {
	const name = process.argv[2] ?? "";
	const command = commands.get(name);
	const called = command ? `messaging-conversations ${name}` : "messaging-conversations";
	const message = error instanceof Error ? error.message : String(error);
	console.error(error instanceof UsageError ? `${message}\n\n${called} --help shows the options.` : message);
	process.exitCode = command?.failure ?? 1;
}

async function main([name, ...args]: string[]): Promise<void> {
	if (name === "--version" || name === "-v") return console.log(version);
	if (name === undefined || name === "--help" || name === "-h") return console.log(help);
	const command = commands.get(name);
	if (!command) refuseUnknownCommand(name, [...commands.keys()]);
	await command.run(args);
}
