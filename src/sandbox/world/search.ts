import { oneOf, optional } from "../../shared/validation.ts";
import { operationIds } from "../base/contract.ts";
import { aString, assertValid, fields, wholeFrom } from "../base/input.ts";
import { withoutMarks } from "../base/own.ts";
import { atOnce, inSlices } from "../base/slices.ts";
import type { SandboxEvent } from "./event.ts";
import { built, type EventLog, type LogEntry } from "./event-log.ts";

/** Which of the requests that were found to return. */
export interface SearchOptions {
	/** At most so many. @default 100 */
	readonly limit?: number | undefined;
	/** Which ones, if there are more. @default "newest" */
	readonly order?: "newest" | "oldest" | undefined;
}

/** What a search of the log found. */
export interface Found {
	/** How many requests match, returned or not. */
	readonly count: number;
	/**
	 * The requests that match, and what followed from each until its text was sent, read or dropped, the oldest first. Answers
	 * are left out, except refusals.
	 */
	readonly events: readonly SandboxEvent[];
	/** If nothing matches: which filters and values there are, for each part of the query that is none. */
	readonly hints: readonly string[];
}

const optionsRule = fields<SearchOptions>({
	limit: optional(wholeFrom(1)),
	order: optional(oneOf("newest", "oldest")),
});

type Request = Extract<SandboxEvent, { type: "request" }>;

/** A request with what a search looks at. */
interface Candidate {
	/** Without its answer and its body, which are in its text. */
	readonly request: Request;
	/** Whether it, or what followed from it, has a text in lower case. */
	says(text: string): boolean;
	/** The names of its contact: of then and of now. */
	readonly names: string;
	/** What became of it, in words: held, sent, declined, read. */
	readonly outcome: ReadonlySet<string>;
}

const eventsInARow = 100;
const candidatesInARow = 20;

type Test = (candidate: Candidate) => boolean;

interface Filter {
	/** The values that it takes, in words. */
	readonly takes: string;
	/** Whether a value is one of those. */
	isKnown(value: string): boolean;
	test(value: string): Test;
}

const keyStates = ["valid", "revoked", "expired", "unknown", "absent"];
const outcomes = [
	...["any", "sent", "held", "replaced", "dropped", "declined", "expired", "repeat", "refused", "lost", "fault"],
	...["violation", "queued", "delivered", "read", "failed", "undelivered"],
];
const operations: readonly string[] = operationIds;

/** The filters by their names. */
const filters: Readonly<Record<string, Filter>> = {
	status: {
		takes: "a number such as 401 or 4xx, or none",
		isKnown: (value) => /^([\dx]{3}|none?)$/.test(value),
		test(value) {
			if (/^none?$/.test(value)) return ({ request }) => request.status === null;
			const form = new RegExp(`^${value.replace(/[^\dx]/g, "").replaceAll("x", "\\d") || "-"}`);
			return ({ request }) => form.test(String(request.status));
		},
	},
	op: {
		takes: `one of ${operations.join(", ")}, or a part of it`,
		isKnown: (value) => operations.some((name) => name.toLowerCase().includes(value)),
		test(value) {
			const isWhole = operations.some((name) => name.toLowerCase() === value);
			return ({ request }) => {
				const name = (request.operation ?? "").toLowerCase();
				return isWhole ? name === value : name.includes(value);
			};
		},
	},
	contact: {
		takes: "a number or a name, or a part of it",
		isKnown: (value) => value !== "",
		test(value) {
			const digits = value.replace(/\D/g, "").replace(/^0+/, "");
			if (digits.length <= 2 || /\p{L}/u.test(value)) return ({ names }) => names.includes(value);
			const form = value.startsWith("+") ? `+${digits}` : digits;
			return ({ request }) => Boolean(request.contact?.includes(form));
		},
	},
	agency: {
		takes: "the id of an agency",
		isKnown: (value) => value !== "",
		test:
			(value) =>
			({ request }) =>
				request.agencyId?.toLowerCase() === value,
	},
	outcome: {
		takes: `one of ${outcomes.join(", ")}`,
		isKnown: (value) => outcomes.some((word) => word.startsWith(value)),
		test:
			(value) =>
			({ outcome }) =>
				value === "any" ? outcome.size > 0 : [...outcome].some((word) => word.startsWith(value)),
	},
	key: {
		takes: `one of ${keyStates.join(", ")}, or the id of a key`,
		isKnown: (value) => keyStates.includes(value),
		test:
			(value) =>
			({ request: { key } }) =>
				key.state === value || key.id?.toLowerCase() === value,
	},
};

