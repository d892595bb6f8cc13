/** Closes each group of the sidebar except one. VitePress opens the group of the page that is shown, and closes none. */
export function closeGroups(except: Element | null): void {
	for (const group of document.querySelectorAll(".VPSidebarItem.level-0.collapsible:not(.collapsed)"))
		if (group !== except) group.querySelector<HTMLElement>(":scope > .item > .caret")?.click();
}

/** Closes the other groups when the reader is about to open one, by a click or by Enter. */
export function closeOthers(event: Event): void {
	if (!(event.target instanceof Element) || (event instanceof KeyboardEvent && event.key !== "Enter")) return;
	const caret = event.target.closest(".VPSidebarItem.level-0.collapsible.collapsed > .item > .caret");
	if (caret) closeGroups(caret.closest(".VPSidebarItem"));
}
