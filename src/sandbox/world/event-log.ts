import { createBounded } from "../base/bounded.ts";
import type { EventStamp, SandboxEvent } from "./event.ts";
import { iso } from "./instant.ts";

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
}

/** The newest 10,000 events, and at most 32 MB of their texts. */
export interface EventLog {
	add(event: NewEvent): void;
	/** Adds an event that is built when somebody reads it; `weight` is how much text it holds. */
	addLater(weight: number, build: () => NewEvent): void;
	/** Builds the events that are kept and asked for. */
	read(wanted: WantedEvents): SandboxEvent[];
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
}

interface Kept {
	readonly id: number;
	readonly weight: number;
	read(): SandboxEvent;
}

const atMost = 10_000;
const weight = 32 * 2 ** 20;
const tickMs = 1_000;

/** `changed` is called with each event but those of requests, also while events are silent. */
export function createEventLog(now: () => number, changed: () => void): EventLog {
	const kept = createBounded<Kept>({ atMost, weight, weigh: (event) => event.weight });
	/** The newest event, when it is a step of the clock of less than a second. */
	let tick: { readonly id: number; readonly from: string } | undefined;
	const listeners = new Set<(event: SandboxEvent) => void>();
	const waiting: Kept[] = [];
	let last = 0;
	let cause: string | null = null;
	let depth = 0;
	let silent = false;

	const deliver = (): void => {
		if (depth > 0) return;
		depth++; // An event that a listener causes is delivered after the one that the listener was called with.
		for (let event = waiting.shift(); event; event = waiting.shift()) {
			const read = event.read();
			for (const listener of listeners) call(listener, read);
		}
		depth--;
	};
	const keep = (weight: number, build: (stamp: EventStamp) => SandboxEvent): void => {
		const stamp = { id: ++last, at: iso(now()), realAt: iso(Date.now()), correlationId: cause };
		const event = { id: stamp.id, weight, read: () => build(stamp) };
		kept.add(event);
		if (listeners.size === 0) return;
		waiting.push(event);
		deliver();
	};
	return {
		add(event) {
			changed();
			if (silent) return;
			if (event.type === "clock.moved" && isTick(event)) {
				const from = tick?.id === last ? tick.from : event.from;
				if (tick?.id === last) kept.dropNewest();
				keep(0, (stamp) => ({ ...stamp, ...event, from }));
				tick = { id: last, from };
			} else keep(weightOf(event), (stamp) => ({ ...stamp, ...event }));
		},
		addLater(weight, build) {
			if (!silent) keep(weight, (stamp) => ({ ...stamp, ...build() }));
		},
		read({ after, before = Number.POSITIVE_INFINITY, limit = atMost }) {
			const items = kept.items();
			const [from, to] = [firstFrom(items, (after ?? 0) + 1), firstFrom(items, before)];
			const some =
				after === undefined ? items.slice(Math.max(to - limit, 0), to) : items.slice(from, Math.min(to, from + limit));
			return some.map((event) => event.read());
		},
		subscribe(listener) {
			const own = (event: SandboxEvent): void => listener(event); // the same function may subscribe twice
			listeners.add(own);
			return () => void listeners.delete(own);
		},
		together(correlationId, act) {
			const before = cause;
			cause = correlationId ?? cause;
			depth++;
			try {
				return act();
			} finally {
				cause = before;
				depth--;
				deliver();
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
		clear: () => kept.load([]),
	};
}

/** The index of the first event with this number or a higher one. Numbers rise, so half of the rest is left out each time. */
function firstFrom(items: readonly Kept[], id: number): number {
	let [low, high] = [0, items.length];
	while (low < high) {
		const middle = (low + high) >>> 1;
		if ((items[middle]?.id ?? id) < id) low = middle + 1;
		else high = middle;
	}
	return low;
}

const isTick = ({ from, to }: { readonly from: string; readonly to: string }): boolean =>
	Date.parse(to) - Date.parse(from) < tickMs;

const weightOf = (event: NewEvent): number =>
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
