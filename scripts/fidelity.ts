/**
 * The table of docs/fidelity.md: each rule of the service that the sandbox follows, its source, and the test that proves
 * it, taken from the names of the tests.
 *
 *   npm run fidelity              write it
 *   npm run fidelity -- --check   fail when it is stale, or a rule has no test
 */
import { readdir, readFile } from "node:fs/promises";
import { fresh } from "./fresh.ts";

const root = new URL("..", import.meta.url);
const tests = new URL("test/sandbox/", root);
const sources: Record<string, string> = JSON.parse(await readFile(new URL("rules.json", tests), "utf8"));

const proofs = new Map<string, { sentence: string; file: string }[]>();
for (const file of (await readdir(tests)).filter((name) => name.endsWith(".test.ts")).sort()) {
	const text = await readFile(new URL(file, tests), "utf8");
	for (const [, quote = "", name = ""] of text.matchAll(
		/\btest(?:\.each\([\s\S]*?\))?\(\s*(["`])((?:R\d+[ ,])+.*?)\1,/g,
	)) {
		if (quote === "`" && name.includes("${")) continue;
		const [ids = ""] = name.match(/^(?:R\d+[ ,]+)+/) ?? [];
		for (const rule of ids.match(/R\d+/g) ?? []) {
			const known = proofs.get(rule) ?? [];
			proofs.set(rule, [...known, { sentence: name.slice(ids.length), file }]);
		}
	}
}

const unproven = Object.keys(sources).filter((rule) => !proofs.has(rule));
const unknown = [...proofs.keys()].filter((rule) => !(rule in sources));
if (unproven.length || unknown.length) {
	console.error(`Rules without a test: ${unproven.join(", ")}. Tests of no rule: ${unknown.join(", ")}.`);
	process.exitCode = 1;
}

const rows = Object.entries(sources).map(([rule, source]) => {
	const [proof] = proofs.get(rule) ?? [];
	return `| ${rule} | ${source} | ${(proof?.sentence ?? "").replaceAll("|", "\\|")} | ${proof?.file.replace(".test.ts", "")} |`;
});
const table = `| rule | source | what the sandbox does | test |\n|---|---|---|---|\n${rows.join("\n")}\n`;

const old = await readFile(new URL("docs/fidelity.md", root), "utf8");
const [begin, end] = ["<!-- fidelity -->\n", "<!-- /fidelity -->"];
const [from, to] = [old.indexOf(begin) + begin.length, old.indexOf(end)];
if (from < begin.length || to < from) throw new Error("docs/fidelity.md has lost the marks of its table.");
await fresh("fidelity", { "docs/fidelity.md": `${old.slice(0, from)}\n${table}\n${old.slice(to)}` });
