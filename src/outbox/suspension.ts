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

/** A person has ended a suspension. */
export interface Resumption {
	/** The agency's id; null for everybody. */
	agencyId: string | null;
	/** Who it was; null if they did not say. */
	by: string | null;
	/** When. */
	at: Date;
}

/** A person has declared that the database was restored from a backup. */
export interface DeclaredRestore {
	/** When the backup was made. */
	backupAt: Date;
	/** Who declared it; null if they did not say. */
	by: string | null;
	/** When. */
	at: Date;
}

export function suspensionFrom({ agencyId, reason, by, since }: StoredSuspension): Suspension {
	return { agencyId: agencyId === "" ? null : agencyId, reason, by, since: new Date(since) };
}

/** Of those that concern an agency, the one of the agency itself first. */
export function suspensionOf(agencyId: string, all: readonly StoredSuspension[]): StoredSuspension | undefined {
	return all.find((each) => each.agencyId === agencyId) ?? all.find((each) => each.agencyId === "");
}
