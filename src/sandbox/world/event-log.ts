import { type Bounded, createBounded } from "../base/bounded.ts";
import { withoutMarks } from "../base/own.ts";
import { atOnce } from "../base/slices.ts";
import type { EventStamp, SandboxEvent, SandboxEventType } from "./event.ts";
import { iso } from "./instant.ts";
import { weightOfHeaders } from "./journal.ts";

type WithoutStamp<Event> = Event extends unknown ? Omit<Event, keyof EventStamp> : never;

/** An event before it has its number and time. */
export type NewEvent = WithoutStamp<SandboxEvent>;

/** Which events to read. */
export interface WantedEvents {
	/** Only events with a higher number: the `id` of the last event that is known already. @default 0 */
	readonly after?: number | undefined;
	/** Only events with a lower number. @default no limit */
	readonly before?: number | undefined;
	/** At most so many: the first ones after `after`, or the newest ones without `after`. @default all */
	readonly limit?: number | undefined;
	/** Only events of these types. @default all */
	readonly types?: readonly SandboxEventType[] | undefined;
	/** Only events of the contact with this number, E.164: its conversations, and the requests about it. @default all */
	readonly contact?: string | undefined;
}

/** How many of the oldest were forgotten since the log was empty, because it is limited. */
export interface Gone {
	/** All events, requests among them. */
	readonly events: number;
	/** Requests to the service. */
	readonly requests: number;
	/** Requests that are kept without the body of their answer. */
	readonly answers: number;
}

/** A request, as it is added: its event is built when it is read. */
export interface NewRequest {
	/** How much text it holds beside the answer. */
	readonly weight: number;
	readonly answer: { readonly weight: number; readonly value: unknown };
	/** The event with its stamp. `answer` is null once it has been dropped. */
	build(stamp: EventStamp, answer: unknown): SandboxEvent;
}

/** An event; of a request only what names it. */
type NamedEvent =
	| Exclude<SandboxEvent, { type: "request" }>
	| Pick<Extract<SandboxEvent, { type: "request" }>, "id" | "type" | "correlationId">;

/** The newest 200,000 events, and at most 32 MiB of their texts, beside 32 MiB of answers. */
export interface EventLog {
	add(event: NewEvent): void;
	addRequest(request: NewRequest): void;
	/** Builds the events that are kept and asked for. */
	read(wanted: WantedEvents): SandboxEvent[];
	/** The same, with a pause after each few. What happens after the first step is not in it. */
	reading(wanted: WantedEvents): Generator<void, SandboxEvent[]>;
	/**
	 * Goes through all events that are kept at this moment, the oldest first. They are not to be changed, and their sentences have
	 * marks.
	 */
	each(): Iterable<SandboxEvent>;
	/** What is kept of each event at this moment: the same object each time. */
	entries(): readonly LogEntry[];
	/** The same, but of requests only what names them, because to build them takes long. */
	named(): Iterable<NamedEvent>;
	gone(): Gone;
	/** The number of the newest event; 0 before the first. */
	newest(): number;
	/** The number of the last event of the action to which this one belongs; the same number, if none is kept with it. */
	endOf(id: number): number;
	/** Calls `listener` with each event to come. Returns a function that ends this. */
	subscribe(listener: (event: SandboxEvent) => void): () => void;
	/**
	 * Does `act`; listeners hear of its events when it is complete, so that a listener may act on the sandbox itself.
	 * `correlationId` is the request that causes them.
	 */
	together<Result>(correlationId: string | null, act: () => Result): Result;
	/** Does `act` without events: how scenarios write a past. */
	silently<Result>(act: () => Result): Result;
	/** Forgets the events that are kept. Their numbers are not used again. */
	clear(): void;
	/** Becomes the log that a bug file holds. */
	load(events: readonly SandboxEvent[], gone: Gone): void;
}

/** An event as it is kept. That of a request is built when somebody reads it. */
export interface LogEntry {
	readonly isRequest: boolean;
	readonly answer: NewRequest["answer"] | null;
	/** The event, which is not to be changed, with this in the place of its answer. */
	build(answer: unknown): SandboxEvent;
}

interface Kept extends LogEntry {
	readonly id: number;
	readonly action: number;
	readonly type: SandboxEventType;
	readonly weight: number;
	readonly correlationId: string | null;
	answer: NewRequest["answer"] | null;
	isAnswerGone?: boolean;
	/** The number of its contact, once somebody has asked for it: see {@link contactOf}. */
	contact?: string | null;
}

const atMost = 200_000;
const weight = 32 * 2 ** 20;
const weightOfAnswers = 32 * 2 ** 20;
const tickMs = 1_000;
const eventsInARow = 100;

