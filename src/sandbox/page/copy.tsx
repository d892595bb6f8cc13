import type { ComponentChildren } from "preact";
import { copy } from "./curl.ts";
import { view } from "./store.ts";

interface CopyProps {
	/** Names what is copied, apart from all else on the page. */
	readonly what: string;
	readonly text: () => string;
	readonly children: ComponentChildren;
}

export function Copy({ what, text, children }: CopyProps) {
	return (
		<button type="button" class="quiet copy" onClick={() => copy(text(), what)}>
			{view.copied.value === what ? "copied" : children}
		</button>
	);
}
