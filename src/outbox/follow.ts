/*
 * The loop around `settled`: hands what has become of texts to a function of the application, in one process at a time.
 */
import { PartnerConfigurationError } from "messaging-conversations";
import { sleep } from "../shared/sleep.ts";
import { abortSignal, callable, fieldsOf, flag, optional } from "../shared/validation.ts";
import { check } from "./input.ts";
import type { CheckedOptions } from "./options.ts";
import { acknowledge, type SettledChange, settled } from "./settled.ts";
import type { Transaction } from "./transaction.ts";
import type { Alerts } from "./work/alerts.ts";
import { createKeeper } from "./work/keeper.ts";
import { throughOutages } from "./work/outage.ts";
import type { Pause } from "./work/pause.ts";
import type { Pauses } from "./work/pauses.ts";

/** A change that `follow` passes to your function. */
export interface FollowedChange extends SettledChange {
	/**
	 * Acknowledges the change in your open transaction, so that you store it exactly once. Without it the change is acknowledged when
	 * your function has ended, and comes again if the process dies in between.
	 */
	acknowledge: (tx: Transaction) => Promise<void>;
}

/** Options of `follow`. */
export interface FollowOptions {
	/** Ends the loop, after the call of your function that is in progress. */
	signal?: AbortSignal | undefined;
	/** Also texts that became `held`, as in `settled`. @default false */
	held?: boolean | undefined;
}

/** What a loop uses. */
interface Follow {
	options: Pick<CheckedOptions, "store" | "clock" | "now">;
	alerts: Alerts;
	pauses: Pauses;
}

/** A change for which the function threw. */
interface Failed {
	revision: number;
	times: number;
	/** When it is tried again, by `performance.now()`. */
	at: number;
}

const schema = fieldsOf<FollowOptions>({ signal: optional(abortSignal), held: optional(flag) });
const handler = callable<(change: FollowedChange) => unknown>();

const atOnce = 100;
const mostListed = 1_000;
/** What has become of a text is found within this time. */
const idleMs = 1_000;
/** How often another process asks whether it is its turn. */
const othersMs = 5_000;
/** Of a text, and of all of them if the function fails for each, as in an outage of what it writes to. */
const longestWaitMs = 5 * 60_000;
const longestOutageMs = 15_000;
/** One failure may be an accident. So many are told of, and if they come in a row, each next text waits too. */
const mostFailures = 3;

const waitMs = (times: number, mostMs = longestWaitMs): number => Math.min(mostMs, 1_000 * 2 ** (times - 1));

export async function follow(
	{ options, alerts, pauses }: Follow,
	given: (change: FollowedChange) => unknown,
	more: FollowOptions = {},
): Promise<void> {
	const act = check(handler, "onSettled", given, "follow");
	const { signal, held = false } = check(schema, "options", more, "follow");
	const { store, clock, now } = options;
	const keeper = createKeeper(store, "follow", crypto.randomUUID());
	const failing = new Map<string, Failed>();
	/** Failures since the function last succeeded. */
	let inRow = 0;

	/** Whether it is the turn of this process. It may have been stopped since it last asked. */
	const isOurs = async (): Promise<boolean> => keeper.holds("") || keeper.take("");

	async function tell({ id, agencyId }: SettledChange, thrown: unknown, ms: number): Promise<void> {
		const rule = "threw an error. What it was called with is passed to it again later";
		const error = new PartnerConfigurationError({ field: "onSettled", rule, operation: "follow", retryable: true });
		const pause: Pause = { reason: "follow_failed", error, agencyId, id, retryAt: new Date(now() + ms) };
		// Its message can quote a number or a text.
		Object.defineProperty(pause, "cause", { value: thrown });
		alerts.seen(await store.paused());
		await alerts.met({ name: "follow", call: "follow", agencyId: "", who: id, pause, isCertain: true });
	}

	function fail({ id, revision }: SettledChange): Failed {
		const times = (failing.get(id)?.times ?? 0) + 1;
		const failed = { revision, times, at: performance.now() + waitMs(times) };
		failing.set(id, failed);
		return failed;
	}

	async function handle(change: SettledChange): Promise<void> {
		let isAcknowledged = false;
		const acknowledgeIn = (tx: Transaction): Promise<void> => {
			isAcknowledged = true;
			return acknowledge(store, [change], { tx });
		};
		try {
			await act({ ...change, acknowledge: acknowledgeIn });
		} catch (thrown) {
			const { times } = fail(change);
			inRow++;
			if (times >= mostFailures || inRow === mostFailures) await tell(change, thrown, waitMs(times));
			return;
		}
		inRow = 0;
		if (isAcknowledged) {
			// If it is listed again, the transaction was rolled back.
			fail(change);
		} else {
			await acknowledge(store, [change]);
			failing.delete(change.id);
		}
		await alerts.passed(["follow"], { agencyId: "", who: change.id });
	}

	/** Hands over what is listed. Returns whether that was anything. */
	async function pass(): Promise<boolean> {
		const limit = Math.min(mostListed, atOnce + failing.size);
		const found = await settled(store, { limit, held });
		if (found.length < limit)
			for (const id of failing.keys()) if (!found.some((each) => each.id === id)) failing.delete(id);
		let isAny = false;
		for (const change of found) {
			const failed = failing.get(change.id);
			if (failed?.revision === change.revision && failed.at > performance.now()) continue;
			if (signal?.aborted || !(await isOurs())) return false;
			isAny = true;
			await handle(change);
			if (inRow >= mostFailures) await sleep(waitMs(inRow - mostFailures + 1, longestOutageMs), [signal]);
		}
		return isAny;
	}

	async function run(): Promise<void> {
		alerts.seen(await store.paused());
		try {
			while (!signal?.aborted) {
				await clock.measure();
				const isLeading = await isOurs();
				if (isLeading && (await pass())) continue;
				await sleep(isLeading ? idleMs : othersMs, [signal]);
			}
		} finally {
			// If the database is down, it ends by itself.
			if (keeper.names.length > 0) await keeper.end("").catch(() => {});
		}
	}
	await throughOutages(run, { pauses, now, signal });
}
