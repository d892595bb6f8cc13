import type { OperationId } from "../base/contract.ts";
import { type Effect, type Fault, type FaultOptions, faultFrom } from "../world/fault.ts";
import { agencyById, faultEvent, type World } from "../world/world.ts";
import { phoneOf } from "./contact.ts";

/** A fault that was added. */
export interface FaultControl {
	/** Names it to `faults.get` and in events. */
	readonly id: string;
	/** How many requests it has hit. */
	readonly hits: number;
	/** How many it will still hit; 0 once it is taken back. */
	readonly remaining: number;
	/** Takes it back; `hits` stays. @example fault.remove(); */
	remove(): void;
}

/** A fault as it is at one moment. */
export interface FaultState {
	/** Names it to `faults.get` and in events. */
	readonly id: string;
	/** The operation that it hits; null for all six. */
	readonly operation: OperationId | null;
	/** The agency whose requests it hits; null for all. */
	readonly agencyId: string | null;
	/** The contact whose requests it hits, E.164; null for everybody. */
	readonly contact: string | null;
	/** Whether it hits before the operation runs or after. */
	readonly phase: Fault["phase"];
	/** The change of the answer. */
	readonly effect: Effect;
	/** How many requests it has hit. */
	readonly hits: number;
	/** How many it will still hit; null is without end, 0 is spent or taken back. */
	readonly remaining: number | null;
}

/** Faults to come: counted, never random; after key and scope, so that none hides a 401. */
export interface FaultsControl {
	/**
	 * Adds a fault. `agencyId` and `contact` limit it, so that tests can share a server. The first added is the first to hit; one request meets at most one before and one after it ran.
	 * @example sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
	 * @example sandbox.faults.add({ contact: anna, operation: "messages.send", effect: "hang" });
	 * @example sandbox.faults.add({ times: 2, effect: { status: 503, retryAfter: 1 } });
	 */
	add(options: FaultOptions): FaultControl;
	/** The fault with this id; an unknown one throws. @example sandbox.faults.get(fault.id).hits; */
	get(id: string): FaultControl;
	/** All faults, spent ones too, the oldest first. @example sandbox.faults.list().map(({ id }) => id); */
	list(): FaultState[];
	/** Takes all back. @example sandbox.faults.clear(); */
	clear(): void;
	/**
	 * Faults that still wait to hit: at the end of a test there should be none.
	 * @example expect(sandbox.faults.unused()).toEqual([]);
	 */
	unused(): FaultState[];
}

export function createFaultsControl(world: World): FaultsControl {
	const { events } = world;
	const find = (id: number): Fault | undefined => world.faults.find((fault) => fault.id === id);
	const control = (added: Fault): FaultControl => {
		let last = added;
		// A restored sandbox has faults of its own; the one with the same number is the same fault.
		const current = (): Fault | undefined => {
			const found = find(added.id);
			if (found) last = found;
			return found;
		};
		return {
			id: String(added.id),
			get hits() {
				return (current() ?? last).hits;
			},
			get remaining() {
				const found = current();
				return found ? (found.remaining ?? Number.POSITIVE_INFINITY) : 0;
			},
			remove() {
				const found = current();
				if (!found || found.remaining === 0) return;
				found.remaining = 0;
				events.add({ type: "fault.removed", faultId: String(found.id) });
			},
		};
	};
	const list = (): FaultState[] =>
		world.faults.map(({ id, operation, agencyId = null, contact = null, phase, effect, hits, remaining }) => ({
			id: String(id),
			operation,
			agencyId,
			contact,
			phase,
			effect: { ...effect },
			hits,
			remaining,
		}));
	return {
		add(options) {
			const added = faultFrom(world.newestFault + 1, options, ({ agencyId, contact }) => ({
				agencyId: agencyId === undefined ? null : agencyById(world, agencyId).id,
				contact: contact === undefined ? null : phoneOf(contact),
			}));
			world.newestFault = added.id;
			world.faults = [...world.faults, added];
			events.add({ type: "fault.added", fault: faultEvent(added) });
			return control(added);
		},
		get(id) {
			const found = find(Number(id));
			if (!found) throw new Error(`The sandbox has no fault ${id}.`);
			return control(found);
		},
		list,
		clear() {
			const left = world.faults.filter((fault) => fault.remaining !== 0);
			world.faults = [];
			events.together(null, () => {
				for (const { id } of left) events.add({ type: "fault.removed", faultId: String(id) });
			});
		},
		unused: () => list().filter((fault) => fault.remaining !== 0),
	};
}
