import { readinessOf } from "./consent.ts";
import type { Outgoing } from "./message.ts";
import type { Held, StoredMessage, Thread, World } from "./state.ts";
import { dropForText, holdText, replaceHeldText, sendText } from "./thread.ts";
import { isWindowOpen } from "./window.ts";
import { agencyOf } from "./world.ts";

/** Sends a text to a contact whose window is open. */
export function sendNow(world: World, thread: Thread, text: Outgoing): StoredMessage {
	const queueId = thread.held && dropForText(world, thread, thread.held, text);
	return sendText(world, thread, text, queueId, false);
}

/** Holds a text for a contact whose window is closed. */
export function hold(world: World, thread: Thread, text: Outgoing): Held {
	const { held } = thread;
	return held ? replaceHeldText(world, thread, held, text) : holdText(world, thread, text);
}

/**
 * A text by the agency's staff, by the same rules as a send; null when it is held. Throws where a send is refused, and
 * then `find`, which makes the thread when there is none, is not called.
 */
export function staffSends(world: World, thread: Thread, find: () => Thread, body: string): StoredMessage | null {
	const agency = agencyOf(world, thread);
	const open = isWindowOpen(thread, world.clock.now());
	const { eligibleForManualSend, defaultLanguage, availableLanguages } = readinessOf(agency);
	const language = open ? null : (defaultLanguage ?? availableLanguages[0] ?? null);
	const sender = agency.senders[0] ?? null;
	const text: Outgoing = { body, author: "staff", sender, operationId: null, operation: null, language };
	if (open) return sendNow(world, thread, text);
	if (!eligibleForManualSend) throw new Error("The window is closed, and the agency cannot send a consent template.");
	hold(world, find(), text);
	return null;
}
