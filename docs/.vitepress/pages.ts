import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { DefaultTheme } from "vitepress";

const docs = fileURLToPath(new URL("..", import.meta.url));

/** The pages in the order of the sidebar. Each page of this folder is in one group. A page may be named before it exists. */
const groups: Readonly<Record<string, readonly string[]>> = {
	Start: ["which-part", "first-send", "playground"],
	Read: ["reading", "window-and-queue", "sent-delivered-failed"],
	Send: ["reliability", "durable-sends", "outbox-databases", "outbox-recipes"],
	Mirror: ["mirroring", "scale"],
	Test: ["testing", "sandbox-page", "sandbox-server", "store-testing"],
	Operate: ["observability", "doctor", "key-rotation", "outbox-limits", "performance"],
	Recipes: [...pagesIn("recipes"), "nextjs"],
	Reference: [
		"options",
		"errors",
		"faults",
		"outbox-states",
		"mirroring-limits",
		"fidelity",
		"sandbox-routes",
		"doctor-checks",
		"reference/changelog",
	],
};

function pagesIn(folder: string): string[] {
	if (!existsSync(`${docs}${folder}`)) return [];
	const files = readdirSync(`${docs}${folder}`).filter((file) => file.endsWith(".md"));
	// The overview first.
	const sorted = files.sort((one, other) => Number(other === "index.md") - Number(one === "index.md"));
	return sorted.map((file) => `${folder}/${file.slice(0, -3)}`);
}

/** The sidebar. Throws if a page of this folder is in no group, because no reader would find it. */
export function sidebar(): DefaultTheme.SidebarItem[] {
	const grouped = new Set(Object.values(groups).flat());
	const lost = readdirSync(docs).filter(
		(file) => /^(?!index\.md$).*\.md$/.test(file) && !grouped.has(file.slice(0, -3)),
	);
	if (lost.length > 0) throw new Error(`Add ${lost.join(", ")} to a group in docs/.vitepress/pages.ts.`);
	return Object.entries(groups).map(([text, pages]) => ({
		text,
		items: [
			...pages.filter((page) => existsSync(`${docs}${page}.md`)).map(itemOf),
			...(text === "Reference" ? api() : []),
		],
	}));
}

const itemOf = (page: string): DefaultTheme.SidebarItem => ({ text: titleOf(page), link: `/${page}` });

/** The first heading of a page, without its marks. */
function titleOf(page: string): string {
	const [, heading] = /^# (.+)$/m.exec(readFileSync(`${docs}${page}.md`, "utf8")) ?? [];
	if (heading === undefined) throw new Error(`docs/${page}.md has no heading.`);
	return heading.replaceAll("`", "");
}

interface Navigation {
	readonly title: string;
	/** The page's file in the folder of the reference. A kind of symbol, such as "Functions", has none. */
	readonly path?: string;
	readonly children?: readonly Navigation[];
}

/** The API reference, if typedoc has written it: the entries of the package, and under each its symbols by kind. */
function api(): DefaultTheme.SidebarItem[] {
	const file = `${docs}reference/api/navigation.json`;
	if (!existsSync(file)) return [];
	const entries: Navigation[] = JSON.parse(readFileSync(file, "utf8"));
	return [{ text: "API", link: "/reference/api/", items: entries.flatMap(apiItems) }];
}

function apiItems({ title, path, children }: Navigation): DefaultTheme.SidebarItem[] {
	const page = path?.replace(/(index)?\.md$/, "");
	return [
		{
			text: title.replace("messaging-conversations/", ""),
			...(page === undefined ? {} : { link: `/reference/api/${page}` }),
			...(children ? { collapsed: true, items: children.flatMap(apiItems) } : {}),
		},
	];
}
