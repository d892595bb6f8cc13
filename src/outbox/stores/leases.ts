/*
 * The queues of the recipients in a database: which worker has which, whose turn it is, and who is paused. Each change is one
 * statement, or several of which the last one decides, so that a worker may die between any two.
 */

import { type Band, bandOf, type ClaimOptions, type Lease, type OutboxStore, type StoredPause } from "../store.ts";
import type { Recipient } from "../text.ts";
import { inChunks, type Row, type Value } from "./connection.ts";
import type { Names } from "./names.ts";

/** How the statements of a database differ. */
export interface LeaseSql {
	/** The time of the database, in milliseconds. */
	clock: string;
	/** The function of the smaller and of the larger of two values. */
	least: string;
	greatest: string;
	/** Begins what an insert does when its key is there, and gives the value that was to be inserted. */
	onConflict: (key: string) => string;
	given: (column: string) => string;
	/** A text that is to be put into a queue, and is committed for certain. */
	isArrived: string;
	/** Rows that another worker changes at this moment are left out instead of waited for. */
	skipLocked: string;
	/** Names an index that MySQL would not choose by itself. */
	by: (index: string) => string;
	/** Whether an update returns its rows. */
	hasReturning: boolean;
}

type Leases = Pick<
	OutboxStore,
	"join" | "claim" | "watched" | "renew" | "release" | "paused" | "pause" | "resume" | "probe"
>;

interface Run {
	query: (sql: string, values: Value[]) => Promise<Row[]>;
	/** Runs an update or a delete, and gives the number of rows. */
	change: (sql: string, values: Value[]) => Promise<number>;
	/** Puts every unfinished text into its queue again. */
	readopt: () => Promise<unknown>;
}

/** Agencies that one claim looks at. */
const mostAgencies = 8;
/** Other workers see the same queues, so each chooses among this many times as many as it takes. */
const choice = 4;
const mostRows = 200;
/** The newest texts are put into their queues first, because a person waits for them. Then the others, for this long. */
const newest = 200;
const atOnce = 1_000;
const adoptingMs = 50;
const knownMs = 60_000;

/** Under this name new workers share the lock of the earlier versions, whose workers work alone. */
const shared = "leases";
const sharedHost = "several processes of a newer version";
/** A worker of an earlier version gives a sign of life every 5 seconds. */
const deadAfterMs = 30_000;
const quietMs = 6_000;

