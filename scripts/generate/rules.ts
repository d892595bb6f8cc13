import { readFile } from "node:fs/promises";
import { waiting } from "../../src/outbox/gate/waiting.ts";
import { beside } from "../../src/outbox/waits-for.ts";

const root = new URL("../../", import.meta.url);

const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
const tableOf = (heads: readonly string[], rows: readonly string[][]): string =>
	[row(heads), row(heads.map(() => "---")), ...rows.map(row)].join("\n");

/** A page with the table between its marks. */
async function withTable(page: string, table: string): Promise<[string, string]> {
	const text = await readFile(new URL(page, root), "utf8");
	const [begin, end] = ["<!-- rules -->\n", "<!-- /rules -->"];
	const [from, to] = [text.indexOf(begin) + begin.length, text.indexOf(end)];
	if (from < begin.length || to < from) throw new Error(`${page} has lost the marks of its rules.`);
	return [page, `${text.slice(0, from)}\n${table}\n\n${text.slice(to)}`];
}

/** The tables of the rules of a text that waits: for contributors, and for users who ask what it waits for. */
export async function rules(): Promise<Record<string, string>> {
	const all = waiting.map(({ name, when, needs = "" }) => [`\`${name}\``, when, needs && `\`${needs}\``]);
	// Nobody is told of a text that goes, and a text that was put off is told of by the rule that did it.
	const told = waiting.filter(({ name }) => name !== "send" && name !== "put_off");
	const kinds = [...told.map(({ name, when }) => [name, when] as const), ...Object.entries(beside)];
	return Object.fromEntries([
		await withTable("contributing/outbox.md", tableOf(["rule", "when", "needs"], all)),
		await withTable(
			"docs/outbox-states.md",
			tableOf(
				["kind", "when"],
				kinds.map(([name, when]) => [`\`${name}\``, when]),
			),
		),
	]);
}
