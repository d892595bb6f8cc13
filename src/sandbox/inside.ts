import { protocol } from "../shared/protocol.ts";
import type { Archive } from "./archive/archive.ts";
import type { BugOptions } from "./archive/bug.ts";
import type { BugFile } from "./archive/bug-file.ts";
import type { Call, Reply } from "./base/call.ts";
import type { ObservedReport } from "./controls/observed.ts";
import type { SandboxEvent } from "./world/event.ts";
import type { WantedEvents } from "./world/event-log.ts";
import type { Found, SearchOptions } from "./world/search.ts";

/*
 * What the server, the controls over HTTP and the command use of a sandbox, and nobody else. A test has `fetch`, which answers as
 * the service does.
 */

export type { Archive } from "./archive/archive.ts";

/** What the page says of a bug file: when it was taken, what is in it, and where to look. */
export type OpenedBug = Pick<BugFile, "takenAt" | "content" | "place">;

/** The parts of a sandbox that are not in its type. */
export interface Inside {
	/** Answers a request as plain values. A server, unlike `fetch`, then waits or cuts the connection by itself. */
	answer(call: Call): Reply;
	/** Whether an `Authorization` header holds a good key. A server asks before it reads a long body. */
	isAuthorized(authorization: string | undefined): boolean;
	/** Takes in what another process reports of its outboxes and feeds. Throws a TypeError that names the field. */
	observe(report: ObservedReport): void;
	/** Reads events as `events` does, and lets requests be answered meanwhile. */
	events(wanted: WantedEvents): Promise<SandboxEvent[]>;
	/** Searches as `search` does, and lets requests be answered meanwhile. */
	search(query: string, options?: SearchOptions): Promise<Found>;
	/** The bug file as JSON, in pieces, once. Lets requests be answered while it is written, and has nothing of those. */
	bug(options?: BugOptions): Promise<Iterable<string>>;
	/** Everything that exists, with the keys, for `restore`. */
	world(): Archive;
	/** The bug file that it has opened; null if it has none, or was reset since. */
	readonly opened: OpenedBug | null;
}

// Registered, because the sandbox, its server and the command are bundles of their own.
const key: unique symbol = /* @__PURE__ */ Symbol.for(`messaging-conversations/sandbox/${protocol}`);

/** What a sandbox of this protocol carries. */
export const insideOf = (sandbox: object): Inside => Object(sandbox)[key];

/** Makes a sandbox carry it. It is enumerable, so that a copy by `{ ...sandbox }` has it too. */
export const withInside = <Of extends object>(of: Of, inside: Inside): Of => Object.assign(of, { [key]: inside });
