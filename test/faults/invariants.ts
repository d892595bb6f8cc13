import type { Claim, Settled } from "./campaign.ts";
import type { Service } from "./service.ts";
import type { Dispatch } from "./watch.ts";

export type ViolationKind =
	| "doubled"
	| "sent but not delivered"
	| "not_sent but delivered"
	| "unknown without an id"
	| "unknown not settled"
	| "no id"
	| "more than one id"
	| "more than one body"
	| "id reused"
	| "redirect followed"
	| "wait shrank"
	| "Retry-After undercut"
	| "attempt after the deadline"
	| "untyped error"
	| "listener leaked"
	| "timer leaked"
	| "connection leaked"
	| "unhandled rejection"
	| "wrong answer"
	| "too many requests";

export interface Violation {
	readonly kind: ViolationKind;
	readonly detail: string;
}

export interface Evidence {
	readonly service: Service;
	readonly settled: readonly Settled[];
	/** Deliveries by text, before the second round. */
	readonly reachedFirst: ReadonlyMap<string, number>;
	readonly secondRound: ReadonlyMap<string, Claim>;
	/** Announced waits by operationId; like the attempts, those of the first round: a second one starts anew. */
	readonly waits: ReadonlyMap<string, readonly number[]>;
	/** Attempts by text. */
	readonly dispatches: ReadonlyMap<string, readonly Dispatch[]>;
	readonly deadlineMs: number;
}

// A timer may fire a millisecond early by the clock that measures it.
const clockGrainMs = 2;
// The caller starts its own clock a little after the campaign does.
const lateStartMs = 25;

/** Everything that went against the promise, one entry each. */
export function judge(evidence: Evidence): Violation[] {
	const found: Violation[] = [];
	const note = (kind: ViolationKind, detail: string) => found.push({ kind, detail });
	const { service, settled, reachedFirst, secondRound, waits, dispatches, deadlineMs } = evidence;
	const reachedLast = reached(service);
	const requests = requestsByText(service);
	if (service.landings() > 0) note("redirect followed", `${service.landings()} requests`);
	if (service.reuses() > 0) note("id reused", `${service.reuses()} requests`);
	for (const { message, claim, operationId, untyped, startedAt } of settled) {
		const text = message.body;
		const before = reachedFirst.get(text) ?? 0;
		const after = reachedLast.get(text) ?? 0;
		if (untyped !== undefined) note("untyped error", untyped);
		if (after > 1) note("doubled", `${text}: ${after} times`);
		if (claim === "sent" && before === 0) note("sent but not delivered", text);
		if (claim === "not_sent" && before > 0) note("not_sent but delivered", text);
		if (claim === "unknown" && operationId === undefined) note("unknown without an id", text);
		else if (claim === "unknown" && (secondRound.get(text)?.claim !== "sent" || after !== 1))
			note("unknown not settled", `${text}: ${secondRound.get(text)?.claim}, ${after} delivered`);
		const seen = requests.get(text);
		if (seen?.ids.has(undefined)) note("no id", text);
		if ((seen?.ids.size ?? 0) > 1) note("more than one id", text);
		if ((seen?.bodies.size ?? 0) > 1) note("more than one body", text);
		const attempts = dispatches.get(text) ?? [];
		for (const { at } of attempts)
			if (at > startedAt + deadlineMs + lateStartMs)
				note("attempt after the deadline", `${text}: ${Math.round(at - startedAt)} ms`);
		attempts.forEach(({ answeredAt, retryAfterMs = 0 }, index) => {
			const next = attempts[index + 1];
			// An answer that comes after the next attempt was given up by the client, which never saw its Retry-After.
			if (next === undefined || answeredAt === undefined || answeredAt > next.at) return;
			const waited = next.at - answeredAt;
			if (waited < retryAfterMs - clockGrainMs) note("Retry-After undercut", `${text}: ${waited} < ${retryAfterMs}`);
		});
		const announced = (operationId === undefined ? undefined : waits.get(operationId)) ?? [];
		announced.forEach((wait, index) => {
			const previous = announced[index - 1] ?? 0;
			if (wait < previous) note("wait shrank", `${text}: ${announced.join(", ")}`);
		});
	}
	return found;
}

function requestsByText(service: Service): Map<string, { ids: Set<unknown>; bodies: Set<string> }> {
	const found = new Map<string, { ids: Set<unknown>; bodies: Set<string> }>();
	for (const { operation, fields, body } of service.requests) {
		if (operation !== "messages.send") continue;
		// A caller that changes its text on a retry keeps the start of it: "text <seed>/<index>".
		const text = /^text \d+\/\d+/.exec(String(fields.body))?.[0] ?? "";
		const entry = found.get(text) ?? { ids: new Set(), bodies: new Set() };
		entry.ids.add(fields.operationId);
		entry.bodies.add(body);
		found.set(text, entry);
	}
	return found;
}

/** How often each text reached its contact, or waits for the contact's consent. */
export function reached(service: Service): Map<string, number> {
	const counts = new Map<string, number>();
	for (const { text } of [...service.deliveries, ...service.held.values()])
		counts.set(text, (counts.get(text) ?? 0) + 1);
	return counts;
}
