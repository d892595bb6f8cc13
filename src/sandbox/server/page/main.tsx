import { render } from "preact";
import { App } from "./app.tsx";
import { onKey } from "./keyboard.ts";
import { onChange } from "./signal.ts";
import { follow } from "./stream.ts";

onChange(() => render(<App />, document.body));
document.addEventListener("keydown", onKey);
// An address with another token in it is a new visit.
addEventListener("hashchange", () => location.reload());
follow();
