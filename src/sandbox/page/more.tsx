/** Loads older lines of a list. */
export function More({ load }: { readonly load: () => Promise<void> }) {
	return (
		// A failure shows as a lost connection.
		<button type="button" class="more" onClick={() => load().catch(() => undefined)}>
			Load older
		</button>
	);
}
