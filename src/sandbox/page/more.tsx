interface MoreProps {
	readonly load: () => Promise<void>;
	/** @default "Load older" */
	readonly words?: string;
}

/** Loads older lines of a list. */
export function More({ load, words = "Load older" }: MoreProps) {
	return (
		// A failure shows as a lost connection.
		<button type="button" class="more" onClick={() => load().catch(() => undefined)}>
			{words}
		</button>
	);
}
