/*
 * A text that takes the place of an earlier one, for example because a visit has moved.
 */
import type { OutboxStore } from "./store.ts";
import type { OutboxText } from "./text.ts";

/**
 * The texts whose place a text takes, the latest first: the one that it names, the one that that one names, and so on. Each once,
 * because texts may name each other in a circle.
 */
export async function* earlierTexts(
	store: Pick<OutboxStore, "find">,
	text: OutboxText,
): AsyncGenerator<OutboxText, void> {
	const seen = new Set([text.id]);
	let id = text.progress.given?.supersedes;
	while (id !== undefined && !seen.has(id)) {
		seen.add(id);
		const row = await store.find(id);
		if (!row) return;
		yield row;
		id = row.progress.given?.supersedes;
	}
}

/**
 * Whether one of these texts takes the place of a text. Of two that take the place of each other, directly or through others, the
 * later one does.
 */
export function isSuperseded(text: OutboxText, texts: readonly OutboxText[]): boolean {
	const takes = ({ progress }: OutboxText): OutboxText | undefined =>
		texts.find(({ id }) => id === progress.given?.supersedes);
	return texts.some((other) => {
		if (other.progress.given?.supersedes !== text.id) return false;
		const seen = new Set<OutboxText>();
		for (let place = takes(text); place && !seen.has(place); place = takes(place)) {
			if (place.id === other.id) return other.seq > text.seq;
			seen.add(place);
		}
		return true;
	});
}
