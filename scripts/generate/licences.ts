import { readdir, readFile } from "node:fs/promises";
import { inlined } from "./inlined.ts";

const root = new URL("../..", import.meta.url);

/**
 * THIRD-PARTY.md: the licences, notices and authors of the packages that the build inlines, at the versions of the lock
 * file.
 */
export async function licences(): Promise<Record<string, string>> {
	const sections = await Promise.all((await inlined()).map(section));
	const text = `# Third-party software

The build of this package contains parts of the packages below, at these versions.

${sections.join("\n")}`;
	return { "THIRD-PARTY.md": text };
}

async function section(name: string): Promise<string> {
	const folder = new URL(`node_modules/${name}/`, root);
	const { version, license } = JSON.parse(await readFile(new URL("package.json", folder), "utf8"));
	const files = await Promise.all((await legal(folder)).map((file) => readFile(new URL(file, folder), "utf8")));
	const texts = [...new Set(files.map((file) => file.trim()))];
	const blocks = (texts.length > 0 ? texts : [license]).map((each) => `\`\`\`\n${each}\n\`\`\`\n`);
	return `## ${name} ${version}\n\n${license}\n\n${blocks.join("\n")}`;
}

/** The licence and notice files of a package. What a package has taken over has a licence, and authors, of its own. */
async function legal(folder: URL): Promise<string[]> {
	const files = await readdir(folder, { recursive: true });
	return files.filter((file) => /(^|\/)(licen[cs]e|notice|copying|authors)[^/]*$/i.test(file)).sort();
}
