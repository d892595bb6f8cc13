import { onParentEnd } from "./parent.ts";

/** What a command uses of the process that it runs in. A test passes its own, and runs a command without a process. */
export interface Host {
	readonly env: Readonly<NodeJS.Dict<string>>;
	readonly terminal: Pick<NodeJS.WriteStream, "isTTY" | "columns">;
	readonly fetch: typeof fetch;
	/** Prints a line on stdout. */
	readonly print: (line: string) => void;
	/** Prints a line on stderr. */
	readonly printError: (line: string) => void;
	/** Calls `act` if nobody reads stdout any more, for example because `head` has ended. */
	readonly onOutputClosed: (act: () => void) => void;
	/** Calls `act` when the command must stop: at Ctrl-C, and when the npx that started it ends. */
	readonly onStop: (act: () => void) => void;
}

/** The process itself. */
export const processHost: Host = {
	env: process.env,
	terminal: process.stdout,
	fetch: (input, init) => globalThis.fetch(input, init),
	print: (line) => console.log(line),
	printError: (line) => console.error(line),
	onOutputClosed: (act) => void process.stdout.on("error", act),
	onStop(act) {
		for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, act);
		onParentEnd(act);
	},
};
