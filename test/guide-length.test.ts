import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { groups, references } from "../docs/.vitepress/groups.ts";
import { programs } from "../scripts/generate/recipes.ts";

const docs = fileURLToPath(new URL("../docs/", import.meta.url));
const guides = Object.values(groups)
	.flat()
	.filter((page) => !references.has(page) && existsSync(`${docs}${page}.md`));

test("there are guides", () => {
	expect(guides.length).toBeGreaterThan(15);
});

test.each(guides)("the guide %s has at most 1,500 words", (page) => {
	// Nobody sees a comment, and a whole program is looked at rather than read.
	const text = readFileSync(`${docs}${page}.md`, "utf8")
		.replace(/<!--.*?-->/gs, "")
		.replace(programs, "");
	const words = text.match(/\S+/g) ?? [];
	expect(words.length).toBeLessThanOrEqual(1_500);
});
