/*
 * What people ask of a store, and tell it: suspensions, workers and their signs of life, and what is not finished.
 */

import type { OutboxReason } from "../names.ts";
import type { Purpose } from "../policy/purpose.ts";
import {
	allSends,
	type ListedState,
	type OutboxStore,
	type StoredDeclarations,
	type StoredSuspension,
	type StoredWait,
} from "../store.ts";
import type { OutboxState, OutboxText } from "../text.ts";
import type { Row, Value } from "./connection.ts";
import { textFrom } from "./rows.ts";
import { atOnce, keptBack, type Statements } from "./statements.ts";
import type { Sweeps } from "./sweep.ts";

type Operations = Pick<
	OutboxStore,
	| "resume"
	| "suspend"
	| "endSuspension"
	| "declared"
	| "suspended"
	| "workers"
	| "counts"
	| "list"
	| "search"
	| "countDays"
	| "nextAgency"
>;

interface Run extends Pick<Sweeps, "changeQueues"> {
	query: (sql: string, values: Value[]) => Promise<Row[]>;
	change: (sql: string, values: Value[]) => Promise<number>;
}

/** A text whose result is not known for so long is late. */
const stuckMs = 2 * 60_000;
/** By how much the clocks of machines that enqueue may differ, and a text may have waited for its transaction to store it. */
const unorderedMs = 24 * 60 * 60_000;

const nameIn = (by: unknown): string | null => (by === null || by === undefined ? null : String(by));

/** What settings and hooks keep back, once for each agency and reason. */
function keptBackIn(rows: readonly Row[]): StoredWait[] {
	const found = new Map<string, StoredWait>();
	for (const { agency_id, state, oldest } of rows) {
		const reason = keptBack.find((each) => each === state);
		if (!reason) continue;
		const name = `${agency_id} ${reason}`;
		const until = Math.min(Number(oldest), found.get(name)?.until ?? Number.POSITIVE_INFINITY);
		found.set(name, { agencyId: String(agency_id), reason, until });
	}
	return [...found.values()];
}

export function createOperations(statements: Statements, { query, change, changeQueues }: Run): Operations {
	return {
		async resume(agencyId, now) {
			const isEnded = (await change(statements.resume, [agencyId])) > 0;
			// While they were paused, their workers put the queues off.
			if (isEnded && agencyId === allSends) await changeQueues(statements.wakeAgency, [Math.floor(now), ""]);
		},
		async suspend({ agencyId, reason, by, since }) {
			await query(statements.suspend, [agencyId, reason, by, Math.floor(since)]);
		},
		async endSuspension(agencyId, now, { at, by } = { at: now, by: null }) {
			const isEnded = (await change(statements.endSuspension, [agencyId, Math.floor(at), by])) > 0;
			// While it was suspended, their workers put them off.
			await changeQueues(statements.wakeAgency, [Math.floor(now), agencyId]);
			return isEnded;
		},
		suspended: async () =>
			(await query(statements.suspended, [])).map(
				({ agency_id, suspended_since, suspended_reason, suspended_by }): StoredSuspension => ({
					agencyId: String(agency_id),
					reason: String(suspended_reason),
					by: suspended_by === null ? null : String(suspended_by),
					since: Number(suspended_since),
				}),
			),
		async declared(since) {
			const found: StoredDeclarations = { resumed: [], restored: null };
			for (const row of await query(statements.declared, [Math.floor(since)])) {
				const at = Number(row.resumed_at ?? 0);
				if (at > since) found.resumed.push({ agencyId: String(row.agency_id), at, by: nameIn(row.resumed_by) });
				if (row.restored_to !== null)
					found.restored = {
						from: Number(row.restored_from),
						to: Number(row.restored_to),
						by: nameIn(row.restored_by),
					};
			}
			return found;
		},
		workers: async () =>
			(await query(statements.workers, [])).map(({ id, version, runs_once, age_ms, silent_ms }) => ({
				id: String(id),
				version: String(version),
				runsOnce: Number(runs_once) === 1,
				ageMs: Number(age_ms),
				silentMs: Number(silent_ms),
			})),
		async counts(now, most) {
			const rows = await query(statements.counts, [Math.floor(now), most, Math.floor(now) - stuckMs]);
			const of = (name: string) => rows.find(({ state }) => state === name);
			const count = (name: ListedState) => Number(of(name)?.count ?? 0);
			const late = [of("due"), of("again"), of("stuck")];
			const times = late.flatMap((row) => (row?.oldest ? [Number(row.oldest)] : []));
			return {
				states: {
					waiting: count("waiting"),
					sending: count("sending"),
					held: count("held"),
					unknown: count("unknown"),
				},
				due: late.reduce((sum, row) => Math.min(most, sum + Number(row?.count ?? 0)), 0),
				oldestDueAt: times.length > 0 ? Math.min(...times) : null,
				keptBack: keptBackIn(rows),
			};
		},
		countDays: async (agencyId, bounds) =>
			(await query(statements.countDays(bounds), [agencyId])).map((row) => ({
				day: Number(row.day),
				purpose: String(row.purpose) as Purpose,
				state: String(row.state) as OutboxState,
				reason: row.reason === null ? null : (String(row.reason) as OutboxReason),
				count: Number(row.count),
			})),
		async nextAgency(after) {
			const [row] = await query(statements.nextAgency, [after]);
			return row && String(row.agency_id);
		},
		list: async (state, limit, agencyId = "") => (await query(statements.list(state), [limit, agencyId])).map(textFrom),
		async search({ to, agencyId = "", state = "", since = 0, before = Number.MAX_SAFE_INTEGER }, limit) {
			const found: OutboxText[] = [];
			const number = to === undefined ? [] : [to];
			for (let last = before; ; ) {
				const keys = await query(statements.search(to !== undefined), [agencyId, state, since, last, ...number]);
				const fitting = keys.filter(({ fits }) => Number(fits) === 1).map(({ seq }) => Number(seq));
				const wanted = fitting.slice(0, limit - found.length);
				const rows = wanted.length > 0 ? await query(statements.bySeq(wanted.join(", ")), []) : [];
				found.push(...rows.map(textFrom).sort((one, other) => other.seq - one.seq));
				const end = keys.at(-1);
				const isLast = !end || keys.length < atOnce || Number(end.created_at) < since - unorderedMs;
				if (isLast || fitting.length > wanted.length || found.length >= limit) return found;
				last = Number(end.seq);
			}
		},
	};
}
