import { render } from "preact";
import { App } from "./app.tsx";
import { onKey } from "./keyboard.ts";
import { onChange } from "./signal.ts";
import { follow } from "./stream.ts";

onChange(() => {
	const had = document.activeElement;
	const place = had?.closest<HTMLElement>("dialog, [tabindex]");
	render(<App />, document.body);
	// When a pressed button is gone, the focus stays near its place.
	if (!had?.isConnected) place?.focus();
});
document.addEventListener("keydown", onKey);
// An address with another token in it is a new visit.
addEventListener("hashchange", () => location.reload());
follow();
