/**
 * test/api/*.api.md: what package.json lets users import, and what each entry of the build exports, as a reader of the
 * types sees it, without comments. A change of it is a change for users, so it shows in the diff and fails CI until it
 * is meant, and has its line in CHANGELOG.md.
 *
 *   npm run build && npm run surface              write it
 *   npm run build && npm run surface -- --check   fail when the build differs
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { fresh } from "./fresh.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "dist");
const entries = ["index", "node", "sync/index", "outbox/index", "sandbox/index", "sandbox/msw", "sandbox/server"];

const program = ts.createProgram(
	entries.map((entry) => join(dist, `${entry}.d.ts`)),
	{
		target: ts.ScriptTarget.ES2022,
		module: ts.ModuleKind.ESNext,
		moduleResolution: ts.ModuleResolutionKind.Bundler,
		lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
		types: ["node"],
		skipLibCheck: true,
		// The entries beside the main one import it by the package's name.
		paths: { "messaging-conversations": [join(dist, "index.d.ts")] },
	},
);
const checker = program.getTypeChecker();
const printer = ts.createPrinter({ removeComments: true });
/** What an earlier entry has reported; a later one only names it. */
const told = new Set<ts.Symbol>();

await fresh("surface", {
	"test/api/package.api.md": packageReport(),
	...Object.fromEntries(
		entries.map((entry) => [`test/api/${entry.replace("/index", "").replace("/", "-")}.api.md`, report(entry)]),
	),
});

/** What package.json promises: where an import may go, what stands on the command line, and what must be there. */
function packageReport(): string {
	const { exports, bin, engines, peerDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
	const paths = Object.entries(exports).map(([path, target]) => {
		const conditions = typeof target === "object" ? ` (${Object.keys(target ?? {}).join(", ")})` : "";
		return `- \`${path}\`${conditions}`;
	});
	const needs = Object.entries({ ...engines, ...peerDependencies }).map(([name, range]) => `- \`${name}\` ${range}`);
	const commands = Object.keys(bin).map((name) => `- \`${name}\``);
	return `# package.json

Written by \`npm run surface\`.

## Imports

${paths.join("\n")}

## Commands

${commands.join("\n")}

## Needs

${needs.join("\n")}
`;
}

function report(entry: string): string {
	const source = program.getSourceFile(join(dist, `${entry}.d.ts`));
	const module = source && checker.getSymbolAtLocation(source);
	if (!module) throw new Error(`dist/${entry}.d.ts is missing, or exports nothing: npm run build`);
	const exported = new Map(checker.getExportsOfModule(module).map((symbol) => [resolved(symbol), symbol.name]));
	const reached = new Set(exported.keys());
	for (const symbol of reached) for (const next of namedBy(symbol)) reached.add(next);

	const own = [...exported].map(([symbol, name]) => ({ name, text: declared(symbol) }));
	const others = [...reached]
		.filter((symbol) => !exported.has(symbol) && !told.has(symbol))
		.map((symbol) => ({ name: symbol.name, text: declared(symbol) }));
	for (const symbol of reached) told.add(symbol);
	return `# ${entry}

Written by \`npm run surface\`.

## Names

${checker
	.getExportsOfModule(module)
	.sort((a, b) => (a.name < b.name ? -1 : 1))
	.map(named)
	.join("\n")}

## Exports

${block(own)}
${others.length > 0 ? `\n## Named by them\n\n${block(others)}\n` : ""}`;
}

/** By the name that an import uses, which may be another one than the declaration's. */
function named(symbol: ts.Symbol): string {
	const original = resolved(symbol);
	const typeOnly = symbol.declarations?.some(
		(specifier) => ts.isExportSpecifier(specifier) && (specifier.isTypeOnly || specifier.parent.parent.isTypeOnly),
	);
	const kind = !typeOnly && original.flags & ts.SymbolFlags.Value ? "value" : "type";
	return `- \`${symbol.name}\` ${kind}${original.name === symbol.name ? "" : `, declared as \`${original.name}\``}`;
}

function block(parts: { name: string; text: string }[]): string {
	const sorted = [...parts].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
	return `\`\`\`ts\n${sorted.map(({ text }) => text).join("\n\n")}\n\`\`\``;
}

function resolved(symbol: ts.Symbol): ts.Symbol {
	return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

/** The declarations of a symbol that stand in the build; what comes from elsewhere is not ours to report. */
function declarations(symbol: ts.Symbol): ts.Declaration[] {
	return (symbol.declarations ?? []).filter((declaration) => declaration.getSourceFile().fileName.startsWith(dist));
}

function declared(symbol: ts.Symbol): string {
	return declarations(symbol)
		.map((declaration) => {
			const file = declaration.getSourceFile();
			const statement = ts.findAncestor(declaration, (node) => node.parent === file) ?? declaration;
			return printer.printNode(ts.EmitHint.Unspecified, statement, file);
		})
		.join("\n");
}

/** The top-level declarations of the build that a symbol's own declaration names. */
function namedBy(symbol: ts.Symbol): ts.Symbol[] {
	const found: ts.Symbol[] = [];
	const visit = (node: ts.Node): void => {
		const target = ts.isIdentifier(node) ? checker.getSymbolAtLocation(node) : undefined;
		if (target) {
			const original = resolved(target);
			const atTop = declarations(original).some((declaration) =>
				ts.isSourceFile(ts.isVariableDeclaration(declaration) ? declaration.parent.parent.parent : declaration.parent),
			);
			if (atTop) found.push(original);
		}
		ts.forEachChild(node, visit);
	};
	for (const declaration of declarations(symbol)) visit(declaration);
	return found;
}
