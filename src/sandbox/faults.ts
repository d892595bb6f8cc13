import { operationTable } from "../../generated/operations.ts";
import type { OperationId } from "./journal.ts";
import { aString, assertValid, fields, must, oneOf, optional, wholeFrom } from "./strict.ts";

export const faultKinds = [
	"status",
	"reset",
	"hang",
	"latency",
	"html",
	"empty",
	"truncated",
	"not-json",
	"redirect",
	"missing-field",
] as const;

/** What can become of an answer. */
export type FaultKind = (typeof faultKinds)[number];

export const faultPhases = ["before", "after"] as const;

/** The effect of a fault in full; a bare {@link FaultKind} but `status` stands for one with nothing set. */
export interface FaultEffect {
	/** @default "status" with a `status`, "latency" with only a time */
	readonly kind?: FaultKind;
	/** 200 to 599. @default 502 for `html`, 307 for `redirect`, 200 for the other bodies */
	readonly status?: number;
	/** The Retry-After header: seconds, or any text. */
	readonly retryAfter?: number | string;
	/** Real milliseconds to wait first, whatever the kind. @default 100 for "latency", else 0 */
	readonly latencyMs?: number;
	/** The same as `latencyMs`. */
	readonly latency?: number;
	/** For `missing-field`: a field of the answer, dots between levels. @default one that the operation's callers need */
	readonly field?: string;
	/** For `redirect`: where to. @default "https://elsewhere.invalid/" */
	readonly location?: string;
}

/** A fault to come. Counted, never random (law 7). */
export interface FaultOptions {
	/** Only this operation. @default all six */
	readonly operation?: OperationId;
	/** How many requests it hits. `Infinity` is allowed. @default 1 */
	readonly times?: number;
	/** How many matching requests pass before the first hit. @default 0 */
	readonly skip?: number;
	/**
	 * `before`: the operation does not run and no operationId is remembered. `after`: the operation runs and commits,
	 * then its answer is replaced or lost. @default "before"
	 */
	readonly phase?: (typeof faultPhases)[number];
	/** What becomes of the answer. */
	readonly effect: Exclude<FaultKind, "status"> | FaultEffect;
}

/** An effect with everything settled. */
export interface Effect {
	readonly kind: FaultKind;
	readonly status: number | null;
	readonly retryAfter: string | null;
	readonly latencyMs: number;
	readonly field: string | null;
	readonly location: string;
}

/** A fault as the book keeps it; `remaining` null is without end. */
export interface Fault {
	readonly id: number;
	readonly operation: OperationId | null;
	readonly phase: (typeof faultPhases)[number];
	readonly effect: Effect;
	skip: number;
	hits: number;
	remaining: number | null;
}

export interface FaultBook {
	add(options: FaultOptions): Fault;
	find(id: number): Fault | undefined;
	remove(id: number): void;
	clear(): void;
	/** The effect that hits this request, if any: the first fault in order of creation; its count goes down. */
	take(operation: OperationId, phase: (typeof faultPhases)[number]): Effect | undefined;
	all(): readonly Fault[];
	load(faults: readonly Fault[]): void;
}

const waitRule = optional(must("milliseconds, at least 0", (ms) => Number.isFinite(ms) && Number(ms) >= 0));

const effectRule = fields<FaultEffect>({
	kind: optional(oneOf(...faultKinds)),
	status: optional(must("from 200 to 599", (status) => Number.isInteger(status) && /^[2-5]\d\d$/.test(String(status)))),
	retryAfter: optional(must("seconds or text", (after) => typeof after === "string" || Number.isFinite(after))),
	latencyMs: waitRule,
	latency: waitRule,
	field: optional(aString),
	location: optional(aString),
});

const optionsRule = fields<FaultOptions>({
	operation: optional(oneOf(...Object.keys(operationTable))),
	times: optional((times) => (times === Number.POSITIVE_INFINITY ? undefined : wholeFrom(1)(times))),
	skip: optional(wholeFrom(0)),
	phase: optional(oneOf(...faultPhases)),
	effect: (effect) => (typeof effect === "string" ? oneOf(...faultKinds)(effect) : effectRule(effect)),
});

