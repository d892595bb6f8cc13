import { effect } from "@preact/signals-core";
import { render } from "preact";
import { App } from "./app.tsx";
import { onKey } from "./keyboard.ts";
import { follow } from "./stream.ts";

// Components read signals while they render: a change of any of them renders the page again.
effect(() => render(<App />, document.body));
document.addEventListener("keydown", onKey);
// An address with another token in it is a new visit.
addEventListener("hashchange", () => location.reload());
follow();