export function createLeases(names: Names, sql: LeaseSql, { query, change, readopt }: Run) {
	const { texts, queues, agencies, worker } = names;
	const { clock, least, greatest, onConflict, given, isArrived, skipLocked, by, hasReturning } = sql;
	const isFree = `(lease_until is null or lease_until <= ${clock})`;
	/** Agencies whose rows are there. */
	const known = new Set<string>();
	let knownSince = performance.now();
	let quiet: { sign: string; since: number } | undefined;

	/** Whether a worker of an earlier version works. The clocks of two machines may differ, so that it has to be watched. */
	function isAlive(token: string, beatAt: number): boolean {
		const sign = `${token} ${beatAt}`;
		if (quiet?.sign !== sign) quiet = { sign, since: performance.now() };
		const isLate = Math.abs(Date.now() - beatAt) > deadAfterMs;
		return performance.now() - quiet.since < (isLate ? quietMs : deadAfterMs);
	}

	/** Creates the row of an agency, whose pauses and turns it holds. */
	async function addAgencies(ids: readonly string[]): Promise<void> {
		// Rows may vanish, for example by a restore.
		if (performance.now() - knownSince > knownMs) {
			known.clear();
			knownSince = performance.now();
		}
		const missing = ids.filter((id) => !known.has(id));
		for (const some of inChunks(missing, mostRows)) {
			const rows = some.map((_, at) => `($${at + 1})`).join(", ");
			await query(
				`insert into ${agencies} (agency_id) values ${rows} ${onConflict("agency_id")} agency_id = ${given("agency_id")}`,
				some,
			);
		}
		for (const id of missing) known.add(id);
	}

	/** Puts texts that have arrived into their queues. Returns how many. */
	async function adopt(most: number, order: "" | "desc"): Promise<number> {
		const rows = await query(
			`select seq, agency_id, recipient, priority, next_at, state from ${texts} ${by("arrived")}
			where arrived = 1 and ${isArrived} order by seq ${order} limit ${most}`,
			[],
		);
		if (rows.length === 0) return 0;
		const found = new Map<string, { agencyId: string; to: string; band: Band; at: number }>();
		for (const { agency_id, recipient, priority, next_at, state } of rows) {
			// It has ended meanwhile.
			if (next_at === null) continue;
			const one = {
				agencyId: String(agency_id),
				to: String(recipient),
				band: bandOf(String(state), Number(priority)),
				at: Number(next_at),
			};
			const name = `${one.to} ${one.agencyId}`;
			const other = found.get(name) ?? one;
			found.set(name, { ...one, band: Math.min(one.band, other.band) as Band, at: Math.min(one.at, other.at) });
		}
		// In one order, so that two workers do not wait for each other.
		const list = [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, queue]) => queue);
		await addAgencies([...new Set(list.map(({ agencyId }) => agencyId))].sort());
		for (const some of inChunks(list, mostRows)) {
			const values = some.map((_, at) => `($${4 * at + 1}, $${4 * at + 2}, $${4 * at + 3}, $${4 * at + 4})`).join(", ");
			await query(
				`insert into ${queues} (recipient, agency_id, band, due_at) values ${values} ${onConflict("recipient, agency_id")}
				due_at = ${least}(${queues}.due_at, ${given("due_at")}), band = ${least}(${queues}.band, ${given("band")}), revision = ${queues}.revision + 1`,
				some.flatMap(({ to, agencyId, band, at }) => [to, agencyId, band, at]),
			);
		}
		await change(
			`update ${texts} ${by("primary")} set arrived = null where seq in (${rows.map(({ seq }) => Number(seq)).join(", ")})`,
			[],
		);
		return rows.length;
	}

	async function adoptSome(): Promise<void> {
		const end = performance.now() + adoptingMs;
		if ((await adopt(newest, "desc")) < newest) return;
		while ((await adopt(atOnce, "")) === atOnce && performance.now() < end);
	}

	/** The agencies with a queue that is due: those with an urgent one first, then in turn. */
	async function turns({ now, limit, without = [], probing }: ClaimOptions, bands: readonly Band[]): Promise<string[]> {
		const isDue = (band: Band) =>
			`exists (select 1 from ${queues} q ${by("turn")}
			where q.agency_id = a.agency_id and band = ${band} and due_at <= $1 and ${isFree})`;
		const excluded =
			without.length > 0 ? `and a.agency_id not in (${without.map((_, at) => `$${at + 2}`).join(", ")})` : "";
		const isHealthy = `and failures = 0 and not exists (select 1 from ${agencies} everybody where everybody.agency_id = '' and everybody.failures > 0)`;
		const rows = await query(
			`select agency_id, case when ${bands.includes(0) ? isDue(0) : "1 = 0"} then 0 else 1 end as turn from ${agencies} a
			where a.agency_id <> '' ${probing === undefined ? isHealthy : ""} ${excluded} and (${bands.map(isDue).join(" or ")})
			order by turn, served_at limit ${Math.min(limit, mostAgencies)}`,
			[now, ...without],
		);
		return rows.map(({ agency_id }) => String(agency_id));
	}

	/** Takes those of the queues that nobody else has taken meanwhile. */
	async function take(ids: readonly number[], { now, leaseMs }: ClaimOptions): Promise<Lease[]> {
		if (ids.length === 0) return [];
		const token = crypto.randomUUID();
		const columns = "id, agency_id, recipient, band, revision";
		const fitting = `id in (${ids.join(", ")}) and due_at <= $2 and ${isFree}`;
		const where = skipLocked ? `id in (select id from ${queues} where ${fitting} ${skipLocked})` : fitting;
		const update = `update ${queues} ${by("primary")} set token = $1, lease_until = ${clock} + ${leaseMs} where ${where}`;
		const rows = hasReturning
			? await query(`${update} returning ${columns}`, [token, now])
			: (await change(update, [token, now])) > 0
				? await query(`select ${columns} from ${queues} where id in (${ids.join(", ")}) and token = $1`, [token])
				: [];
		const leases = rows.map(({ id, agency_id, recipient, band, revision }) => ({
			id: Number(id),
			agencyId: String(agency_id),
			to: String(recipient),
			band: Number(band) as Band,
			revision: Number(revision),
			token,
		}));
		return leases.sort((one, other) => ids.indexOf(one.id) - ids.indexOf(other.id));
	}

	async function claim(options: ClaimOptions): Promise<Lease[]> {
		const { now, limit, each, isReading, probing } = options;
		if (!isReading && probing === undefined) await adoptSome();
		const bands: readonly Band[] = probing !== undefined ? [0, 1, 2, 3] : isReading ? [3] : [0, 1, 2];
		const turn = probing ? [probing] : await turns(options, bands);
		if (turn.length === 0) return [];
		if (turn.length > 1) {
			const where = `agency_id in (${turn.map((_, at) => `$${at + 1}`).join(", ")})`;
			// Others take the agencies after these meanwhile.
			await change(
				`update ${agencies} set served_at = ${clock} where ${skipLocked ? `agency_id in (select agency_id from ${agencies} where ${where} ${skipLocked})` : where}`,
				turn,
			);
		}
		const parts = turn.flatMap((_, at) =>
			bands.map(
				(band) => `select * from (select id, agency_id, band, due_at from ${queues} ${by("turn")}
				where agency_id = $${at + 2} and band = ${band} and due_at <= $1 and ${isFree} order by due_at limit ${choice * each}) as q${at}${band}`,
			),
		);
		const rows = await query(parts.join(" union all "), [now, ...turn]);
		return take(chosen(rows, turn, bands, limit, each), options);
	}

	return {
		leases: {
			claim,
			async join() {
				const [row] = await query(`select token, beat_at from ${worker} where one = 1`, []);
				const token = row && String(row.token);
				if (token === shared) {
					await change(`update ${worker} set beat_at = $1 where one = 1 and token = $2`, [Date.now(), shared]);
					return true;
				}
				if (token !== undefined && isAlive(token, Number(row?.beat_at))) return false;
				const values: Value[] = [shared, sharedHost, Date.now()];
				await (token === undefined
					? query(
							`insert into ${worker} (one, token, host, pid, beat_at) values (1, $1, $2, 0, $3) ${onConflict("one")} one = ${given("one")}`,
							values,
						)
					: change(
							`update ${worker} set token = $1, host = $2, pid = 0, started_at = null, beat_at = $3 where one = 1 and token = $4`,
							[...values, token],
						));
				const [now] = await query(`select token from ${worker} where one = 1`, []);
				if (now?.token !== shared) return false;
				// What a worker of an earlier version has changed is in no queue.
				await readopt();
				return true;
			},
			async watched(agencyId, now, limit) {
				const parts = [3, 2, 1, 0].map(
					(band) => `select * from (select recipient from ${queues} ${by("turn")}
					where agency_id = $1 and band = ${band} and due_at <= $2 order by due_at limit ${limit}) as q${band}`,
				);
				const rows = await query(`${parts.join(" union all ")} limit ${limit}`, [agencyId, now]);
				return rows.map(({ recipient }) => String(recipient));
			},
			async renew(tokens, leaseMs) {
				for (const some of inChunks([...new Set(tokens)], mostRows))
					await change(
						`update ${queues} ${by("owner")} set lease_until = ${clock} + ${leaseMs} where token in (${some.map((_, at) => `$${at + 1}`).join(", ")})`,
						some,
					);
			},
			async release({ id, token, revision, band }, next) {
				const values: Value[] = [id, token, revision];
				const isMine = "where id = $1 and token = $2";
				if (!next && (await change(`delete from ${queues} ${isMine} and revision = $3`, values)) > 0) return;
				const { at = 0, band: nextBand = band } = next ?? {};
				await change(
					`update ${queues} set band = case when revision = $3 then $4 else ${least}(band, $4) end,
						due_at = case when revision = $3 then $5 else due_at end, token = null, lease_until = null ${isMine}`,
					[...values, nextBand, Math.ceil(at)],
				);
			},
			async paused() {
				const rows = await query(
					`select agency_id, paused_until, failures, reason from ${agencies} where failures > 0`,
					[],
				);
				return rows.map(
					({ agency_id, paused_until, failures, reason }): StoredPause => ({
						agencyId: String(agency_id),
						until: Number(paused_until),
						failures: Number(failures),
						reason: String(reason),
					}),
				);
			},
			async pause({ agencyId, until, failures, reason }) {
				await addAgencies([agencyId]);
				await change(
					`update ${agencies} set paused_until = case when failures >= $2 then ${greatest}(paused_until, $1) else $1 end, failures = ${greatest}(failures, $2), reason = $3 where agency_id = $4`,
					[Math.ceil(until), failures, reason, agencyId],
				);
			},
			async resume(agencyId) {
				await change(
					`update ${agencies} set paused_until = 0, failures = 0, reason = null where agency_id = $1 and failures > 0`,
					[agencyId],
				);
			},
			async probe(agencyId, from, until) {
				const sql = `update ${agencies} set paused_until = $1 where agency_id = $2 and paused_until = $3 and failures > 0`;
				return (await change(sql, [Math.ceil(until), agencyId, from])) > 0;
			},
		} satisfies Leases,

		/** Creates the row of the pause of everybody. */
		begin: () => addAgencies([""]),

		/** Makes the queues of a recipient, of a number or of everybody due. */
		async wakeQueues({ agencyId, to }: Partial<Recipient>, now: number): Promise<void> {
			const who = [
				...(to === undefined ? [] : ["recipient = $2"]),
				...(agencyId === undefined ? [] : ["agency_id = $3"]),
			];
			await change(
				`update ${queues} set due_at = ${least}(due_at, $1), band = ${least}(band, 1), revision = revision + 1 where ${who.join(" and ") || "id > 0"}`,
				[now, ...(to === undefined ? [] : [to]), ...(agencyId === undefined ? [] : [agencyId])],
			);
		},

		async endPauses(now: number): Promise<void> {
			await change(
				`update ${agencies} set paused_until = $1 where failures > 0 and paused_until > $1 and agency_id >= ''`,
				[now],
			);
		},

		/** Removes the queues of a number in which nothing is left. They hold the number. */
		async removeQueues({ agencyId, to = "" }: Partial<Recipient>): Promise<void> {
			const who = agencyId === undefined ? "" : "and agency_id = $2";
			await change(
				`delete from ${queues} where recipient = $1 ${who} and not exists (select 1 from ${texts} t
				where t.recipient = ${queues}.recipient and t.agency_id = ${queues}.agency_id and t.next_at is not null)`,
				agencyId === undefined ? [to] : [to, agencyId],
			);
		},
	};
}

