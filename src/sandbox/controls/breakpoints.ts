import { anything, oneOf, optional } from "../../shared/validation.ts";
import { type OperationId, operationIds } from "../base/contract.ts";
import { aString, assertValid, fields } from "../base/input.ts";
import type { Breakpoint, Waiting } from "../world/breakpoint.ts";
import { type FaultOptions, faultFrom, timesRule } from "../world/fault.ts";
import { iso } from "../world/instant.ts";
import { jsonOrText } from "../world/journal.ts";
import { agencyById, type World } from "../world/world.ts";
import { phoneOf } from "./contact.ts";

/** Which requests are held before the operation runs. */
export interface BreakpointOptions {
	/** Only this operation. @default all six */
	readonly operation?: OperationId | undefined;
	/** Only requests for this agency, by its id. @default all agencies */
	readonly agencyId?: string | undefined;
	/** Only requests about this contact: sends to it, and reads of its conversation. @default everybody */
	readonly contact?: FaultOptions["contact"];
	/** How many requests it holds. `Infinity` is allowed. @default 1 */
	readonly times?: number | undefined;
}

/** A breakpoint that was added. */
export interface BreakpointControl {
	/** Names it to `breakpoints.get` and in events. */
	readonly id: string;
	/** How many requests it has held. */
	readonly hits: number;
	/** How many it will still hold; 0 once it is taken back. */
	readonly remaining: number;
	/** Takes it back. Requests that wait already keep waiting. @example sandbox.breakpoints.add().remove(); */
	remove(): void;
}

/** A breakpoint as it is at one moment. */
export interface BreakpointState {
	/** Names it to `breakpoints.get` and in events. */
	readonly id: string;
	/** The operation that it holds; null for all six. */
	readonly operation: OperationId | null;
	/** The agency whose requests it holds; null for all. */
	readonly agencyId: string | null;
	/** The contact whose requests it holds, E.164; null for everybody. */
	readonly contact: string | null;
	/** How many requests it has held. */
	readonly hits: number;
	/** How many it will still hold; null is without end, 0 is spent or taken back. */
	readonly remaining: number | null;
}

/** How a request that waited continues: with a fault of its own. */
export interface ResumeRequestOptions {
	/** As of a fault. @default "before", with a `field` "after" */
	readonly phase?: FaultOptions["phase"];
	/** As of a fault: `{ status: 503 }`, `"hang"`, `{ latencyMs: 5000 }`. @default none: it is carried out */
	readonly effect?: FaultOptions["effect"] | undefined;
}

/** A request that waits at a breakpoint, before anything was done. */
export interface HeldRequest {
	/** Its own, as in `requests()`. */
	readonly correlationId: string;
	/** The breakpoint that holds it. */
	readonly breakpointId: string;
	/** One of the six operations. */
	readonly operation: OperationId;
	/** The HTTP method. */
	readonly method: string;
	/** Path below the base URL, as it came, without the query. */
	readonly path: string;
	/** The query as it came, without the question mark. */
	readonly query: string;
	/** The agency that the path names; null without one. */
	readonly agencyId: string | null;
	/** The contact that it is about, E.164; null without one. */
	readonly contact: string | null;
	/** The body: as JSON when it is JSON, else as text; null without one. */
	readonly body: unknown;
	/** The sandbox's time when it came, ISO 8601 in UTC. */
	readonly at: string;
	/** The real time when it came, ISO 8601 in UTC. */
	readonly realAt: string;
	/**
	 * Lets it continue: carried out, or with a fault. With `after` and `hang` it is carried out, and its answer lost. Throws if
	 * it no longer waits: it has continued already, or its caller gave up.
	 * @example for (const held of sandbox.breakpoints.held()) held.resume();
	 * @example for (const held of sandbox.breakpoints.held()) held.resume({ phase: "after", effect: "hang" });
	 */
	resume(options?: ResumeRequestOptions): void;
}

/** Places at which requests wait, so that something can happen meanwhile. A time limit of the caller still ends the wait. */
export interface BreakpointsControl {
	/**
	 * Holds the next request that fits, before its operation runs. Snapshots have no breakpoints; reset, restore and import
	 * take all back, and cut the connections of the requests that wait.
	 * @example sandbox.breakpoints.add({ operation: "messages.send", contact: anna });
	 */
	add(options?: BreakpointOptions): BreakpointControl;
	/** The breakpoint with this id; an unknown one throws. @example sandbox.breakpoints.get(sandbox.breakpoints.add().id).hits; */
	get(id: string): BreakpointControl;
	/** All of them, spent ones too, the oldest first. @example sandbox.breakpoints.list().map(({ hits }) => hits); */
	list(): BreakpointState[];
	/** Takes all back. Requests that wait keep waiting. @example sandbox.breakpoints.clear(); */
	clear(): void;
	/** The requests that wait, the oldest first. @example for (const held of sandbox.breakpoints.held()) held.resume(); */
	held(): HeldRequest[];
	/**
	 * The oldest request that waits, or else the next one that is held. What happens before it is resumed happens while the
	 * request is on its way.
	 * @example
	 * sandbox.breakpoints.add({ operation: "messages.send" });
	 * const path = `/agencies/${sandbox.agency().id}/messages`;
	 * const sending = sandbox.request({ method: "POST", path, body: { to: anna.phoneNumber, body: "Hi" } });
	 * const held = await sandbox.breakpoints.nextHeld();
	 * anna.writes("Never mind");
	 * held.resume();
	 * await sending;
	 */
	nextHeld(): Promise<HeldRequest>;
}

