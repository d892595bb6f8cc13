/**
 * THIRD-PARTY.md: the licences of the packages that the build inlines, at the versions of the lock file.
 *
 *   npm run licenses              write it
 *   npm run licenses -- --check   fail when it is stale
 */
import { readdir, readFile, writeFile } from "node:fs/promises";

/** All that runs at a user's: nothing else may get into the build. */
const inlined = [
	"openapi-fetch",
	"openapi-typescript-helpers",
	"p-retry",
	"is-network-error",
	"zod",
	"libphonenumber-js",
];

const root = new URL("..", import.meta.url);
const sections = await Promise.all(inlined.map(section));
const text = `# Third-party software

The build of this package contains parts of the packages below, at these versions.

${sections.join("\n")}`;

const target = new URL("THIRD-PARTY.md", root);
const old = await readFile(target, "utf8").catch(() => "");
if (old !== text && process.argv.includes("--check")) {
	console.error("THIRD-PARTY.md is stale. Run `npm run licenses`.");
	process.exitCode = 1;
} else if (old !== text) await writeFile(target, text);

async function section(name: string): Promise<string> {
	const folder = new URL(`node_modules/${name}/`, root);
	const { version, license } = JSON.parse(await readFile(new URL("package.json", folder), "utf8"));
	const file = (await readdir(folder)).find((entry) => /^licen[cs]e(\.|$)/i.test(entry));
	const licence = file ? (await readFile(new URL(file, folder), "utf8")).trim() : license;
	return `## ${name} ${version}\n\n${license}\n\n\`\`\`\n${licence}\n\`\`\`\n`;
}
