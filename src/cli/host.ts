import { spawn } from "node:child_process";
import { onKeys } from "./keys.ts";
import { onParentEnd } from "./parent.ts";

/** What a command uses of the process that it runs in. A test passes its own, and runs a command without a process. */
export interface Host {
	/** Returns an environment variable. A function, because an error reporter shows the objects in local variables. */
	readonly variable: (name: string) => string | undefined;
	/** The folder in which it was started. */
	readonly cwd: string;
	readonly terminal: Pick<NodeJS.WriteStream, "isTTY" | "columns">;
	readonly fetch: typeof fetch;
	/** Prints a line on stdout. */
	readonly print: (line: string) => void;
	/** Prints a line on stderr. */
	readonly printError: (line: string) => void;
	/** Calls `act` once stdout has no reader any more, for example because `head` has ended. */
	readonly onOutputClosed: (act: () => void) => void;
	/** Calls `act` when the command must stop: at Ctrl-C, and when the npx that started it ends. */
	readonly onStop: (act: () => void) => void;
	/** Calls `act` with each key that is pressed. Returns what ends that; undefined where no key can be pressed. */
	readonly onKeys: (act: (key: string) => void) => (() => void) | undefined;
	/** Opens an address in the user's browser. It does nothing where there is none. */
	readonly openInBrowser: (url: string) => void;
}

/** The process itself. */
export const processHost: Host = {
	variable: (name) => process.env[name],
	cwd: process.cwd(),
	terminal: process.stdout,
	fetch: (input, init) => globalThis.fetch(input, init),
	print: (line) => console.log(line),
	printError: (line) => console.error(line),
	onOutputClosed: (act) => void process.stdout.on("error", act),
	onStop(act) {
		for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, act);
		onParentEnd(act);
	},
	onKeys,
	openInBrowser(url) {
		const [command = "", ...args] =
			process.platform === "darwin"
				? ["open"]
				: process.platform === "win32"
					? ["cmd", "/c", "start", ""]
					: ["xdg-open"];
		const child = spawn(command, [...args, url], { stdio: "ignore", detached: true });
		child.on("error", () => {});
		child.unref();
	},
};
