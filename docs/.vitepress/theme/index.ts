import { type Theme, useRoute } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import { defineAsyncComponent, nextTick, onMounted, watch } from "vue";
import { closeGroups, closeOthers } from "./one-group.ts";
import PageTabs from "./PageTabs.vue";
import "./style.css";

export default {
	extends: DefaultTheme,
	setup() {
		const route = useRoute();
		onMounted(() => {
			markMain();
			for (const event of ["click", "keydown"]) document.addEventListener(event, closeOthers, true);
		});
		watch(
			() => route.path,
			() =>
				nextTick(() => {
					markMain();
					closeGroups(document.querySelector(".VPSidebarItem.level-0.has-active"));
				}),
		);
	},
	enhanceApp({ app }) {
		app.component("PageTabs", PageTabs);
		app.component(
			"Playground",
			defineAsyncComponent(() => import("./Playground.vue")),
		);
	},
} satisfies Theme;

/** The theme's home page has no element for its main part. */
function markMain(): void {
	const content = document.querySelector("#VPContent");
	if (content?.classList.contains("is-home")) content.setAttribute("role", "main");
	else content?.removeAttribute("role");
}
