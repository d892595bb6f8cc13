import { readFile } from "node:fs/promises";
import { pauses, reasons } from "./meanings.ts";

const root = new URL("../../", import.meta.url);
const page = "docs/not-sent.md";

const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

function withTable(text: string, mark: string, heads: readonly string[], rows: readonly string[][]): string {
	const [begin, end] = [`<!-- ${mark} -->\n`, `<!-- /${mark} -->`];
	const [from, to] = [text.indexOf(begin) + begin.length, text.indexOf(end)];
	if (from < begin.length || to < from) throw new Error(`${page} has lost the marks of its ${mark}.`);
	const table = [row(heads), row(heads.map(() => "---")), ...rows.map(row)].join("\n");
	return `${text.slice(0, from)}\n${table}\n\n${text.slice(to)}`;
}

/** The tables of why a text waits or has ended, and of why texts are paused. */
export async function reasonTables(): Promise<Record<string, string>> {
	const text = await readFile(new URL(page, root), "utf8");
	const paused = Object.entries(pauses).flatMap(([name, all]) =>
		all.map(({ whose, waits, until }) => [`\`${name}\`${whose ? ` ${whose}` : ""}`, waits, until]),
	);
	const meant = Object.entries(reasons).map(([name, meaning]) => [`\`${name}\``, meaning]);
	const withReasons = withTable(text, "reasons", ["reason", "meaning"], meant);
	return { [page]: withTable(withReasons, "pauses", ["reason", "what waits", "until"], paused) };
}
