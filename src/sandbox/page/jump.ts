import { entries } from "./entries.ts";
import { most } from "./lines.tsx";
import { hasOlderMessages, line, loadOlderMessages, opened, thread } from "./store.ts";

/** The request that was shown or opened last. */
let request = "";

/** Goes to what the address names, once it is there. */
export function reach(): void {
	if (line.value !== "") reachLine(line.value);
	if (opened.value === "") request = "";
	else if (opened.value !== request) reachRequest(opened.value);
}

function reachLine(id: string): void {
	const found = document.getElementById(id);
	if (found) {
		line.value = "";
		found.scrollIntoView({ block: "center" });
		found.focus({ preventScroll: true });
		found.parentElement?.dispatchEvent(new Event("scroll")); // the thread follows its end no more
	} else if (hasOlderMessages.value) loadOlderMessages().catch(() => undefined);
	else if (thread.value) line.value = "";
}

function reachRequest(wanted: string): void {
	const at = entries.value.findIndex(({ requests }) => requests.some((each) => each.correlationId === wanted));
	const entry = entries.value[at];
	const found = document.getElementById(`r${entry?.newest.correlationId}`);
	if (found instanceof HTMLDetailsElement) {
		request = wanted;
		if (found.open) return;
		found.open = true;
		found.scrollIntoView();
	} else if (entry) most.value = Math.max(most.value, at + 1);
}
