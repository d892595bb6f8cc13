import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
 * The declarations that users get, kept in memory: each source file of the package as its `.d.ts`, which is what a build
 * would bundle. `createProgram` compiles further files against them.
 */
export function declarations() {
	const files = emit();

	/** A program over these files and what they import, which is declarations alone. `more` are files by path and text. */
	function createProgram(
		roots: readonly string[],
		{ more = {}, options = {} }: { more?: Readonly<Record<string, string>>; options?: ts.CompilerOptions } = {},
	): ts.Program {
		const texts = new Map([...files, ...Object.entries(more)]);
		const all = { ...compilerOptions, ...options, paths: pathsTo((entry) => `${root}src/${entry}.d.ts`) };
		const host = ts.createCompilerHost(all);
		const { getSourceFile, fileExists, readFile } = host;
		// Where a source has a declaration, only the declaration is there.
		const isHidden = (path: string): boolean => texts.has(path.replace(/\.ts$/, ".d.ts"));
		host.fileExists = (path) => texts.has(path) || (!isHidden(path) && fileExists(path));
		host.readFile = (path) => texts.get(path) ?? readFile(path);
		host.getSourceFile = (path, version, ...rest) => {
			const text = texts.get(path);
			return text === undefined ? getSourceFile(path, version, ...rest) : ts.createSourceFile(path, text, version);
		};
		return ts.createProgram(roots, all, host);
	}
	return {
		createProgram,
		pathOf: (entry: string) => `${root}src/${entry}.d.ts`,
		/** Types of libphonenumber-js are ours too, because the build inlines them. */
		isOwn: (path: string) => files.has(path) || path.includes("/node_modules/libphonenumber-js/"),
	};
}

/** By the native compiler, which takes a second. The texts are by the paths that they would have beside their sources. */
function emit(): Map<string, string> {
	const folder = mkdtempSync(join(root, "node_modules/.declarations-"));
	try {
		const config = {
			extends: "../../tsconfig.json",
			compilerOptions: {
				noEmit: false,
				declaration: true,
				emitDeclarationOnly: true,
				rootDir: "../..",
				outDir: "out",
			},
			files: entries.map((entry) => `../../src/${entry}.ts`),
			include: [],
		};
		writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
		execFileSync(process.execPath, [join(root, "node_modules/typescript-7/bin/tsc"), "-p", folder], {
			stdio: "inherit",
		});
		const out = join(folder, "out");
		const paths = readdirSync(out, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".d.ts"));
		return new Map(paths.map((path) => [join(root, path), readFileSync(join(out, path), "utf8")]));
	} finally {
		rmSync(folder, { recursive: true });
	}
}

function pathsTo(fileOf: (entry: string) => string): Record<string, string[]> {
	return Object.fromEntries(
		entries.map((entry) => [
			entry === "index" ? packageName : `${packageName}/${entry.replace("/index", "")}`,
			[fileOf(entry)],
		]),
	);
}
