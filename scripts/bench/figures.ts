import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";

/** One table of the benchmark, as contributing/performance.json holds it. */
export interface Figures {
	/** Part of the plot's file name. */
	id: string;
	title: string;
	/** The medians by column and name. The first column is plotted. */
	columns: Record<string, Record<string, number>>;
	run: Run;
}

/** Where and when a table was measured. */
export interface Run {
	/** Such as `2026-11-22`. */
	date: string;
	/** Such as `Node v20.20.0`. */
	node: string;
	machine: string;
	rounds: number;
	/** What was measured: a version or a commit. */
	version: string;
}

type Table = Omit<Figures, "run">;

/** Notes a table for {@link saveFigures}. A part of the benchmark runs in a process of its own, so it goes through a file. */
export function noteFigures(table: Table): void {
	const { BENCH_FIGURES } = process.env;
	if (BENCH_FIGURES) appendFileSync(BENCH_FIGURES, `${JSON.stringify(table)}\n`);
}

/** Puts the noted tables into contributing/performance.json. Tables that were not measured this time stay with their own run. */
export function saveFigures(notes: string, target: string, run: Run): void {
	if (!existsSync(notes)) return;
	const measured: Table[] = readFileSync(notes, "utf8")
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line));
	const known: Figures[] = existsSync(target) ? JSON.parse(readFileSync(target, "utf8")) : [];
	const all = new Map(known.map((each) => [each.id, each]));
	for (const table of measured) all.set(table.id, { ...table, run });
	writeFileSync(target, `${JSON.stringify([...all.values()], null, "\t")}\n`);
}
