import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as client from "messaging-conversations";
import { expect, test } from "vitest";
import { operationTable } from "../generated/operations.ts";
import { pages } from "./samples.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (page: string): string => readFileSync(join(root, page), "utf8");
const tags = Object.keys(client).filter((name) => /^Partner(?!Error$)/.test(name));

test("llms.txt names every operation and every error, and links to what exists", () => {
	const text = read("llms.txt");
	for (const operation of Object.keys(operationTable)) expect(text).toContain(`${operation.split(".")[1]}(`);
	for (const tag of tags) expect(text).toContain(tag);
	const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link = ""]) => link);
	expect(links.length).toBeGreaterThan(5);
	expect(links.filter((link) => !existsSync(join(root, link)))).toEqual([]);
});

test("AGENTS.md has at most 100 lines, five mistakes, and links to what exists", () => {
	const text = read("AGENTS.md");
	expect(text.split("\n").length).toBeLessThanOrEqual(100);
	const [, mistakes = ""] = text.split("\n## Five mistakes that hurt people\n");
	expect((mistakes.split("\n## ")[0] ?? "").match(/^\d\. \*\*/gm)).toHaveLength(5);
	const links = [...text.matchAll(/\]\(([^)#]+)/g)].map(([, link = ""]) => link);
	expect(links.length).toBeGreaterThan(5);
	expect(links.filter((link) => !existsSync(join(root, link)))).toEqual([]);
});

/** The chapters of a page by their headings. */
function chaptersOf(page: string, level: string): Map<string, string> {
	const parts = read(page)
		.split(new RegExp(`^${level} (?=\\w)`, "m"))
		.slice(1);
	return new Map(
		parts.map((part) => {
			const [heading = "", ...lines] = part.split("\n");
			return [
				heading,
				lines
					.join("\n")
					.split(/^#{1,3} /m)[0]
					?.trim() ?? "",
			];
		}),
	);
}

test("the error catalogue has a chapter for every error, with its three points, and none for what is not an error", () => {
	const chapters = chaptersOf("docs/errors.md", "###");
	expect([...chapters.keys()].sort()).toEqual(tags.sort());
	for (const [tag, chapter] of chapters)
		for (const point of ["What happened", "A send", "What to do"])
			expect(chapter, tag).toMatch(new RegExp(`^- \\*\\*${point}\\*\\* \\S.+\\.$`, "m"));
});

test("the table of the error catalogue has a row for every error: when, and what to do", () => {
	const rows = [...read("docs/errors.md").matchAll(/^\| `(Partner\w+)` +\| (\S.+?) *\| (\S.+?) *\|$/gm)];
	expect(rows.map(([, tag]) => tag).sort()).toEqual(tags.sort());
});

test("the README has its chapters in their order, each with something to paste or to follow, in at most 150 lines", () => {
	const chapters = chaptersOf("README.md", "##");
	expect([...chapters.keys()]).toEqual([
		"Install",
		"Send what must not be lost",
		"Follow conversations",
		"Test without texting anyone",
		"Next",
		"Contributing",
	]);
	for (const [heading, chapter] of chapters) expect(chapter, heading).toMatch(/^(```|- )/m);
	expect(read("README.md").split("\n").length).toBeLessThanOrEqual(150);
	// Two screens, with a way on that one can take in.
	expect(read("README.md").match(/\]\(docs\/[\w-]+\.md\)/g)).toHaveLength(7);
});

test("llms.txt has its chapters, each with a sample or a list", () => {
	const chapters = chaptersOf("llms.txt", "##");
	const headings = ["The calls", "Rules of sends", "Durable sends", "Mirroring", "Errors", "Sandbox", "Links"];
	expect([...chapters.keys()]).toEqual(headings);
	for (const [heading, chapter] of chapters) expect(chapter, heading).toMatch(/^(```|- )/m);
});

test("no two pages derive an operationId from one record for different texts", () => {
	const records = pages.flatMap(({ text }) => [...new Set([...text.matchAll(/"(note-\d+)"/g)].map(([, id]) => id))]);
	expect(records.length).toBeGreaterThan(1);
	expect(records).toEqual([...new Set(records)]);
});
