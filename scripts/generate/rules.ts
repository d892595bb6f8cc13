import { readFile } from "node:fs/promises";
import { waiting } from "../../src/outbox/gate/waiting.ts";

const root = new URL("../../", import.meta.url);
const page = "contributing/outbox.md";

/** The table of the rules of a text that waits. */
export async function rules(): Promise<Record<string, string>> {
	const text = await readFile(new URL(page, root), "utf8");
	const [begin, end] = ["<!-- rules -->\n", "<!-- /rules -->"];
	const [from, to] = [text.indexOf(begin) + begin.length, text.indexOf(end)];
	if (from < begin.length || to < from) throw new Error(`${page} has lost the marks of its rules.`);
	const rows = waiting.map(({ name, when, needs = "" }) => `| \`${name}\` | ${when} | ${needs && `\`${needs}\``} |`);
	const table = ["| rule | when | needs |", "| --- | --- | --- |", ...rows].join("\n");
	return { [page]: `${text.slice(0, from)}\n${table}\n\n${text.slice(to)}` };
}
