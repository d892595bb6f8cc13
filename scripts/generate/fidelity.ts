import { readdir, readFile } from "node:fs/promises";
import { rules } from "../../src/sandbox/world/rules.ts";

const root = new URL("../..", import.meta.url);
const tests = new URL("test/sandbox/", root);
/**
 * docs/fidelity.md: each rule of the service that the sandbox follows, its source, and the test that proves it, taken from
 * the titles of the tests. The open questions come from the TSDoc of `policy`, and the rules that the log names from src/sandbox/world/rules.ts.
 */
export async function fidelity(): Promise<Record<string, string>> {
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
		throw new Error(`Rules without a test: ${unproven.join(", ")}. Tests of no rule: ${unknown.join(", ")}.`);
	}

	const rows = Object.entries(sources).map(([rule, source]) => {
		const [proof] = proofs.get(rule) ?? [];
		return `| ${rule} | ${source} | ${(proof?.sentence ?? "").replaceAll("|", "\\|")} | ${proof?.file.replace(".test.ts", "")} |`;
	});
	const policy = await readFile(new URL("src/sandbox/world/policy.ts", root), "utf8");
	const questions = [
		...policy.matchAll(/\/\/ (R\d+)\s+\/\*\*\s+(?:\*\s+)?([\s\S]*?)@default (\S+)\s+\*\/\s+readonly (\w+):/g),
	].map(
		([, rule, text = "", preset, name]) =>
			`| ${rule} | ${text.replaceAll(/\s*\n\s*\*\s*/g, " ").trim()} | \`${name}\` | \`${preset}\` |`,
	);

	return {
		"docs/fidelity.md": `# How faithful the sandbox is

The sandbox follows the service's documentation, and a test checks each of its ${rows.length} rules. Where the documentation is silent, it had to choose. Run what matters to you under both answers to each open question:

\`\`\`ts
import { createSandbox } from "messaging-conversations/sandbox";

for (const retryAfterDrop of ["resend", "replay"] as const)
	createSandbox({ policy: { retryAfterDrop } });
\`\`\`

On the command line this is \`--policy retryAfterDrop=replay\`.

## Open questions

The documentation of the service does not say which of the two holds.

| rule | question | policy | default |
|---|---|---|---|
${questions.join("\n")}

## Rules by number

<a id="all-rules"></a>The log of the sandbox, \`decision\` in \`sandbox.requests()\` and \`sandbox.violations()\` name these rules:

| rule | what it says |
|---|---|
${Object.entries(rules)
	.map(([rule, words]) => `| <a id="${rule.toLowerCase()}"></a>${rule} | ${words} |`)
	.join("\n")}
`,
		"contributing/sandbox-rules.md": `# The rules of the sandbox

This page is written by \`npm run generate\`. Each rule has a test, which runs in process, through msw and over HTTP. Every response in these tests is checked against the contract. In a clone, \`npx vitest run -t "R119 "\` runs the test of rule R119. The column _source_ says where the rule comes from:

- _stated_: the service's documentation says it.
- _inferred_: it follows from the documentation.
- _chosen_: the documentation is silent, and the sandbox had to choose.

| rule | source | what the sandbox does | test |
|---|---|---|---|
${rows.join("\n")}
`,
	};
}
