/*
 * Shares the agencies of the change feed among processes, by leases in the outbox's tables.
 */
import { type Moment, msSince, thisMoment } from "../shared/freshness.ts";
import { checkedLater, fieldsOf, optional } from "../shared/validation.ts";
import { check, line, longestName, text } from "./input.ts";
import type { OutboxStore } from "./store.ts";
import type { Transaction } from "./transaction.ts";
import { createKeeper } from "./work/keeper.ts";

/** Options of `leases`. */
export interface LeasesOptions {
	/** The feed, if several of them follow the same agencies, such as one for a mirror and one for a search index. @default "feed" */
	name?: string | undefined;
}

/** What `leases` returns: the `lease` option of `watchAgencies`. */
export interface AgencyLeases {
	/** Returns true if this process may poll the agency. */
	(agencyId: string): Promise<boolean>;
	/** Returns whether no other process can have the agency at this moment. It asks nothing. */
	holds: (agencyId: string) => boolean;
	/** Gives an agency to the other processes, because this one follows it no longer. */
	release: (agencyId: string) => Promise<void>;
	/**
	 * Returns whether the agency is this process's, in your open transaction. Until that ends no other process gets it. Call it in
	 * `save`, if your checkpoints are in the database of the outbox.
	 */
	confirm: (agencyId: string, options: { tx: Transaction }) => Promise<boolean>;
}

const schema = fieldsOf<LeasesOptions>({ name: optional(line(longestName)) });
const confirming = fieldsOf<{ tx: unknown }>({ tx: checkedLater() });

/** How often the other processes are counted. */
const countEveryMs = 5_000;

export function createLeases(store: OutboxStore, given: LeasesOptions = {}): AgencyLeases {
	const { name = "feed" } = check(schema, "options", given, "leases");
	const [topic, processes] = [`agencies of ${name}`, `processes of ${name}`];
	// Made late, because a worker of Cloudflare has no chance at its start.
	let own: ReturnType<typeof open> | undefined;
	/** The agencies that this process follows, if it is their turn. */
	const followed = new Set<string>();
	let counted: { processes: number; at: Moment } | undefined;
	let turn: Promise<unknown> = Promise.resolve();

	function open() {
		const owner = crypto.randomUUID();
		return { owner, agencies: createKeeper(store, topic, owner), self: createKeeper(store, processes, owner) };
	}
	const mine = () => {
		own ??= open();
		return own;
	};

	/** One call after the other, so that together they take no more than the share. */
	function inTurn<Result>(act: () => Promise<Result>): Promise<Result> {
		const result = turn.then(act);
		turn = result.catch(() => {});
		return result;
	}

	/** How many agencies this process may have. One that joins is given those beyond the share of the others. */
	async function share(): Promise<number> {
		const { self, owner } = mine();
		if (!self.holds(owner)) await self.take(owner);
		if (!counted || msSince(counted.at) > countEveryMs) {
			const at = thisMoment();
			counted = { processes: await store.countLeases(processes), at };
		}
		return Math.ceil(followed.size / Math.max(1, counted.processes));
	}

	async function ask(agencyId: string): Promise<boolean> {
		followed.add(agencyId);
		const most = await share();
		const { agencies } = mine();
		const isOurs = agencies.names.includes(agencyId);
		const others = agencies.names.length - Number(isOurs);
		if (others < most) return agencies.holds(agencyId) || agencies.take(agencyId);
		if (isOurs) await agencies.end(agencyId);
		return false;
	}

	async function release(agencyId: string): Promise<void> {
		followed.delete(agencyId);
		if (!own) return;
		if (own.agencies.names.includes(agencyId)) await own.agencies.end(agencyId);
		if (followed.size > 0) return;
		counted = undefined;
		await own.self.end(own.owner);
	}

	return Object.assign(
		(agencyId: string) => {
			const id = text("agencyId", agencyId, "leases");
			return inTurn(() => ask(id));
		},
		{
			holds: (agencyId: string) => own?.agencies.holds(agencyId) === true,
			release: (agencyId: string) => inTurn(() => release(agencyId)),
			async confirm(agencyId: string, options: { tx: Transaction }) {
				const { tx } = check(confirming, "options", options, "confirm");
				if (!own?.agencies.names.includes(agencyId)) return false;
				return store.confirmLease({ topic, name: agencyId, owner: own.owner }, tx);
			},
		},
	);
}
