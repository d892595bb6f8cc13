import type { ReplacedText } from "../world/journal.ts";
import type { World } from "../world/world.ts";
import type { Archive, Moment } from "./archive.ts";
import { worldFormat } from "./format.ts";
import { archiveFrom } from "./schema.ts";

/** The world and its journal as they were right after an event. The world is shared with the history: copy it. */
export function pastOf(world: World, eventId: number): Moment {
	const { threads, agencies, ...rest } = world.history.at(eventId);
	const found: Archive = {
		...worldFormat,
		...rest,
		agencies: agencies.map((agency) => ({
			...agency,
			threads: threads.filter(({ views }) => views[0].agencyId === agency.id),
		})),
	};
	// In a file from elsewhere, each step was checked alone. Here they have to fit together.
	const archive = eventId <= world.history.loadedUntil ? archiveFrom(found) : found;
	const requests = new Set<string | null>();
	/** How often a text was replaced in each queue entry. */
	const replacements = new Map<string, number>();
	for (const event of world.events.named()) {
		if (event.id > eventId) break;
		if (event.type === "request") requests.add(event.correlationId);
		if (event.type === "text.replaced") replacements.set(event.queueId, (replacements.get(event.queueId) ?? 0) + 1);
	}
	const { entries, violations, replaced } = world.journal.dump();
	const isReplaced = ({ queueId }: ReplacedText): boolean => {
		const left = replacements.get(queueId) ?? 0;
		replacements.set(queueId, left - 1);
		return left > 0;
	};
	// What a restore undid is in no journal any more.
	const journal = {
		entries: entries.filter(({ correlationId }) => requests.has(correlationId)),
		violations: violations.filter(({ correlationId }) => requests.has(correlationId)),
		replaced: replaced.filter(isReplaced),
	};
	return { world: archive, journal };
}
