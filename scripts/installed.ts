import { readFileSync } from "node:fs";
import { join } from "node:path";

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
