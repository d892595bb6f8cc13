import { options, render } from "preact";
import { openAddress, writeAddress } from "./address.ts";
import { App } from "./app.tsx";
import { reach } from "./jump.ts";
import { onKey } from "./keyboard.ts";
import { followOutbox } from "./outbox.tsx";
import { onChange } from "./store.ts";
import { follow } from "./stream.ts";

openAddress();
render(<App />, document.body);

let draw: () => void = () => undefined;
let isWaiting = false;

/** Once after each turn in which something changed. */
function soon(): void {
	if (isWaiting) return;
	isWaiting = true;
	queueMicrotask(() => {
		isWaiting = false;
		const had = document.activeElement;
		const place = had?.closest<HTMLElement>('dialog, [tabindex="0"]');
		draw();
		// When a pressed button is gone, the focus stays near its place.
		if (!had?.isConnected) place?.focus();
		reach();
		writeAddress();
	});
}

options.debounceRendering = (drawChanged) => {
	draw = drawChanged;
	soon();
};
onChange(soon);

document.addEventListener("keydown", onKey);
addEventListener("popstate", () => {
	// An address with another token in it is a new visit.
	if (/[#?&]token=/.test(location.hash)) location.reload();
	else openAddress();
});
follow();
followOutbox();
