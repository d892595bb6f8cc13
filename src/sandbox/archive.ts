import type { Fault } from "./faults.ts";
import type { JournalDump } from "./journal.ts";
import { createRoster } from "./roster.ts";
import type { Agency, Integration, Key, LedgerEntry, Thread, World } from "./state.ts";
import { awaitAnswer } from "./thread.ts";

/** Everything that exists, as plain data: JSON may carry it. */
export interface Archive {
	readonly format: "messaging-conversations-sandbox";
	readonly version: 1;
	readonly now: number;
	readonly counters: readonly (readonly [string, number])[];
	readonly integrations: readonly Integration[];
	readonly keys: readonly Key[];
	readonly agencies: readonly (Omit<Agency, "threads" | "roster"> & { readonly threads: readonly Thread[] })[];
	readonly ledger: readonly (readonly [string, LedgerEntry])[];
	readonly faults: readonly Fault[];
}

/** A moment of a sandbox, to go back to; what was asked of it until then included. */
export interface Snapshot {
	readonly world: Archive;
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
	world.clock.restart(now);
	// R3: a correlation id is never given twice, not even after going back.
	const asked = world.counters.get("request") ?? 0;
	fill(world.counters, counters);
	world.counters.set("request", Math.max(asked, world.counters.get("request") ?? 0));
	fill(
		world.integrations,
		integrations.map((integration) => [integration.id, integration]),
	);
	fill(
		world.keys,
		keys.map((key) => [key.id, key]),
	);
	fill(world.ledger, ledger);
	world.agencies.clear();
	world.summaries.clear();
	world.messages.clear();
	world.threadOf.length = 0;
	world.faults.load(faults);
	for (const { threads, ...rest } of agencies) {
		const agency: Agency = { ...rest, threads: new Map(), roster: createRoster() };
		world.agencies.set(agency.id, agency);
		for (const thread of threads) {
			agency.threads.set(thread.phone, thread);
			agency.roster.note(thread);
			for (const message of thread.messages) world.threadOf[message.id] = thread;
			if (thread.held) awaitAnswer(world, agency, thread, thread.held);
		}
	}
}

/** What `import` takes: an export, parsed or as text. */
export function archiveFrom(json: unknown): Archive {
	const value: unknown = typeof json === "string" ? parsed(json) : json;
	if (!isArchive(value)) throw new TypeError("This is no export of a sandbox, or one of another version.");
	return value;
}

const lists = ["counters", "integrations", "keys", "agencies", "ledger", "faults"];

/** Checked before anything is changed: what is refused leaves the sandbox as it was. */
function isArchive(value: unknown): value is Archive {
	if (typeof value !== "object" || value === null || !("format" in value) || !("version" in value)) return false;
	const fields = new Map(Object.entries(value));
	const whole = Number.isFinite(fields.get("now")) && lists.every((name) => Array.isArray(fields.get(name)));
	return whole && value.format === "messaging-conversations-sandbox" && value.version === 1;
}

function parsed(json: string): unknown {
	try {
		return JSON.parse(json);
	} catch {
		return undefined;
	}
}

function fill<Key, Value>(map: Map<Key, Value>, entries: readonly (readonly [Key, Value])[]): void {
	map.clear();
	for (const [key, value] of entries) map.set(key, value);
}