/** Of the queues that are due, the ones to take: urgent bands first, then the agencies in turn, a few of each. */
function chosen(
	rows: readonly Row[],
	turn: readonly string[],
	bands: readonly Band[],
	limit: number,
	each: number,
): number[] {
	const ids: number[] = [];
	const taken = new Map<string, number>();
	for (const band of bands)
		for (const agencyId of turn) {
			const fitting = rows.filter((row) => Number(row.band) === band && String(row.agency_id) === agencyId);
			const most = Math.min(each - (taken.get(agencyId) ?? 0), limit - ids.length);
			// Other workers see the same ones. Among many, begin at a random place.
			const from = fitting.length < choice * each ? 0 : Math.floor(Math.random() * (fitting.length - most + 1));
			const some = fitting.slice(from, from + Math.max(0, most));
			ids.push(...some.map(({ id }) => Number(id)));
			taken.set(agencyId, (taken.get(agencyId) ?? 0) + some.length);
		}
	return ids;
}

/** The tables and indexes, as PostgreSQL and SQLite take them. `key` is the type of a key that counts by itself. */
export function leaseTables(
	{ queues, agencies, index, schema }: Names,
	key: string,
): { tables: Record<string, string>; indexes: Record<string, string> } {
	return {
		tables: {
			[queues]: `create table if not exists ${queues} (id ${key}, recipient text not null, agency_id text not null,
				band bigint not null, due_at bigint not null, lease_until bigint, token text, revision bigint not null default 0,
				unique (recipient, agency_id))`,
			[agencies]: `create table if not exists ${agencies} (agency_id text primary key, served_at bigint not null default 0,
				paused_until bigint not null default 0, failures bigint not null default 0, reason text)`,
		},
		indexes: {
			[`${schema}${index}_queues_turn`]: `create index if not exists ${index}_queues_turn on ${queues} (agency_id, band, due_at)`,
			[`${schema}${index}_queues_owner`]: `create index if not exists ${index}_queues_owner on ${queues} (token) where token is not null`,
		},
	};
}
