// Code that is wider than the site's column is broken in the middle of a line.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const guides = readdirSync(`${root}docs`, { recursive: true, encoding: "utf8" }).filter(
	(file) => file.endsWith(".md") && !/(^|\/)(node_modules|reference|public)\//.test(file),
);
const pages = guides.map((file) => `docs/${file}`);

/** The lines of a page's code that are longer than 80 columns. A tab takes two. */
function wideLines(text: string): string[] {
	const blocks = [...text.matchAll(/^ *```[^\n]*\n(.*?)^ *```/gms)].map(([, code = ""]) => code);
	return blocks.flatMap((code) => code.split("\n")).filter((line) => line.replaceAll("\t", "  ").length > 80);
}

test("the search finds a line of 81 columns", () => {
	const fits = `\t${"x".repeat(78)}`;
	const fence = "```";
	expect(wideLines(`${fence}ts\n${fits}\n${fits}x\n${fence}\n${fits}x\n`)).toEqual([`${fits}x`]);
});

test.each(pages)("the code of %s fits into 80 columns", (page) => {
	expect(wideLines(readFileSync(root + page, "utf8"))).toEqual([]);
});
