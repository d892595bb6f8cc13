/*
 * Whose turn it is: asks the gate about each text of a queue, by what is stored.
 */
import { isRestored } from "../decide.ts";
import type { Known } from "../gate/situation.ts";
import { waiting } from "../gate/waiting.ts";
import type { OpenText } from "../text.ts";
import { ask } from "./ask.ts";
import type { QueueContext } from "./context.ts";
import { write } from "./write.ts";

/** What the gate says of the texts of a queue. */
export interface Turn {
	/** Some of them have ended, so that the queue has to be looked at again. */
	isChanged: boolean;
	/** The first text that is on its way, or that the gate lets go on. */
	head?: OpenText | undefined;
	/** What was found out of it. */
	known: Known;
	/** A text waits for the reading of the head, which the service holds, to go before it. */
	isAwaited: boolean;
}

/** Ends the waiting texts of a queue that may not be sent any more, and finds the one whose turn it is. */
export async function turnOf(
	context: QueueContext,
	queue: readonly OpenText[],
	previousId: string | undefined,
): Promise<Turn> {
	const { now } = context.options;
	const turn: Turn = { isChanged: false, known: {}, isAwaited: false };
	for (const text of queue) {
		if (text.state !== "waiting") {
			turn.head ??= text;
			continue;
		}
		// It would be read first, which waits for the end of a suspension or a pause.
		if ((context.lease.isSuspended || context.pausedUntil > now()) && isRestored(text)) continue;
		const { answer, known } = await ask(context, waiting, text, queue, { previousId });
		if (answer?.do === "become") {
			if (await write(context, text, answer.change)) turn.isChanged = true;
			continue;
		}
		if (answer?.because === "behind_held") turn.isAwaited = true;
		const isStored = answer?.do === "wait" && (!answer.change || (text.nextAt ?? 0) > now());
		if (isStored || turn.head) continue;
		turn.head = text;
		turn.known = known;
	}
	return turn;
}
