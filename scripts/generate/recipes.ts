import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const places = ["examples/recipes", "examples/apps", "examples", "scripts/next/site"];

/** A block of code whose first line is a comment that names a file, such as `// lambda/handler.ts`. */
export const programs = /^(```\w+\n)((?:\/\/|#|--) )(\S+\.\w+)\n(.*?)^```$/gms;

/**
 * The pages of `docs/` that show whole programs, with the programs that they show: a block of code whose first line names a file of the
 * examples has the text of that file, which tests of its own run.
 */
export function recipes(): Record<string, string> {
	const pages = readdirSync(`${root}docs`)
		.filter((file) => file.endsWith(".md"))
		.map((file) => `docs/${file}`);
	return Object.fromEntries(pages.map((page) => [page, withCode(page)]));
}

function withCode(page: string): string {
	return readFileSync(`${root}${page}`, "utf8").replace(
		programs,
		(_block, start: string, comment: string, file: string) => {
			const place = places.find((place) => existsSync(`${root}${place}/${file}`));
			if (!place) throw new Error(`${page} shows ${file}, which is in none of ${places.join(", ")}`);
			return `${start}${comment}${file}\n${readFileSync(`${root}${place}/${file}`, "utf8")}\`\`\``;
		},
	);
}
