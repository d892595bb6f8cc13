import type { PartnerError } from "messaging-conversations";

/** Tells of each fact once, until it has passed: an outage is met by each agency at each poll, and each read of one. */
export interface Alerts {
	/**
	 * Whether nobody was told of the fact yet. An agency that is undefined stands for `me.get`. With `isOwn` it concerns that agency
	 * alone.
	 */
	isNew: (error: PartnerError, agencyId?: string, isOwn?: boolean) => boolean;
	/** Notes that a poll has met a fact of which it is not known yet whom it concerns. */
	met: (error: PartnerError, agencyId: string) => void;
	/** A poll of the agency has ended. What it did not meet has passed for it. */
	polled: (agencyId?: string) => void;
}

/** @param isFollowed whether an agency is polled any more */
export function createAlerts(isFollowed: (agencyId: string | undefined) => boolean): Alerts {
	/** Who meets a fact. */
	const meeting = new Map<string, Set<string | undefined>>();
	/** The facts that a poll has met so far. */
	const met = new Map<string | undefined, Set<string>>();
	const note = (fact: string, agencyId: string | undefined): void =>
		void met.set(agencyId, (met.get(agencyId) ?? new Set()).add(fact));
	return {
		isNew(error, agencyId, isOwn = false) {
			const fact = factOf(error, isOwn ? agencyId : undefined);
			const before = [...(meeting.get(fact) ?? [])].filter(isFollowed);
			meeting.set(fact, new Set([...before, agencyId]));
			note(fact, agencyId);
			return before.length === 0;
		},
		met(error, agencyId) {
			for (const whose of [undefined, agencyId]) note(factOf(error, whose), agencyId);
		},
		polled(agencyId) {
			const now = met.get(agencyId);
			for (const [fact, who] of meeting) {
				if (!now?.has(fact)) who.delete(agencyId);
				if (who.size === 0) meeting.delete(fact);
			}
			met.delete(agencyId);
		},
	};
}

function factOf({ _tag, operation, field, status, cause }: PartnerError, agencyId: string | undefined): string {
	const { name, code }: { name?: unknown; code?: unknown } = Object(cause);
	return JSON.stringify([_tag, operation, field, status, name, code, agencyId]);
}
