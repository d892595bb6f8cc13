import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { DefaultTheme } from "vitepress";
import { groups, outsideSidebar } from "./groups.ts";

const docs = fileURLToPath(new URL("..", import.meta.url));

/**
 * The sidebar of the guides, and one for each entry in the API reference: all symbols on every page would make the site
 * several times as large. Throws if a page of this folder is in no group, because no reader would find it.
 */
export function sidebar(): DefaultTheme.SidebarMulti {
	const grouped = new Set(Object.values(groups).flat());
	const pages = readdirSync(docs).flatMap((file) => (file.endsWith(".md") ? [file.slice(0, -3)] : []));
	const lost = pages.filter((page) => !grouped.has(page) && !outsideSidebar.has(page));
	if (lost.length > 0) throw new Error(`Add ${lost.join(", ")} to a group in docs/.vitepress/groups.ts.`);
	// Closed, except for the group of the page that is shown. Each leads to its first page.
	const guides = Object.entries(groups).flatMap(([text, pages]) => {
		const items = pages.filter((page) => existsSync(`${docs}${page}.md`)).map(itemOf);
		const [first, second] = items;
		if (!first) return [];
		return [{ text, link: first.link, ...(second ? { collapsed: true, items } : { items: [] }) }];
	});
	const entries = apiEntries();
	const api = { text: "API", items: entries.map(({ title, link }) => ({ text: title, link })) };
	const symbols = entries.map(({ title, link, kinds }) => [link, [{ text: title, link }, ...kinds, api]]);
	return { "/": guides, ...Object.fromEntries(symbols) };
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

interface ApiEntry {
	readonly title: string;
	readonly link: string;
	/** Its symbols by kind. */
	readonly kinds: readonly DefaultTheme.SidebarItem[];
}

/** The entries of the package, if typedoc has written their reference. */
function apiEntries(): ApiEntry[] {
	const file = `${docs}reference/api/navigation.json`;
	if (!existsSync(file)) return [];
	const entries: Navigation[] = JSON.parse(readFileSync(file, "utf8"));
	const linkOf = ({ path = "" }: Navigation) => `/reference/api/${path.replace(/(index)?\.md$/, "")}`;
	return entries.flatMap(withNested).map((entry) => ({
		title: entry.path?.replace(/\/?index\.md$/, "") ?? entry.title,
		link: linkOf(entry),
		kinds: (entry.children ?? [])
			.filter(({ path }) => path === undefined)
			.map(({ title, children = [] }) => ({
				text: title,
				items: children.map((symbol) => ({ text: symbol.title, link: linkOf(symbol) })),
			})),
	}));
}

/** An entry and those below it: typedoc lists `messaging-conversations/outbox` among the kinds of the main entry. */
function withNested(entry: Navigation): Navigation[] {
	const nested = (entry.children ?? []).filter(({ path }) => path !== undefined);
	return [entry, ...nested.flatMap(withNested)];
}
