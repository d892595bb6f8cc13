import { hex } from "../base/derived.ts";
import { consentTemplate, readinessOf, templateIn } from "./consent.ts";
import type { Author } from "./event.ts";
import { hourMs, iso } from "./instant.ts";
import { append, messageSidOf, noteFailure } from "./message.ts";
import { loseOperation, settleOperation } from "./operation-ids.ts";
import {
	about,
	agencyOf,
	type Held,
	type MessageExtras,
	next,
	type StoredMessage,
	type Thread,
	type World,
} from "./world.ts";

/*
 * One contact's thread: one function per row of the service's table of states, with what the rows share below them.
 */

const windowMs = 24 * hourMs;
const aiResumesAfterMs = 24 * hourMs;

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

// Row "Window open · time passes": R88, R92. Nothing changes then, because every check compares instants.
export function windowExpiresAt(thread: Thread): number | null {
	return thread.windowFrom === null ? null : thread.windowFrom + windowMs;
}

export function isWindowOpen(thread: Thread, now: number): boolean {
	const expires = windowExpiresAt(thread);
	return expires !== null && expires > now; // R89: closed at the exact instant, because open is "in the future"
}

// Row "Window closed or never opened · contact writes": R90, any inbound message opens or renews it.
export function contactWrites(
	world: World,
	thread: Thread,
	body: string | null,
	extras: MessageExtras | undefined,
	opensWindow = true,
): StoredMessage {
	const { now } = world;
	const wasOpen = isWindowOpen(thread, now);
	const message = append(world, thread, { body, outbound: false, status: "received", extras }); // R82
	if (opensWindow) thread.windowFrom = now;
	const { media, buttonClicked = null } = extras ?? {};
	const files = media?.length ?? 0;
	world.events.add({ type: "contact.wrote", ...about(thread), messageId: message.id, body, buttonClicked, files });
	if (opensWindow && !wasOpen)
		world.events.add({ type: "window.opened", ...about(thread), expiresAt: iso(now + windowMs) });
	aiResumes(world, thread);
	return message;
}

// Row "AI on · send message": R146, R147, R150; and flows in progress end (R148).
function aiStopsForSend(world: World, thread: Thread): void {
	const { enabled, reason } = thread.ai;
	const ended = thread.flows.filter((flow) => isInProgress(flow.status));
	// R149: the staff's own choice stays, or a later message would undo it.
	if (reason !== "user_toggle" || world.policy.sendOverridesToggle)
		thread.ai = { enabled: false, reason: "manual_send", at: world.now };
	for (const flow of ended) Object.assign(flow, { status: "cancelled", updated: next(world, "flow update") });
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
	if (reason !== "manual_send" || at === null || world.now - at <= aiResumesAfterMs) return;
	thread.ai = { enabled: true, reason: null, at: null };
	world.events.add({ type: "ai.on", ...about(thread), reason: "contact_wrote" });
}

// Rows "AI off (user_toggle) · staff action" and "AI on · staff action": R153, R154.
export function staffSetsAi(world: World, thread: Thread, on: boolean): void {
	thread.ai = on ? { enabled: true, reason: null, at: null } : { enabled: false, reason: "user_toggle", at: world.now };
	world.events.add(
		on
			? { type: "ai.on", ...about(thread), reason: "staff" }
			: { type: "ai.off", ...about(thread), reason: "user_toggle" },
	);
}

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
	const open = isWindowOpen(thread, world.now);
	const { eligibleForManualSend, defaultLanguage, availableLanguages } = readinessOf(agency);
	const language = open ? null : (defaultLanguage ?? availableLanguages[0] ?? null);
	const sender = agency.senders[0] ?? null;
	const text: Outgoing = { body, author: "staff", sender, operationId: null, operation: null, language };
	if (open) return sendNow(world, thread, text);
	if (!eligibleForManualSend) throw new Error("The window is closed, and the agency cannot send a consent template.");
	hold(world, find(), text);
	return null;
}

