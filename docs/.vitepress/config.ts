import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";
import { anchorOf } from "./anchor.ts";
import { keywords } from "./keywords.ts";
import { linksOutside, repositoryUrl } from "./links.ts";
import { sidebar } from "./pages.ts";
import { sectionsForTabs } from "./tabs.ts";

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
const source = (file: string) => fileURLToPath(new URL(`../../src/${file}`, import.meta.url));

export default defineConfig({
	lang: "en",
	title: "messaging-conversations",
	description: "Typed client, outbox, change feed and sandbox for the Messaging Conversations API.",
	// GitHub Pages serves a repository below its name.
	base: process.env.DOCS_BASE ?? "/",
	cleanUrls: false,
	srcExclude: ["node_modules/**", "README.md"],
	markdown: {
		// The default themes have too little contrast for WCAG AA.
		theme: { light: "github-light-high-contrast", dark: "github-dark-default" },
		anchor: { slugify: anchorOf },
		toc: { slugify: anchorOf },
		headers: { slugify: anchorOf },
		config(md) {
			linksOutside(md);
			sectionsForTabs(md);
		},
	},
	themeConfig: {
		nav: [
			{ text: "Guides", link: "/first-send" },
			{ text: "Playground", link: "/playground" },
			{ text: "API", link: "/reference/api/" },
			{ text: `Version ${version}`, link: "/reference/changelog" },
		],
		sidebar: sidebar(),
		outline: [2, 3],
		search: {
			provider: "local",
			options: {
				detailedView: true,
				_render(source, env, markdown) {
					const html = markdown.render(source, env);
					const words = keywords[env.relativePath.slice(0, -".md".length)];
					return words ? html.replace("</h1>", `</h1>\n<p>${words}. ${words}.</p>`) : html;
				},
				miniSearch: {
					searchOptions: {
						// A wrong letter is rarer than a technical word that is nearly another one.
						fuzzy: false,
						// Guides come before reference pages, which have each word often. VitePress takes this function as text.
						boostDocument: (id: string) => {
							if (/^\/reference\/(api|examples)\//.test(id)) return 0.05;
							const isReference =
								/\/(reference\/|options|errors\.|faults|fidelity|phone-numbers|mirroring-limits|sandbox-routes|glossary)/;
							return isReference.test(id) ? 0.4 : 1;
						},
					},
				},
			},
		},
		...(repositoryUrl ? { socialLinks: [{ icon: "github" as const, link: repositoryUrl }] } : {}),
	},
	vite: {
		resolve: {
			alias: [
				{ find: /^messaging-conversations$/, replacement: source("index.ts") },
				{ find: /^messaging-conversations\/sandbox$/, replacement: source("sandbox/index.ts") },
				{ find: /^messaging-conversations\/outbox$/, replacement: source("outbox/index.ts") },
				{ find: /^messaging-conversations\/sync$/, replacement: source("sync/index.ts") },
			],
		},
		server: { fs: { allow: ["../.."] } },
	},
});
