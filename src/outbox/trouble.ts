import type { PartnerError, SendError } from "messaging-conversations";
import type { Ending } from "./lane.ts";
import type { Lane, TextError } from "./text.ts";

/** What keeps texts from being sent, through no fault of theirs. They wait; none is lost. */
export interface Trouble {
	/** The error that was met. Holds no key, no number and no text. */
	error: PartnerError;
	/** The agency, when it is about one alone. */
	agencyId?: string;
	/** When it is tried again. */
	retryAt: Date;
}

/** What is wrong now, and how long to pause for it. In memory: a restart tries at once. */
export interface Troubles {
	/** Notes an error; gives the moment before which nothing of its scope is tried. */
	met: (error: PartnerError, lane: Lane) => number;
	/** A call in the lane succeeded. A read says nothing of what keeps texts from being sent, nor the other way round. */
	passed: (lane: Lane, operation: "read" | "send") => void;
	/** Until when an agency's texts wait. */
	pausedUntil: (agencyId: string) => number;
	/** Until when all texts wait. */
	allPausedUntil: () => number;
}

interface Scope {
	until: number;
	/** Pauses in a row. */
	times: number;
	/** The tags that were reported. */
	reported: Set<string>;
	/** The contacts whose last call failed. */
	failing: Set<string>;
}

const longestPauseMs = 60_000;
/** @param tell is called once for each kind of trouble, and again only when it came back after it had passed */
export function createTroubles(tell: (trouble: Trouble) => void, now: () => number): Troubles {
	const scopes = new Map<string, Scope>();
	const scopeName = (operation: "read" | "send", agencyId = "everywhere"): string => `${operation} ${agencyId}`;
	const pausedUntil = (agencyId?: string): number =>
		Math.max(...(["read", "send"] as const).map((operation) => scopes.get(scopeName(operation, agencyId))?.until ?? 0));
	return {
		met(error, { agencyId, to }) {
			if (error._tag === "PartnerConflict") return 0;
			const wide = scopeOf(error);
			const operation = error.operation === "messages.send" ? "send" : "read";
			const name = scopeName(operation, wide === "client" ? undefined : agencyId);
			const scope = scopes.get(name) ?? { until: 0, times: 0, reported: new Set(), failing: new Set() };
			scopes.set(name, scope);
			scope.failing.add(`${agencyId} ${to}`);
			let until = now() + (error.retryAfterMs ?? 0);
			if (wide !== "text") {
				until = Math.max(until, now() + Math.min(longestPauseMs, 500 * 2 ** scope.times++));
				scope.until = Math.max(scope.until, until);
			}
			if (!scope.reported.has(error._tag)) {
				scope.reported.add(error._tag);
				tell({ error, ...(wide !== "client" && { agencyId }), retryAt: new Date(until) });
			}
			return until;
		},
		passed({ agencyId, to }, operation) {
			scopes.delete(scopeName(operation));
			const name = scopeName(operation, agencyId);
			const scope = scopes.get(name);
			scope?.failing.delete(`${agencyId} ${to}`);
			if (scope && (scope.until > 0 || scope.failing.size === 0)) scopes.delete(name);
		},
		pausedUntil: (agencyId) => Math.max(pausedUntil(), pausedUntil(agencyId)),
		allPausedUntil: () => pausedUntil(),
	};
}

/** Whom an error concerns: every text of the client, every text of the agency, or the one that met it. */
function scopeOf(error: PartnerError): "client" | "agency" | "text" {
	if (error._tag === "PartnerForbidden") return "agency";
	const isUnreached = error._tag === "PartnerConnectionError" && error.outcome === "not_sent";
	const isTurnedAway = error._tag === "PartnerUnexpectedResponse" && error.status === 429;
	return error._tag === "PartnerUnauthorized" || isUnreached || isTurnedAway || isConfiguration(error)
		? "client"
		: "text";
}

/** A fault of what the client was made with, such as a key function that failed. It says nothing of the text. */
function isConfiguration(error: PartnerError): boolean {
	const tag: string = error._tag;
	const field: unknown = Reflect.get(error, "field");
	return tag === "PartnerConfigurationError" || field === "apiKey" || field === "baseUrl";
}

/** What an error of a send says of its text. */
export function endingOf(error: SendError): Ending {
	if (error.outcome === "sent") return "taken";
	if (error.outcome === "unknown") return "unknown";
	if (isConfiguration(error)) return "turned away";
	return error._tag === "PartnerBadRequest" || error._tag === "PartnerInvalidInput" ? "refused" : "turned away";
}

export function errorOf({ _tag, message, correlationId }: PartnerError): TextError {
	return { tag: _tag, message, correlationId };
}
