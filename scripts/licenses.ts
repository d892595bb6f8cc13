/**
 * THIRD-PARTY.md: the licences of the packages that the build inlines, at the versions of the lock file.
 *
 *   npm run licenses              write it
 *   npm run licenses -- --check   fail when it is stale
 */
import { readdir, readFile } from "node:fs/promises";
import { fresh } from "./fresh.ts";
import { inlined } from "./inlined.ts";

const root = new URL("..", import.meta.url);
const sections = await Promise.all((await inlined()).map(section));
const text = `# Third-party software

The build of this package contains parts of the packages below, at these versions.

${sections.join("\n")}`;

await fresh("licenses", { "THIRD-PARTY.md": text });

async function section(name: string): Promise<string> {
	const folder = new URL(`node_modules/${name}/`, root);
	const { version, license } = JSON.parse(await readFile(new URL("package.json", folder), "utf8"));
	const file = (await readdir(folder)).find((entry) => /^licen[cs]e(\.|$)/i.test(entry));
	const licence = file ? (await readFile(new URL(file, folder), "utf8")).trim() : license;
	return `## ${name} ${version}\n\n${license}\n\n\`\`\`\n${licence}\n\`\`\`\n`;
}
