import type { Fault } from "./faults.ts";
import type { JournalDump } from "./journal.ts";
import { createRoster } from "./roster.ts";
import type { Agency, Integration, Key, LedgerEntry, Thread, World } from "./state.ts";
import { awaitAnswer } from "./thread.ts";

/** Everything that exists, as plain data: JSON may carry it. */
export interface Archive {
	/** What these data are. */
	readonly format: "messaging-conversations-sandbox";
	/** Of the format. */
	readonly version: 1;
	/** The sandbox's time, in milliseconds since 1970. */
	readonly now: number;
	/** How far each kind of id is given out. */
	readonly counters: readonly (readonly [string, number])[];
	/** The CRMs. */
	readonly integrations: readonly Integration[];
	/** Their keys, revoked ones too. */
	readonly keys: readonly Key[];
	/** The agencies with all their conversations. */
	readonly agencies: readonly (Omit<Agency, "threads" | "roster"> & {
		/** One for each contact. */
		readonly threads: readonly Thread[];
	})[];
	/** What was sent under each operationId. */
	readonly ledger: readonly (readonly [string, LedgerEntry])[];
	/** The faults that were added, with what is left of them. */
	readonly faults: readonly Fault[];
}

/** A moment of a sandbox, to go back to; what was asked of it until then included. */
export interface Snapshot {
	/** Everything that existed. */
	readonly world: Archive;
	/** What had been asked, and what a good client would not have asked. */
	readonly journal: JournalDump;
}

export function archive(world: World): Archive {
	const agencies = [...world.agencies.values()].map(({ threads, roster: _, ...agency }) => ({
		...agency,
		threads: [...threads.values()],
	}));
	return structuredClone({
		format: "messaging-conversations-sandbox",
		version: 1,
		now: world.clock.now(),
		counters: [...world.counters],
		integrations: [...world.integrations.values()],
		keys: [...world.keys.values()],
		agencies,
		ledger: [...world.ledger],
		faults: world.faults.all(),
	});
}

/** Makes the world what the archive says; rosters, and what is due, are built anew. */
export function unarchive(world: World, given: Archive): void {
	const { now, counters, integrations, keys, agencies, ledger, faults } = structuredClone(given);
	// All that can fail comes first: what is refused leaves the sandbox as it was.
	const threadOf: Thread[] = [];
	const built = agencies.map(({ threads, ...rest }) => {
		const agency: Agency = { ...rest, threads: new Map(), roster: createRoster() };
		for (const thread of threads) {
			if (thread.agencyId !== agency.id) throw new TypeError(`import: agency ${agency.id} has a thread of another.`);
			agency.threads.set(thread.phone, thread);
			agency.roster.note(thread);
			for (const message of thread.messages) threadOf[message.id] = thread;
		}
		return agency;
	});
	world.clock.restart(now);
	// R3: a correlation id is never given twice, not even after going back.
	const asked = world.counters.get("request") ?? 0;
	fill(world.counters, counters);
	if (asked > (world.counters.get("request") ?? 0)) world.counters.set("request", asked);
	fill(world.integrations, byId(integrations));
	fill(world.keys, byId(keys));
	fill(world.agencies, byId(built));
	fill(world.ledger, ledger);
	world.summaries.clear();
	world.messages.clear();
	world.threadOf.length = 0;
	Object.assign(world.threadOf, threadOf);
	world.faults.load(faults);
	for (const agency of built) {
		for (const thread of agency.threads.values()) if (thread.held) awaitAnswer(world, thread, thread.held);
	}
}

const byId = <Item extends { readonly id: string }>(items: readonly Item[]) =>
	items.map((item): [string, Item] => [item.id, item]);

function fill<Key, Value>(map: Map<Key, Value>, entries: readonly (readonly [Key, Value])[]): void {
	map.clear();
	for (const [key, value] of entries) map.set(key, value);
}
