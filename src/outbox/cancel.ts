/*
 * What cancelling makes of a text, by `cancel`, `cancelAll` and `erase`, or because another text takes its place.
 */
import { gate } from "./gate/gate.ts";
import { type Situation, storedSituation } from "./gate/situation.ts";
import { onCancel } from "./gate/waiting.ts";
import type { Change, OutboxText } from "./text.ts";

/** What is noted of a text that is cancelled. */
export interface CancelMarks {
	erase?: true;
	superseded?: true;
}

/**
 * The change of an unfinished text that is cancelled. The gate ends it, if it waits. Otherwise it is only marked, so that it is not sent
 * again. What came back with a backup may have been sent, and a worker reads about it at once.
 *
 * `cancelled` in `stores/statements.ts` says the same of what is cancelled in the caller's transaction.
 */
export function cancelling(text: OutboxText, marks: CancelMarks, options: Situation["options"], now: number): Change {
	const progress = { ...marks, cancelRequested: true };
	if (text.state !== "waiting") return { progress };
	const marked = { ...text, progress: { ...text.progress, ...progress } };
	const answer = gate(storedSituation(marked, options, now), onCancel);
	if (answer?.do !== "become") return { readyAt: Math.min(text.readyAt, now), nextAt: now, progress };
	return { ...answer.change, progress: { ...answer.change.progress, ...progress } };
}
