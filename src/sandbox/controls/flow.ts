import { assertValid, someText } from "../base/input.ts";
import { about, type Flow, next, placeInLists, type Thread, type World } from "../world/world.ts";

/** An automated flow, such as the booking of a visit. Any status may follow any other, at any time. */
export interface FlowControl {
	/** Names it to `sandbox.flow` and in events. */
	readonly id: string;
	/** Its status at present; a send of the agency ends it as `cancelled`. */
	readonly status: string;
	/** Makes it `waiting`. @example agency.startFlow(anna).wait(); */
	wait(): FlowControl;
	/** Makes it `completed`. @example flow.complete(); */
	complete(): FlowControl;
	/** Makes it `cancelled`. @example flow.cancel(); */
	cancel(): FlowControl;
	/** Makes it `failed`. @example flow.fail(); */
	fail(): FlowControl;
	/** Makes it `timeout`. @example flow.timeout(); */
	timeout(): FlowControl;
	/**
	 * Any word, also one that no client knows.
	 * @example flow.set("paused");
	 */
	set(status: string): FlowControl;
}

/** Starts a flow in the thread that `find` gives, which a restored snapshot replaces. */
export function startFlow(world: World, find: () => Thread): FlowControl {
	const thread = find();
	const flow: Flow = { id: next(world, "flow"), status: "active", updated: next(world, "flow update") };
	thread.flows.push(flow);
	placeInLists(world, thread);
	world.events.add({ type: "flow.started", ...about(thread), flowId: String(flow.id) });
	return flowControl(world, find, flow);
}

/** The flow with this id, of any contact; an unknown one throws. */
export function createFlowControl(world: World, id: string): FlowControl {
	for (const agency of world.agencies.values()) {
		for (const [phone, thread] of agency.threads) {
			const flow = thread.flows.find((each) => String(each.id) === id);
			if (flow) return flowControl(world, () => world.agencies.get(agency.id)?.threads.get(phone) ?? thread, flow);
		}
	}
	throw new Error(`The sandbox has no flow ${id}.`);
}

function flowControl(world: World, find: () => Thread, started: Flow): FlowControl {
	const current = (): Flow => find().flows.find((flow) => flow.id === started.id) ?? started;
	const set = (status: string): FlowControl => {
		assertValid("flow: status", status, someText);
		const thread = find();
		Object.assign(current(), { status, updated: next(world, "flow update") });
		world.events.add({ type: "flow.changed", ...about(thread), flowId: control.id, status });
		return control;
	};
	const control: FlowControl = {
		id: String(started.id),
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
