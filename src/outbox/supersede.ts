/*
 * A text that takes the place of an earlier one, for example because a visit has moved.
 */
import { refuse } from "./input.ts";
import type { OutboxStore, Superseded } from "./store.ts";
import { isUnfinished, type NewText, type OutboxText } from "./text.ts";

/** The text whose place a text takes, as it was given to `enqueue`. */
export function supersededBy({ agencyId, given }: NewText): Superseded | undefined {
	const { supersedes: id, supersededAgencyId = agencyId } = given;
	return id === undefined ? undefined : { id, agencyId: supersededAgencyId };
}

/**
 * Refuses a text that can't take the place of another one.
 *
 * @param row the row of its id; undefined if it has none
 * @param old the row of the text that it names; undefined if there is none
 */
export function refuseSuperseding(given: NewText, row: OutboxText | undefined, old: OutboxText | undefined): void {
	if (!old || !isUnfinished(old.state)) {
		if (old && !row) refuseOtherAgency(given, old);
		return;
	}
	if (!row) refuseOtherAgency(given, old);
	else if (!isUnfinished(row.state) && !hasSuperseded(row, old)) refuse("id", hasEnded, "enqueue");
}

function refuseOtherAgency(given: NewText, old: OutboxText): void {
	if (old.to !== "" && old.agencyId !== supersededBy(given)?.agencyId) refuse("supersedes", isOfOther, "enqueue");
}

const isOfOther = "is the id of a text of another agency. If you mean that text, name its agency: { id, agencyId }";
const hasEnded =
	"was enqueued before and has ended, and the text that supersedes names is still there: use an id for each occasion, such as visit-17:reminder:2026-03-10";

/** Whether a stored text has taken the place of the one that it names. What was stored later was not there to be superseded. */
export function hasSuperseded(row: OutboxText, old: OutboxText): boolean {
	const named = supersededBy(row);
	if (named?.id !== old.id || named.agencyId !== old.agencyId) return false;
	return old.progress.cancelRequested === true || old.seq < row.seq;
}

/**
 * The texts whose place a text takes, the latest first: the one that it names, the one that that one names, and so on. Each once,
 * because texts may name each other in a circle.
 */
export async function* earlierTexts(
	store: Pick<OutboxStore, "find">,
	text: OutboxText,
): AsyncGenerator<OutboxText, void> {
	const seen = new Set([text.id]);
	let place = supersededBy(text);
	while (place && !seen.has(place.id)) {
		seen.add(place.id);
		const row: OutboxText | undefined = await store.find(place.id);
		if (row?.agencyId !== place.agencyId) return;
		yield row;
		place = supersededBy(row);
	}
}

/**
 * Whether one of these texts takes the place of a text: a later one that names it, or that names the same text as it does. So of texts
 * that take the place of each other, directly or through others, the contact gets the last one.
 */
export function isSuperseded(text: OutboxText, texts: readonly OutboxText[]): boolean {
	const place = supersededBy(text)?.id;
	return texts.some((other) => {
		const named = supersededBy(other)?.id;
		return named !== undefined && (named === text.id || named === place) && other.seq > text.seq;
	});
}

/** The text at another number of the contact that was superseded too late, so that it may still arrive there. */
export async function stillArriving(
	store: Pick<OutboxStore, "find">,
	text: OutboxText,
): Promise<OutboxText | undefined> {
	for await (const old of earlierTexts(store, text)) if (mayStillArrive(text, old)) return old;
	return undefined;
}

export function mayStillArrive(text: OutboxText, old: OutboxText): boolean {
	const isElsewhere = old.to !== text.to || old.agencyId !== text.agencyId;
	return isElsewhere && isUnfinished(old.state) && old.progress.cancelRequested === true;
}

/**
 * The ids of those texts of a contact that take the place of the one that the service holds, because they supersede one that was to take
 * it, or has taken it.
 */
export async function heirsIn(
	store: Pick<OutboxStore, "find">,
	texts: readonly OutboxText[],
): Promise<ReadonlySet<string>> {
	const heirs = new Set<string>();
	const [held] = texts;
	if (held?.state !== "held") return heirs;
	const taken = new Set<string>();
	for await (const { id } of earlierTexts(store, held)) taken.add(id);
	for (const text of texts)
		for await (const { id, state } of earlierTexts(store, text)) {
			// That one is ended first.
			if (state === "waiting") break;
			if (id !== held.id && !(taken.has(id) && text.seq > held.seq)) continue;
			heirs.add(text.id);
			break;
		}
	return heirs;
}
