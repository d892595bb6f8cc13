import { noteFigures } from "./figures.ts";

export interface Spread {
	min: number;
	median: number;
	max: number;
}

export function spread(values: readonly number[]): Spread {
	const sorted = [...values].sort((a, b) => a - b);
	const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))] ?? Number.NaN;
	return { min: at(0), median: at(0.5), max: at(1) };
}

/** What one block took. */
export interface Block {
	ms: number;
	cpuMs: number;
}

export async function timed(work: () => Promise<unknown>): Promise<Block> {
	const cpu = process.cpuUsage();
	const began = performance.now();
	await work();
	const ms = performance.now() - began;
	const { user, system } = process.cpuUsage(cpu);
	return { ms, cpuMs: (user + system) / 1000 };
}

/**
 * Runs the blocks in turn, round after round. The machine's speed drifts, so only what ran at the same time compares.
 * @returns the blocks of each name, one for each round. The first fifth warms up and is left out
 */
export async function interleaved(
	blocks: readonly { name: string; work: () => Promise<Block> }[],
	rounds: number,
): Promise<Map<string, Block[]>> {
	const taken = new Map<string, Block[]>(blocks.map(({ name }) => [name, []]));
	const warmUp = Math.max(1, Math.ceil(rounds / 5));
	for (let round = -warmUp; round < rounds; round++) {
		for (const { name, work } of blocks) {
			const block = await work();
			if (round >= 0) taken.get(name)?.push(block);
		}
	}
	return taken;
}

/** The ratios, round by round, to the contender named. */
export function ratios(
	taken: ReadonlyMap<string, readonly Block[]>,
	to: string,
	measure: keyof Block = "ms",
): Map<string, Spread> {
	const base = taken.get(to) ?? [];
	return new Map(
		[...taken].map(([name, blocks]) => [
			name,
			spread(blocks.map((block, round) => block[measure] / (base[round]?.[measure] ?? Number.NaN))),
		]),
	);
}

export const figure = ({ min, median, max }: Spread, digits = 2): string =>
	`${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;

/**
 * One table: a line a name, a column a measure.
 *
 * @param figures which columns contributing/performance.json gets, by the heads that they have there
 */
export function print(
	title: string,
	columns: Record<string, ReadonlyMap<string, string>>,
	figures?: { id: string; title: string; columns: Record<string, string> },
): void {
	if (figures) noteFigures({ ...figures, columns: mediansOf(columns, figures.columns) });
	const names = [...new Set(Object.values(columns).flatMap((column) => [...column.keys()]))];
	console.log(`\n${title}\n`);
	console.log(`| | ${Object.keys(columns).join(" | ")} |`);
	console.log(
		`|---|${Object.keys(columns)
			.map(() => "---:")
			.join("|")}|`,
	);
	for (const name of names) {
		const cells = Object.values(columns).map((column) => column.get(name) ?? "");
		console.log(`| ${name} | ${cells.join(" | ")} |`);
	}
}

/** The number that each cell begins with, for the columns that are kept. */
function mediansOf(
	columns: Record<string, ReadonlyMap<string, string>>,
	kept: Record<string, string>,
): Record<string, Record<string, number>> {
	return Object.fromEntries(
		Object.entries(kept).map(([head, column]) => [
			head,
			Object.fromEntries([...(columns[column] ?? [])].map(([name, cell]) => [name, Number.parseFloat(cell)])),
		]),
	);
}

export const shown = (spreads: ReadonlyMap<string, Spread>, digits?: number): Map<string, string> =>
	new Map([...spreads].map(([name, each]) => [name, figure(each, digits)]));
