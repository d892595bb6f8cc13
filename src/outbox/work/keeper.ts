/*
 * Keeps leases for as long as this process runs. It can be stopped at any moment for longer than they last, so that it goes by the time
 * that has passed since it last asked the database, by two clocks.
 */
import { type Moment, msSince, thisMoment } from "../../shared/freshness.ts";
import type { OutboxStore } from "../store.ts";
import { namedLeaseMs } from "../stores/leases.ts";

/** The leases of one process. */
export interface Keeper {
	/** Takes a lease, or prolongs it. Returns false if another process has it. */
	take: (name: string) => Promise<boolean>;
	/** Whether no other process can have it at this moment, for which nothing is asked. */
	holds: (name: string) => boolean;
	/** Those that were taken, and not lost as far as this process knows. */
	readonly names: readonly string[];
	/** Gives a lease back. */
	end: (name: string) => Promise<void>;
}

const prolongEveryMs = namedLeaseMs / 4;
/** The clock of the database may run a little faster, and a request has to end in time. */
const marginMs = 5_000;

export function createKeeper(
	store: Pick<OutboxStore, "takeLease" | "prolongLeases" | "endLease">,
	topic: string,
	owner: string,
): Keeper {
	/** When the latest statement began that showed each of them to be ours. */
	const held = new Map<string, Moment>();
	let timer: ReturnType<typeof setInterval> | undefined;

	async function prolong(): Promise<void> {
		const began = thisMoment();
		const names = [...held.keys()];
		const ours = new Set(await store.prolongLeases(topic, owner, names));
		for (const name of names)
			if (!ours.has(name)) forget(name);
			else if (held.has(name)) held.set(name, began);
	}

	function keep(name: string, began: Moment): void {
		held.set(name, began);
		// A lease that cannot be prolonged ends by itself.
		timer ??= setInterval(() => void prolong().catch(() => {}), prolongEveryMs);
		Object(timer).unref?.();
	}

	function forget(name: string): void {
		held.delete(name);
		if (held.size > 0) return;
		clearInterval(timer);
		timer = undefined;
	}

	return {
		async take(name) {
			const began = thisMoment();
			const isOurs = await store.takeLease({ topic, name, owner });
			if (isOurs) keep(name, began);
			else forget(name);
			return isOurs;
		},
		holds(name) {
			const began = held.get(name);
			return began !== undefined && msSince(began) < namedLeaseMs - marginMs;
		},
		get names() {
			return [...held.keys()];
		},
		async end(name) {
			forget(name);
			await store.endLease({ topic, name, owner });
		},
	};
}