/** An event with the answer that is left of it. Do not change it, because answers share their rows. */
export const built = ({ build, answer }: Pick<LogEntry, "build" | "answer">): SandboxEvent =>
	build(answer?.value ?? null);

/** An event as others get it: their own, and without marks. */
function shown(event: SandboxEvent): SandboxEvent {
	if (event.type === "violation") return { ...event, explanation: withoutMarks(event.explanation) };
	if (event.type !== "request") return event;
	const { explanation, answer } = event;
	return {
		...event,
		explanation: explanation === null ? null : withoutMarks(explanation),
		answer: structuredClone(answer),
	};
}

/** Who wants to know of changes. */
export interface Watcher {
	/** Called with each event except requests, even while events are silent. */
	changed(event: NewEvent): void;
	/** Called when an action has ended: all that belongs together has happened. */
	stepped(): void;
}

export function createEventLog(now: () => number, { changed, stepped }: Watcher): EventLog {
	let goneRequests = 0;
	let goneAnswers = 0;
	// Answers are the first to be forgotten: the events say what happened, and most of their size is answers.
	const answers = createBounded<Kept>({
		atMost,
		weight: weightOfAnswers,
		weigh: (event) => event.answer?.weight ?? 0,
		onDrop(event) {
			event.answer = null;
			event.isAnswerGone = true;
			goneAnswers++;
		},
	});
	const kept = createBounded<Kept>({
		atMost,
		weight,
		weigh: (event) => event.weight,
		onDrop(event) {
			if (!event.isRequest) return;
			goneRequests++;
			if (answers.at(0) === event) answers.dropOldest();
			if (event.isAnswerGone) goneAnswers--; // it is gone as a whole
		},
	});
	/** The newest event, when it is a step of the clock of less than a second. */
	let tick: { readonly id: number; readonly from: string } | undefined;
	const listeners = new Set<(event: SandboxEvent) => void>();
	const waiting: Kept[] = [];
	let last = 0;
	let cause: string | null = null;
	/** The action that is under way, by the number of its first event. */
	let action: number | null = null;
	let isDelivering = false;
	let silent = false;

	/** All of an action has happened, and its listeners hear of it. */
	const end = (): void => {
		if (silent) return; // half of a scenario is no moment to go back to
		stepped();
		if (isDelivering || waiting.length === 0) return;
		isDelivering = true; // An event that a listener causes is delivered after the one that the listener was called with.
		for (let event = waiting.shift(); event; event = waiting.shift()) {
			const read = shown(built(event));
			for (const listener of listeners) call(listener, read);
		}
		isDelivering = false;
	};
	const stamp = (): EventStamp => {
		const id = ++last;
		return { id, action: action ?? id, at: iso(now()), realAt: iso(Date.now()), correlationId: cause };
	};
	const store = (event: Kept): void => {
		kept.add(event);
		if (event.answer) answers.add(event);
	};
	const keep = (event: Kept): void => {
		store(event);
		if (listeners.size > 0) waiting.push(event);
		if (action === null) end();
	};
	const plain = (event: SandboxEvent): Kept => ({
		id: event.id,
		action: event.action,
		type: event.type,
		weight: weightOf(event),
		isRequest: false,
		correlationId: event.correlationId,
		answer: null,
		build: () => event,
	});
	const forget = (gone: Gone): void => {
		kept.load([], gone.events);
		answers.load([]);
		goneRequests = gone.requests;
		goneAnswers = gone.answers;
	};
	function* reading(wanted: WantedEvents): Generator<void, SandboxEvent[]> {
		const read: SandboxEvent[] = [];
		for (const event of yield* wantedIn(kept, wanted)) {
			read.push(shown(built(event)));
			if (read.length % eventsInARow === 0) yield;
		}
		return read;
	}
	return {
		add(event) {
			changed(event);
			if (silent) return;
			if (event.type === "clock.moved" && isTick(event)) {
				const from = tick?.id === last ? tick.from : event.from;
				if (tick?.id === last) kept.dropNewest();
				keep(plain({ ...stamp(), ...event, from }));
				tick = { id: last, from };
			} else keep(plain({ ...stamp(), ...event }));
		},
		addRequest({ weight, answer, build }) {
			if (silent) return;
			const own = stamp();
			const isEmpty = answer.weight === 0;
			keep({
				id: own.id,
				action: own.action,
				type: "request",
				weight,
				isRequest: true,
				correlationId: own.correlationId,
				answer: isEmpty ? null : answer,
				build: (left) => build(own, left),
			});
		},
		read: (wanted) => atOnce(reading(wanted)),
		reading,
		each() {
			const all = kept.items();
			// Beside them, because an answer may be forgotten at any time.
			const answers = all.map(({ answer }) => answer);
			return {
				*[Symbol.iterator]() {
					for (const [at, { build }] of all.entries()) yield built({ build, answer: answers[at] ?? null });
				},
			};
		},
		entries: () => kept.items(),
		newest: () => last,
		endOf(id) {
			let at = firstFrom(kept, id);
			const event = kept.at(at);
			if (event?.id !== id) return id;
			while (kept.at(at + 1)?.action === event.action) at++;
			return kept.at(at)?.id ?? id;
		},
		*named() {
			for (const event of kept.items()) {
				const { id, correlationId } = event;
				const whole = event.isRequest ? undefined : built(event);
				yield whole && whole.type !== "request" ? whole : { id, type: "request", correlationId };
			}
		},
		gone: () => ({ events: kept.dropped, requests: goneRequests, answers: goneAnswers }),
		subscribe(listener) {
			const own = (event: SandboxEvent): void => listener(event); // the same function may subscribe twice
			listeners.add(own);
			return () => void listeners.delete(own);
		},
		together(correlationId, act) {
			const [before, outer] = [cause, action];
			cause = correlationId ?? cause;
			action ??= last + 1;
			try {
				return act();
			} finally {
				cause = before;
				action = outer;
				if (outer === null) end();
			}
		},
		silently(act) {
			const before = silent;
			silent = true;
			try {
				return act();
			} finally {
				silent = before;
			}
		},
		clear: () => forget({ events: 0, requests: 0, answers: 0 }),
		load(events, gone) {
			forget(gone);
			const newest = last;
			for (const event of events) {
				if (event.type !== "request") store(plain(event));
				else {
					const { answer: value, ...rest } = event;
					const text = JSON.stringify(value ?? null);
					const answer = value === null ? null : { weight: text.length, value };
					const { id, action, correlationId, path, query, headers, body } = event;
					const sent = typeof body === "string" ? body : JSON.stringify(body ?? "");
					// As when it was added, or whoever opens a file would have fewer of them.
					const weight = sent.length + path.length + query.length + weightOfHeaders(headers);
					const build: Kept["build"] = (left) => ({ ...rest, answer: left });
					store({ id, action, type: "request", weight, isRequest: true, correlationId, answer, build });
				}
				last = event.id;
			}
			last = Math.max(last, newest);
		},
	};
}