const nameIn = (event: SandboxEvent): string => ("name" in event ? (event.name ?? "") : "");

/** Searches of one log. What a search has read of an event, the next ones need not read again. */
export function createSearch(events: EventLog) {
	const requests = new WeakMap<LogEntry, Request>();
	const texts = new WeakMap<LogEntry, string>();
	const requestOf = (entry: LogEntry): Request | undefined => {
		const known = requests.get(entry);
		if (known || !entry.isRequest) return known;
		const event = entry.build(null);
		if (event.type !== "request") return undefined;
		const read = { ...event, body: null, headers: {}, explanation: null };
		requests.set(entry, read);
		return read;
	};
	const textOf = (entry: LogEntry): string => {
		const text = texts.get(entry) ?? textIn(entry);
		texts.set(entry, text);
		return text;
	};

	/** Searches, and pauses after each few events. */
	function* searching(query: string, options: SearchOptions): Generator<void, Found> {
		assertValid("search: query", query, aString);
		assertValid("search", options, optionsRule);
		const { limit = 100, order = "newest" } = options;
		const parts = partsIn(query);
		// Filters first: a word is looked for in all that a request says.
		const tests = [...parts.filter(({ filter }) => filter), ...parts.filter(({ filter }) => !filter)].map(testOf);
		const entries: { readonly entry: LogEntry; readonly request: Request }[] = [];
		const consequences = new Map<string, { readonly entry: LogEntry; readonly event: SandboxEvent }[]>();
		/** The newest name of each contact, because a read has no consequence that names one. */
		const names = new Map<string, string>();
		const ends = createOutcomes();
		let count = 0;
		for (const entry of events.entries()) {
			if (++count % eventsInARow === 0) yield;
			const request = requestOf(entry);
			const event = request ?? entry.build(null);
			ends.note(event);
			if (request) entries.push({ entry, request });
			else if (event.correlationId !== null) {
				const group = consequences.get(event.correlationId);
				if (group) group.push({ entry, event });
				else consequences.set(event.correlationId, [{ entry, event }]);
			}
			if ("name" in event) names.set(event.contact, nameIn(event));
		}
		const found: typeof entries = [];
		for (const each of entries) {
			if (++count % candidatesInARow === 0) yield;
			const { entry, request } = each;
			const own = consequences.get(request.correlationId ?? "") ?? [];
			const candidate: Candidate = {
				request,
				says: (text) =>
					textOf(entry).includes(text) || own.some((consequence) => textOf(consequence.entry).includes(text)),
				names: [...own.map(({ event }) => nameIn(event)), names.get(request.contact ?? "")].join("\n").toLowerCase(),
				outcome: ends.of(request.correlationId).words,
			};
			if (tests.every((test) => test(candidate))) found.push(each);
		}
		const some = order === "newest" ? found.slice(-limit) : found.slice(0, limit);
		const shown = some.flatMap(({ entry, request: { correlationId } }) => [
			brief(entry),
			...(consequences.get(correlationId ?? "") ?? []).map(({ event }) => unmarked(event)),
			...ends.of(correlationId).later,
		]);
		const hints = found.length === 0 ? hintsFor(parts) : [];
		return { count: found.length, events: [...new Set(shown)].sort((a, b) => a.id - b.id), hints };
	}

	return {
		/**
		 * Searches the whole log: words, "several words", and `status:`, `op:`, `contact:`, `agency:`, `outcome:`, `key:`. All must
		 * match. A filter takes several values with commas between.
		 */
		search: (query: string, options: SearchOptions = {}): Found => atOnce(searching(query, options)),
		/** The same for a server, which answers requests meanwhile. What happens after it began is not looked at. */
		searchSlowly: (query: string, options: SearchOptions = {}): Promise<Found> => inSlices(searching(query, options)),
	};
}

/** A part of a query: a word, or a value of a filter. */
interface Part {
	readonly name: string;
	readonly filter: Filter | undefined;
	/** Of a filter there may be several, with commas between: one of them must match. */
	readonly values: readonly string[];
}

function partsIn(query: string): Part[] {
	return (query.match(/(?:\w+:)?"[^"]*"?|\S+/g) ?? []).map((part) => {
		const [, name = "", value = ""] = /^(\w+):(.*)$/s.exec(part.toLowerCase()) ?? [];
		const filter = Object.hasOwn(filters, name) ? filters[name] : undefined;
		if (!filter) return { name, filter, values: [plain(part)] };
		return { name, filter, values: value.startsWith('"') ? [plain(value)] : value.split(",") };
	});
}

