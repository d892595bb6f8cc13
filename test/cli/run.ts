import type { Host } from "../../src/cli/host.ts";
import { main } from "../../src/cli/main.ts";
import type { Run } from "./process.ts";

/** A command that runs. */
export interface Running {
	/** What it has printed so far. */
	readonly out: () => string;
	readonly err: () => string;
	/** Stops it, as Ctrl-C does. */
	readonly stop: () => void;
	/** Lets nobody read its output any more, as the end of `head` does. */
	readonly closeOutput: () => void;
	/** Resolves with the exit status. */
	readonly status: Promise<number>;
}

/** Starts the command in this process, because a process of its own would cost each test a start of Node. */
export function start(args: readonly string[], env: Record<string, string> = {}, fetch = globalThis.fetch): Running {
	let [out, err] = ["", ""];
	const [stopping, closing] = [new AbortController(), new AbortController()];
	const host: Host = {
		env,
		fetch,
		terminal: { isTTY: false, columns: 0 },
		print: (line) => void (out += `${line}\n`),
		printError: (line) => void (err += `${line}\n`),
		onOutputClosed: (act) => closing.signal.addEventListener("abort", act),
		onStop: (act) => stopping.signal.addEventListener("abort", act),
	};
	return {
		out: () => out,
		err: () => err,
		stop: () => stopping.abort(),
		closeOutput: () => closing.abort(),
		status: main(args, host),
	};
}

/** Runs the command in this process. */
export const run: Run = async (args, env) => {
	const { status, out, err } = start(args, env);
	return { code: await status, out: out(), err: err() };
};
