import type { Signal } from "./signal.ts";

/** Shows more lines of a list, when it has more than are shown. */
export function More({ count, most }: { readonly count: number; readonly most: Signal<number> }) {
	if (count <= most.value) return null;
	return (
		<button type="button" class="more" onClick={() => (most.value += 200)}>
			Show more of {count}
		</button>
	);
}
