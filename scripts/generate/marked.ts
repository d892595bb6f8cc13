import { readFile } from "node:fs/promises";

const root = new URL("../../", import.meta.url);

const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

/** A table in Markdown. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
	return [row(heads), row(heads.map(() => "---")), ...rows.map(row)].join("\n");
}

/** The file with the generated text between each pair of marks, `<!-- name -->` and `<!-- /name -->`. */
export async function withMarked(file: string, parts: Readonly<Record<string, string>>): Promise<string> {
	let text = await readFile(new URL(file, root), "utf8");
	for (const [name, part] of Object.entries(parts)) {
		const [begin, end] = [`<!-- ${name} -->\n`, `<!-- /${name} -->`];
		const [from, to] = [text.indexOf(begin) + begin.length, text.indexOf(end)];
		if (from < begin.length || to < from) throw new Error(`${file} has lost the marks of ${name}.`);
		text = `${text.slice(0, from)}\n${part}\n\n${text.slice(to)}`;
	}
	return text;
}
