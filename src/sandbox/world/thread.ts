import { hex } from "../base/derived.ts";
import { hourMs, iso } from "./clock.ts";
import { append, askForConsent, noteFailure, type Outgoing } from "./message.ts";
import { messageSidOf } from "./message-ids.ts";
import { loseOperation, settleOperation } from "./operation-ids.ts";
import type { Held, MessageExtras, StoredMessage, Thread, World } from "./state.ts";
import { awaitWindowEnd, isWindowOpen, windowExpiresAt, windowMs } from "./window.ts";
import { about, agencyOf, change, next } from "./world.ts";

/*
 * One contact's thread: one function per row of the service's table of states, with what the rows share below them.
 */

const aiResumesAfterMs = 24 * hourMs;

// Row "Window closed or never opened · contact writes": R90, any inbound message opens or renews it.
export function contactWrites(
	world: World,
	thread: Thread,
	body: string | null,
	extras: MessageExtras | undefined,
	opensWindow = true,
): StoredMessage {
	const now = world.clock.now();
	const wasOpen = isWindowOpen(thread, now);
	const message = append(world, thread, { body, outbound: false, status: "received", extras }); // R82
	change(world, thread, () => {
		thread.lastInboundAt = now;
		if (opensWindow) thread.windowFrom = now;
	});
	const { media, buttonClicked = null } = extras ?? {};
	const files = media?.length ?? 0;
	world.events.add({ type: "contact.wrote", ...about(thread), messageId: message.id, body, buttonClicked, files });
	if (opensWindow) {
		if (!wasOpen) world.events.add({ type: "window.opened", ...about(thread), expiresAt: iso(now + windowMs) });
		awaitWindowEnd(world, thread);
	}
	aiResumes(world, thread);
	return message;
}

// Row "AI on · send message": R146, R147, R150; and flows in progress end (R148).
function aiStopsForSend(world: World, thread: Thread): void {
	const { enabled, reason } = thread.ai;
	const ended = thread.flows.filter((flow) => isInProgress(flow.status));
	change(world, thread, () => {
		// R149: the staff's own choice stays, or a later message would undo it.
		if (reason !== "user_toggle" || world.policy.sendOverridesToggle)
			thread.ai = { enabled: false, reason: "manual_send", at: world.clock.now() };
		for (const flow of ended) Object.assign(flow, { status: "cancelled", updated: next(world, "flow update") });
	});
	if (enabled || thread.ai.reason !== reason)
		world.events.add({ type: "ai.off", ...about(thread), reason: "manual_send" });
	for (const { id } of ended)
		world.events.add({ type: "flow.changed", ...about(thread), flowId: String(id), status: "cancelled" });
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
	world.events.add({ type: "ai.on", ...about(thread), reason: "contact_wrote" });
}

// Rows "AI off (user_toggle) · staff action" and "AI on · staff action": R153, R154.
export function staffSetsAi(world: World, thread: Thread, on: boolean): void {
	change(world, thread, () => {
		thread.ai = on
			? { enabled: true, reason: null, at: null }
			: { enabled: false, reason: "user_toggle", at: world.clock.now() };
	});
	world.events.add(
		on
			? { type: "ai.on", ...about(thread), reason: "staff" }
			: { type: "ai.off", ...about(thread), reason: "user_toggle" },
	);
}

// Row "No queued text · send message": R113, the text is held and the consent template goes out.
export function holdText(world: World, thread: Thread, text: Outgoing): Held {
	const now = world.clock.now();
	const number = next(world, "queue");
	const { answerWithinHours } = agencyOf(world, thread).consent;
	const held: Held = {
		id: `que_${hex(`queue ${number}`, 16)}`,
		createdAt: now,
		updatedAt: now,
		expiresAt: now + (Math.round(answerWithinHours * hourMs) || 1), // an archive has whole milliseconds
		...waiting(text),
	};
	askForConsent(world, thread, text);
	change(world, thread, () => {
		thread.held = held;
	});
	noteHeld(world, thread, held);
	awaitAnswer(world, thread, held);
	const { body, operationId, author } = text;
	const expiresAt = iso(held.expiresAt);
	world.events.add({ type: "text.held", ...about(thread), queueId: held.id, body, operationId, author, expiresAt });
	aiStopsForSend(world, thread);
	return held;
}

// Row "Queued text held · send message": R119 same id and createdAt, R121 the answer time runs on.
export function replaceHeldText(world: World, thread: Thread, held: Held, text: Outgoing): Held {
	if (!isRetryOf(held, text)) loseToText(world, thread, held, text, true);
	change(world, thread, () => {
		Object.assign(held, waiting(text), { updatedAt: world.clock.now() });
	});
	noteHeld(world, thread, held);
	if (world.policy.templateOnReplace) askForConsent(world, thread, text); // R120
	aiStopsForSend(world, thread);
	return held;
}