function testOf({ filter, values }: Part): Test {
	const tests = values.map(
		(value) =>
			filter?.test(value) ??
			(({ says, names, outcome }: Candidate) =>
				says(value) || names.includes(value) || [...outcome].some((word) => word.includes(value))),
	);
	return (candidate) => tests.some((test) => test(candidate));
}

const plain = (part: string): string => part.replace(/^"|"$/g, "").toLowerCase();

/** What the filters of a query could be instead. */
function hintsFor(parts: readonly Part[]): string[] {
	const hints = parts.map(({ name, filter, values }) => {
		if (filter) return values.every((value) => filter.isKnown(value)) ? "" : `${name}: takes ${filter.takes}.`;
		return name === "" ? "" : `There is no filter ${name}. There are ${Object.keys(filters).join(", ")}.`;
	});
	return [...new Set(hints.filter((hint) => hint !== ""))];
}

/** What a search finds in an event, in lower case. */
function textIn(entry: LogEntry): string {
	const event = brief(entry);
	if (event.type !== "request") return JSON.stringify(event).toLowerCase();
	const { headers: _, ...rest } = event;
	return JSON.stringify(rest).toLowerCase();
}

/** An event as it may be shown: a request without a long answer. */
function brief(entry: LogEntry): SandboxEvent {
	const event = entry.build(null);
	if (event.type !== "request") return unmarked(event);
	const { explanation, status } = event;
	const isShort = status === null || status >= 400;
	return {
		...event,
		explanation: explanation === null ? null : withoutMarks(explanation),
		answer: isShort ? structuredClone(Object(built(entry)).answer) : null,
	};
}

const unmarked = (event: SandboxEvent): SandboxEvent =>
	event.type === "violation" ? { ...event, explanation: withoutMarks(event.explanation) } : event;

/** What became of a request. */
interface Outcome {
	/** In words: held, sent, declined, read. */
	readonly words: Set<string>;
	/** The events that say so and came after its answer. */
	readonly later: SandboxEvent[];
}

/** Learns from events, the oldest first, what became of each request. */
function createOutcomes() {
	const all = new Map<string, Outcome>();
	const queued = new Map<string, string | null>();
	const messages = new Map<number, string | null>();
	/** What each contact did last: a held text goes out when they accept, or by some policies when they write. */
	const acts = new Map<string, SandboxEvent>();
	const add = (request: string | null | undefined, event: SandboxEvent, ...words: string[]): void => {
		if (request === undefined || request === null) return;
		const known = all.get(request) ?? { words: new Set(), later: [] };
		all.set(request, known);
		for (const word of words) known.words.add(word);
		if (event.correlationId !== request) known.later.push(event);
	};
	const note = (event: SandboxEvent): void => {
		const { correlationId } = event;
		if (event.type === "request") {
			if (event.status === null) add(correlationId, event, "lost");
			else if (event.status >= 400) add(correlationId, event, "refused");
			if (event.decision?.outcome === "repeat") add(correlationId, event, "repeat");
			if (event.fault) add(correlationId, event, "fault");
		} else if (event.type === "violation") {
			add(correlationId, event, "violation");
		} else if (event.type === "contact.wrote" || event.type === "consent.accepted") {
			acts.set(`${event.agencyId} ${event.contact}`, event);
		} else if (event.type === "text.held") {
			queued.set(event.queueId, correlationId);
			add(correlationId, event, "held");
		} else if (event.type === "text.replaced") {
			add(queued.get(event.queueId), event, "replaced");
			queued.delete(event.queueId);
			if (event.held) queued.set(event.queueId, correlationId);
			if (event.held) add(correlationId, event, "held");
		} else if (event.type === "text.dropped") add(queued.get(event.queueId), event, "dropped", event.reason);
		else if (event.type === "text.sent") {
			const holder = event.queueId === null ? undefined : queued.get(event.queueId);
			const act = holder ? acts.get(`${event.agencyId} ${event.contact}`) : undefined;
			if (act) add(holder, act);
			const send = holder ?? correlationId;
			messages.set(event.messageId, send);
			add(send, event, "sent");
		} else if (event.type === "message.status") add(messages.get(event.messageId), event, event.status.toLowerCase());
	};
	return { note, of: (request: string | null): Outcome => all.get(request ?? "") ?? { words: new Set(), later: [] } };
}
