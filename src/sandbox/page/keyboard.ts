import { perform } from "./control.ts";
import { showMenu } from "./header.tsx";
import { here, rows, select } from "./model.ts";
import { sandbox, view } from "./store.ts";
import { openTemplate } from "./timeline.ts";

export const keys: readonly { readonly key: string; readonly does: string; readonly act: () => void }[] = [
	{ key: "j", does: "next", act: () => step(1) },
	{ key: "k", does: "previous", act: () => step(-1) },
	{ key: "/", does: "search", act: () => focus("search", "conversations") },
	{ key: "r", does: "write", act: () => write("contact") },
	{ key: "s", does: "send", act: () => write("crm") },
	{ key: "a", does: "accept", act: () => answer("accepts") },
	{ key: "d", does: "decline", act: () => answer("declines") },
	{ key: "t", does: "clock", act: goToClock },
	{ key: "?", does: "all keys", act: () => (view.dialog.value = "keys") },
];

export function onKey(event: KeyboardEvent): void {
	const { target, key } = event;
	if (!(target instanceof HTMLElement)) return;
	const isField = target.matches("input:not([type=checkbox]), select, textarea");
	if (isField && key === "Escape") target.blur();
	if (
		isField ||
		document.querySelector("[open]:modal") ||
		!view.areKeysOn.value ||
		event.ctrlKey ||
		event.metaKey ||
		event.altKey
	)
		return;
	const found = keys.find((each) => each.key === key);
	if (!found) return;
	event.preventDefault();
	found.act();
}

// What a key changes is drawn in a microtask. It is there in the next one.

function step(by: number): void {
	const at = rows.value.findIndex(({ phoneNumber }) => phoneNumber === view.contact.value);
	const next = rows.value[Math.min(Math.max(at + by, 0), rows.value.length - 1)];
	if (!next) return;
	select(next.phoneNumber);
	queueMicrotask(() => {
		const row = document.querySelector<HTMLElement>(".list [aria-current=true]");
		// The focus says which conversation is open. Where one pane shows at a time, the phone does.
		if (row?.checkVisibility()) row.focus({ preventScroll: true });
		else document.querySelector("main")?.focus();
		row?.scrollIntoView({ block: "nearest" });
	});
}

function write(as: "contact" | "crm"): void {
	view.writer.value = as;
	focus(as === "crm" ? "send" : "write", "phone");
}

function goToClock(): void {
	showMenu();
	document.getElementById("clock")?.focus();
}

function focus(id: string, place: "conversations" | "phone"): void {
	view.pane.value = place;
	queueMicrotask(() => document.getElementById(id)?.focus());
}

/** Only a template that waits is answered, so that a wrong key does nothing. */
function answer(verb: "accepts" | "declines"): void {
	if (sandbox.thread.value && openTemplate(sandbox.thread.value))
		perform(here(`contacts/${sandbox.thread.value.phoneNumber}/${verb}`));
}
