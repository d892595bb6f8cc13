import { posix } from "node:path";
import type { Owner } from "./owner.ts";

/** A page of the package, by its path from the root. */
export interface Page {
	path: string;
	text: string;
}

/** What a link may lead to. */
export interface Tree {
	/** What is at this path of the repository. */
	kindOf: (path: string) => "file" | "folder" | undefined;
	/** The text of a page. */
	read: (path: string) => string;
	/** Whether the tarball has this file. */
	isPacked: (path: string) => boolean;
}

/** `[text](target)`, `![text](target)`, `[name]: target`, and the attributes of HTML. */
const links =
	/(!?\[(?:[^\]\\]|\\.)*\]\()([^)\s]+)((?:\s+"[^"]*")?\))|^(\[[^\]]+\]:\s*)(\S+)|(\b(?:src|srcset|href)=")([^"]+)(")/gm;
/** Blocks of code have no links. */
const fences = /^(```|~~~).*?^\1[^\n]*$/gms;

/** The page with each of its links replaced; by its words, if there is no target. `isImage`: a browser loads it into the page. */
function replaceLinks({ text }: Page, replace: (target: string, isImage: boolean) => string | undefined): string {
	const replaced = (part: string) =>
		part.replace(links, (all, before, target, after, name, defined, attribute, value, quote) => {
			if (target !== undefined) {
				const replacement = replace(target, before.startsWith("!"));
				return replacement === undefined ? before.replace(/^!?\[|\]\($/g, "") : `${before}${replacement}${after}`;
			}
			if (defined !== undefined) return `${name}${replace(defined, false) ?? defined}`;
			if (value !== undefined) return `${attribute}${replace(value, attribute !== 'href="') ?? value}${quote}`;
			return all;
		});
	let [result, end] = ["", 0];
	for (const { 0: block, index } of text.matchAll(fences)) {
		result += replaced(text.slice(end, index)) + block;
		end = index + block.length;
	}
	return result + replaced(text.slice(end));
}

/** A relative link, taken apart; undefined for one that has a scheme. `../../issues` is a page of the repository's site. */
function parse(page: Page, target: string): { path: string; anchor: string; isOfSite: boolean } | undefined {
	if (/^([a-z][a-z\d+.-]*:|\/\/)/i.test(target)) return undefined;
	const [name = "", anchor = ""] = target.split("#");
	const path = name === "" ? page.path : posix.normalize(posix.join(posix.dirname(page.path), decodeURI(name)));
	return { path: path.replace(/\/$/, ""), anchor, isOfSite: path.startsWith("../../") };
}

/** The links of a page that lead nowhere. */
export function deadLinks(page: Page, tree: Tree): string[] {
	const dead: string[] = [];
	replaceLinks(page, (target) => {
		const link = parse(page, target);
		if (!link || link.isOfSite) return target;
		if (tree.kindOf(link.path) === undefined) dead.push(`${page.path}: ${target} does not exist`);
		else if (link.anchor && link.path.endsWith(".md") && !anchorsOf(tree.read(link.path)).has(link.anchor))
			dead.push(`${page.path}: ${target} is not a heading of that page`);
		return target;
	});
	return dead;
}

/** The ids of a page's headings, as GitHub makes them, and those that it sets itself. */
function anchorsOf(text: string): Set<string> {
	const ids = new Set([...text.matchAll(/\bid="([^"]+)"/g)].map(([, id = ""]) => id));
	const counts = new Map<string, number>();
	for (const [, heading = ""] of text.replace(fences, "").matchAll(/^#+ (.+)$/gm)) {
		const slug = heading
			.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
			.replace(/<[^>]+>/g, "")
			.toLowerCase()
			.replace(/[^\p{L}\p{N}\s_-]/gu, "")
			.trim()
			.replace(/\s/g, "-");
		const count = counts.get(slug) ?? 0;
		counts.set(slug, count + 1);
		ids.add(count === 0 ? slug : `${slug}-${count}`);
	}
	return ids;
}

/**
 * The page as the tarball has it. npm shows the README away from the other files. So all of its links lead to the repository,
 * at the tag of this version. In the other pages only the links to files that are not packed do. While no owner is known,
 * there is no such address: what is not packed keeps its words without the link.
 */
export function withPackedLinks(page: Page, owner: Owner | undefined, version: string, tree: Tree): string {
	return replaceLinks(page, (target, isImage) => {
		const link = parse(page, target);
		if (!link || target.startsWith("#")) return target;
		if (!owner) return tree.isPacked(link.path) ? target : undefined;
		if (link.isOfSite) {
			const place = link.path.slice("../../".length);
			return place === "issues" ? owner.bugs : `${owner.repository}/${place}`;
		}
		if (page.path !== "README.md" && tree.isPacked(link.path)) return target;
		const path = `v${version}/${encodeURI(link.path)}`;
		if (isImage) return `${owner.repository.replace("github.com", "raw.githubusercontent.com")}/${path}`;
		const kind = tree.kindOf(link.path) === "folder" ? "tree" : "blob";
		return `${owner.repository}/${kind}/${path}${link.anchor && `#${link.anchor}`}`;
	});
}
