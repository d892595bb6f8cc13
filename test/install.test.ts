import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { isInstalled } from "../scripts/install.ts";

interface Package {
	version: string;
	integrity?: string;
	optional?: boolean;
	dev?: boolean;
}

const express: Package = { version: "5.3.0", integrity: "sha512-a" };
const windows: Package = { version: "1.0.0", integrity: "sha512-b", optional: true };
const jest: Package = { version: "30.0.0", dev: true };
const wanted = { "node_modules/express": express, "node_modules/esbuild-windows": windows };
const there = { "node_modules/express": express };

/** A folder whose lock file has some packages, and what npm noted of its install; undefined for none. */
function folderWith(
	packages: Record<string, Package>,
	installed: Record<string, Package> | string | undefined,
): string {
	const folder = mkdtempSync(join(tmpdir(), "install-"));
	onTestFinished(() => rmSync(folder, { recursive: true }));
	const root = { "": { name: "apps", dependencies: { express: "^5.0.0" } } };
	writeFileSync(join(folder, "package-lock.json"), JSON.stringify({ packages: { ...root, ...packages } }));
	if (installed === undefined) return folder;
	mkdirSync(join(folder, "node_modules"));
	const text = typeof installed === "string" ? installed : JSON.stringify({ packages: installed });
	writeFileSync(join(folder, "node_modules/.package-lock.json"), text);
	return folder;
}

test.each([
	["what the lock file says, without what is for other platforms", wanted, there, true],
	["with a package for this platform", wanted, wanted, true],
	["nothing", wanted, undefined, false],
	["an install that was cut off", wanted, '{"packages": {', false],
	["a package too few", { ...wanted, "node_modules/pg": { version: "8.0.0" } }, there, false],
	["a package too many", wanted, { ...there, "node_modules/pg": { version: "8.0.0" } }, false],
	["another version", wanted, { "node_modules/express": { ...express, version: "5.2.0" } }, false],
	["another content", wanted, { "node_modules/express": { ...express, integrity: "sha512-c" } }, false],
])("the demo knows whether its packages are installed: %s", (_name, packages, installed, expected) => {
	expect(isInstalled(folderWith(packages, installed))).toBe(expected);
});

test("an install without devDependencies is enough for those who omit them", () => {
	const withJest = { ...wanted, "node_modules/jest": jest };
	const folder = folderWith(withJest, there);
	expect([isInstalled(folder), isInstalled(folder, true)]).toEqual([false, true]);
	expect(isInstalled(folderWith(withJest, { ...there, "node_modules/jest": jest }), true)).toBe(true);
	expect(isInstalled(folderWith({ ...withJest, "node_modules/pg": { version: "8.0.0" } }, there), true)).toBe(false);
});
