import { randomBytes } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";

/** The use of a file by one process at a time. */
export interface Lock {
	/** A name that no other run has. */
	readonly id: string;
	/** Takes the file for this run, unless it has it already. Throws `InUse` if another run has it. */
	take(): void;
	/** Lets another run take the file. */
	release(): void;
}

/** Another run has the file. Its message names that run. */
export class InUse extends Error {}

interface Owner {
	readonly id: string;
	readonly pid: number;
	readonly host: string;
}

/** The runs of this process: a process that has begun anew, as in a container, may have the number of the last one. */
const running = new Set<string>();

/**
 * Locks a file by another one beside it, `FILE.lock`, that names the process. `onStale` is called before the lock of a
 * process that has died is taken over.
 */
export function createLock(file: string, onStale: (id: string) => void): Lock {
	const path = `${file}.lock`;
	const id = randomBytes(6).toString("hex");
	const own: Owner = { id, pid: process.pid, host: hostname() };
	return {
		id,
		take() {
			for (;;) {
				try {
					writeFileSync(path, JSON.stringify(own), { flag: "wx", mode: 0o600 });
					running.add(id);
					return;
				} catch (error) {
					if (codeOf(error) !== "EEXIST") throw error;
				}
				const other = ownerIn(path);
				if (other === "gone") continue;
				if (other?.id === id) return;
				if (other === undefined || isAlive(other)) throw new InUse(inUse(path, other));
				onStale(other.id);
				rmSync(path, { force: true });
			}
		},
		release() {
			running.delete(id);
			const owner = ownerIn(path);
			if (owner !== "gone" && owner?.id === id) rmSync(path, { force: true });
		},
	};
}

/** The run that a lock names; undefined if it names none. */
function ownerIn(path: string): Owner | "gone" | undefined {
	try {
		const { id, pid, host } = JSON.parse(readFileSync(path, "utf8"));
		return /^[0-9a-f]{12}$/.test(id) && Number.isInteger(pid) && typeof host === "string"
			? { id, pid, host }
			: undefined;
	} catch (error) {
		return codeOf(error) === "ENOENT" ? "gone" : undefined;
	}
}

/** Whether the run may still use the file. Processes of another machine or container cannot be seen from here. */
function isAlive({ id, pid, host }: Owner): boolean {
	if (host !== hostname()) return true;
	if (pid === process.pid) return running.has(id);
	try {
		return process.kill(pid, 0);
	} catch (error) {
		return codeOf(error) !== "ESRCH"; // a process of another user may not be asked
	}
}

function inUse(path: string, owner: Owner | undefined): string {
	const who = owner === undefined ? "another sandbox" : `another sandbox (process ${owner.pid} on ${owner.host})`;
	return `is in use by ${who}. Stop that one, or use another file. If it does not run any more, delete ${path}.`;
}

/** The code of an error of the system, such as `ENOENT`. */
export const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);
