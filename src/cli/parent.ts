import { execFileSync } from "node:child_process";

const lookEveryMs = 500;

/** Calls `end` once npx, which started this process, is gone. npx runs a command through a shell, which outlives it. */
export function onParentEnd(end: () => void): void {
	if (process.env.npm_command !== "exec" || process.platform === "win32") return;
	const ancestors = [process.ppid, parentOf(process.ppid)].filter((pid) => pid > 1);
	setInterval(() => {
		if (!ancestors.every(isAlive)) end();
	}, lookEveryMs).unref();
}

function parentOf(pid: number): number {
	try {
		return Number(execFileSync("ps", ["-o", "ppid=", "-p", String(pid)], { encoding: "utf8" }));
	} catch {
		return 0; // a machine without ps
	}
}

function isAlive(pid: number): boolean {
	try {
		return process.kill(pid, 0);
	} catch (error) {
		return error instanceof Error && "code" in error && error.code === "EPERM";
	}
}
