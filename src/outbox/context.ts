/*
 * What the methods of an outbox use.
 */
import type { ChangeRow } from "./change.ts";
import type { CheckedOptions } from "./options.ts";
import type { OptOutReader } from "./policy/contact.ts";
import type { OutboxText } from "./text.ts";
import type { Transaction } from "./transaction.ts";
import type { QuietClock } from "./work/quiet.ts";
import type { Summaries } from "./work/watch.ts";

/** The parts of an outbox that its methods use. */
export interface OutboxContext {
	options: CheckedOptions;
	optOuts: OptOutReader;
	quiet: QuietClock;
	summaries: Summaries;
	change: ChangeRow;
	/** Lets the workers of this process look for what is due. */
	claimNow: () => void;
	/** Tells a sandbox of a text, if the client has its connection. */
	show: ((id: string) => void) | undefined;
}

/** Makes the texts of a number due, and wakes the workers. */
export async function wake(
	context: OutboxContext,
	{ agencyId, to }: { agencyId?: string | undefined; to: string },
): Promise<void> {
	const { store, engine, now } = context.options;
	const recipient = { to, ...(agencyId !== undefined && { agencyId }) };
	context.summaries.forget(to);
	await store.wake(recipient, now());
	// One job is enough, because the worker that it wakes looks at all queues.
	const [first] = engine ? await store.unfinished(recipient) : [];
	if (first) await wakeWorker(context, first, crypto.randomUUID(), undefined);
	context.claimNow();
}

/** Wakes a worker of the engine. */
export async function wakeWorker(
	{ options: { engine } }: OutboxContext,
	text: OutboxText,
	key: string,
	tx: Transaction | undefined,
): Promise<void> {
	await engine?.wake({ text: text.seq }, { key, priority: text.priority, tx }).catch((error: unknown) => {
		if (!engine.mayFailToWake) throw error;
	});
}
