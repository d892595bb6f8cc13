import type { SandboxEvent } from "../world/event.ts";
import type { Gone } from "../world/event-log.ts";
import type { HistoryRest, HistoryStep, HistoryThread } from "../world/history.ts";
import type { ReplacedText, Violation } from "../world/journal.ts";
import type { Policy } from "../world/policy.ts";
import type { Key } from "../world/world.ts";
import type { Archive } from "./archive.ts";

/** A key by its name alone: `key-1`. Whoever opens the file gets another secret for it. */
export type NamedKey = Omit<Key, "secret">;

/** How everything was after an event, as a change of the step before. The first one of a file has everything. */
export interface BugStep extends Omit<HistoryStep, "rest" | "threads" | "operations"> {
	/** The number of the event after which it was so. */
	readonly event: number;
	/** The sandbox's time, in milliseconds. */
	readonly now: number;
	/** The last number that was given out of each kind of id. */
	readonly counters: HistoryStep["counters"];
	/** Everything but conversations and operations, with keys by name; null if nothing of it changed. */
	readonly rest:
		| (Omit<HistoryRest, "keys"> & {
				/** The keys by name, revoked ones too. */
				readonly keys: readonly NamedKey[];
		  })
		| null;
	/** The conversations that changed. Each has the messages after the first `keep`, and is null if it is gone. */
	readonly threads: readonly HistoryThread[];
	/** The operationIds with another record, or with none. */
	readonly operations: HistoryStep["operations"];
}

/** Where the reader is to look first. */
export interface BugPlace {
	/** The agency that is shown; null for the default one. */
	readonly agencyId: string | null;
	/** The contact whose phone is shown, E.164. */
	readonly contact: string | null;
	/** The correlation id of the request that is open. */
	readonly request: string | null;
}

/**
 * A bug in a file, as plain data that JSON can carry. It has the world, what happened in it, the requests with their outcomes
 * and explanations, and where to look. It holds no key. Its numbers, names and texts are generated ones, unless you ask to keep
 * them.
 */
export interface BugFile {
	/** Name of the format. */
	readonly format: "messaging-conversations-bug";
	/** The number of the format. A sandbox refuses a file with a later one. */
	readonly version: 1;
	/** The real time, ISO 8601 in UTC. */
	readonly takenAt: string;
	/** Whether numbers, names and texts are generated ones, or those that were there. */
	readonly content: "generated" | "kept";
	/** Where the reader is to look first. */
	readonly place: BugPlace;
	/** How the sandbox read the specification where that is silent. */
	readonly policy: Policy;
	/** The variation of the sandbox; null without one. */
	readonly variation: string | null;
	/** Everything that existed, with keys by name. What is in it is the sandbox's own. */
	readonly world: object;
	/** What happened, the oldest first. What came from a caller is marked in explanations, by U+E000 and U+E001. */
	readonly events: readonly SandboxEvent[];
	/** How much of the oldest was forgotten already. */
	readonly gone: Gone;
	/** Correlation ids of the requests that `requests()` gives. */
	readonly requests: readonly string[];
	/** What `violations()` gives. */
	readonly violations: readonly Violation[];
	/** Held texts that another send replaced, for `check()`. */
	readonly replaced: readonly object[];
	/**
	 * How everything was before: up to 2,000 of the newest steps and some 16 MiB, the oldest first. Left out if no history was
	 * recorded. Whoever opens the file can go back to them.
	 */
	readonly past?: readonly object[] | undefined;
}

/** A bug file with its parts. */
export interface WholeBug extends BugFile {
	readonly world: Omit<Archive, "keys"> & {
		/** The keys by name, revoked ones too. */
		readonly keys: readonly NamedKey[];
	};
	readonly replaced: readonly ReplacedText[];
	readonly past?: readonly BugStep[] | undefined;
}
