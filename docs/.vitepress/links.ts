import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { MarkdownRenderer } from "vitepress";
import { ownerOf } from "../../scripts/package/owner.ts";
import { copies } from "./copies.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The address of the repository, once package.json names it. */
export const repositoryUrl = ownerOf(JSON.parse(readFileSync(`${root}package.json`, "utf8")))?.repository;

/**
 * The guides link to files of the repository, as they must on GitHub. On the site such a link leads to the file's page, if
 * it has one, or else to GitHub. While package.json names no repository, the text remains without a link.
 */
export function linksOutside(md: MarkdownRenderer): void {
	md.core.ruler.push("links-outside", ({ tokens, env }) => {
		for (const { children } of tokens) {
			let target: string | undefined;
			for (const token of children ?? []) {
				if (token.type === "link_open") {
					target = siteLink(env.relativePath, token.attrGet("href") ?? "");
					if (target !== undefined) token.attrSet("href", target);
				}
				if (target === "" && token.type.startsWith("link_")) {
					token.type = token.type.replace("link", "span");
					token.tag = "span";
					token.attrs = null;
				}
			}
		}
	});
}

/** The link's address on the site: empty if there is none, undefined if the link can remain as it is. */
function siteLink(page: string, href: string): string | undefined {
	if (/^([a-z]+:|#|\/)/i.test(href)) return undefined;
	const [path = "", anchor] = href.split("#", 2);
	const source = copies[page] ?? `docs/${page}`;
	const file = join(dirname(source), decodeURI(path));
	if (file.startsWith("docs/") && source === `docs/${page}`) return undefined;
	const copied = Object.keys(copies).find((copy) => copies[copy] === file);
	const target = copied ?? (/^docs\/.+\.md$/.test(file) ? file.slice("docs/".length) : undefined);
	const fragment = anchor === undefined ? "" : `#${anchor}`;
	if (target !== undefined) return `${relative(dirname(page), target).replace(/^(?!\.)/, "./")}${fragment}`;
	// On GitHub, ../../ leads from a file of the repository to its other pages, such as the form for an advisory.
	if (!file.startsWith("../") && !existsSync(join(root, file)))
		throw new Error(`docs/${page} links to ${file}, which does not exist.`);
	return repositoryUrl === undefined ? "" : new URL(href, `${repositoryUrl}/blob/main/${source}`).href;
}
