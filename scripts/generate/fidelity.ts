import { readdir, readFile } from "node:fs/promises";

const root = new URL("../..", import.meta.url);
const tests = new URL("test/sandbox/", root);
/**
 * docs/fidelity.md: each rule of the service that the sandbox follows, its source, and the test that proves it, taken from
 * the titles of the tests. The open questions come from the TSDoc of `policy`.
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

Written by \`npm run generate\`.

Each rule has a test that runs in process, through msw and over HTTP, and every answer in those tests is held against the contract. _stated_: the service's documentation says it. _inferred_: it follows from what is documented. _chosen_: the documentation is silent, and the sandbox had to choose.

## Open questions

Nobody outside knows how the live service interprets these. \`createSandbox({ policy })\` switches each to the other interpretation; on the command line it is \`--policy name=value\`. Run what matters to you under both.

\`\`\`ts
import { createSandbox } from "messaging-conversations/sandbox";

for (const retryAfterDrop of ["resend", "replay"] as const) createSandbox({ policy: { retryAfterDrop } });
\`\`\`

| rule | question | policy | default |
|---|---|---|---|
${questions.join("\n")}

## All rules

| rule | source | what the sandbox does | test |
|---|---|---|---|
${rows.join("\n")}
`,
	};
}
