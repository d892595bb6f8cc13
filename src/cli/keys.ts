import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { isatty } from "node:tty";

/** Keys that a terminal turns into signals by itself, unless a program reads single keys. */
const signals = new Map([
	["\u0003", "SIGINT"],
	["\u001a", "SIGTSTP"],
	["\u001c", "SIGQUIT"],
] as const);

/**
 * Calls `act` with each key that is pressed. Returns what ends that; undefined where no key can be pressed: without a
 * terminal, and in the background, where a process that touches its terminal is stopped.
 */
export function onKeys(act: (key: string) => void): (() => void) | undefined {
	// Without a terminal for its output, the keys may be for another program: `… | less`.
	if (!isatty(0) || !isatty(1) || !isForeground()) return undefined;
	const { stdin } = process;
	const read = (keys: Buffer): void => {
		for (const key of keys.toString()) {
			const signal = [...signals].find(([each]) => each === key)?.[1];
			if (signal === undefined) act(key);
			else send(signal);
		}
	};
	const send = (signal: NodeJS.Signals): void => {
		stdin.setRawMode(false);
		// Windows has no groups, and ends a process whatever the signal.
		if (process.platform === "win32") process.emit(signal, signal);
		else process.kill(0, signal); // everybody in the foreground, as the terminal does
	};
	/** After Ctrl-Z, `fg` or `bg` continues a process. */
	const resume = (): void => {
		if (!isForeground()) return void stdin.pause();
		stdin.setRawMode(true);
		stdin.resume();
	};
	stdin.on("data", read);
	stdin.on("error", () => {}); // the window was closed, and a signal says so too
	process.on("SIGCONT", resume);
	resume();
	return () => {
		process.off("SIGCONT", resume);
		stdin.off("data", read);
		stdin.setRawMode(false);
		stdin.pause();
	};
}

/** Whether the terminal gives its keys to this process: whether its process group is the one in the foreground. */
function isForeground(): boolean {
	if (process.platform === "win32") return true;
	try {
		const [group, foreground] = groups();
		return group !== undefined && group === foreground;
	} catch {
		return false;
	}
}

/** The process group of this process, and the one in the foreground of its terminal. */
function groups(): (string | undefined)[] {
	if (process.platform !== "linux")
		return execFileSync("ps", ["-o", "pgid=,tpgid=", "-p", String(process.pid)], { encoding: "utf8" })
			.trim()
			.split(/\s+/);
	// "pid (name) state ppid pgrp session tty_nr tpgid …", and a name can hold anything
	const fields = readFileSync("/proc/self/stat", "utf8")
		.replace(/^.*\) /s, "")
		.split(" ");
	return [fields[2], fields[5]];
}
