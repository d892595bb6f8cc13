/*
 * Works on through outages of the database.
 */
import { sleep } from "../../shared/sleep.ts";
import { isPassing } from "../stores/database-error.ts";
import type { Pauses } from "./pauses.ts";

/** An outage within this time of the last one is the same one. */
const sameOutageMs = 60_000;
const longestOutageWaitMs = 15_000;
/** An outage that lasts is reported again. */
const repeatMs = 15 * 60_000;
/** After this time it is not one: an error that is not on the list may be permanent. A supervisor sees that `work` rejects. */
const mostOutageMs = 3_600_000;

/** Works until the signal aborts. If the database is down it pauses, and resumes once it is back. */
export async function throughOutages(
	work: () => Promise<void>,
	{ pauses, now, signal }: { pauses: Pauses; now: () => number; signal: AbortSignal | undefined },
): Promise<void> {
	let times = 0;
	let last = Number.NEGATIVE_INFINITY;
	let began = 0;
	let told = Number.NEGATIVE_INFINITY;
	for (;;) {
		try {
			return await work();
		} catch (error) {
			if (!isPassing(error)) throw error;
			if (signal?.aborted) return;
			const at = performance.now();
			if (at - last > sameOutageMs) {
				times = 0;
				began = at;
				told = Number.NEGATIVE_INFINITY;
			}
			if (at - began > mostOutageMs) throw error;
			const waitMs = Math.min(longestOutageWaitMs, 250 * 2 ** times);
			if (at - told > repeatMs) {
				pauses.outage(error instanceof Error ? error : new Error(String(error)), now() + waitMs);
				told = at;
			}
			times++;
			await sleep(waitMs, [signal]);
			last = performance.now();
			if (signal?.aborted) return;
		}
	}
}
