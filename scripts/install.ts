/**
 * Installs the packages of some folders, unless they are there as the lock file says.
 * `tsx scripts/install.ts examples/apps test/page`
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

interface Locked {
	readonly version?: string;
	readonly integrity?: string;
	/** For other platforms, perhaps. */
	readonly optional?: boolean;
}

/**
 * Whether the folder's `node_modules` is what `npm ci` would make. npm writes at the end of an install what it installed.
 */
export function isInstalled(folder: string): boolean {
	const wanted = packagesIn(join(folder, "package-lock.json"));
	const there = packagesIn(join(folder, "node_modules/.package-lock.json"));
	if (!wanted || !there) return false;
	delete wanted[""]; // the folder itself
	const isMissing = ([path, { optional }]: [string, Locked]): boolean => !optional && !there[path];
	const isOther = ([path, { version, integrity }]: [string, Locked]): boolean =>
		wanted[path]?.version !== version || wanted[path]?.integrity !== integrity;
	return !Object.entries(wanted).some(isMissing) && !Object.entries(there).some(isOther);
}

function packagesIn(file: string): Record<string, Locked> | undefined {
	try {
		return JSON.parse(readFileSync(file, "utf8")).packages;
	} catch {
		return undefined;
	}
}

/** Installs a folder's packages as its lock file says. Returns whether that succeeded. */
export function install(folder: string): boolean {
	const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
		cwd: folder,
		stdio: "inherit",
		shell: process.platform === "win32", // npm is a script there
	});
	return status === 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
	for (const folder of process.argv.slice(2)) if (!isInstalled(folder) && !install(folder)) process.exit(1);
