import { defineConfig, type Options } from "tsup";
import ts from "typescript";
import { emitDeclarations, entries } from "./scripts/generate/declarations.ts";

const declared = emitDeclarations();

type Plugin = NonNullable<Options["plugins"]>[number];

/**
 * Marks the top-level constants of the built files as removable, so that a bundle with `isWindowOpen` alone holds neither
 * the phone tables nor the rules of the options. Without the mark a bundler keeps each constant whose value comes from a
 * call, because the call could have a side effect. None of the calls here has one.
 */
const removableConstants: Plugin = {
	name: "removable-constants",
	renderChunk(code) {
		if (this.format !== "esm") return;
		const marked: string[] = [];
		let end = 0;
		for (const statement of ts.createSourceFile("chunk.js", code, ts.ScriptTarget.ES2022).statements) {
			if (!ts.isVariableStatement(statement)) continue;
			for (const { initializer } of statement.declarationList.declarations) {
				if (!initializer || !isMade(initializer)) continue;
				const value = code.slice(initializer.pos, initializer.end);
				marked.push(code.slice(end, initializer.pos), ` /* @__PURE__ */ (() => (${value}))()`);
				end = initializer.end;
			}
		}
		return { code: [...marked, code.slice(end)].join("") };
	},
};

function isMade(value: ts.Expression): boolean {
	return ts.isCallExpression(value) || ts.isNewExpression(value) || ts.isObjectLiteralExpression(value);
}

// One file an entry, the runtime libraries in it: what a package costs at start is the number of its files.
const shared: Options = {
	target: "es2022",
	platform: "neutral",
	outDir: "dist",
	splitting: false,
	treeshake: true,
	plugins: [removableConstants],
	removeNodeProtocol: false,
	esbuildOptions(options) {
		options.mainFields = ["module", "main"];
	},
	// The package itself too: `./sync` uses the client of the main entry, and has no copy of it.
	external: ["msw", /^node:/, /^messaging-conversations/],
	noExternal: ["openapi-fetch", "p-retry", "is-network-error", "zod", "libphonenumber-js"],
};

export default defineConfig([
	{
		...shared,
		format: ["esm", "cjs"],
		entry: Object.fromEntries(entries.map((entry) => [entry, `src/${entry}.ts`])),
		// To bundle declarations takes a second, to make them from the sources here would take a minute.
		dts: { entry: Object.fromEntries(entries.map((entry) => [entry, `${declared}/src/${entry}.d.ts`])) },
	},
	{ ...shared, plugins: [], format: ["esm"], entry: { cli: "src/cli/cli.ts" } },
]);
