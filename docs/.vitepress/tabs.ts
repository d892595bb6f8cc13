import type { MarkdownRenderer } from "vitepress";
import { anchorOf } from "./anchor.ts";

type Token = Parameters<Parameters<MarkdownRenderer["core"]["ruler"]["push"]>[1]>[0]["tokens"][number];

/**
 * On a page with `tabs: true`, puts each part with a heading of level 2 into a section, which PageTabs.vue shows as a tab.
 * Without JavaScript the sections stand one below the other, as on GitHub.
 */
export function sectionsForTabs(md: MarkdownRenderer): void {
	md.core.ruler.push("sections-for-tabs", (state) => {
		if (state.env.frontmatter?.tabs !== true) return;
		const html = (content: string): Token => Object.assign(new state.Token("html_block", "", 0), { content });
		const isPart = (token: Token) => token.type === "heading_open" && token.tag === "h2";
		let isFirst = true;
		// The search shows a result with what follows its heading, so the introduction needs an end too.
		const wrapped = state.tokens.flatMap((token, index) => {
			if (!isPart(token)) return [token];
			const name = (state.tokens[index + 1]?.content ?? "").replaceAll("`", "");
			const before = isFirst ? "</div>\n<PageTabs />\n" : "</section>\n";
			isFirst = false;
			return [html(`${before}<section class="tab" id="tab-${anchorOf(name)}" aria-label="${name}">\n`), token];
		});
		state.tokens = [html("<div>\n"), ...wrapped, html(isFirst ? "</div>\n" : "</section>\n")];
	});
}
