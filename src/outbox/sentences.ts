/*
 * Phrases that several sentences for a support desk share. None holds a number or a text.
 */
import { allSends, type StoredPause, type StoredSuspension } from "./store.ts";

/** Such as 2026-01-05 09:00 UTC. */
export function shown(ms: number): string {
	return `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

export function suspendedIn({ agencyId, reason, by, since }: StoredSuspension): string {
	const what = agencyId === "" ? "All sends were suspended" : "Sends of the agency were suspended";
	return `${what}${by === null ? "" : ` by ${by}`} on ${shown(since)}: ${ended(reason)}`;
}

const ended = (reason: string): string => reason.replace(/[.!?]?$/, (end) => end || ".");

/** The reason that a hook gave, as the end of a sentence that tells what it decided. */
export function saidByHook({ progress: { hookReason } }: { progress: { hookReason?: string | undefined } }): string {
	return hookReason === undefined ? "." : `: ${ended(hookReason)}`;
}

/** Why texts are paused. */
const causes: Readonly<Record<string, string>> = {
	key: "the service refuses the API key, or no key can be had",
	forbidden: "the service refuses the key for this agency: the agency is not linked, or the key lacks a scope",
	rate_limited: "the service takes no more requests for now (429)",
	unreachable: "the service cannot be reached",
	gateway: "something in front of the service, such as a firewall, refuses requests",
	consent_unavailable:
		"it cannot ask contacts for consent, for example because its template is not approved. Texts to contacts who wrote within a day go out",
	language_required: "it has several languages and no default one, and texts choose none",
	language_unavailable: "it does not have the language of texts",
	hook_failed: "a check of the application before sending fails",
	wrong_number: "contacts wrote that their number is wrong. Only texts to them wait",
};

/** What a 403 means for everybody. */
const refusals: ReadonlyMap<string, string> = new Map([
	[allSends, "the key lacks the scope messages:write. Messages are still read"],
	["", "the key lacks the scope conversations:read, belongs to another integration, or its integration is gone"],
]);

/** Why texts are paused. */
export function causeIn(reason: string): string {
	return causes[reason] ?? `calls of the kind "${reason}" fail`;
}

export function pausedIn({ agencyId, cause, until, since }: StoredPause): string {
	const what = agencyId === "" || agencyId === allSends ? "All texts are paused" : "The agency's texts are paused";
	const why = (cause === "forbidden" && refusals.get(agencyId)) || causeIn(cause);
	return `${what} since ${shown(since)}: ${why}. The next try is at ${shown(until)}.`;
}
