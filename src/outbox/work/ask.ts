/*
 * Asks the gate about a text, with what is known without a call of the service.
 */
import { type Answer, gate, type Rule } from "../gate/gate.ts";
import type { Fact, Known, Situation } from "../gate/situation.ts";
import type { OutboxText } from "../text.ts";
import type { QueueContext } from "./context.ts";
import { hookFailure } from "./hook-failure.ts";

/** What a text is asked about with, beside what is stored. */
export type More = Partial<
	Pick<Situation, "known" | "failed" | "readingAgeMs" | "readings" | "previousId" | "passing">
>;

export async function situationOf(
	{ options, lease, contact, heirs, pausedUntil }: QueueContext,
	text: OutboxText,
	queue: readonly OutboxText[],
	{ known = {}, readingAgeMs = 0, readings = 0, ...more }: More = {},
): Promise<Situation> {
	const agency = { isSuspended: lease.isSuspended, pausedUntil };
	const view = await contact.view();
	return {
		now: options.now(),
		text,
		queue,
		heirs,
		options,
		contact: view,
		agency,
		known,
		readingAgeMs,
		readings,
		...more,
	};
}

/** What a table says of a text, and what was found out for it: the quiet hours alone. */
export async function ask(
	context: QueueContext,
	table: readonly Rule[],
	text: OutboxText,
	queue: readonly OutboxText[],
	more: More = {},
): Promise<{ answer: Answer | undefined; known: Known }> {
	const situation = await situationOf(context, text, queue, more);
	const answer = gate(situation, table);
	if (answer?.do !== "need" || answer.fact !== "hours") return { answer, known: situation.known };
	const found = await findHours(context, situation);
	return { answer: gate({ ...situation, ...found, now: context.options.now() }, table), known: found.known };
}

/** What is known of a text. */
export type Found = Pick<Situation, "known" | "failed">;

export async function findHours({ quiet }: QueueContext, { known, text }: Situation): Promise<Found> {
	return orFailed("hours", known, async () => ({ known: { ...known, hours: await quiet.hours(text.agencyId) } }));
}

/** Finds out a fact by a hook. That it fails is a fact too. */
export async function orFailed<Some extends Found>(
	fact: Fact,
	known: Known,
	act: () => Promise<Some>,
): Promise<Some | Found> {
	try {
		return await act();
	} catch (error) {
		return { known, failed: { fact, error: hookFailure(error) } };
	}
}
