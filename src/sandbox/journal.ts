import type { operationTable } from "../../generated/operations.ts";

/** The operations of the contract, by their operation id (spec §4). */
export type OperationId = keyof typeof operationTable;

/** A request as the sandbox saw it. */
export interface RecordedRequest {
	/** Which of the six operations; null for openapi.json and for what the service does not have. */
	readonly operation: OperationId | null;
	/** The HTTP method, as it came. */
	readonly method: string;
	/** Path below the base URL, as it came, without the query. */
	readonly path: string;
	/** The query as it came, without the question mark. */
	readonly query: string;
	/** By lower-case name; without the key. */
	readonly headers: Readonly<Record<string, string>>;
	/** The body: as JSON when it is JSON, else as text; null without one. */
	readonly body: unknown;
	/** The id of the key, when the key was good. */
	readonly keyId: string | null;
	/** The status answered; null when no answer came (a fault cut it, or it still waits). */
	readonly status: number | null;
	/** `X-Correlation-Id` of its answer. */
	readonly correlationId: string;
	/** The sandbox's time. */
	readonly at: string;
}

/** Something that a client did which a good client would not do, though the service may bear it. */
export interface Violation {
	/** The rule, by its number in the README's table. */
	readonly rule: string;
	/** What was wrong, in words. */
	readonly message: string;
	/** The HTTP method of the request. */
	readonly method: string;
	/** Path below the base URL, as it came, without the query. */
	readonly path: string;
	/** The request that did it, as in `requests()`. */
	readonly correlationId: string;
}

/** A request while it is being answered; its body still as text. */
export interface Entry {
	readonly method: string;
	readonly path: string;
	readonly query: string;
	readonly headers: Readonly<Record<string, string>>;
	readonly text: string;
	readonly correlationId: string;
	readonly at: number;
	operation: OperationId | null;
	keyId: string | null;
	status: number | null;
}

/** What was asked of the sandbox, the newest {@link keeps} requests and violations. */
export interface Journal {
	add(entry: Entry): void;
	violated(rule: string, message: string, entry: Entry): void;
	requests(): RecordedRequest[];
	violations(): Violation[];
	dump(): JournalDump;
	load(dump: JournalDump): void;
}

export interface JournalDump {
	readonly entries: readonly Entry[];
	readonly violations: readonly Violation[];
}

const keeps = 10_000;

export function createJournal(): Journal {
	let entries: Entry[] = [];
	let violations: Violation[] = [];
	return {
		add(entry) {
			// In blocks: dropping one by one would move the whole list for each request.
			if (entries.length >= keeps * 2) entries = entries.slice(-keeps);
			entries.push(entry);
		},
		violated(rule, message, { method, path, correlationId }) {
			if (violations.length >= keeps * 2) violations = violations.slice(-keeps);
			violations.push({ rule, message, method, path, correlationId });
		},
		requests: () => entries.slice(-keeps).map(recorded),
		violations: () => violations.slice(-keeps),
		dump: () => ({ entries, violations }),
		load(dump) {
			entries = [...dump.entries];
			violations = [...dump.violations];
		},
	};
}

function recorded({ text, headers, at, ...entry }: Entry): RecordedRequest {
	const { authorization: _, ...shown } = headers;
	return { ...entry, headers: shown, body: bodyOf(text), at: new Date(at).toISOString() };
}

function bodyOf(text: string): unknown {
	if (text === "") return null;
	try {
		return JSON.parse(text);
	} catch {
		return text;
	}
}