/**
 * R128: a text that goes out now replaces the held one, unless the policy keeps that. Returns the queue entry where the
 * text itself had waited.
 */
export function dropForText(world: World, thread: Thread, held: Held, text: Outgoing): string | null {
	// The retry of the held text itself always does, so that it arrives once (R133).
	const isRetry = isRetryOf(held, text);
	if (!isRetry && world.policy.openSendWhileHeld === "keep") return null;
	if (!isRetry) loseToText(world, thread, held, text, false);
	change(world, thread, () => {
		thread.held = null;
	});
	return isRetry ? held.id : null;
}

/** Whether it is the held text again. The id alone does not say so: a forgotten id (R140) can bring another text. */
const isRetryOf = (held: Held, text: Outgoing): boolean =>
	held.operation !== null && held.operation === text.operation && held.body === text.body;

/** The held text is never sent, because another one takes its place. */
function loseToText(world: World, thread: Thread, held: Held, text: Outgoing, again: boolean): void {
	const { body, operationId, author } = text;
	loseOperation(world, held, "replaced");
	// The same text again without an id is a retry, by which nothing is lost.
	const isRepeated = held.operation === null && operationId === null && held.body === body;
	if (author === "api" && !isRepeated)
		world.journal.replaced({ queueId: held.id, operation: held.operation, at: world.clock.now() });
	world.events.add({
		type: "text.replaced",
		...about(thread),
		queueId: held.id,
		replaced: { body: held.body, operationId: held.operationId, heldAt: iso(held.updatedAt) },
		body,
		operationId,
		held: again,
		expiresAt: again ? iso(held.expiresAt) : null,
	});
}

// Row "Queued text held · contact accepts": R123, as one outbound message after the tap.
export function sendHeldText(world: World, thread: Thread, held: Held): StoredMessage {
	change(world, thread, () => {
		thread.held = null;
	});
	return sendText(world, thread, { ...held, language: null }, held.id, true); // R156: as a manual send
}

// Row "Queued text held · contact declines, or no answer in time": R124, R125.
export function dropHeldText(world: World, thread: Thread, held: Held, reason: "declined" | "expired"): void {
	change(world, thread, () => {
		thread.held = null;
	});
	loseOperation(world, held, "dropped");
	const { id, body, operationId, updatedAt } = held;
	const lost = { body, operationId, heldAt: iso(updatedAt) };
	world.events.add({ type: "text.dropped", ...about(thread), queueId: id, reason, ...lost });
}

/** Drops the text when the time to answer is over; at exactly the limit it is (R125). */
export function awaitAnswer(world: World, thread: Thread, held: Held): void {
	world.clock.schedule(held.expiresAt, () => {
		if (thread.held?.id === held.id) dropHeldText(world, thread, held, "expired");
	});
}

/**
 * A text that goes out now, by a person: the API or staff. `queueId` is where it had waited, and `wasHeld` whether it goes
 * out from there, not by a retry of its send.
 */
export function sendText(
	world: World,
	thread: Thread,
	text: Outgoing,
	queueId: string | null,
	wasHeld: boolean,
): StoredMessage {
	const { body, sender, operationId, author } = text;
	// R114: `accepted` is for send responses only.
	const message = append(world, thread, {
		body,
		outbound: true,
		status: "queued",
		extras: { sender, operationId, author },
	});
	const { id } = message;
	const ids = { messageId: id, messageSid: messageSidOf(id), operationId, queueId };
	world.events.add({ type: "text.sent", ...about(thread), ...ids, body, author });
	noteFailure(world, thread, message);
	aiStopsForSend(world, thread);
	const expires = windowExpiresAt(thread) ?? world.clock.now();
	settleOperation(world, text.operation, { state: "sent", messageId: id, windowExpiresAt: expires, wasHeld }, queueId);
	return message;
}

export function aiReplies(world: World, thread: Thread, body: string, content: MessageExtras): StoredMessage {
	const sender = agencyOf(world, thread).senders[0] ?? null;
	const extras: MessageExtras = { ...content, sender, operationId: null, author: "ai" };
	const message = append(world, thread, { body, outbound: true, status: "queued", extras });
	const ids = { messageId: message.id, messageSid: messageSidOf(message.id), operationId: null, queueId: null };
	world.events.add({ type: "text.sent", ...about(thread), ...ids, body, author: "ai" });
	noteFailure(world, thread, message);
	return message;
}

function waiting(text: Outgoing): Pick<Held, "body" | "author" | "sender" | "operationId" | "operation"> {
	const { body, author, sender, operationId, operation } = text;
	return { body, author, sender, operationId, operation };
}

function noteHeld(world: World, thread: Thread, { operation, id }: Held): void {
	settleOperation(world, operation, { state: "held", queueId: id, windowExpiresAt: windowExpiresAt(thread) });
}
