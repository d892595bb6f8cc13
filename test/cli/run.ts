import type { Host } from "../../src/cli/host.ts";
import { main } from "../../src/cli/main.ts";
import type { Run } from "./process.ts";

/** The actions of `outbox`, in the order of its help. */
export const outboxActions = [
	"health",
	"list",
	"explain",
	"report",
	"suspend",
	"resume",
	"resolve",
	"restored",
	"opted-out",
	"export",
	"import",
];

/** A command that runs. */
export interface Running {
	/** What it has printed so far. */
	readonly out: () => string;
	readonly err: () => string;
	/** Stops it, as Ctrl-C does. */
	readonly stop: () => void;
	/** Presses a key, if the command reads keys. */
	readonly press: (key: string) => void;
	/** The addresses that it has opened in the browser. */
	readonly opened: readonly string[];
	/** Closes the reader of its output, as the end of `head` does. */
	readonly closeOutput: () => void;
	/** Resolves with the exit status. */
	readonly status: Promise<number>;
}

/** The terminal in which a command runs. */
export interface Terminal {
	readonly columns: number;
}

/**
 * Starts the command in this process, because a process of its own would cost each test a start of Node. Without a terminal
 * its output is as in a pipe, and no key can be pressed.
 */
export function start(
	args: readonly string[],
	env: Record<string, string> = {},
	fetch = globalThis.fetch,
	terminal?: Terminal,
	cwd = process.cwd(),
): Running {
	let [out, err] = ["", ""];
	const [stopping, closing] = [new AbortController(), new AbortController()];
	const opened: string[] = [];
	const readers = new Set<(key: string) => void>();
	const host: Host = {
		variable: (name) => env[name],
		cwd,
		fetch,
		terminal: { isTTY: terminal !== undefined, columns: terminal?.columns ?? 0 },
		print: (line) => void (out += `${line}\n`),
		printError: (line) => void (err += `${line}\n`),
		onOutputClosed: (act) => closing.signal.addEventListener("abort", act),
		onStop: (act) => stopping.signal.addEventListener("abort", act),
		onKeys(act) {
			if (!terminal) return undefined;
			readers.add(act);
			return () => void readers.delete(act);
		},
		openInBrowser: (url) => void opened.push(url),
	};
	return {
		out: () => out,
		err: () => err,
		stop: () => stopping.abort(),
		press(key) {
			for (const read of readers) read(key);
		},
		opened,
		closeOutput: () => closing.abort(),
		status: main(args, host),
	};
}

/** Runs the command in this process. */
export const run: Run = async (args, env) => {
	const { status, out, err } = start(args, env);
	return { code: await status, out: out(), err: err() };
};
