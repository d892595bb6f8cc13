import { eightDigits, hash, hex } from "../base/derived.ts";
import { about, next, placeInLists, type StoredMessage, type Thread, type World } from "./world.ts";

/** Adds a message to a thread; one to a contact who cannot be reached fails at once. */
export function append(
	world: World,
	thread: Thread,
	{ body, outbound, status, extras }: Pick<StoredMessage, "body" | "outbound" | "status" | "extras">,
): StoredMessage {
	const message: StoredMessage = {
		id: next(world, "message"), // R81: unique and rising
		body,
		outbound,
		at: world.now,
		profileName: outbound ? null : thread.name,
		extras,
		status: outbound && !thread.reachable ? "failed" : status,
		deliveredAt: null,
		readAt: null,
		errorCode: null,
	};
	thread.messages.push(message);
	placeInLists(world, thread);
	return message;
}

/** A report of the messaging provider about a message. */
export interface Report {
	readonly status: string;
	readonly errorCode?: number | null;
}

/** Changes a message by a report; it shows on the next read, and does not reorder the list (R173). */
export function report(
	world: World,
	thread: Thread,
	message: StoredMessage,
	{ status, errorCode = null }: Report,
): void {
	// R172: the first report of each time stays, and a read message was delivered.
	if (status === "delivered" || status === "read") message.deliveredAt ??= world.now;
	if (status === "read") message.readAt ??= world.now;
	const { extras } = message;
	const nulls = extras?.nulls?.filter((field) => field !== "status");
	Object.assign(message, { status, errorCode, extras: nulls ? { ...extras, nulls } : extras });
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

/** The provider's id of a message; it carries the message's own id, so that it can be found by it. */
export function messageSidOf(id: number): string {
	const scramble = hash(`sid ${id}`);
	return `SM${hex(`message ${id}`, 16)}${eightDigits(scramble)}${eightDigits((id ^ scramble) >>> 0)}`;
}

/** A message by its id or its messageSid. */
export function findMessage(world: World, id: number | string): { thread: Thread; message: StoredMessage } | undefined {
	const isSid = typeof id === "string" && /^SM[0-9a-f]{32}$/.test(id);
	const number = isSid ? (Number.parseInt(id.slice(18, 26), 16) ^ Number.parseInt(id.slice(26), 16)) >>> 0 : Number(id);
	if (isSid && messageSidOf(number) !== id) return undefined;
	for (const { threads } of world.agencies.values()) {
		for (const thread of threads.values()) {
			const message = thread.messages.find((each) => each.id === number);
			if (message) return { thread, message };
		}
	}
	return undefined;
}
