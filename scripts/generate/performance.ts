import { readFile } from "node:fs/promises";
import type { Figures } from "../bench/figures.ts";
import { withMarked } from "./marked.ts";

const root = new URL("../../", import.meta.url);

const [rowHeight, left, right, top] = [26, 210, 64, 34];
const width = 720;

const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** One bar for each name. The line is the contender that the others are compared with. */
function chart({ title, columns }: Figures): string {
	const [[column = "", values] = []] = Object.entries(columns);
	const bars = Object.entries(values ?? {});
	const most = Math.max(1, ...bars.map(([, value]) => value));
	const scale = (value: number): number => (value / most) * (width - left - right);
	const height = top + bars.length * rowHeight + 12;
	const rows = bars.map(([name, value], index) => {
		const y = top + index * rowHeight;
		const own = name.startsWith("this package") ? " own" : "";
		return [
			`<text class="name${own}" x="${left - 10}" y="${y + 16}" text-anchor="end">${escaped(name)}</text>`,
			`<rect class="bar${own}" x="${left}" y="${y + 4}" width="${scale(value).toFixed(1)}" height="16" rx="2"/>`,
			`<text class="value${own}" x="${(left + scale(value) + 8).toFixed(1)}" y="${y + 16}">${value.toFixed(2)}</text>`,
		].join("\n");
	});
	const line = (left + scale(1)).toFixed(1);
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(`${title}, ${column}`)}">
<style>
text { font: 13px system-ui, sans-serif; fill: #57606a; }
.own { font-weight: 600; }
.bar { fill: #8c959f; }
.bar.own { fill: #0969da; }
line { stroke: #8c959f; stroke-dasharray: 3 3; }
@media (prefers-color-scheme: dark) {
	text { fill: #b1bac4; }
	.bar { fill: #6e7681; }
	.bar.own { fill: #58a6ff; }
}
</style>
<text x="${left}" y="18">${escaped(`${title}: ${column}`)}</text>
<line x1="${line}" y1="${top}" x2="${line}" y2="${height - 8}"/>
${rows.join("\n")}
</svg>
`;
}

/** The plot, the table and the run of one measurement. */
function chapter({ id, title, columns, run }: Figures): string {
	const heads = Object.keys(columns);
	const names = [...new Set(Object.values(columns).flatMap((values) => Object.keys(values)))];
	const rows = names.map((name) => {
		const cells = heads.map((head) => columns[head]?.[name]?.toFixed(2) ?? "");
		return `| ${name.startsWith("this package") ? `**${name}**` : name} | ${cells.join(" | ")} |`;
	});
	return `### ${title}

![${title}](performance-${id}.svg)

| | ${heads.join(" | ")} |
| --- |${" ---: |".repeat(heads.length)}
${rows.join("\n")}

${run.date}, ${run.node}, ${run.machine}, median of ${run.rounds} rounds, ${run.version}.
`;
}

/** The plots and tables of contributing/performance.json, which `npm run bench` writes. */
export async function performance(): Promise<Record<string, string>> {
	const figures: Figures[] = JSON.parse(await readFile(new URL("contributing/performance.json", root), "utf8"));
	const page = "contributing/performance.md";
	return {
		[page]: await withMarked(page, { figures: figures.map(chapter).join("\n").trimEnd() }),
		...Object.fromEntries(figures.map((each) => [`contributing/performance-${each.id}.svg`, chart(each)])),
	};
}
