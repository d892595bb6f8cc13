import { readdir, readFile } from "node:fs/promises";
import { inlined } from "./inlined.ts";
import { type Manifest, sbom } from "./sbom.ts";

const root = new URL("../..", import.meta.url);

/**
 * What the build inlines, at the versions of the lock file: for people as THIRD-PARTY.md, with licences, notices and
 * authors, and for tools as sbom.cdx.json.
 */
export async function licences(): Promise<Record<string, string>> {
	const names = await inlined();
	const sections = await Promise.all(names.map(section));
	const text = `# Third-party software

The build of this package contains parts of the packages below, at these versions.

${sections.join("\n")}`;
	const manifests = await Promise.all(names.map((name) => manifestIn(folderOf(name))));
	return { "THIRD-PARTY.md": text, "sbom.cdx.json": sbom(await manifestIn(root), manifests) };
}

const folderOf = (name: string): URL => new URL(`node_modules/${name}/`, root);

async function manifestIn(folder: URL): Promise<Manifest> {
	return JSON.parse(await readFile(new URL("package.json", folder), "utf8"));
}

async function section(name: string): Promise<string> {
	const folder = folderOf(name);
	const { version, license } = await manifestIn(folder);
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
