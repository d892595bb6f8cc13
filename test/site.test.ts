import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { anchorOf } from "../docs/.vitepress/anchor.ts";
import { deadLinks } from "../scripts/site-links.ts";

/** A built site of these files. */
function siteOf(files: Readonly<Record<string, string>>): string {
	const folder = mkdtempSync(join(tmpdir(), "site-"));
	onTestFinished(() => rmSync(folder, { recursive: true }));
	for (const [file, text] of Object.entries(files)) {
		mkdirSync(join(folder, dirname(file)), { recursive: true });
		writeFileSync(join(folder, file), text);
	}
	return folder;
}

test("links to pages, headings, files and other sites are fine", async () => {
	const folder = siteOf({
		"index.html": `<link rel="stylesheet" href="/docs/style.css"><a href="/docs/guides/send.html#what-it-costs">x</a>
			<a href="./guides/send">x</a> <a href="https://example.com/">x</a> <a href="mailto:a@example.com">x</a>`,
		"guides/send.html": `<h2 id="what-it-costs"></h2><a href="#what-it-costs">x</a><a href="../">x</a><img alt="" src="data:,x">`,
		"style.css": "",
	});
	expect(await deadLinks(folder, "/docs/")).toEqual([]);
});

test("a link to a missing page, heading or picture is found, and so is what comes from another site", async () => {
	const folder = siteOf({
		"index.html": `<a class="x" href="/gone.html">x</a><a href="a.html#gone">x</a><img src="/gone.svg" alt="">`,
		"a.html": `<script type="module" src="https://cdn.example.com/x.js"></script><a href="#gone">x</a><a href="/">x</a>`,
		"folder/b.html": `<a href="a.html">x</a>`,
	});
	expect((await deadLinks(folder)).sort()).toEqual([
		"a.html links to #gone, where there is no such heading",
		"a.html loads https://cdn.example.com/x.js from another site",
		"folder/b.html links to a.html, which does not exist",
		"index.html links to /gone.html, which does not exist",
		"index.html links to /gone.svg, which does not exist",
		"index.html links to a.html#gone, where there is no such heading",
	]);
	// Below another path than the site's, nothing is found.
	expect(await deadLinks(siteOf({ "index.html": `<a href="/">x</a>` }), "/docs/")).toHaveLength(1);
});

test.each([
	["1. On the sandbox", "1-on-the-sandbox"],
	["What `send` does, and why", "what-send-does-and-why"],
	["`retry`", "retry"],
	["A text – held", "a-text--held"],
	["snake_case", "snake_case"],
])("a heading has the anchor that it has on GitHub: %s", (heading, anchor) => {
	expect(anchorOf(heading)).toBe(anchor);
});