/** Finds the events that are asked for, the oldest first. */
function* wantedIn(
	kept: Bounded<Kept>,
	{ after, before = Number.POSITIVE_INFINITY, limit = atMost, types, contact }: WantedEvents,
): Generator<void, readonly Kept[]> {
	const [from, to] = [firstFrom(kept, (after ?? 0) + 1), firstFrom(kept, before)];
	const isNewest = after === undefined;
	if (types === undefined && contact === undefined)
		return isNewest ? kept.slice(Math.max(to - limit, 0), to) : kept.slice(from, Math.min(to, from + limit));
	const all = kept.slice(from, to);
	const found: Kept[] = [];
	let count = 0;
	for (const event of isNewest ? [...all].reverse() : all) {
		if (found.length >= limit) break;
		if (++count % eventsInARow === 0) yield;
		if (types && !types.includes(event.type)) continue;
		if (contact === undefined || contactOf(event) === contact) found.push(event);
	}
	return isNewest ? found.reverse() : found;
}

/** The number of an event's contact. To build the event of a request for it takes long, so each is built once. */
function contactOf(event: Kept): string | null {
	if (event.contact === undefined) {
		const whole = event.build(null);
		event.contact = "contact" in whole ? whole.contact : null;
	}
	return event.contact;
}

/** The index of the first event with this number or a higher one. Numbers rise, so half of the rest is left out each time. */
function firstFrom(items: Bounded<Kept>, id: number): number {
	let [low, high] = [0, items.length];
	while (low < high) {
		const middle = (low + high) >>> 1;
		if ((items.at(middle)?.id ?? id) < id) low = middle + 1;
		else high = middle;
	}
	return low;
}

/** Whether the clock moved by less than a second, as it does where it follows real time. */
export const isTick = ({ from, to }: { readonly from: string; readonly to: string }): boolean =>
	Date.parse(to) - Date.parse(from) < tickMs;

const weightOf = (event: SandboxEvent): number =>
	"body" in event && typeof event.body === "string" ? event.body.length : 0;

/** A listener that throws ends nothing here: its error is an uncaught one, as with any event target. */
function call(listener: (event: SandboxEvent) => void, event: SandboxEvent): void {
	try {
		listener(event);
	} catch (error) {
		queueMicrotask(() => {
			throw error;
		});
	}
}
