/** Loads older lines of a list. */
export function More({ load }: { readonly load: () => unknown }) {
	return (
		<button type="button" class="more" onClick={load}>
			Load older
		</button>
	);
}
