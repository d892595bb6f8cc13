import { render } from "preact";
import { openAddress, writeAddress } from "./address.ts";
import { App } from "./app.tsx";
import { reach } from "./jump.ts";
import { onKey } from "./keyboard.ts";
import { onChange } from "./signal.ts";
import { follow } from "./stream.ts";

openAddress();
onChange(() => {
	const had = document.activeElement;
	const place = had?.closest<HTMLElement>('dialog, [tabindex="0"]');
	render(<App />, document.body);
	// When a pressed button is gone, the focus stays near its place.
	if (!had?.isConnected) place?.focus();
	reach();
	writeAddress();
});
document.addEventListener("keydown", onKey);
addEventListener("popstate", () => {
	// An address with another token in it is a new visit.
	if (/[#?&]token=/.test(location.hash)) location.reload();
	else openAddress();
});
follow();
