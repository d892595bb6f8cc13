import type { Ended } from "./child.ts";

/** One line of the table. */
export interface Row {
	runtime: string;
	form: string;
	result: "ok" | "failed" | "not run";
	/** What the command said, or why there was none. */
	note: string;
}

/** A cell of the table, before its trial has run. */
export interface Trial {
	/** `npx tsx scripts/runtimes/run.ts gc` runs the trials of this group alone. */
	group: string;
	runtime: string;
	form: string;
	/** Undefined when all is well, else what is wrong. */
	run: () => Promise<string | undefined>;
	/** Part of the short run, which every change must pass. */
	short?: boolean;
	/** Why it cannot be tried here. */
	missing?: string | undefined;
}

/** The lines that every run of the exercise prints, in this order. */
export const steps: readonly string[] = [
	"me",
	"list, all pages",
	"lookup",
	"get",
	"send now",
	"messages, all pages",
	"send queued",
	"errors: instanceof, outcome",
	"retry: after a 500, after a reset",
	"abort",
	"timeout",
	"sync: poll, checkpoint, watch, reconcile",
	"outbox: opt-outs are known",
	"every option",
	"every export",
].map((step) => `ok ${step}`);

/** What is wrong with a run of the exercise, if anything: it says the same everywhere, nothing less and nothing more. */
export function wrongIn(ended: Ended, entryPoints: readonly string[] = [""]): string | undefined {
	const expected = entryPoints.flatMap((entryPoint) =>
		steps.map((step) => (entryPoint ? `${step} (${entryPoint})` : step)),
	);
	const said = ended.stdout.split("\n").filter((line) => line.startsWith("ok "));
	if (ended.ok && said.join("\n") === expected.join("\n")) return undefined;
	return ended.output || "it said nothing";
}

export async function rowOf({ runtime, form, run, missing }: Trial): Promise<Row> {
	if (missing !== undefined) return { runtime, form, result: "not run", note: missing };
	try {
		const note = await run();
		return { runtime, form, result: note === undefined ? "ok" : "failed", note: note ?? "" };
	} catch (error) {
		return { runtime, form, result: "failed", note: error instanceof Error ? String(error.stack) : String(error) };
	}
}
