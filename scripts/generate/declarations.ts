import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("../..", import.meta.url));
const packageName = "messaging-conversations";

/** The entries of the package, by their files below src. */
export const entries = [
	"index",
	"node",
	"sync/index",
	"outbox/index",
	"sandbox/index",
	"sandbox/msw",
	"sandbox/server",
] as const;

const compilerOptions: ts.CompilerOptions = {
	target: ts.ScriptTarget.ES2022,
	module: ts.ModuleKind.ESNext,
	moduleResolution: ts.ModuleResolutionKind.Bundler,
	lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
	types: ["node"],
	strict: true,
	exactOptionalPropertyTypes: true,
	allowImportingTsExtensions: true,
	resolveJsonModule: true,
	skipLibCheck: true,
	noEmit: true,
};

/**
 * The declarations that users get: each source file of the package as its `.d.ts`, which the build bundles.
 * `createProgram` compiles further files against them.
 */
export function declarations() {
	const folder = emitDeclarations();
	const pathOf = (entry: string): string => join(folder, `src/${entry}.d.ts`);

	/** A program over these files and what they import, which is declarations alone. `more` are files by path and text. */
	function createProgram(
		roots: readonly string[],
		{ more = {}, options = {} }: { more?: Readonly<Record<string, string>>; options?: ts.CompilerOptions } = {},
	): ts.Program {
		const all = { ...compilerOptions, ...options, paths: pathsTo(pathOf) };
		const host = ts.createCompilerHost(all);
		const { getSourceFile, fileExists, readFile } = host;
		host.fileExists = (path) => path in more || fileExists(path);
		host.readFile = (path) => more[path] ?? readFile(path);
		host.getSourceFile = (path, version, ...rest) => {
			const text = more[path];
			return text === undefined ? getSourceFile(path, version, ...rest) : ts.createSourceFile(path, text, version);
		};
		return ts.createProgram(roots, all, host);
	}
	return {
		createProgram,
		pathOf,
		/** Types of libphonenumber-js are ours too, because the build inlines them. */
		isOwn: (path: string) => path.startsWith(folder) || path.includes("/node_modules/libphonenumber-js/"),
	};
}

/**
 * Writes the declarations with the native compiler, which takes two seconds.
 *
 * @returns their folder, which has `src` and `generated` in it. It is removed when the process ends
 */
export function emitDeclarations(): string {
	const folder = mkdtempSync(join(root, ".declarations-"));
	process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
	const out = join(folder, "out");
	const config = {
		extends: "../tsconfig.json",
		compilerOptions: { noEmit: false, declaration: true, emitDeclarationOnly: true, rootDir: "..", outDir: out },
		files: entries.map((entry) => `../src/${entry}.ts`),
		include: [],
	};
	writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
	execFileSync(process.execPath, [join(root, "node_modules/typescript-7/bin/tsc"), "-p", folder], { stdio: "inherit" });
	// It is a declaration already, which the compiler does not copy.
	const metadata = "generated/phone-metadata.d.ts";
	copyFileSync(join(root, metadata), join(out, metadata));
	for (const name of readdirSync(out, { recursive: true, encoding: "utf8" })) {
		if (!name.endsWith(".d.ts")) continue;
		const path = join(out, name);
		// The sources name each other by `.ts`, which only a compiler of sources finds.
		const text = readFileSync(path, "utf8").replace(/((?:from|import\() ?"\.[^"]*)\.ts"/g, '$1.js"');
		writeFileSync(path, text);
	}
	return out;
}

function pathsTo(fileOf: (entry: string) => string): Record<string, string[]> {
	return Object.fromEntries(
		entries.map((entry) => [
			entry === "index" ? packageName : `${packageName}/${entry.replace("/index", "")}`,
			[fileOf(entry)],
		]),
	);
}
