import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = "docs/recipes";
const places = ["examples/recipes", "examples/apps", "examples"];

/**
 * The pages of `docs/recipes`, and the guide to a whole CRM, with the code that they show. Each block begins with a comment that
 * names a file of `examples/recipes`, `examples/apps` or `examples`, and has the text of that file, which the tests run.
 */
export function recipes(): Record<string, string> {
	const names = readdirSync(`${root}${folder}`).filter((name) => name.endsWith(".md"));
	const pages = ["docs/crm.md", ...names.map((name) => `${folder}/${name}`)];
	return Object.fromEntries(pages.map((page) => [page, withCode(page)]));
}

function withCode(page: string): string {
	const text = readFileSync(`${root}${page}`, "utf8");
	return text.replace(/^(```(?!sh\n)\w+\n)(.*?)^```$/gms, (_block, start: string, shown: string) => {
		const [, comment = "", file = ""] = /^((?:\/\/|#|--) )(\S+)\n/.exec(shown) ?? [];
		const found = places.find((place) => file && existsSync(`${root}${place}/${file}`));
		if (!found) throw new Error(`${page}: a block does not begin with the name of a file in ${places.join(", ")}`);
		return `${start}${comment}${file}\n${readFileSync(`${root}${found}/${file}`, "utf8")}\`\`\``;
	});
}
