import { closeSync, existsSync, fsyncSync, openSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import type { Sandbox, SandboxEvent } from "../sandbox/index.ts";
import { readTextFile } from "./text.ts";

const shortestPauseMs = 100;
/** The part of the time that writing may take: a big world takes long, and nothing is answered meanwhile. */
const pausesPerWrite = 20;

/** Reads the world of an earlier run, if the file exists. A file that cannot be read is left alone. */
export function readState(file: string, sandbox: Sandbox): void {
	if (!existsSync(file)) return;
	try {
		sandbox.import(readTextFile(file));
	} catch (error) {
		const message = error instanceof Error ? error.message : String(error);
		const reason = message.replace(/^import:? ?/, "").replace(/\.$/, "");
		throw new Error(
			`--state ${file} holds no world that can be read: ${reason}. It was left as it is. Move it away to begin anew.`,
		);
	}
}

/**
 * Writes the world to the file at once, and again soon after each change. Returns what writes it a last time. The file is
 * always whole, whenever the process is killed: it is written beside, and then renamed.
 */
export function keepState(file: string, sandbox: Sandbox, onProblem: (message: string) => void): () => void {
	let timer: NodeJS.Timeout | undefined;
	let pauseMs = shortestPauseMs;
	let reported = "";
	const write = (): void => {
		const begun = performance.now();
		writeWhole(file, JSON.stringify(sandbox.export()));
		pauseMs = Math.max(shortestPauseMs, pausesPerWrite * (performance.now() - begun));
	};
	const tryToWrite = (): void => {
		clearTimeout(timer);
		timer = undefined;
		try {
			write();
			reported = "";
		} catch (error) {
			const problem = problemOf(file, error);
			if (problem !== reported) onProblem(`${problem} The sandbox keeps running without it.`);
			reported = problem;
		}
	};
	try {
		write();
	} catch (error) {
		throw new Error(problemOf(file, error));
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

function writeWhole(given: string, text: string): void {
	const file = existsSync(given) ? realpathSync(given) : given; // a link stays a link
	const beside = `${file}.new`;
	const descriptor = openSync(beside, "w", 0o600);
	try {
		writeFileSync(descriptor, text);
		fsyncSync(descriptor);
	} finally {
		closeSync(descriptor);
	}
	renameSync(beside, file);
}

function problemOf(file: string, error: unknown): string {
	const code = error instanceof Error && "code" in error ? ` (${error.code})` : "";
	return `--state ${file} cannot be written${code}. It must be a file in a folder that this user may write to.`;
}
