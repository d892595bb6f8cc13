/*
 * The outbox's own clock. Many machines use one outbox, and what one of them stores another one compares with its time. So they all go
 * by the clock of the database. Between two measurements a machine counts on by itself. SQLite is on the machine that asks, so that
 * its clock is the machine's. No other file of the outbox goes by `Date.now`.
 */
import { type Moment, thisMoment } from "../shared/freshness.ts";
import type { Awaitable } from "./awaitable.ts";
import type { OutboxStore } from "./store.ts";

/** The clock that all processes of an outbox share. */
export interface OwnClock {
	/** The time, in whole milliseconds. Before the first measurement it is that of the machine. */
	now: () => number;
	/**
	 * Measures the database's clock if that is due: at first, after a minute, or if this machine was suspended or its clock was set.
	 * Within a transaction of the caller it waits for no other connection.
	 */
	measure: (tx?: unknown) => Awaitable<void>;
	/** By how much the clock of this machine is ahead. Undefined if they are the same one, or if it is not known. */
	aheadMs: () => number | undefined;
}

/** A measurement counts for this long. */
const keepMs = 60_000;
/** While one is under way, others go by the one before. */
const patienceMs = 10_000;
/** The two clocks of a machine drift apart by less. A machine that is suspended may stop the one, and a person sets the other. */
const stepMs = 1_000;
/** A machine that is suspended again and again while it asks has to go by what it gets. */
const mostTries = 3;

const isSteadySince = ({ at, date }: Moment): boolean => {
	const { at: later, date: laterDate } = thisMoment();
	return Math.abs(laterDate - date - (later - at)) < stepMs;
};

/** @param given the clock of the application, which is never measured */
export function createOwnClock({ time }: Pick<OutboxStore, "time">, given?: () => Date | number): OwnClock {
	/** By how much the database's clock is ahead of `performance.now()`, and when that was measured. */
	let known: { offsetMs: number; measured: Moment } | undefined;
	let askedAt = Number.NEGATIVE_INFINITY;
	if (!time || given)
		return {
			now: () => Math.round(Number(given?.() ?? Date.now())),
			measure: () => undefined,
			aheadMs: () => undefined,
		};

	async function ask(tx?: unknown): Promise<void> {
		askedAt = performance.now();
		for (let tries = 1; ; tries++) {
			const before = thisMoment();
			const ms = await time?.(tx);
			const measured = thisMoment();
			if (!isSteadySince(before) && tries < mostTries) continue;
			if (ms === undefined || !Number.isFinite(ms)) return;
			// It was that time at some moment in between.
			const [leastMs, mostMs] = [ms - measured.at, ms - before.at];
			const isKnown = known !== undefined && known.offsetMs >= leastMs && known.offsetMs <= mostMs;
			known = { offsetMs: known && isKnown ? known.offsetMs : (leastMs + mostMs) / 2, measured };
			return;
		}
	}

	return {
		now: () => Math.round(known ? performance.now() + known.offsetMs : Date.now()),
		measure(tx) {
			if (!known || !isSteadySince(known.measured))
				// A transaction that has ended shows it in the statement that comes next.
				return tx === undefined ? ask() : ask(tx).catch(() => {});
			const isDue = performance.now() - known.measured.at > keepMs && performance.now() - askedAt > patienceMs;
			if (!isDue) return undefined;
			if (tx === undefined) return ask();
			// Its statements should come one after the other, and a second connection may not be free before it ends.
			ask().catch(() => {});
			return undefined;
		},
		aheadMs: () => known && Math.round(Date.now() - performance.now() - known.offsetMs),
	};
}
