import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as client from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { handlers } from "messaging-conversations/sandbox/msw";
import { setupServer } from "msw/node";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { operationTable } from "../generated/operations.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const text = readFileSync(join(root, "llms.txt"), "utf8");
const folder = mkdtempSync(join(root, "test", ".samples-"));
const files = [...text.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = ""], index) => {
	const file = join(folder, `llms-${index + 1}.ts`);
	writeFileSync(file, `${code}\nexport {};\n`);
	return file;
});

const sandbox = createSandbox();
sandbox.agency().contact("+32470123456", { name: "Peeters" }).writes("Is the flat still free?");
const service = setupServer(...handlers(sandbox));

beforeEach(() => {
	service.listen({ onUnhandledRequest: "bypass" });
	vi.stubEnv("MESSAGING_BASE_URL", sandbox.connection.baseUrl);
	vi.stubEnv("MESSAGING_API_KEY", sandbox.connection.apiKey);
	vi.spyOn(console, "log").mockImplementation(() => {});
});
afterEach(() => {
	service.close();
	vi.unstubAllEnvs();
	vi.restoreAllMocks();
});
afterAll(() => rmSync(folder, { recursive: true }));

test("the samples of llms.txt compile", () => {
	const config = join(folder, "tsconfig.json");
	writeFileSync(config, JSON.stringify({ extends: join(root, "tsconfig.json"), include: ["*.ts"], exclude: [] }));
	const tsc = join(root, "node_modules/typescript/bin/tsc");
	expect(spawnSync(process.execPath, [tsc, "--noEmit", "-p", config], { encoding: "utf8" }).stdout).toBe("");
	expect(files).toHaveLength(3);
}, 120_000);

test.each(files)("a sample of llms.txt runs: %s", async (file) => {
	await import(pathToFileURL(file).href);
	expect(sandbox.violations()).toEqual([]);
});

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
