import {
	closeSync,
	existsSync,
	fsyncSync,
	lstatSync,
	openSync,
	realpathSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import type { Sandbox, SandboxEvent } from "../sandbox/index.ts";
import { insideOf } from "../sandbox/inside.ts";
import { codeOf, createLock, InUse } from "./lock.ts";
import { readTextFile } from "./text.ts";

const shortestPauseMs = 100;
/** The part of the time that writing may take: a big world takes long, and nothing is answered meanwhile. */
const pausesPerWrite = 20;

/** The file of `--state`, which no other run can open until it is released. */
export interface State {
	/** Reads the world of an earlier run. Returns false if there is none. A file that cannot be read is left alone. */
	read(sandbox: Sandbox): boolean;
	/**
	 * Writes the world at once, and again soon after each change. Returns what writes it a last time. The file is always
	 * whole, whenever the process is killed: it is written beside, and then renamed.
	 */
	keep(sandbox: Sandbox, onProblem: (message: string) => void): () => void;
	/** Lets another run open the file. */
	release(): void;
}

/** Opens the file of `--state`. Throws if another run has it open. */
export function openState(given: string): State {
	const file = fileBehind(given); // a link stays a link
	const besideOf = (id: string): string => `${file}.${id}.new`;
	// A run that was killed may have left half a world beside.
	const lock = createLock(file, (id) => rmSync(besideOf(id), { force: true }));
	const beside = besideOf(lock.id);
	const write = (sandbox: Sandbox): void => {
		lock.take(); // someone may have deleted the lock, and started another run
		try {
			writeThrough(beside, JSON.stringify(insideOf(sandbox).world()));
			renameSync(beside, file);
		} catch (error) {
			rmSync(beside, { force: true });
			throw error;
		}
	};
	try {
		lock.take();
	} catch (error) {
		throw new Error(problemOf(given, error));
	}
	return {
		read: (sandbox) => existsSync(file) && readInto(sandbox, file, given),
		keep: (sandbox, onProblem) => keep(sandbox, () => write(sandbox), onProblem, given),
		release: lock.release,
	};
}

function fileBehind(given: string): string {
	if (existsSync(given)) return realpathSync(given);
	const isLink = lstatSync(given, { throwIfNoEntry: false })?.isSymbolicLink();
	if (isLink)
		throw new Error(`--state ${given} is a link to a file that does not exist. Create that file, or remove the link.`);
	return given;
}

function readInto(sandbox: Sandbox, file: string, given: string): boolean {
	try {
		const text = readTextFile(file);
		if (text.trim() === "") return false; // as mktemp makes it
		// The requests and the events of the earlier run are not in the file.
		sandbox.restore({ world: JSON.parse(text), journal: { entries: [], violations: [], replaced: [] } });
		return true;
	} catch (error) {
		const message = error instanceof Error ? error.message : String(error);
		const reason = error instanceof SyntaxError ? "it is not JSON" : message.replace(/^world: /, "").replace(/\.$/, "");
		throw new Error(
			`--state ${given} holds no world that can be read: ${reason}. It was left as it is. Move it elsewhere to start anew.`,
		);
	}
}

function keep(sandbox: Sandbox, write: () => void, onProblem: (message: string) => void, given: string): () => void {
	let timer: NodeJS.Timeout | undefined;
	let pauseMs = shortestPauseMs;
	let reported = "";
	const writeInTime = (): void => {
		const begun = performance.now();
		write();
		pauseMs = Math.max(shortestPauseMs, pausesPerWrite * (performance.now() - begun));
	};
	const tryToWrite = (): void => {
		clearTimeout(timer);
		timer = undefined;
		try {
			writeInTime();
			reported = "";
		} catch (error) {
			const problem = problemOf(given, error);
			if (problem !== reported) onProblem(`${problem} The sandbox keeps running without it.`);
			reported = problem;
		}
	};
	try {
		writeInTime();
	} catch (error) {
		throw new Error(problemOf(given, error));
	}
	const stop = sandbox.subscribe((event) => {
		if (!isTick(event)) timer ??= setTimeout(tryToWrite, pauseMs);
	});
	return () => {
		stop();
		tryToWrite();
	};
}

/** A step of a clock that runs. It alone changes nothing that a new start with --follow would not change too. */
const isTick = (event: SandboxEvent): boolean =>
	event.type === "clock.moved" && Date.parse(event.to) - Date.parse(event.from) < 1_000;

/** Writes a new file, and waits until it is on the disk. */
function writeThrough(path: string, text: string): void {
	const descriptor = openSync(path, "wx", 0o600);
	try {
		writeFileSync(descriptor, text);
		fsyncSync(descriptor);
	} finally {
		closeSync(descriptor);
	}
}

function problemOf(file: string, error: unknown): string {
	if (error instanceof InUse) return `--state ${file} ${error.message}`;
	const code = codeOf(error);
	const reason = code === undefined ? "" : ` (${code})`;
	return `--state ${file} cannot be written${reason}. It must be a file in a folder that this user may write to.`;
}
