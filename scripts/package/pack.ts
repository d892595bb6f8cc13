import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deadLinks, type Tree, withPackedLinks } from "./links.ts";
import { type Manifest, ownerOf } from "./owner.ts";

/**
 * Packs what was built, with links that work in the tarball and on npm. Works on a copy.
 *
 * @param manifest - fields of package.json to use in place of its own
 * @returns the path of the tarball
 * @throws if a page has a link that leads nowhere
 */
export function pack(root: string, destination: string, manifest: Partial<Manifest> = {}): string {
	const read = (path: string): string => readFileSync(join(root, path), "utf8");
	const fields: Manifest = { ...JSON.parse(read("package.json")), ...manifest };
	const files = npmPack<{ files: { path: string }[] }>(root, "--dry-run").files.map(({ path }) => path);
	const packed = new Set(files);
	const tree: Tree = {
		read,
		isPacked: (path) => packed.has(path),
		kindOf: (path) => {
			const place = join(root, path);
			if (!existsSync(place)) return undefined;
			return statSync(place).isDirectory() ? "folder" : "file";
		},
	};
	const pages = files
		.filter((path) => path.endsWith(".md") || path === "llms.txt")
		.map((path) => ({ path, text: read(path) }));
	const dead = pages.flatMap((page) => deadLinks(page, tree));
	if (dead.length > 0) throw new Error(`Links that lead nowhere:\n${dead.join("\n")}`);

	const copy = mkdtempSync(join(tmpdir(), "pack-"));
	try {
		for (const path of files) cpSync(join(root, path), join(copy, path));
		writeFileSync(join(copy, "package.json"), `${JSON.stringify(fields, null, "\t")}\n`);
		const owner = ownerOf(fields);
		for (const page of pages) writeFileSync(join(copy, page.path), withPackedLinks(page, owner, fields.version, tree));
		return join(destination, npmPack<{ filename: string }>(copy, "--pack-destination", destination).filename);
	} finally {
		rmSync(copy, { recursive: true });
	}
}

function npmPack<Result>(folder: string, ...options: string[]): Result {
	const args = ["pack", "--json", "--ignore-scripts", ...options];
	const [result] = JSON.parse(
		execFileSync("npm", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
	);
	return result;
}
