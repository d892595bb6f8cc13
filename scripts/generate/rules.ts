import { readFile } from "node:fs/promises";
import type { Rule } from "../../src/outbox/gate/gate.ts";
import { held } from "../../src/outbox/gate/held.ts";
import { sending } from "../../src/outbox/gate/sending.ts";
import { waiting } from "../../src/outbox/gate/waiting.ts";
import { beside } from "../../src/outbox/waits-for.ts";

const root = new URL("../../", import.meta.url);

const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
const tableOf = (heads: readonly string[], rows: readonly string[][]): string =>
	[row(heads), row(heads.map(() => "---")), ...rows.map(row)].join("\n");

/** A page with its tables, each between its marks. */
async function withTables(page: string, tables: Readonly<Record<string, string>>): Promise<[string, string]> {
	let text = await readFile(new URL(page, root), "utf8");
	for (const [name, table] of Object.entries(tables)) {
		const [begin, end] = [`<!-- ${name} -->\n`, `<!-- /${name} -->`];
		const [from, to] = [text.indexOf(begin) + begin.length, text.indexOf(end)];
		if (from < begin.length || to < from) throw new Error(`${page} has lost the marks of its ${name}.`);
		text = `${text.slice(0, from)}\n${table}\n\n${text.slice(to)}`;
	}
	return [page, text];
}

const tableOfRules = (table: readonly Rule[]): string =>
	tableOf(
		["rule", "when", "needs"],
		table.map(({ name, when, needs = "" }) => [`\`${name}\``, when, needs && `\`${needs}\``]),
	);

/** The tables of the rules: all of them for contributors, and those of a text that waits for users who ask what it waits for. */
export async function rules(): Promise<Record<string, string>> {
	// Nobody is told of a text that goes, and a text that was put off is told of by the rule that did it.
	const told = waiting.filter(({ name }) => name !== "send" && name !== "put_off");
	const kinds = [...told.map(({ name, when }) => [name, when] as const), ...Object.entries(beside)];
	const forUsers = tableOf(
		["kind", "when"],
		kinds.map(([name, when]) => [`\`${name}\``, when]),
	);
	return Object.fromEntries([
		await withTables("contributing/outbox.md", {
			"rules of waiting": tableOfRules(waiting),
			"rules of sending": tableOfRules(sending),
			"rules of held": tableOfRules(held),
		}),
		await withTables("docs/not-sent.md", { rules: forUsers }),
	]);
}
