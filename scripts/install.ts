/**
 * Installs the packages of some folders, unless they are there as the lock file says.
 * `tsx scripts/install.ts examples/apps test/page`; with `--omit=dev` without their devDependencies, except in the long run.
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
	/** For devDependencies alone. */
	readonly dev?: boolean;
}

/**
 * Whether the folder's `node_modules` is what `npm ci` would make. npm writes at the end of an install what it installed.
 * With `omitsDev` it may be what `npm ci --omit=dev` would make.
 */
export function isInstalled(folder: string, omitsDev = false): boolean {
	const wanted = packagesIn(join(folder, "package-lock.json"));
	const there = packagesIn(join(folder, "node_modules/.package-lock.json"));
	if (!wanted || !there) return false;
	delete wanted[""]; // the folder itself
	const isMissing = ([path, { optional, dev }]: [string, Locked]): boolean =>
		!optional && !(dev && omitsDev) && !there[path];
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
export function install(folder: string, omitsDev = false): boolean {
	const options = ["--no-audit", "--no-fund", "--loglevel=error", ...(omitsDev ? ["--omit=dev"] : [])];
	const { status } = spawnSync("npm", ["ci", ...options], {
		cwd: folder,
		stdio: "inherit",
		shell: process.platform === "win32", // npm is a script there
	});
	return status === 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const omitsDev = process.argv.includes("--omit=dev") && process.env.TEST_LONG !== "1";
	for (const folder of process.argv.slice(2).filter((name) => name !== "--omit=dev"))
		if (!isInstalled(folder, omitsDev) && !install(folder, omitsDev)) process.exit(1);
}
