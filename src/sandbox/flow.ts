import type { Flow, Thread, World } from "./state.ts";
import { aString, assertValid } from "./strict.ts";
import { change, next } from "./world.ts";

/** An automated flow, such as the booking of a visit. Which status follows which is not shown (§3): any does, at any time. */
export interface FlowControl {
	/** Its status at present; a send of the agency ends it as `cancelled`. */
	readonly status: string;
	/** @example agency.startFlow(anna).wait(); */
	wait(): FlowControl;
	/** @example flow.complete(); */
	complete(): FlowControl;
	/** @example flow.cancel(); */
	cancel(): FlowControl;
	/** @example flow.fail(); */
	fail(): FlowControl;
	/** @example flow.timeout(); */
	timeout(): FlowControl;
	/**
	 * Any word, also one that no client knows (R161).
	 * @example flow.set("paused");
	 */
	set(status: string): FlowControl;
}

/** Starts a flow; `find` gives the thread as it is now. */
export function startFlow(world: World, find: () => Thread): FlowControl {
	const thread = find();
	const started: Flow = { id: next(world, "flow"), status: "active", updated: next(world, "flow update") };
	change(world, thread, () => {
		thread.opened = true;
		thread.flows.push(started);
	});
	const current = (): Flow => find().flows.find((flow) => flow.id === started.id) ?? started;
	const set = (status: string): FlowControl => {
		assertValid("flow: status", status, aString);
		change(world, find(), () => {
			Object.assign(current(), { status, updated: next(world, "flow update") });
		});
		return control;
	};
	const control: FlowControl = {
		get status() {
			return current().status;
		},
		wait: () => set("waiting"),
		complete: () => set("completed"),
		cancel: () => set("cancelled"),
		fail: () => set("failed"),
		timeout: () => set("timeout"),
		set,
	};
	return control;
}
