import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { groups, programs, references } from "../docs/.vitepress/groups.ts";

const docs = fileURLToPath(new URL("../docs/", import.meta.url));
const guides = Object.values(groups)
	.flat()
	.filter((page) => !references.has(page) && existsSync(`${docs}${page}.md`));

test("there are guides", () => {
	expect(guides.length).toBeGreaterThan(40);
});

test.each(guides)("the guide %s has at most 900 words", (page) => {
	// Nobody sees a comment.
	const text = readFileSync(`${docs}${page}.md`, "utf8").replace(/<!--.*?-->/gs, "");
	const words = (programs.has(page) ? text.replace(/^```.*?^```/gms, "") : text).match(/\S+/g) ?? [];
	expect(words.length).toBeLessThanOrEqual(900);
});
