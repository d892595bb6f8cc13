import { readFile } from "node:fs/promises";
import type { Route } from "../../src/sandbox/routes/route.ts";
import { routes } from "../../src/sandbox/routes/table.ts";

const page = "docs/sandbox-routes.md";

/** The page of controls with its tables of routes: below each heading the first table is of the routes of that name. */
export async function routeTables(): Promise<Record<string, string>> {
	let text = await readFile(new URL(`../../${page}`, import.meta.url), "utf8");
	for (const [heading, group] of Object.entries(routes)) {
		const place = new RegExp(`(?<=^## ${heading}\n\n)(\\|.*\n)+`, "m");
		if (!place.test(text)) throw new Error(`${page} has no table below the heading "${heading}".`);
		text = text.replace(place, () => table(group));
	}
	return { [page]: text };
}

function table(group: readonly Route[]): string {
	const rows = group.map(({ method, path, body, answers }) => `| \`${method} ${path}\` | ${body} | ${answers} |\n`);
	return `| Route | Body | Answer |\n| --- | --- | --- |\n${rows.join("")}`;
}
