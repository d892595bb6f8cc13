import { endBreakpoints } from "../world/breakpoint.ts";
import type { Fault } from "../world/fault.ts";
import { copyOfThread } from "../world/history.ts";
import type { JournalDump } from "../world/journal.ts";
import {
	type Agency,
	type AgencyRecord,
	compareRanks,
	type Integration,
	type Key,
	type Operation,
	rankOf,
	type Thread,
	type World,
} from "../world/world.ts";
import { worldFormat } from "./format.ts";

/** An agency with the conversations that it owns. */
export type ArchivedAgency = AgencyRecord & {
	/** One for each contact. */
	readonly threads: readonly Thread[];
};

/**
 * Everything that exists in a sandbox, as plain data that JSON can carry: a part of each snapshot, of the file of `--state` and,
 * without the secrets of keys, of each bug file. Derived parts are left out.
 */
export interface Archive {
	/** Name of the format. */
	readonly format: "messaging-conversations-sandbox";
	/** The number of the format. A sandbox refuses a world with a later one. */
	readonly version: 1;
	/** The sandbox's time, in milliseconds since 1970. */
	readonly now: number;
	/** The last number that was given out of each kind of id. */
	readonly counters: readonly (readonly [string, number])[];
	/** The CRMs. */
	readonly integrations: readonly Integration[];
	/** Their keys, revoked ones too. */
	readonly keys: readonly Key[];
	/** The agencies with all their conversations. */
	readonly agencies: readonly ArchivedAgency[];
	/** The send of each operationId. */
	readonly operations: readonly (readonly [string, Operation])[];
	/** The faults that were added, with what is left of them. */
	readonly faults: readonly Fault[];
}

/**
 * A moment of a sandbox, to go back to with `restore`, with what was asked of it until then. It is plain data. What is in its parts
 * is the sandbox's own: controls such as `agency().conversations()` tell what exists.
 */
export interface Snapshot {
	/** Everything that existed. */
	readonly world: object;
	/** The requests so far, and the violations. */
	readonly journal: object;
}

/** A snapshot with its parts. */
export interface Moment extends Snapshot {
	readonly world: Archive;
	readonly journal: JournalDump;
}

/** A copy that shares nothing with the world. */
export const archive = (world: World): Archive => structuredClone(capture(world));

/**
 * What exists at this moment. What the world never changes, such as the body of a message, is shared with it, so that it takes few
 * milliseconds however many messages there are. It is not to be changed.
 */
export function capture(world: World): Archive {
	const { integrations, keys, agencies, faults } = world;
	return {
		...worldFormat,
		now: world.now,
		counters: [...world.counters],
		integrations: structuredClone([...integrations.values()]),
		keys: structuredClone([...keys.values()]),
		agencies: [...agencies.values()].map((agency) => {
			const { threads, ...record } = archivedAgency(agency);
			const copies = threads.map((thread) =>
				copyOfThread(
					thread,
					thread.messages.map((message) => ({ ...message })),
				),
			);
			return { ...structuredClone(record), threads: copies };
		}),
		operations: [...world.operations],
		faults: structuredClone(faults),
	};
}

function archivedAgency({ threads, list: _, rows: __, ...record }: Agency): ArchivedAgency {
	return { ...record, threads: [...threads.values()].filter(({ views }) => views[0].agencyId === record.id) };
}

/** Replaces everything in the world by a valid archive. */
export function unarchive(world: World, given: Archive): void {
	const { now, counters, integrations, keys, agencies, operations, faults } = structuredClone(given);
	world.now = now;
	world.era++;
	// R3: a correlation id is never given twice, not even after going back.
	const asked = world.counters.get("request") ?? 0;
	fill(world.counters, counters);
	if (asked > (world.counters.get("request") ?? 0)) world.counters.set("request", asked);
	fill(world.integrations, byId(integrations));
	fill(world.keys, byId(keys));
	fill(world.agencies, byId(agencies.map((agency) => ({ ...agency, threads: new Map(), list: [], rows: new Map() }))));
	fill(world.operations, operations);
	world.faults = faults;
	world.newestFault = Math.max(world.newestFault, ...faults.map(({ id }) => id));
	world.interruptions.clear();
	endBreakpoints(world.breakpoints);
	for (const thread of agencies.flatMap(({ threads }) => threads))
		for (const { agencyId } of thread.views) world.agencies.get(agencyId)?.threads.set(thread.phone, thread);
	for (const { threads, list } of world.agencies.values()) {
		for (const thread of threads.values()) if (thread.opened) list.push(thread);
		list.sort((a, b) => compareRanks(rankOf(a), rankOf(b)));
	}
}

const byId = <Item extends { readonly id: string }>(items: readonly Item[]) =>
	items.map((item): [string, Item] => [item.id, item]);

function fill<Key, Value>(map: Map<Key, Value>, entries: readonly (readonly [Key, Value])[]): void {
	map.clear();
	for (const [key, value] of entries) map.set(key, value);
}
