import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as client from "messaging-conversations";
import { expect, test } from "vitest";
import { operationTable } from "../generated/operations.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const text = readFileSync(join(root, "llms.txt"), "utf8");

test("llms.txt names every operation and every error, and links to what exists", () => {
	for (const operation of Object.keys(operationTable)) expect(text).toContain(`${operation.split(".")[1]}(`);
	for (const tag of Object.keys(client).filter((name) => /^Partner(?!Error$)/.test(name))) expect(text).toContain(tag);
	const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link = ""]) => link);
	expect(links.length).toBeGreaterThan(5);
	expect(links.filter((link) => !existsSync(join(root, link)))).toEqual([]);
});

test("the error catalogue has a chapter for every error, and none for what is no error", () => {
	const catalogue = readFileSync(join(root, "docs/errors.md"), "utf8");
	const chapters = [...catalogue.matchAll(/^### (\w+)$/gm)].map(([, tag = ""]) => tag);
	const tags = Object.keys(client).filter((name) => /^Partner(?!Error$)/.test(name));
	expect(chapters.sort()).toEqual(tags.sort());
});
