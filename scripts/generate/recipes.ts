import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = "docs/recipes";

/**
 * The pages of `docs/recipes` with the code that they show. Each block begins with a comment that names a file of
 * `examples/recipes`, or of `examples`, and has the text of that file, which the tests run.
 */
export function recipes(): Record<string, string> {
	const names = readdirSync(`${root}${folder}`).filter((name) => name.endsWith(".md"));
	return Object.fromEntries(names.map((name) => [`${folder}/${name}`, withCode(`${folder}/${name}`)]));
}

function withCode(page: string): string {
	const text = readFileSync(`${root}${page}`, "utf8");
	return text.replace(/^(```(?!sh\n)\w+\n)(.*?)^```$/gms, (_block, start: string, shown: string) => {
		const [, comment = "", file = ""] = /^((?:\/\/|#|--) )(\S+)\n/.exec(shown) ?? [];
		const found = ["examples/recipes", "examples"].find((place) => file && existsSync(`${root}${place}/${file}`));
		if (!found) throw new Error(`${page}: a block does not begin with the name of a file in examples/recipes`);
		return `${start}${comment}${file}\n${readFileSync(`${root}${found}/${file}`, "utf8")}\`\`\``;
	});
}
