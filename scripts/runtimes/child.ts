import { execFile } from "node:child_process";

/** How a command ended, and what it said. */
export interface Ended {
	ok: boolean;
	stdout: string;
	/** Both streams, for a person to read. */
	output: string;
}

export interface ChildOptions {
	cwd: string;
	env?: Record<string, string>;
	/** @default 60000 */
	timeoutMs?: number;
}

/** Runs a command to its end; never rejects. */
export function child(command: string, args: readonly string[], options: ChildOptions): Promise<Ended> {
	const { cwd, env = {}, timeoutMs = 60_000 } = options;
	const settings = { cwd, env: { ...process.env, ...env }, timeout: timeoutMs, maxBuffer: 32 * 1024 * 1024 };
	return new Promise((resolve) => {
		execFile(command, [...args], { ...settings, killSignal: "SIGKILL" }, (error, stdout, stderr) => {
			const why = error?.killed ? `\ncut after ${timeoutMs} ms` : "";
			resolve({ ok: error === null, stdout, output: `${stdout}${stderr}${why}`.trim() });
		});
	});
}