// Row "No queued text · send message": R113, the text is held and the consent template goes out.
function holdText(world: World, thread: Thread, text: Outgoing): Held {
	const { now } = world;
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
	thread.held = held;
	noteHeld(world, thread, held);
	const { body, operationId, author } = text;
	const expiresAt = iso(held.expiresAt);
	world.events.add({ type: "text.held", ...about(thread), queueId: held.id, body, operationId, author, expiresAt });
	aiStopsForSend(world, thread);
	return held;
}

// Row "Queued text held · send message": R119 same id and createdAt, R121 the answer time runs on.
function replaceHeldText(world: World, thread: Thread, held: Held, text: Outgoing): Held {
	if (!isRetryOf(held, text)) loseToText(world, thread, held, text, true);
	// A scenario acts in the past, and no text was changed before it was held.
	Object.assign(held, waiting(text), { updatedAt: Math.max(world.now, held.updatedAt) });
	noteHeld(world, thread, held);
	if (world.policy.templateOnReplace) askForConsent(world, thread, text); // R120
	aiStopsForSend(world, thread);
	return held;
}

/**
 * R128: a text that goes out now replaces the held one, unless the policy keeps that. Returns the queue entry where the
 * text itself had waited.
 */
function dropForText(world: World, thread: Thread, held: Held, text: Outgoing): string | null {
	// The retry of the held text itself always does, so that it arrives once (R133).
	const isRetry = isRetryOf(held, text);
	if (!isRetry && world.policy.openSendWhileHeld === "keep") return null;
	if (!isRetry) loseToText(world, thread, held, text, false);
	thread.held = null;
	return isRetry ? held.id : null;
}

/** Whether it is the held text again. The id alone does not say so: a forgotten id (R140) can bring another text. */
const isRetryOf = (held: Held, text: Outgoing): boolean =>
	held.operation !== null && held.operation === text.operation && held.body === text.body;

/** The held text is never sent, because another one takes its place. */
function loseToText(world: World, thread: Thread, held: Held, text: Outgoing, again: boolean): void {
	const { body, operationId, author } = text;
	loseOperation(world, held, "replaced");
	// Without an id, every request is a new text (R115), even with the same words.
	if (author === "api") world.journal.replaced({ queueId: held.id, operation: held.operation, at: world.now });
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
	thread.held = null;
	return sendText(world, thread, { ...held, language: null }, held.id, true); // R156: as a manual send
}

// Row "Queued text held · contact declines, or no answer in time": R124, R125.
export function dropHeldText(world: World, thread: Thread, held: Held, reason: "declined" | "expired"): void {
	thread.held = null;
	loseOperation(world, held, "dropped");
	const { id, body, operationId, updatedAt } = held;
	const lost = { body, operationId, heldAt: iso(updatedAt) };
	world.events.add({ type: "text.dropped", ...about(thread), queueId: id, reason, ...lost });
}

/** Sends the consent template. */
function askForConsent(world: World, thread: Thread, { sender, language }: Outgoing): void {
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

/**
 * A text that goes out now, by a person: the API or staff. `queueId` is where it had waited, and `wasHeld` whether it goes
 * out from there, not by a retry of its send.
 */
function sendText(
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
	const expires = windowExpiresAt(thread) ?? world.now;
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

/** Moves the clock forward. What falls due on the way happens in order, each at its own instant. */
export function advanceTo(world: World, to: number): void {
	const due: { readonly at: number; readonly act: () => void }[] = [];
	for (const { id, threads } of world.agencies.values()) {
		for (const thread of threads.values()) {
			if (thread.views[0].agencyId !== id) continue; // another agency's, shared with this one
			const { held } = thread;
			if (held && held.expiresAt <= to)
				due.push({ at: held.expiresAt, act: () => dropHeldText(world, thread, held, "expired") });
			const closes = windowExpiresAt(thread);
			if (closes !== null && closes > world.now && closes <= to)
				due.push({ at: closes, act: () => world.events.add({ type: "window.closed", ...about(thread) }) });
		}
	}
	for (const { at, act } of due.sort((a, b) => a.at - b.at)) {
		world.now = Math.max(world.now, at);
		act();
	}
	world.now = to;
}
