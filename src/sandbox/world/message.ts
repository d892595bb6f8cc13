import { consentTemplate, templateIn } from "./consent.ts";
import type { Author } from "./conversation-event.ts";
import { messageSidOf } from "./message-ids.ts";
import type { StoredMessage, Thread, World } from "./state.ts";
import { about, change, next } from "./world.ts";

/** A text that the agency sends. */
export interface Outgoing {
	readonly body: string;
	readonly author: Author;
	readonly sender: string | null;
	readonly operationId: string | null;
	/** The key of its record in `World.operations`; null without an operationId. */
	readonly operation: string | null;
	readonly language: string | null;
}

/** Adds a message to a thread; one to a contact who cannot be reached fails at once. */
export function append(
	world: World,
	thread: Thread,
	{ body, outbound, status, extras }: Pick<StoredMessage, "body" | "outbound" | "status" | "extras">,
): StoredMessage {
	const fails = outbound && !thread.reachable;
	const message: StoredMessage = {
		id: next(world, "message"), // R81: unique and rising
		body,
		outbound,
		at: world.clock.now(),
		profileName: outbound ? null : thread.name,
		extras,
		status: fails ? "failed" : status,
		deliveredAt: null,
		readAt: null,
		errorCode: null,
	};
	change(world, thread, () => {
		thread.opened = true; // R108
		thread.messages.push(message);
		if (fails) thread.failed++;
	});
	world.threadOf[message.id] = thread;
	return message;
}

/** Sends the consent template. */
export function askForConsent(world: World, thread: Thread, { sender, language }: Outgoing): void {
	const { body, interactiveContent } = templateIn(language);
	const extras = {
		templateName: consentTemplate,
		interactiveContent,
		sender,
		...(language === null ? {} : { language }),
	};
	const message = append(world, thread, { body, outbound: true, status: "queued", extras });
	const asked = { messageId: message.id, templateCode: consentTemplate, language };
	world.events.add({ type: "consent.asked", ...about(thread), ...asked });
	noteFailure(world, thread, message);
}

/** A report of the messaging provider about a message. */
export interface Report {
	readonly status: string;
	readonly errorCode?: number | null;
}

/** Changes a message by a report; it shows on the next read (R173). */
export function report(
	world: World,
	thread: Thread,
	message: StoredMessage,
	{ status, errorCode = null }: Report,
): void {
	const now = world.clock.now();
	const before = countsAsFailed(message);
	// R172: the first report of each time stays, and a read message was delivered.
	if (status === "delivered" || status === "read") message.deliveredAt ??= now;
	if (status === "read") message.readAt ??= now;
	Object.assign(message, { status, errorCode });
	world.messages.delete(message);
	change(world, thread, () => {
		thread.failed += Number(countsAsFailed(message)) - Number(before);
	});
	noteStatus(world, thread, message);
}

/** Adds the event of a message that failed at once, because its contact cannot be reached. */
export function noteFailure(world: World, thread: Thread, message: StoredMessage): void {
	if (message.status === "failed") noteStatus(world, thread, message);
}

function noteStatus(world: World, thread: Thread, { id, status, errorCode }: StoredMessage): void {
	const ids = { messageId: id, messageSid: messageSidOf(id) };
	world.events.add({ type: "message.status", ...about(thread), ...ids, status, errorCode });
}

/** Whether a message counts in `failedMessages` (R158). */
export function countsAsFailed({ outbound, status, errorCode }: StoredMessage): boolean {
	return outbound && (status === "failed" || status === "undelivered" || errorCode !== null);
}
