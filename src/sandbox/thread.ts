import { hourMs } from "./clock.ts";
import { consentTemplate, templateIn } from "./consent.ts";
import { settle } from "./ledger.ts";
import { hex } from "./noise.ts";
import type { Held, MessageExtras, StoredMessage, Thread, World } from "./state.ts";
import { agencyOf, change, next } from "./world.ts";

/*
 * One contact's thread: the table of spec §3, one function per row, with what the rows share below it.
 */

const windowMs = 24 * hourMs; // §8
const aiResumesAfterMs = 24 * hourMs; // §8

/** Where a text comes from and goes by. */
export interface Outgoing {
	readonly body: string;
	readonly sender: string | null;
	readonly operationId: string | null;
	/** Where the ledger keeps the operation, when it has an id. */
	readonly entry: string | null;
	readonly language: string | null;
}

// Row "Window open · time passes": R88, R89, R92. Nothing runs; an instant is compared.
export function windowExpiresAt(thread: Thread): number | null {
	return thread.windowFrom === null ? null : thread.windowFrom + windowMs;
}

export function isWindowOpen(thread: Thread, now: number): boolean {
	const expires = windowExpiresAt(thread);
	return expires !== null && expires > now; // R89: closed at the exact instant, as open is "in the future" (§3)
}

// Row "Window closed or never opened · contact writes": R90, any inbound message opens or renews it.
export function contactWrites(
	world: World,
	thread: Thread,
	body: string | null,
	extras: MessageExtras | undefined,
	opensWindow = true,
): StoredMessage {
	const now = world.clock.now();
	const message = append(world, thread, { body, outbound: false, status: "received", extras }); // R82
	change(world, thread, () => {
		thread.lastInboundAt = now;
		if (opensWindow) thread.windowFrom = now;
	});
	aiResumes(world, thread);
	return message;
}

// Row "AI on · send message": R146, R147, R150; and flows in progress end (§4 send, rule 9; R148).
function aiStopsForSend(world: World, thread: Thread): void {
	change(world, thread, () => {
		// R149: the staff's own choice stands, or a later message would undo it.
		if (thread.ai.reason !== "user_toggle" || world.policy.sendOverridesToggle)
			thread.ai = { enabled: false, reason: "manual_send", at: world.clock.now() };
		for (const flow of thread.flows) {
			if (isInProgress(flow.status)) {
				flow.status = "cancelled";
				flow.updated = next(world, "flow update");
			}
		}
	});
}

/** R178 */
export const isInProgress = (status: string): boolean => status === "active" || status === "waiting";

// Row "AI off, manual_send · contact writes": R151, R152 (at exactly 24 h it stays off), R153.
function aiResumes(world: World, thread: Thread): void {
	const { reason, at } = thread.ai;
	if (reason !== "manual_send" || at === null || world.clock.now() - at <= aiResumesAfterMs) return;
	change(world, thread, () => {
		thread.ai = { enabled: true, reason: null, at: null };
	});
}

// Rows "AI off (user_toggle) · staff action" and "AI on · staff action": R153, R154.
export function staffSetsAi(world: World, thread: Thread, on: boolean): void {
	if (!on && thread.ai.reason === "user_toggle") return;
	change(world, thread, () => {
		thread.ai = on
			? { enabled: true, reason: null, at: null }
			: { enabled: false, reason: "user_toggle", at: world.clock.now() };
	});
}

// Row "No queued text · send message": R113, the text is held and the consent template goes out.
export function holdText(world: World, thread: Thread, text: Outgoing): Held {
	const now = world.clock.now();
	const number = next(world, "queue");
	const held: Held = {
		id: `que_${hex(`queue ${number}`, 16)}`,
		createdAt: now,
		updatedAt: now,
		expiresAt: now + agencyOf(world, thread).consent.answerWithinHours * hourMs,
		...waiting(text),
	};
	sendTemplate(world, thread, text);
	change(world, thread, () => {
		thread.held = held;
	});
	settle(world, text.entry, { state: "held", queueId: held.id });
	awaitAnswer(world, thread, held);
	aiStopsForSend(world, thread);
	return held;
}

// Row "Queued text held · send message": R119 same id and createdAt, R121 the answer time runs on.
export function replaceHeldText(world: World, thread: Thread, held: Held, text: Outgoing): Held {
	settle(world, held.entry, { state: "gone" });
	change(world, thread, () => {
		Object.assign(held, waiting(text), { updatedAt: world.clock.now() });
	});
	settle(world, text.entry, { state: "held", queueId: held.id });
	if (world.policy.templateOnReplace) sendTemplate(world, thread, text); // R120
	aiStopsForSend(world, thread);
	return held;
}

// Row "Queued text held · contact accepts": R123, as one outbound message after the tap.
export function sendHeldText(world: World, thread: Thread, held: Held): StoredMessage {
	change(world, thread, () => {
		thread.held = null;
	});
	return sendText(world, thread, { ...held, language: null }, true); // R156: as a manual send
}

// Row "Queued text held · contact declines, or no answer in time": R124, R125.
export function dropHeldText(world: World, thread: Thread, held: Held): void {
	change(world, thread, () => {
		thread.held = null;
	});
	settle(world, held.entry, { state: "gone" });
}

/** Drops the text when the time to answer is over; at exactly the limit it is (R125). */
export function awaitAnswer(world: World, thread: Thread, held: Held): void {
	world.clock.schedule(held.expiresAt, () => {
		if (thread.held?.id === held.id) dropHeldText(world, thread, held);
	});
}

/** A text that goes out now, by a person: the API, staff, or a text that was held. */
export function sendText(world: World, thread: Thread, text: Outgoing, wasHeld = false): StoredMessage {
	const { body, sender, operationId } = text;
	// R114: `accepted` is named for send responses only.
	const message = append(world, thread, {
		body,
		outbound: true,
		status: "queued",
		extras: { sender, operationId },
	});
	aiStopsForSend(world, thread);
	const expires = windowExpiresAt(thread) ?? world.clock.now();
	settle(world, text.entry, { state: "sent", messageId: message.id, windowExpiresAt: expires, wasHeld });
	return message;
}

export function aiReplies(world: World, thread: Thread, body: string): StoredMessage {
	const sender = agencyOf(world, thread).senders[0] ?? null;
	return append(world, thread, {
		body,
		outbound: true,
		status: "queued",
		extras: { sender, operationId: null },
	});
}

function sendTemplate(world: World, thread: Thread, { sender, language }: Outgoing): void {
	const { body, interactiveContent } = templateIn(language);
	const extras = {
		templateName: consentTemplate,
		interactiveContent,
		sender,
		...(language === null ? {} : { language }),
	};
	append(world, thread, { body, outbound: true, status: "queued", extras });
}

function waiting({
	body,
	sender,
	operationId,
	entry,
}: Outgoing): Pick<Held, "body" | "sender" | "operationId" | "entry"> {
	return { body, sender, operationId, entry };
}

function append(
	world: World,
	thread: Thread,
	{ body, outbound, status, extras }: Pick<StoredMessage, "body" | "outbound" | "status" | "extras">,
): StoredMessage {
	const message: StoredMessage = {
		id: next(world, "message"), // R81: unique and rising
		body,
		outbound,
		at: world.clock.now(),
		profileName: outbound ? null : thread.name,
		extras,
		status,
		deliveredAt: null,
		readAt: null,
		errorCode: null,
	};
	change(world, thread, () => {
		thread.opened = true; // R108
		thread.messages.push(message);
	});
	world.threadOf[message.id] = thread;
	return message;
}
