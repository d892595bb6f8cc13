import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createSandbox } from "messaging-conversations/sandbox";
import { handlers } from "messaging-conversations/sandbox/msw";
import { setupServer } from "msw/node";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { programs } from "../scripts/generate/recipes.ts";
import { longestWaitMs } from "./patience.ts";
import { exampleSamples, pageSamples, pages, promised } from "./samples.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const samples = [...pageSamples, ...exampleSamples];

// Beside the helpers that the samples import. Vitest strips their types; `scripts/samples.ts` checks these.
const folder = mkdtempSync(join(root, "test", ".samples-"));
const runnable = samples.map(({ name, code }, index) => {
	const file = join(folder, `sample-${index + 1}.ts`);
	writeFileSync(file, `${code}\nexport {};\n`);
	return { name, code, run: () => import(pathToFileURL(file).href) };
});
type Runnable = (typeof runnable)[number];
afterAll(() => rmSync(folder, { recursive: true }));

test.each(["README.md", "llms.txt", "AGENTS.md"])("%s has samples", (page) => {
	expect(samples.some(({ name }) => name.startsWith(page))).toBe(true);
});

test("every page with code has samples or shows programs", () => {
	const withCode = pages.filter(({ text }) => text.replace(programs, "").includes("```ts\n"));
	const without = withCode.filter((page) => !samples.some(({ name }) => name.startsWith(page.name)));
	expect(without).toEqual([]);
});

test("the README's two commands are the ones that CI runs", () => {
	const readme = readFileSync(join(root, "README.md"), "utf8");
	const ci = readFileSync(join(root, ".ci/run"), "utf8");
	for (const command of ["npm ci && npm run quickstart", "npm ci && npm test"]) {
		expect(readme).toContain(`\`\`\`sh\n${command}\n\`\`\``);
		expect(ci).toContain(`\n${command}\n`);
	}
	// It comes before Install, and works only in a clone.
	expect(readme).toMatch(/^See .* in a clone of the repository.*:\n\n```sh\nnpm ci && npm run quickstart$/m);
});

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string): string =>
	heading
		.toLowerCase()
		.replace(/[^\w\s-]/g, "")
		.replaceAll(" ", "-");

/** The anchors of a page: those of its headings, and those that it sets itself. */
function anchorsOf(text: string): Set<string | undefined> {
	const prose = text.replace(/^```.*?^```/gms, "");
	const headings = [...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading));
	return new Set([...headings, ...[...prose.matchAll(/<a id="([^"]+)"/g)].map(([, id]) => id)]);
}

const linked = [
	...pages,
	...["CONTRIBUTING.md", "SECURITY.md", "contributing/security-rules.md", "contributing/sandbox-rules.md"].map(
		(name) => ({
			name,
			text: readFileSync(join(root, name), "utf8"),
		}),
	),
];
test.each(linked.map(({ name, text }) => [name, text]))("%s links to files and headings that exist", (name, text) => {
	const prose = text.replace(/^```.*?^```/gms, "");
	const links = [...prose.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
	const broken = links.filter(([, path = "", anchor]) => {
		const file = path === "" ? join(root, name) : join(root, dirname(name), path);
		// A page of the repository's site, such as its issues.
		if (relative(root, file).startsWith("../../")) return false;
		return !existsSync(file) || (anchor !== undefined && !anchorsOf(readFileSync(file, "utf8")).has(anchor));
	});
	expect(broken.map(([link]) => link)).toEqual([]);
});

test.each(readdirSync(join(root, "docs/diagrams")))("the diagram %s can be read aloud, and in the dark", (file) => {
	const svg = readFileSync(join(root, "docs/diagrams", file), "utf8");
	expect(svg).toMatch(/role="img" aria-labelledby="title desc"/);
	expect(svg).toMatch(/<title id="title">\S.+<\/title>\n\t<desc id="desc">\S.{100,}<\/desc>/);
	expect(svg).toContain("prefers-color-scheme: dark");
	expect(pages.some(({ text }) => new RegExp(`!\\[\\S.{30,}\\]\\(.*${file}\\)`).test(text))).toBe(true);
});

test("the part about Next.js shows files of the site that the long tests build", () => {
	const [, part = ""] = /^## Next\.js\n(.*?)^## /ms.exec(readFileSync(join(root, "docs/frameworks.md"), "utf8")) ?? [];
	const shown = [...part.matchAll(/^```tsx?\n\/\/ (\S+)\n(.*?)^```/gms)];
	for (const [, file = "", code] of shown)
		expect(readFileSync(join(root, "scripts/next/site", file), "utf8")).toBe(code);
	expect(shown).toHaveLength(4);
});

// A sample that is itself a test runs as one.
const isTest = ({ code }: Runnable): boolean => code.includes('from "vitest"');
const titled = (fits: (sample: Runnable) => boolean) =>
	runnable.filter(fits).map((sample) => [sample.name, sample] as const);

describe.each(titled(isTest))("%s, which is a test", async (_name, { run }) => {
	await run();
});

describe("samples", () => {
	const sandbox = createSandbox();
	const service = setupServer(...handlers(sandbox));

	beforeEach(() => {
		service.listen({ onUnhandledRequest: "bypass" });
		vi.stubEnv("MESSAGING_BASE_URL", sandbox.connection.baseUrl);
		vi.stubEnv("MESSAGING_API_KEY", sandbox.connection.apiKey);
		vi.stubEnv("MESSAGING_AGENCY_ID", sandbox.agency().id);
		vi.stubEnv("MY_PHONE", "+447700900101");
		for (const level of ["log", "debug", "info"] as const) vi.spyOn(console, level).mockImplementation(() => {});
	});

	afterEach(() => {
		service.close();
		vi.unstubAllEnvs();
		vi.restoreAllMocks();
	});

	test.each(titled((sample) => !isTest(sample)))("%s runs, and prints what it says", async (_name, { code, run }) => {
		sandbox.reset();
		sandbox.agency().contact("+447700900101", { name: "Peeters" }).writes("Is the flat still free?");
		await run();
		const lines = vi.mocked(console.log).mock.calls.map((words) => words.join(" "));
		for (const line of promised(code)) {
			const [start = "", open] = line.split("…");
			const at = lines.findIndex((said) => (open === undefined ? said === start : said.startsWith(start)));
			expect(at, `${line}, among ${lines.join(" | ")}`).toBeGreaterThanOrEqual(0);
			lines.splice(0, at + 1);
		}
		expect(sandbox.violations()).toEqual([]);
	});
});

test("the quickstart runs to its end and leaves nothing running", () => {
	const reported = execFileSync(process.execPath, ["--import", "tsx", "scripts/quickstart.ts"], {
		cwd: root,
		encoding: "utf8",
		timeout: longestWaitMs,
	});
	expect(reported).toContain("250 in all");
	expect(reported).toContain("settled after 3 attempts; on Anna's phone it arrived 1 time");
	expect(reported).toContain('she accepts, and now it shows: "Would Friday suit you?"');
	expect(reported).toContain("0 violations");
});
