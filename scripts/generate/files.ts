import { mkdir, readFile, writeFile } from "node:fs/promises";

const root = new URL("../..", import.meta.url);

/** The paths of the files whose text on disk differs from the given one. */
export async function stale(files: Readonly<Record<string, string>>): Promise<string[]> {
	const paths: string[] = [];
	for (const [path, text] of Object.entries(files)) {
		const old = await readFile(new URL(path, root), "utf8").catch(() => undefined);
		if (old !== text) paths.push(path);
	}
	return paths;
}

export async function write(path: string, text: string): Promise<void> {
	await mkdir(new URL(".", new URL(path, root)), { recursive: true });
	await writeFile(new URL(path, root), text);
}
