import { never } from "../world/conversation-index.ts";
import type { Fault } from "../world/faults.ts";
import type { JournalDump } from "../world/journal.ts";
import { countsAsFailed } from "../world/message.ts";
import type { Agency, AgencyRecord, Integration, Key, Operation, Thread, ThreadRecord, World } from "../world/state.ts";
import { awaitAnswer } from "../world/thread.ts";
import { awaitWindowEnd, isWindowOpen } from "../world/window.ts";
import { agencyFrom } from "../world/world.ts";

/** An agency with the conversations that it owns. */
export type ArchivedAgency = AgencyRecord & {
	/** One for each contact. */
	readonly threads: readonly ThreadRecord[];
};

/** Everything that exists, as plain data that JSON can carry. Derived parts are left out. */
export interface Archive {
	/** Name of the format. */
	readonly format: "messaging-conversations-sandbox";
	/** Version of the format. */
	readonly version: 2;
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

/** A moment of a sandbox, to go back to, with what was asked of it until then. */
export interface Snapshot {
	/** Everything that existed. */
	readonly world: Archive;
	/** The requests so far, and the violations. */
	readonly journal: JournalDump;
}

export function archive(world: World): Archive {
	return structuredClone({
		format: "messaging-conversations-sandbox",
		version: 2,
		now: world.clock.now(),
		counters: [...world.counters],
		integrations: [...world.integrations.values()],
		keys: [...world.keys.values()],
		agencies: [...world.agencies.values()].map(archivedAgency),
		operations: [...world.operations],
		faults: world.faults.all(),
	});
}

function archivedAgency({ threads, index: _, summaries: __, ...record }: Agency): ArchivedAgency {
	const own = [...threads.values()].filter((thread) => thread.agencyId === record.id);
	return { ...record, threads: own.map(archivedThread) };
}

function archivedThread({ agencyId: _, rank: __, failed: ___, lastInboundAt: ____, ...record }: Thread): ThreadRecord {
	return record;
}

/** Replaces everything in the world by a valid archive; what is derived, and what is due, is built anew. */
export function unarchive(world: World, given: Archive): void {
	const { now, counters, integrations, keys, agencies, operations, faults } = structuredClone(given);
	world.clock.restart(now);
	world.era++;
	// R3: a correlation id is never given twice, not even after going back.
	const asked = world.counters.get("request") ?? 0;
	fill(world.counters, counters);
	if (asked > (world.counters.get("request") ?? 0)) world.counters.set("request", asked);
	fill(world.integrations, byId(integrations));
	fill(world.keys, byId(keys));
	fill(world.agencies, byId(agencies.map(({ threads: _, ...record }) => agencyFrom(record))));
	fill(world.operations, operations);
	world.messages.clear();
	world.threadOf.length = 0;
	world.closing.clear();
	world.faults.load(faults);
	world.interruptions.clear();
	for (const { id, threads } of agencies) {
		for (const record of threads) revive(world, threadFrom(id, record));
	}
}

/** A thread with what is derived of it. */
function threadFrom(agencyId: string, record: ThreadRecord): Thread {
	const { messages, serial } = record;
	const last = messages[messages.length - 1];
	return {
		...record,
		agencyId,
		rank: { at: last?.at ?? never, messageId: last?.id ?? 0, serial },
		failed: messages.filter(countsAsFailed).length,
		lastInboundAt: messages.filter(({ outbound }) => !outbound).at(-1)?.at ?? null,
	};
}

function revive(world: World, thread: Thread): void {
	for (const { agencyId } of thread.views) {
		const agency = world.agencies.get(agencyId);
		agency?.threads.set(thread.phone, thread);
		agency?.index.changed(thread);
	}
	for (const message of thread.messages) world.threadOf[message.id] = thread;
	if (thread.held) awaitAnswer(world, thread, thread.held);
	if (isWindowOpen(thread, world.clock.now())) awaitWindowEnd(world, thread);
}

const byId = <Item extends { readonly id: string }>(items: readonly Item[]) =>
	items.map((item): [string, Item] => [item.id, item]);

function fill<Key, Value>(map: Map<Key, Value>, entries: readonly (readonly [Key, Value])[]): void {
	map.clear();
	for (const [key, value] of entries) map.set(key, value);
}
