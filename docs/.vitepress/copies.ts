import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const examples = readdirSync(`${root}examples`).filter((file) => file.endsWith(".ts"));

/** Pages of the site that show a file from outside docs/, and that file. The guides link to it. */
export const copies: Readonly<Record<string, string>> = {
	"reference/changelog.md": "CHANGELOG.md",
	"reference/security.md": "SECURITY.md",
	...Object.fromEntries(examples.map((file) => [`reference/examples/${file.slice(0, -3)}.md`, `examples/${file}`])),
};

/** Writes these pages. */
export function writeCopies(): void {
	for (const [page, file] of Object.entries(copies)) {
		const text = readFileSync(join(root, file), "utf8");
		const path = join(root, "docs", page);
		mkdirSync(dirname(path), { recursive: true });
		writeFileSync(path, file.endsWith(".md") ? text : `# ${file}\n\n\`\`\`ts\n${text}\`\`\`\n`);
	}
}
