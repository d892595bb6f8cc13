import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { createMarkdownRenderer, type SiteConfig } from "vitepress";

const file = fileURLToPath(new URL("../../playground/programs.ts", import.meta.url));

/** A step of a story as it is shown. */
export interface Shown {
	readonly by: string;
	/** Its highlighted code. */
	readonly html: string;
}

declare const data: Readonly<Record<string, readonly Shown[]>>;

export { data };

/** The code of each step: the lines between the braces of its `run` in programs.ts. */
export default {
	watch: [file],
	async load(): Promise<typeof data> {
		const {
			srcDir,
			markdown: options,
			site,
			logger,
		} = (globalThis as { VITEPRESS_CONFIG?: SiteConfig }).VITEPRESS_CONFIG ?? {};
		if (!srcDir || !site) throw new Error("VitePress has changed how it passes its configuration to data loaders.");
		const markdown = await createMarkdownRenderer(srcDir, options, site.base, logger);
		const shown: Record<string, Shown[]> = {};
		for (const { story, by, code } of stepsIn(readFileSync(file, "utf8"))) {
			const html = markdown.render(`\`\`\`ts\n${code}\n\`\`\``);
			(shown[story] ??= []).push({ by, html });
		}
		return shown;
	},
};

function stepsIn(text: string): { story: string; by: string; code: string }[] {
	const source = ts.createSourceFile("programs.ts", text, ts.ScriptTarget.ES2022, true);
	const steps: { story: string; by: string; code: string }[] = [];
	const visit = (node: ts.Node, story: string): void => {
		if (ts.isPropertyAssignment(node) && ts.isArrayLiteralExpression(node.initializer)) story = node.name.getText();
		if (ts.isMethodDeclaration(node) && node.body) {
			const by = /by: "(\w+)"/.exec(node.parent.getText())?.[1] ?? "";
			steps.push({ story, by, code: linesOf(node.body.getText()) });
		}
		ts.forEachChild(node, (child) => visit(child, story));
	};
	visit(source, "");
	return steps;
}

/** The lines of a block without its braces and its indentation, which is that of its first line. */
function linesOf(block: string): string {
	const lines = block.split("\n").slice(1, -1);
	const [indent = ""] = /^\t*/.exec(lines[0] ?? "") ?? [];
	return lines.map((line) => line.replace(indent, "").replaceAll("\t", "  ")).join("\n");
}