const optionsRule = fields<BreakpointOptions>({
	operation: optional(oneOf(...operationIds)),
	agencyId: optional(aString),
	contact: optional(anything), // phoneOf says what it may be
	times: optional(timesRule),
});

// faultFrom looks at both.
const resumeRule = fields<ResumeRequestOptions>({ phase: optional(anything), effect: optional(anything) });

export function createBreakpointsControl(world: World): BreakpointsControl {
	const { breakpoints, events } = world;
	const control = (breakpoint: Breakpoint): BreakpointControl => ({
		id: String(breakpoint.id),
		get hits() {
			return breakpoint.hits;
		},
		get remaining() {
			return breakpoints.all.includes(breakpoint) ? (breakpoint.remaining ?? Number.POSITIVE_INFINITY) : 0;
		},
		remove() {
			if (!breakpoints.all.includes(breakpoint) || breakpoint.remaining === 0) return;
			breakpoint.remaining = 0;
			events.add({ type: "breakpoint.removed", breakpointId: String(breakpoint.id) });
		},
	});
	const held = (waiting: Waiting): HeldRequest => {
		const { correlationId, breakpointId, target, method, path, query, text, at, realAt } = waiting;
		return {
			correlationId,
			breakpointId: String(breakpointId),
			operation: target.operation,
			method,
			path,
			query,
			agencyId: target.agencyId || null,
			contact: target.contact,
			body: jsonOrText(text),
			at: iso(at),
			realAt: iso(realAt),
			resume(options = {}) {
				assertValid("resume", options, resumeRule);
				const { phase, effect } = options;
				if (effect === undefined && phase !== undefined)
					throw new TypeError("resume: phase needs an effect, such as { status: 503 }.");
				if (breakpoints.waiting.get(correlationId) !== waiting)
					throw new Error("resume: this request does not wait any more: it went on, or its caller gave up.");
				const fault =
					effect === undefined
						? null
						: faultFrom(
								world.newestFault + 1,
								{ operation: target.operation, phase, effect },
								() => ({ agencyId: null, contact: null }),
								"resume",
							);
				if (fault) {
					world.newestFault = fault.id;
					Object.assign(fault, { hits: 1, remaining: 0 });
				}
				breakpoints.waiting.delete(correlationId);
				events.together(correlationId, () =>
					events.add({ type: "request.resumed", kind: fault?.effect.kind ?? null, phase: fault?.phase ?? null }),
				);
				waiting.release(fault);
			},
		};
	};
	const list = (): HeldRequest[] => [...breakpoints.waiting.values()].map(held);
	return {
		add(options = {}) {
			assertValid("breakpoints.add", options, optionsRule);
			const { operation = null, agencyId, contact, times = 1 } = options;
			const added: Breakpoint = {
				id: breakpoints.newest + 1,
				operation,
				agencyId: agencyId === undefined ? null : agencyById(world, agencyId).id,
				contact: contact === undefined ? null : phoneOf(contact),
				hits: 0,
				remaining: times === Number.POSITIVE_INFINITY ? null : times,
			};
			breakpoints.newest = added.id;
			breakpoints.all = [...breakpoints.all, added];
			events.add({ type: "breakpoint.added", breakpointId: String(added.id) });
			return control(added);
		},
		get(id) {
			const found = breakpoints.all.find((each) => String(each.id) === id);
			if (!found) throw new Error(`The sandbox has no breakpoint ${id}.`);
			return control(found);
		},
		list: () => breakpoints.all.map(({ id, ...rest }) => ({ id: String(id), ...rest })),
		clear() {
			const left = breakpoints.all.filter(({ remaining }) => remaining !== 0);
			breakpoints.all = [];
			events.together(null, () => {
				for (const { id } of left) events.add({ type: "breakpoint.removed", breakpointId: String(id) });
			});
		},
		held: list,
		nextHeld: () =>
			new Promise((resolve) => {
				const [first] = list();
				if (first) return resolve(first);
				const hear = (waiting: Waiting): void => {
					breakpoints.listeners.delete(hear);
					resolve(held(waiting));
				};
				breakpoints.listeners.add(hear);
			}),
	};
}
