import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/**
 * Finds what is wrong with the links of a built site: those to a page, a file or an anchor that does not exist, and what a
 * page loads from another site. `base` is the path below which the site is served.
 */
export async function deadLinks(folder: string, base = "/"): Promise<string[]> {
	const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith(".html"));
	const pages = new Map<string, string>();
	for (const file of files) pages.set(file.replaceAll("\\", "/"), await readFile(join(folder, file), "utf8"));
	const anchors = new Map([...pages].map(([page, html]) => [page, anchorsIn(html)]));
	const wrong: string[] = [];
	for (const [page, html] of pages) {
		for (const { url, isLoaded } of linksIn(html)) {
			if (/^(data|mailto|tel):/.test(url)) continue;
			if (/^([a-z]+:)?\/\//i.test(url)) {
				if (isLoaded) wrong.push(`${page} loads ${url} from another site`);
				continue;
			}
			const { pathname, hash } = new URL(url, `http://site${base}${page}`);
			const target = fileOf(folder, decodeURI(pathname), base);
			if (target === undefined) wrong.push(`${page} links to ${url}, which does not exist`);
			else if (hash !== "" && anchors.get(target)?.has(decodeURIComponent(hash.slice(1))) === false)
				wrong.push(`${page} links to ${url}, where there is no such heading`);
		}
	}
	return wrong;
}

/** The file of the site at a path, if there is one. */
function fileOf(folder: string, path: string, base: string): string | undefined {
	if (!path.startsWith(base)) return undefined;
	const name = path.slice(base.length);
	const candidates = name === "" || name.endsWith("/") ? [`${name}index.html`] : [name, `${name}.html`];
	return candidates.find((file) => existsSync(join(folder, file)) && dirname(file) !== file);
}

const anchorsIn = (html: string): Set<string> =>
	new Set([...html.matchAll(/\s(?:id|name)="([^"]+)"/g)].map(([, id = ""]) => decoded(id)));

function linksIn(html: string): { url: string; isLoaded: boolean }[] {
	return [...html.matchAll(/<(\w+)\b[^>]*?\s(?:href|src)="([^"]*)"/g)].map(([, tag, url = ""]) => ({
		url: decoded(url),
		isLoaded: tag !== "a",
	}));
}

const decoded = (text: string): string => text.replaceAll("&amp;", "&").replaceAll("&quot;", '"');
