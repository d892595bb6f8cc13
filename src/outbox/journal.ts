/*
 * What happened to a text, step by step. It is part of the row, so that it costs no statement, and holds no number and no text, but the
 * reasons that hooks gave.
 */

/** What a read of the conversation showed of a text. */
export type JournalRead = "message" | "held" | "other" | "asked" | "none" | "twice" | "hidden";

/** A step of a text, as it is stored. */
export interface JournalEntry {
	/** When, in milliseconds. */
	at: number;
	/** What the conversation showed; absent if it was not read. */
	read?: JournalRead | undefined;
	/** Whether the window was open then. */
	isOpen?: boolean | undefined;
	/** The state after the step. Absent only while the step is under way. */
	state?: string | undefined;
	/** Why. */
	reason?: string | undefined;
	/** The reason that a hook gave. */
	hookReason?: string | undefined;
	/** The number of the request that began. */
	request?: number | undefined;
	/** The request that had begun was not made after all. */
	isUndone?: true | undefined;
	/** `_tag` of the error that a call ended in. */
	error?: string | undefined;
	/** Somebody asked to cancel it. */
	isCancelled?: true | undefined;
	/** When it is looked at next, in milliseconds. */
	nextAt?: number | undefined;
	/** The person who decided. */
	by?: string | undefined;
	/** How often the same step followed itself. */
	times?: number | undefined;
	/** When it did last, in milliseconds. */
	until?: number | undefined;
	/** Steps before this one that are not kept. */
	omitted?: number | undefined;
}

/** The parts of a row that the journal looks at. */
interface Row {
	state: string;
	reason: string | null;
	nextAt: number | null;
	progress: {
		attempts: number;
		error: { tag: string } | null;
		cancelRequested?: boolean | undefined;
		hookReason?: string | undefined;
		journal?: JournalEntry[] | undefined;
	};
}

/** How many steps are kept: the first ones, which say how it began, and the last ones. */
const mostFirst = 8;
const mostLast = 24;

/** The journal, with a read that the next step rests on. */
export function withRead(
	journal: readonly JournalEntry[] | undefined,
	read: Pick<JournalEntry, "at" | "read" | "isOpen">,
): JournalEntry[] {
	return [...(journal ?? []).filter(isComplete), read];
}

/** The journal of a row after a change. */
export function withStep(before: Row, after: Row, at: number, by?: string): JournalEntry[] {
	const known = before.progress.journal ?? [];
	const done = known.filter(isComplete);
	const reading = known.find((entry) => !isComplete(entry));
	const { progress } = after;
	const { attempts, error } = progress;
	const hasFailed = error !== null && error !== before.progress.error;
	const step: JournalEntry = {
		...(reading ?? {}),
		at,
		state: after.state,
		...(after.reason !== null && { reason: after.reason }),
		...(progress.hookReason !== undefined && { hookReason: progress.hookReason }),
		...(attempts > before.progress.attempts && { request: attempts }),
		...(attempts < before.progress.attempts && { isUndone: true as const }),
		...(hasFailed && { error: error.tag }),
		...(progress.cancelRequested && !before.progress.cancelRequested && { isCancelled: true as const }),
		...(after.nextAt !== null && { nextAt: after.nextAt }),
		...(by !== undefined && { by }),
	};
	const last = done.at(-1);
	if (last && isSame(last, step)) {
		const again = { ...last, times: (last.times ?? 1) + 1, until: at, nextAt: step.nextAt };
		return [...done.slice(0, -1), again];
	}
	return capped([...done, step]);
}

const isComplete = ({ state }: JournalEntry): boolean => state !== undefined;

/** Whether a step is the one before it once more, such as another read that showed nothing new. */
function isSame(one: JournalEntry, other: JournalEntry): boolean {
	const sign = ({ read, isOpen, state, reason, hookReason, request, isUndone, error, isCancelled, by }: JournalEntry) =>
		JSON.stringify([read, isOpen, state, reason, hookReason, request, isUndone, error, isCancelled, by]);
	return sign(one) === sign(other);
}

function capped(journal: JournalEntry[]): JournalEntry[] {
	if (journal.length <= mostFirst + mostLast) return journal;
	const [gone, next, ...rest] = journal.slice(mostFirst);
	const omitted = (gone?.omitted ?? 0) + 1;
	return [...journal.slice(0, mostFirst), ...(next ? [{ ...next, omitted }] : []), ...rest];
}
