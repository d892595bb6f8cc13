/**
 * test/api/*.api.md: what package.json lets users import, and what each entry exports, as a reader of the types sees it,
 * without comments. A change of these files is a change for users. Review it, and describe it in CHANGELOG.md.
 */
import { readFileSync } from "node:fs";
import ts from "typescript";
import { declarations, entries } from "./declarations.ts";

const printer = ts.createPrinter({ removeComments: true });

/** The reports, by their paths. */
export function apiReports(): Record<string, string> {
	const compiled = declarations();
	const program = compiled.createProgram(entries.map(compiled.pathOf));
	const checker = program.getTypeChecker();
	/** What an earlier entry has reported. A later one only names it. */
	const reported = new Set<ts.Symbol>();

	return {
		"test/api/package.api.md": packageReport(),
		...Object.fromEntries(
			entries.map((entry) => [`test/api/${entry.replace("/index", "").replace("/", "-")}.api.md`, report(entry)]),
		),
	};

	function report(entry: string): string {
		const source = program.getSourceFile(compiled.pathOf(entry));
		const module = source && checker.getSymbolAtLocation(source);
		if (!module) throw new Error(`src/${entry}.ts exports nothing`);
		const exported = new Map(checker.getExportsOfModule(module).map((symbol) => [resolved(symbol), symbol.name]));
		const reached = new Set(exported.keys());
		for (const symbol of reached) for (const next of namedBy(symbol)) reached.add(next);

		const own = [...exported].map(([symbol, name]) => ({ name, text: declared(symbol) }));
		const others = [...reached]
			.filter((symbol) => !exported.has(symbol) && !reported.has(symbol))
			.map((symbol) => ({ name: symbol.name, text: declared(symbol) }));
		for (const symbol of reached) reported.add(symbol);
		return `# ${entry}

Written by \`npm run generate\`.

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

	function resolved(symbol: ts.Symbol): ts.Symbol {
		return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
	}

	/** The declarations of a symbol in this package. What comes from elsewhere is not ours to report. */
	function ownDeclarations(symbol: ts.Symbol): ts.Declaration[] {
		return (symbol.declarations ?? []).filter((declaration) => compiled.isOwn(declaration.getSourceFile().fileName));
	}

	function declared(symbol: ts.Symbol): string {
		return ownDeclarations(symbol)
			.map((declaration) => {
				const file = declaration.getSourceFile();
				const statement = ts.findAncestor(declaration, (node) => node.parent === file) ?? declaration;
				return printer.printNode(ts.EmitHint.Unspecified, statement, file).replace(/^export /, "");
			})
			.join("\n");
	}

	/** The top-level declarations of this package that a symbol's own declaration names. */
	function namedBy(symbol: ts.Symbol): ts.Symbol[] {
		const found: ts.Symbol[] = [];
		const visit = (node: ts.Node): void => {
			const target = ts.isIdentifier(node) ? checker.getSymbolAtLocation(node) : undefined;
			if (target) {
				const original = resolved(target);
				const atTop = ownDeclarations(original).some((declaration) =>
					ts.isSourceFile(
						ts.isVariableDeclaration(declaration) ? declaration.parent.parent.parent : declaration.parent,
					),
				);
				if (atTop) found.push(original);
			}
			ts.forEachChild(node, visit);
		};
		for (const declaration of ownDeclarations(symbol)) visit(declaration);
		return found;
	}
}

/** What package.json promises: where an import may go, which commands it has, and what must be there. */
function packageReport(): string {
	const { exports, bin, engines, peerDependencies } = JSON.parse(
		readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
	);
	const paths = Object.entries(exports).map(([path, target]) => {
		const conditions = typeof target === "object" ? ` (${Object.keys(target ?? {}).join(", ")})` : "";
		return `- \`${path}\`${conditions}`;
	});
	const needs = Object.entries({ ...engines, ...peerDependencies }).map(([name, range]) => `- \`${name}\` ${range}`);
	const commands = Object.keys(bin).map((name) => `- \`${name}\``);
	return `# package.json

Written by \`npm run generate\`.

## Imports

${paths.join("\n")}

## Commands

${commands.join("\n")}

## Needs

${needs.join("\n")}
`;
}

function block(parts: { name: string; text: string }[]): string {
	const sorted = [...parts].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
	return `\`\`\`ts\n${sorted.map(({ text }) => text).join("\n\n")}\n\`\`\``;
}
