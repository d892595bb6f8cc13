import { entries, showAll } from "./entries.ts";
import { hasOlderMessages, loadOlderEvents, loadOlderMessages, requests } from "./model.ts";
import { log, mostLines, sandbox, view } from "./store.ts";

/** The request that was shown or opened last. */
let request = "";

/** Goes to what the address names, once it is there. */
export function reach(): void {
	if (view.line.value !== "") reachLine(view.line.value);
	if (view.request.value === "") request = "";
	else if (view.request.value !== request) reachRequest(view.request.value);
}

function reachLine(id: string): void {
	const found = document.getElementById(id);
	if (found) {
		view.line.value = "";
		found.scrollIntoView({ block: "center" });
		found.focus({ preventScroll: true });
		found.parentElement?.dispatchEvent(new Event("scroll")); // the thread follows its end no more
	} else if (hasOlderMessages.value) loadOlderMessages().catch(() => undefined);
	else if (sandbox.thread.value) view.line.value = "";
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
	} else if (entry) log.from.value = Math.floor(at / mostLines) * mostLines;
	else find(wanted);
}

/** The request that was looked for last, where it was not shown. */
let sought = "";
let loading: Promise<void> | undefined;

/** Shows a request that a filter hides, or that was not loaded yet. */
function find(wanted: string): void {
	if (view.tab.value !== "Requests" || sandbox.now.value === 0) return;
	const isLoaded = requests.value.some(({ correlationId }) => correlationId === wanted);
	if (!isLoaded && log.hasOlder.value)
		loading ??= loadOlderEvents()
			.catch(() => undefined)
			.finally(() => (loading = undefined));
	else if (isLoaded && sought !== wanted) {
		sought = wanted;
		showAll();
	}
}
