import type { ComponentChildren } from "preact";
import { copied, copy } from "./curl.ts";

interface CopyProps {
	/** Names what is copied, apart from all else on the page. */
	readonly what: string;
	readonly text: () => string;
	readonly children: ComponentChildren;
}

export function Copy({ what, text, children }: CopyProps) {
	return (
		<button type="button" class="quiet copy" onClick={() => copy(text(), what)}>
			{copied.value === what ? "copied" : children}
		</button>
	);
}