export function createFaults(): FaultBook {
	let faults: Fault[] = [];
	let created = 0;
	return {
		add(options) {
			assertValid("faults.add", options, optionsRule);
			const { operation, times = 1, skip = 0, phase = "before", effect } = options;
			const remaining = times === Number.POSITIVE_INFINITY ? null : times;
			const fault = {
				id: ++created,
				operation: operation ?? null,
				phase,
				effect: effectFrom(effect),
				skip,
				hits: 0,
				remaining,
			};
			faults.push(fault);
			return fault;
		},
		find: (id) => faults.find((fault) => fault.id === id),
		remove(id) {
			faults = faults.filter((fault) => fault.id !== id);
		},
		clear() {
			faults = [];
		},
		take(operation, phase) {
			for (const fault of faults) {
				if (fault.phase !== phase || fault.remaining === 0) continue;
				if (fault.operation !== null && fault.operation !== operation) continue;
				if (fault.skip > 0) {
					fault.skip--;
					continue;
				}
				fault.hits++;
				if (fault.remaining !== null) fault.remaining--;
				return fault.effect;
			}
			return undefined;
		},
		all: () => faults,
		load(restored) {
			faults = [...restored];
			// Handles name faults by number, also those made after the snapshot.
			created = Math.max(created, ...faults.map((fault) => fault.id));
		},
	};
}

function effectFrom(given: FaultOptions["effect"]): Effect {
	const effect: FaultEffect = typeof given === "string" ? { kind: given } : given;
	const waits = effect.latencyMs ?? effect.latency;
	const kind = effect.kind ?? (effect.status === undefined && waits !== undefined ? "latency" : "status");
	const { status = null, retryAfter, field = null, location = "https://elsewhere.invalid/" } = effect;
	if (kind === "status" && status === null) throw new TypeError("faults.add: effect must have a status or a kind.");
	const latencyMs = waits ?? (kind === "latency" ? 100 : 0);
	return { kind, status, retryAfter: retryAfter === undefined ? null : String(retryAfter), latencyMs, field, location };
}

/** A fault that was added. */
export interface FaultControl {
	/** How many requests it has hit. */
	readonly hits: number;
	/** How many it will still hit; 0 once it is taken back. */
	readonly remaining: number;
	/** Takes it back; `hits` stays. @example fault.remove(); */
	remove(): void;
}

/** Faults to come: counted, never random; after key and scope, so that none hides a 401. */
export interface FaultsControl {
	/**
	 * Adds a fault. The first added is the first to hit; one request meets at most one before and one after it ran.
	 * @example sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
	 * @example sandbox.faults.add({ times: 2, effect: { status: 503, retryAfter: 1 } });
	 */
	add(options: FaultOptions): FaultControl;
	/** Takes all back. @example sandbox.faults.clear(); */
	clear(): void;
	/**
	 * Faults that still wait to hit: at the end of a test there should be none.
	 * @example expect(sandbox.faults.unused()).toEqual([]);
	 */
	unused(): Pick<Fault, "operation" | "phase" | "effect" | "hits" | "remaining">[];
}

export function createFaultsControl(book: FaultBook): FaultsControl {
	return {
		add(options) {
			const added = book.add(options);
			let last = added;
			// A restored sandbox has faults of its own: by number they are the same.
			const current = (): Fault | undefined => {
				const found = book.find(added.id);
				if (found) last = found;
				return found;
			};
			return {
				get hits() {
					return (current() ?? last).hits;
				},
				get remaining() {
					const found = current();
					return found ? (found.remaining ?? Number.POSITIVE_INFINITY) : 0;
				},
				remove() {
					current();
					book.remove(added.id);
				},
			};
		},
		clear: () => book.clear(),
		unused: () =>
			book
				.all()
				.filter((fault) => fault.remaining !== 0)
				.map(({ operation, phase, effect, hits, remaining }) => ({ operation, phase, effect, hits, remaining })),
	};
}
