/*
 * What a person has suspended.
 */
import type { StoredSuspension } from "./store.ts";

/** A person has stopped the sends of an agency, or of everybody. */
export interface Suspension {
	/** The agency's id; null for everybody. */
	agencyId: string | null;
	/** What the person wrote. */
	reason: string;
	/** Who it was; null if they did not say. */
	by: string | null;
	/** Since when. */
	since: Date;
}

export function suspensionFrom({ agencyId, reason, by, since }: StoredSuspension): Suspension {
	return { agencyId: agencyId === "" ? null : agencyId, reason, by, since: new Date(since) };
}

/** Of those that concern an agency, the one of the agency itself first. */
export function suspensionOf(agencyId: string, all: readonly StoredSuspension[]): StoredSuspension | undefined {
	return all.find((each) => each.agencyId === agencyId) ?? all.find((each) => each.agencyId === "");
}
