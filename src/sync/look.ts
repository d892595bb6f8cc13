import type { AgencyClient } from "messaging-conversations";
import { type Handed, never, tidy } from "./checkpoint.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { type Change, type Memory, noteFailure, take } from "./memory.ts";
import { type Outcome, reads } from "./read.ts";
import { type Row, scan } from "./scan.ts";
import { due, noteLook, type Statuses } from "./statuses.ts";

export interface LookOptions {
	lookbackMs: number;
	concurrency: number;
	statuses: Statuses;
}

export interface Context {
	agency: AgencyClient;
	memory: Memory;
	options: LookOptions;
	signal: AbortSignal;
}

/** What a look took and gave. */
export interface Looked {
	pages: number;
	handed: number;
}

/**
 * Lists, reads what has changed, and hands it over, oldest change first. When a change is handed out, the memory has it
 * already: it is what to go on from after that change.
 */
export async function* look(context: Context): AsyncGenerator<Change, Looked, undefined> {
	const { agency, memory, options, signal } = context;
	const { state } = memory;
	const { lookbackMs, concurrency, statuses } = options;
	const { mark, scan: resumed } = state;
	const upTo = resumed?.upTo ?? never;
	memory.failures = [];
	if (mark === "now") state.known.clear();

	const listing = await scan(agency, {
		lookbackMs,
		signal,
		floor: (head) => (mark === "now" ? head : mark) - lookbackMs,
		wants(row, at, floor) {
			// Rows without a time are not in the order of activity: they are handed over once, from the beginning.
			if (at === never) return mark === never && upTo === never;
			if (at < floor || at < upTo) return false;
			const known = state.known.get(row.phoneNumber);
			if (known === undefined) return true;
			const fingerprint = fingerprintOf(row);
			if (known.failingSince === undefined) return known.fingerprint !== fingerprint;
			// It is read again as it is. When it is given up, it is left alone until it changes.
			known.fingerprint = fingerprint;
			return false;
		},
	});

	const { pages, head, date } = listing;
	// A scan that goes on keeps its mark, because what it handed over before the break is as old as that.
	const to = resumed ? resumed.to : head;
	const isTop = ({ at }: Row): boolean => at >= to - lookbackMs;
	const floor = (mark === "now" ? to : mark) - lookbackMs;
	const top = resumed ? resumed.top : new Set(listing.rows.filter(isTop).map(({ phoneNumber }) => phoneNumber));
	const failing = [...state.known].filter(([, { failingSince }]) => failingSince !== undefined);
	const now = Math.max(date, head);
	if (mark !== "now") state.scan = { to, upTo, top };

	/** At a break it was either still to come, or it was handed over, and has moved up by messages newer than the scan. */
	const handedOf = (phoneNumber: string): Handed =>
		state.known.get(phoneNumber) ??
		(resumed && !top.has(phoneNumber) ? { from: floor, doubt: [upTo - lookbackMs, to - lookbackMs] } : { from: floor });
	// What has moved up since the break comes first: whether it was handed over is told by `upTo`, which grows with the rest.
	const moved = new Set(listing.rows.filter((row) => resumed && isTop(row) && !top.has(row.phoneNumber)));
	const rows = [...moved, ...listing.rows.filter((row) => !moved.has(row))];
	const finish = (): void => {
		state.mark = Math.max(mark === "now" ? never : mark, to);
		state.scan = undefined;
		tidy(state, lookbackMs);
	};
	const settle = ({ row, read, error }: Outcome): Change | undefined => {
		const { phoneNumber, at } = row;
		const handed = handedOf(phoneNumber);
		if (read) return take(state, read, { to, handed, at, lookbackMs, statuses: mark !== "now" && statuses });
		if (error) noteFailure(memory, { phoneNumber, error }, { at, handed, now });
		else state.known.delete(phoneNumber);
	};
	const readsOf = (rows: Row[]) =>
		reads(agency, rows, { options: ({ phoneNumber }) => handedOf(phoneNumber), concurrency, signal });

	let handed = 0;
	memory.left = rows.length;
	for await (const outcome of readsOf(rows)) {
		const { row } = outcome;
		const change = settle(outcome);
		if (state.scan && !moved.has(row)) state.scan.upTo = Math.max(state.scan.upTo, row.at);
		top.delete(row.phoneNumber);
		if (--memory.left === 0) finish();
		else if (memory.left % 256 === 0) tidy(state, lookbackMs);
		if (!change || mark === "now") continue;
		handed++;
		yield change;
	}
	if (rows.length === 0) finish();

	for await (const outcome of readsOf(failing.map(([phoneNumber, { at }]) => ({ phoneNumber, at })))) {
		const change = settle(outcome);
		if (!change) continue;
		handed++;
		yield change;
	}
	return { pages, handed: handed + (yield* lookAtStatuses(context)).handed };
}

/** Reads the conversations with a message whose status is to be looked at by now, and hands over what has changed. */
export async function* lookAtStatuses(context: Context): AsyncGenerator<Change, Looked, undefined> {
	const { agency, memory, options, signal } = context;
	const { state } = memory;
	const { lookbackMs, concurrency, statuses } = options;
	const { mark, known, followed } = state;
	if (!statuses || mark === "now") return { pages: 0, handed: 0 };
	const rows = [...due(followed)].map((phoneNumber): Row => ({ phoneNumber, at: never }));
	const handedOf = ({ phoneNumber }: Row): Handed => known.get(phoneNumber) ?? { from: mark - lookbackMs };
	let handed = 0;
	for await (const { row, read, error } of reads(agency, rows, { options: handedOf, concurrency, signal })) {
		const { phoneNumber } = row;
		const before = known.get(phoneNumber);
		const change = read && take(state, read, { at: never, handed: handedOf(row), to: mark, lookbackMs, statuses });
		if (error) memory.failures.push({ phoneNumber, error, leftToReconcile: false });
		noteLook(followed, phoneNumber);
		if (change && change.messages.length > 0) {
			handed++;
			yield change;
		} else if (before)
			known.set(phoneNumber, before); // Its other fields are handed over by the next scan.
		else known.delete(phoneNumber);
	}
	return { pages: 0, handed };
}
