/*
 * Cancels texts, and erases contacts.
 */
import { checkedLater, fieldsOf, optional } from "../shared/validation.ts";
import { type OutboxContext, wake } from "./context.ts";
import { gate } from "./gate/gate.ts";
import { type Situation, storedSituation } from "./gate/situation.ts";
import { onCancel } from "./gate/waiting.ts";
import { check, line, longestName, text } from "./input.ts";
import {
	type CancelAllOptions,
	cancelledFrom,
	type EraseOptions,
	erasedFrom,
	type WholeAgency,
	type Whose,
} from "./recipient.ts";
import { type Change, isUnfinished, type OutboxText } from "./text.ts";
import type { Transaction } from "./transaction.ts";

/**
 * Ids of texts. Each one that was unfinished when `cancelAll` or `erase` was called is in exactly one of the lists, also if a worker ended
 * it meanwhile. One that had ended before is in none.
 */
export interface CancelledTexts {
	/** Texts that were not sent and will not be. */
	cancelled: string[];
	/**
	 * Texts that were `sending` or `held`, whose conversation could not be read, or that a worker has sent meanwhile. They may still be
	 * delivered, or are delivered already.
	 */
	tooLate: string[];
}

/** Options of `cancel`. */
export interface CancelOptions {
	/** Your open transaction: the text is cancelled with it, or not at all. */
	tx?: Transaction | undefined;
	/** Who cancels it, for the steps of the text: one line of at most 100 characters. */
	by?: string | undefined;
}

const schema = fieldsOf<CancelOptions>({ tx: checkedLater(), by: optional(line(longestName)) });

/** What is noted of a text that is cancelled. */
interface CancelMarks {
	erase?: true;
	superseded?: true;
}

/** Nothing is awaited before the statement of a transaction, as in `enqueue`. */
export async function cancel(context: OutboxContext, id: string, given: CancelOptions = {}): Promise<boolean> {
	const { store, clock, now } = context.options;
	const { tx, by } = check(schema, "options", given, "cancel");
	const known = text("id", id, "cancel");
	const measuring = clock.measure(tx);
	if (measuring) await measuring;
	if (tx !== undefined) return (await store.cancelIn(known, now(), tx, by))?.state === "cancelled";
	const row = await cancelText(context, known, {}, by);
	if (row) await wake(context, row);
	return row?.state === "cancelled";
}

export async function cancelAll(context: OutboxContext, given: CancelAllOptions): Promise<CancelledTexts> {
	const { whose, by } = cancelledFrom(context.options, given);
	return stop(context, whose, {}, by);
}

export async function erase(context: OutboxContext, given: EraseOptions): Promise<CancelledTexts> {
	const recipient = erasedFrom(context.options, given);
	const found = await stop(context, recipient, { erase: true });
	await context.options.store.erase(recipient, context.options.now());
	return found;
}

/**
 * First no further text may begin, then each one is cancelled. They are listed before that too, because workers end what is stopped at
 * once, and it would be in no list.
 */
async function stop(
	context: OutboxContext,
	whose: Whose | WholeAgency,
	marks: CancelMarks,
	by?: string,
): Promise<CancelledTexts> {
	const { store, clock } = context.options;
	const idsOf = async (): Promise<string[]> => (await store.unfinished(whose)).map(({ id }) => id);
	await clock.measure();
	const before = await idsOf();
	await store.stop(whose, marks.erase ? "erase" : "cancelAll");
	const found: CancelledTexts = { cancelled: [], tooLate: [] };
	for (const id of new Set([...before, ...(await idsOf())])) {
		const row = await cancelText(context, id, marks, by);
		const isUnsent = row?.state === "cancelled" || row?.state === "expired";
		found[isUnsent ? "cancelled" : "tooLate"].push(id);
	}
	return found;
}

/** Cancels a text, or marks it when it is too late. Returns its row. */
export async function cancelText(
	context: OutboxContext,
	id: string,
	marks: CancelMarks = {},
	by?: string,
): Promise<OutboxText | undefined> {
	const { options, change } = context;
	const { row, isChanged } = await change(
		id,
		(found) => (isUnfinished(found.state) ? cancelling(found, marks, options, options.now()) : undefined),
		by,
	);
	// A worker finds out whether it was sent.
	if (isChanged && row?.state === "waiting") await wake(context, row);
	return row;
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
