import { type Answer, decoded } from "../base/call.ts";
import { phoneFrom } from "../base/phone.ts";
import type { EventFault } from "../world/event.ts";
import type { NewEvent } from "../world/events.ts";
import { type Entry, jsonOrText } from "../world/journal.ts";
import type { World } from "../world/state.ts";
import { routeOf } from "./operations.ts";

/** A request while it is being answered. */
export interface Exchange {
	readonly entry: Entry;
	/** By `performance.now()`. */
	readonly startedAt: number;
	/** The fault that hit it last. */
	fault: EventFault | null;
	/** The result of the operation, and its JSON. */
	outcome: { readonly value: object; readonly body: string } | null;
}

const longestAnswer = 1_000_000;

/** Adds a request and its answer to the events. The event is built when somebody reads it. */
export function tellRequest(world: World, exchange: Exchange, { body, cut }: Answer): void {
	const { entry, fault, startedAt, outcome } = exchange;
	const text = cut === "reset" || cut === "hang" || body.length > longestAnswer ? "" : body;
	// An answer that no fault changed is kept as its rows, which answers share, because its text costs far more.
	const answer = outcome?.body === text ? outcome.value : text;
	const ms = Math.round((performance.now() - startedAt) * 100) / 100;
	world.events.addLazy(entry.text.length + text.length + entry.path.length + entry.query.length, () =>
		requestEvent(entry, fault, typeof answer === "string" ? jsonOrText(answer) : structuredClone(answer), ms),
	);
}

function requestEvent(entry: Entry, fault: EventFault | null, answer: unknown, ms: number): NewEvent {
	const { operation, method, path, query, text, status, keyId } = entry;
	const body = jsonOrText(text);
	const route = routeOf(method, path);
	return {
		type: "request",
		operation,
		method,
		path,
		query,
		agencyId: decoded(route?.agencyId ?? "") || null,
		contact: contactIn(route?.phone, body),
		body,
		status,
		answer,
		ms,
		fault,
		keyId,
	};
}

/** The contact that a request is about, by its path or by the field `to` of its body. */
function contactIn(segment: string | undefined, body: unknown): string | null {
	if (segment) return phoneFrom(decoded(segment)) ?? null;
	const to = typeof body === "object" && body !== null && "to" in body ? body.to : undefined;
	return typeof to === "string" ? (phoneFrom(to) ?? null) : null;
}

/** Records that a client did what a good client would not do. */
export function tellViolation(
	world: World,
	{ method, path, correlationId }: Entry,
	rule: string,
	message: string,
): void {
	world.journal.violated({ rule, message, method, path, correlationId });
	world.events.add({ type: "violation", rule, message, method, path });
}
