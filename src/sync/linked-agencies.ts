import { isPartnerError, type PartnerError } from "messaging-conversations";
import { onAbort } from "../shared/signals.ts";
import { sleep } from "../shared/sleep.ts";
import { type AgencyLoop, type Fleet, startAgencyLoop } from "./agency-loop.ts";
import { longestRetryAfterMs } from "./pace.ts";

/** A fleet, and how it finds its agencies. */
export interface Discovery<Tx> extends Fleet<Tx> {
	discoverMs: number;
	/** Whether this process follows the agency. */
	isOurs: (agencyId: string) => boolean;
	/** `me.get` has answered, or failed. Until then it is not known whether an agency that refuses is linked. */
	onListed: (isAnswer: boolean) => void;
}

/** The loop ends after nothing but 401s of `me.get` for so long. */
const longestUnauthorizedMs = 300_000;

/**
 * Asks from time to time which agencies are linked, starts a loop for each, and ends the loops of those that are not linked
 * any more. Throws what ends everything. When it has ended, in whatever way, no loop runs.
 * @param loops gets the loops that run
 */
export async function followLinked<Tx>(
	fleet: Discovery<Tx>,
	loops: Map<string, AgencyLoop>,
	signal: AbortSignal,
): Promise<void> {
	const { client, budget, minMs, discoverMs, isOurs } = fleet;
	const controllers = new Map<string, AbortController>();
	/** When the loops that ever ran have ended, by agency. */
	const ends = new Map<string, Promise<void>>();
	let failed: { error: unknown } | undefined;
	/** Ends the pause after an agency has answered 403, because it may be unlinked. */
	let pause = new AbortController();
	let failures = 0;
	let unauthorizedSince: number | undefined;
	const own = new AbortController();
	const removeListener = onAbort(signal, () => own.abort());
	if (signal.aborted) own.abort();

	const onError = (error: PartnerError, agencyId?: string): void => {
		if (error._tag === "PartnerForbidden") pause.abort();
		fleet.onError(error, agencyId);
	};

	function start(agencyId: string): void {
		const controller = new AbortController();
		const loop = startAgencyLoop({ ...fleet, onError }, agencyId, controller.signal, ends.get(agencyId));
		controllers.set(agencyId, controller);
		loops.set(agencyId, loop);
		const end = loop.ended.catch((error: unknown) => {
			failed ??= { error };
			own.abort();
		});
		ends.set(agencyId, end);
	}

	function end(agencyId: string): void {
		controllers.get(agencyId)?.abort();
		loops.delete(agencyId);
	}

	/** Returns the pause until the next request. */
	async function discover(): Promise<number> {
		try {
			await budget.turn(own.signal);
			const { data, response } = await client.me.get({ signal: own.signal }).withResponse();
			budget.spend(response.attempts - 1);
			const linked = new Set(data.agencies.map(({ id }) => id).filter(isOurs));
			for (const agencyId of loops.keys()) if (!linked.has(agencyId)) end(agencyId);
			// A process that is killed before it came to all of them begins with others next time.
			for (const agencyId of shuffled(linked)) if (!loops.has(agencyId)) start(agencyId);
			budget.agencies = loops.size;
			fleet.onListed(true);
			failures = 0;
			unauthorizedSince = undefined;
			return discoverMs;
		} catch (error) {
			if (own.signal.aborted) return 0;
			if (!isPartnerError(error)) throw error;
			const { _tag, attempts, retryAfterMs = 0 } = error;
			budget.spend(Math.max(0, attempts - 1));
			unauthorizedSince = _tag === "PartnerUnauthorized" ? (unauthorizedSince ?? performance.now()) : undefined;
			if (performance.now() - (unauthorizedSince ?? Number.POSITIVE_INFINITY) >= longestUnauthorizedMs) throw error;
			fleet.onError(error);
			fleet.onListed(false);
			const askedMs = Math.min(retryAfterMs, longestRetryAfterMs);
			return Math.max(Math.min(discoverMs, minMs * 2 ** failures++), askedMs);
		}
	}

	try {
		while (!own.signal.aborted) {
			pause = new AbortController();
			const pauseMs = await discover();
			const leastMs = Math.min(minMs, pauseMs);
			await sleep(leastMs, [own.signal]);
			await sleep(pauseMs - leastMs, [own.signal, pause.signal]);
		}
	} finally {
		removeListener();
		own.abort();
		for (const agencyId of loops.keys()) end(agencyId);
		await Promise.all(ends.values());
	}
	if (failed) throw failed.error;
}

/** The items in a random order. */
function shuffled<Item>(items: Iterable<Item>): Item[] {
	const drawn = [...items].map((item) => ({ item, at: Math.random() }));
	return drawn.sort((a, b) => a.at - b.at).map(({ item }) => item);
}
