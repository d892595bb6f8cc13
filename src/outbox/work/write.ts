/*
 * Stores a changed text, and ends those that may not be sent any more.
 */
import { cancelling } from "../cancel.ts";
import { droppedAt } from "../decide.ts";
import type { Rule } from "../gate/gate.ts";
import { ends } from "../gate/waiting.ts";
import { policies } from "../policy/purpose.ts";
import { longestLeaseMs } from "../store.ts";
import { hasSuperseded, supersededBy } from "../supersede.ts";
import { type Change, type ContactFacts, changed, isUnfinished, type OpenText, type OutboxText } from "../text.ts";
import { ask } from "./ask.ts";
import type { QueueContext } from "./context.ts";

/**
 * Stores the changed row. Undefined if another worker was faster, or if the recipient was stopped meanwhile.
 *
 * @param unlessStopped refuse it if the recipient was stopped after its transaction had begun
 * @param isBegin refuse it if another worker has taken the queue over
 */
export async function write(
	context: QueueContext,
	text: OutboxText,
	change: Change,
	{ unlessStopped = false, isBegin = false } = {},
): Promise<OutboxText | undefined> {
	const { store, now } = context.options;
	const next = changed(text, change, now());
	const isNewState = next.state !== text.state;
	// Before the text ends: no other one of the contact may begin without them.
	const facts = isNewState ? factsFrom(next, now()) : undefined;
	if (facts) await context.contact.note(facts);
	// As long as the request may be on its way, by the clock of the database: those of two machines may differ.
	const leaseMs = Math.min(longestLeaseMs, Math.max(context.leaseMs, context.options.settleMs));
	const lease = isBegin ? { lease: context.lease, leaseMs } : {};
	if (!(await store.save(next, { unlessStopped, ...lease }))) return undefined;
	const saved = { ...next, version: text.version + 1 };
	if (isNewState) await context.onChange(saved);
	// Those whose turn has not come too, so that their status says so.
	if (facts) await endUnsent(context, await store.open(next, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER));
	if (next.progress.erase && !isUnfinished(next.state)) await store.erase({ id: next.id });
	return saved;
}

/**
 * Stores how the request of a row ended. A row that was marked as cancelled meanwhile keeps its mark, and gets the end too.
 * Undefined if another worker has taken over.
 */
export async function writeEnd(
	context: QueueContext,
	begun: OutboxText,
	change: Change,
): Promise<OutboxText | undefined> {
	let row: OutboxText | undefined = begun;
	while (row?.state === "sending" && row.progress.attempts === begun.progress.attempts) {
		const done = await write(context, row, change);
		if (done) return done;
		row = await context.options.store.find(begun.id);
	}
	return undefined;
}

/** Ends the waiting texts that may not be sent any more, as these rules say. Returns whether there were any. */
export async function endUnsent(
	context: QueueContext,
	texts: readonly OpenText[],
	table: readonly Rule[] = ends,
): Promise<boolean> {
	let isAny = false;
	for (const text of texts) {
		if (text.state !== "waiting") continue;
		const { answer } = await ask(context, table, text, texts);
		if (answer?.do === "become" && (await write(context, text, answer.change))) isAny = true;
	}
	return isAny;
}

/**
 * Cancels the text whose place another one takes, if the process that enqueued that one died before. It may be due later, or be one to
 * another number.
 */
export async function cancelSuperseded(context: QueueContext, text: OutboxText): Promise<void> {
	const { store, now } = context.options;
	const named = text.state === "waiting" && text.progress.attempts === 0 ? supersededBy(text) : undefined;
	const old = named && (await store.find(named.id));
	if (!old || !isUnfinished(old.state) || old.progress.cancelRequested || !hasSuperseded(text, old)) return;
	// A held one of the same contact is replaced.
	if (old.state !== "waiting" && old.to === text.to) return;
	await write(context, old, cancelling(old, { superseded: true }, context.options, now()));
}

/** What the end of a text says of the contact. */
function factsFrom(text: OutboxText, now: number): ContactFacts | undefined {
	const { state, reason, progress } = text;
	const { declineStops } = policies[text.purpose];
	// Only a window that closed right before the request lets the service hold marketing. It keeps back no notice, whatever became of it.
	const isMarketing = declineStops === "marketing" && reason !== "earlier_text_declined";
	// Whichever text of several it was, the contact wants none that waited then.
	const { declinedAt } = progress;
	if (declinedAt && (state === "dropped" || reason === "earlier_text_declined" || state === "unknown")) {
		// What it says of the tap counts, whatever a later reading makes of that.
		if (isMarketing) return { refused: declinedAt, perhapsDeclined: declinedAt };
		if (progress.mayBeDeclined) return { perhapsDeclined: declinedAt };
		return { declined: declinedAt, declineNoticed: { own: now } };
	}
	if (state !== "dropped" || reason !== "no_answer" || progress.consentFailed || isMarketing) return undefined;
	return { ignored: { own: droppedAt(text, now), service: progress.silentUntil } };
}
