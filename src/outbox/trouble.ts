import type { PartnerError, SendError } from "messaging-conversations";
import type { Ending } from "./lane.ts";
import type { Lane, TextError } from "./text.ts";

/** A reason why texts cannot be sent that is not in the texts, such as an outage. They wait; none is lost. */
export interface Trouble {
	/** The error that was met. Holds no key, no number and no text. */
	error: PartnerError;
	/** The agency, when it is about one alone. */
	agencyId?: string;
	/** When it is tried again. */
	retryAt: Date;
}

/** The troubles of now and the pauses for them. Kept in memory, so that a restart tries at once. */
export interface Troubles {
	/** Notes an error of a text that would wait for `waitMs`. Returns the time before which the text is not tried. */
	met: (error: PartnerError, lane: Lane, waitMs: number) => number;
	/** Notes a call that succeeded. A read ends no trouble of sends, and a send none of reads. */
	passed: (lane: Lane, operation: "read" | "send") => void;
	/** Returns the time until which an agency's texts wait; without an agency that until which all wait. */
	pausedUntil: (agencyId?: string) => number;
	/** Ends all pauses, because the clock they were measured by was set back. */
	forget: () => void;
}

interface Scope {
	until: number;
	/** Pauses in a row. */
	times: number;
	/** The tags that were reported. */
	reported: Set<string>;
	/** The contacts whose last call failed, each with its time. */
	failing: Map<string, number>;
}

const longestPauseMs = 60_000;
/** A contact whose last failure is older than this does not keep a trouble open, because its text may be cancelled or expired. */
const goneMs = 3_600_000;

/** @param report is called once for each kind of trouble, and again only when it came back after it had passed */
export function createTroubles(report: (trouble: Trouble) => void, now: () => number): Troubles {
	const scopes = new Map<string, Scope>();
	/** Without an agency the scope is every text of the client. */
	const scopeName = (operation: "read" | "send", agencyId = ""): string => `${operation} ${agencyId}`;
	return {
		met(error, { agencyId, to }, waitMs) {
			const at = now();
			if (error._tag === "PartnerConflict") return at + waitMs;
			const concerned = concernedBy(error);
			const operation = error.operation === "messages.send" ? "send" : "read";
			const name = scopeName(operation, concerned === "client" ? undefined : agencyId);
			const scope = scopes.get(name) ?? { until: 0, times: 0, reported: new Set(), failing: new Map() };
			scopes.set(name, scope);
			scope.failing.set(`${agencyId} ${to}`, at);
			let until = at + (error.retryAfterMs ?? 0);
			if (concerned !== "text") {
				// Calls that failed together make one pause.
				if (scope.until <= at) scope.until = at + Math.min(longestPauseMs, 500 * 2 ** scope.times++);
				until = scope.until = Math.max(until, scope.until);
				waitMs = Math.min(longestPauseMs, waitMs);
			}
			if (!scope.reported.has(error._tag)) {
				scope.reported.add(error._tag);
				report({ error, ...(concerned !== "client" && { agencyId }), retryAt: new Date(until) });
			}
			return Math.max(until, at + waitMs);
		},
		passed({ agencyId, to }, operation) {
			for (const name of [scopeName(operation), scopeName(operation, agencyId)]) {
				const scope = scopes.get(name);
				if (!scope) continue;
				scope.times = 0;
				scope.failing.delete(`${agencyId} ${to}`);
				// A call that ends in a pause began before it, and does not end it.
				if (scope.until > now()) continue;
				if (scope.until || [...scope.failing.values()].every((at) => now() - at > goneMs)) scopes.delete(name);
			}
		},
		pausedUntil(agencyId) {
			const names = (["read", "send"] as const).flatMap((each) => [scopeName(each), scopeName(each, agencyId)]);
			return Math.max(...names.map((name) => scopes.get(name)?.until ?? 0));
		},
		forget: () => scopes.clear(),
	};
}

/** Whether an error concerns every text of the client, every text of the agency, or only the one that met it. */
function concernedBy(error: PartnerError): "client" | "agency" | "text" {
	if (error._tag === "PartnerForbidden") return "agency";
	const { _tag, attempts, status, outcome } = error;
	// An answer that cannot be read may be that of one conversation alone.
	const isUnreached = _tag === "PartnerConnectionError" && status === undefined && outcome !== "unknown";
	// A time-out without a request waited for the key.
	const isKey = status === 401 || _tag === "PartnerConfigurationError" || (_tag === "PartnerTimeoutError" && !attempts);
	return isKey || isUnreached || status === 429 ? "client" : "text";
}

/** The end of a send that failed. */
export function endingOf(error: SendError): Ending {
	if (error.outcome === "sent") return "taken";
	if (error.outcome === "unknown") return "unknown";
	const isRefused = error._tag === "PartnerBadRequest" || error._tag === "PartnerInvalidInput";
	return isRefused ? "refused" : "turned away";
}

export function errorOf({ _tag, message, correlationId }: PartnerError): TextError {
	return { tag: _tag, message, correlationId };
}
