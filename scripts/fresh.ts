import { mkdir, readFile, writeFile } from "node:fs/promises";

const root = new URL("..", import.meta.url);

/**
 * Writes what a script has made: texts by their paths in the repository. With `--check` it writes nothing and fails where
 * a file says something else.
 */
export async function fresh(script: string, files: Readonly<Record<string, string>>): Promise<void> {
	const stale: string[] = [];
	for (const [path, text] of Object.entries(files)) {
		const old = await readFile(new URL(path, root), "utf8").catch(() => undefined);
		if (old !== text) stale.push(path);
	}
	if (stale.length === 0) return console.log(`${script}: all is fresh`);
	if (process.argv.includes("--check")) {
		console.error(`${stale.join(", ")}: stale. If the change is meant: \`npm run ${script}\`.`);
		process.exitCode = 1;
		return;
	}
	for (const path of stale) {
		await mkdir(new URL(".", new URL(path, root)), { recursive: true });
		await writeFile(new URL(path, root), files[path] ?? "");
	}
	console.log(`${script}: wrote ${stale.join(", ")}`);
}
