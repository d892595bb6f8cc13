import { optional } from "../../shared/validation.ts";
import { aString, assertValid, fields, oneOf, wholeFrom } from "../base/input.ts";
import { withoutMarks } from "../base/own.ts";
import type { SandboxEvent } from "./event.ts";
import type { EventLog } from "./event-log.ts";

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
}

const optionsRule = fields<SearchOptions>({
	limit: optional(wholeFrom(1)),
	order: optional(oneOf("newest", "oldest")),
});

type Request = Extract<SandboxEvent, { type: "request" }>;

/** A request with what a search looks at. */
interface Candidate {
	readonly request: Request;
	readonly consequences: readonly SandboxEvent[];
	/** The names of its contact: of then and of now. */
	readonly names: string;
	/** What became of it, in words: held, sent, declined, read. */
	readonly outcome: ReadonlySet<string>;
}

type Test = (candidate: Candidate) => boolean;

/** The filters by their names. */
const filters: Readonly<Record<string, (value: string) => Test>> = {
	status: (value) => {
		if (/^none?$/.test(value)) return ({ request }) => request.status === null;
		const form = new RegExp(`^${value.replace(/[^\dx]/g, "").replaceAll("x", "\\d") || "-"}`);
		return ({ request }) => form.test(String(request.status));
	},
	op:
		(value) =>
		({ request }) =>
			(request.operation ?? "").toLowerCase().includes(value),
	contact: (value) => {
		const digits = value.replace(/\D/g, "").replace(/^0+/, "");
		const isNumber = digits.length > 2;
		return ({ request, names }) =>
			isNumber ? Boolean(request.contact?.includes(digits)) : names.toLowerCase().includes(value);
	},
	outcome:
		(value) =>
		({ outcome }) =>
			[...outcome].some((word) => word.startsWith(value)),
	key:
		(value) =>
		({ request: { key } }) =>
			key.state === value || key.id?.toLowerCase() === value,
};

const nameIn = (event: SandboxEvent): string => ("name" in event ? (event.name ?? "") : "");

/** Searches the whole log: words, "several words", and `status:`, `op:`, `contact:`, `outcome:`, `key:`. All must match. */
export function search(events: EventLog, query: string, options: SearchOptions = {}): Found {
	assertValid("search: query", query, aString);
	assertValid("search", options, optionsRule);
	const { limit = 100, order = "newest" } = options;
	const tests = testsIn(query);
	const requests: Request[] = [];
	const consequences = new Map<string, SandboxEvent[]>();
	/** The newest name of each contact, because a read has no consequence that names one. */
	const names = new Map<string, string>();
	const outcomes = createOutcomes();
	for (const event of events.each()) {
		outcomes.note(event);
		if (event.type === "request") requests.push(event);
		else if (event.correlationId !== null) {
			const group = consequences.get(event.correlationId);
			if (group) group.push(event);
			else consequences.set(event.correlationId, [event]);
		}
		if ("name" in event) names.set(event.contact, nameIn(event));
	}
	const found = requests.filter((request) => {
		const own = consequences.get(request.correlationId ?? "") ?? [];
		const candidate: Candidate = {
			request,
			consequences: own,
			names: [...own.map(nameIn), names.get(request.contact ?? "")].join("\n"),
			outcome: outcomes.of(request.correlationId).words,
		};
		return tests.every((test) => test(candidate));
	});
	const some = order === "newest" ? found.slice(-limit) : found.slice(0, limit);
	const shown = some.flatMap((request) => [
		brief(request),
		...(consequences.get(request.correlationId ?? "") ?? []).map(unmarked),
		...outcomes.of(request.correlationId).later,
	]);
	return { count: found.length, events: [...new Set(shown)].sort((a, b) => a.id - b.id) };
}

function testsIn(query: string): Test[] {
	return (query.match(/(?:\w+:)?"[^"]*"?|\S+/g) ?? []).map((part) => {
		const [, name = "", value = ""] = /^(\w+):(.*)$/s.exec(part) ?? [];
		const filter = Object.hasOwn(filters, name.toLowerCase()) ? filters[name.toLowerCase()] : undefined;
		if (filter) return filter(plain(value));
		const word = plain(part);
		return (candidate) => textOf(candidate).includes(word);
	});
}

const plain = (part: string): string => part.replace(/^"|"$/g, "").toLowerCase();

function textOf({ request, consequences, names, outcome }: Candidate): string {
	const { headers: _, answer, status, ...rest } = brief(request);
	const parts = [
		rest,
		status !== null && status < 400 ? null : answer,
		consequences.map(unmarked),
		names,
		[...outcome],
	];
	return JSON.stringify(parts).toLowerCase();
}

/** A request as it may be shown, without a long answer. */
function brief(request: Request): Request {
	const { explanation, status, answer } = request;
	return {
		...request,
		explanation: explanation === null ? null : withoutMarks(explanation),
		answer: status !== null && status < 400 ? null : structuredClone(answer),
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
