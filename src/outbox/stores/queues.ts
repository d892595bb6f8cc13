/*
 * The queues of the recipients in a database: which worker has which, whose turn it is, and who is paused. Each change is one
 * statement, or several of which the last one decides, so that a worker may die between any two.
 */
import { type Band, bandOf, type ClaimOptions, type Lease, type OutboxStore, type StoredPause } from "../store.ts";
import { inChunks, type Row, type Value } from "./connection.ts";
import type { Statements } from "./statements.ts";

type Queues = Pick<
	OutboxStore,
	"join" | "claim" | "watched" | "renew" | "release" | "paused" | "pause" | "resume" | "probe"
>;

interface Run {
	query: (sql: string, values: Value[]) => Promise<Row[]>;
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

export function createQueues(statements: Statements, { query, change, readopt }: Run): Queues {
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
		for (const some of inChunks(missing, mostRows)) await query(statements.addAgencies(some.length), some);
		for (const id of missing) known.add(id);
	}

	/** Puts texts that have arrived into their queues. Returns how many. */
	async function adopt(sql: string, most: number): Promise<number> {
		const rows = await query(sql, [most]);
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
		for (const some of inChunks(list, mostRows))
			await query(
				statements.addQueues(some.length),
				some.flatMap(({ to, agencyId, band, at }) => [to, agencyId, band, at]),
			);
		await change(statements.adopted(rows.map(({ seq }) => Number(seq)).join(", ")), []);
		return rows.length;
	}

	async function adoptSome(): Promise<void> {
		const end = performance.now() + adoptingMs;
		if ((await adopt(statements.newest, newest)) < newest) return;
		while ((await adopt(statements.oldest, atOnce)) === atOnce && performance.now() < end);
	}

	/** Takes those of the queues that nobody else has taken meanwhile. */
	async function take(ids: readonly number[], { now, leaseMs }: ClaimOptions): Promise<Lease[]> {
		if (ids.length === 0) return [];
		const token = crypto.randomUUID();
		const list = ids.join(", ");
		const values = [token, now, leaseMs];
		const { taken } = statements;
		const rows = taken
			? (await change(statements.take(list), values)) > 0
				? await query(taken(list), [token])
				: []
			: await query(statements.take(list), values);
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

	return {
		async claim(options) {
			const { now, limit, each, isReading, without = [], probing } = options;
			if (!isReading && probing === undefined) await adoptSome();
			const bands: readonly Band[] = probing !== undefined ? [0, 1, 2, 3] : isReading ? [3] : [0, 1, 2];
			const most = Math.min(limit, mostAgencies);
			// One more, to know whether others wait for their turn.
			const turns = statements.turns(bands, probing !== undefined, without.length, most + 1);
			const found = probing
				? [probing]
				: (await query(turns, [now, ...without])).map(({ agency_id }) => String(agency_id));
			const turn = found.slice(0, most);
			if (turn.length === 0) return [];
			const due = turn.flatMap((_, at) =>
				bands.map((band) => `select * from (${statements.due(band, at, choice * each)}) as q${at}${band}`),
			);
			const picked = chosen(await query(due.join(" union all "), [now, ...turn]), turn, bands, limit, each);
			const served = [...new Set(picked.map(({ agency_id }) => String(agency_id)))];
			// Others take the agencies after these meanwhile.
			if (found.length > 1 && served.length > 0) await change(statements.serve(served.length), served);
			return take(
				picked.map(({ id }) => Number(id)),
				options,
			);
		},
		watched: async (agencyId, now, limit) =>
			(await query(statements.watched, [agencyId, now, limit])).map(({ recipient }) => String(recipient)),
		async join() {
			const [row] = await query(statements.worker, []);
			const token = row && String(row.token);
			if (token === shared) {
				await change(statements.beat, [Date.now(), shared]);
				return true;
			}
			if (token !== undefined && isAlive(token, Number(row?.beat_at))) return false;
			const values: Value[] = [shared, sharedHost, Date.now()];
			await (token === undefined
				? query(statements.addWorker, values)
				: change(statements.takeWorker, [...values, token]));
			const [now] = await query(statements.worker, []);
			if (now?.token !== shared) return false;
			// What a worker of an earlier version has changed is in no queue.
			await readopt();
			return true;
		},
		async renew(tokens, leaseMs) {
			for (const some of inChunks([...new Set(tokens)], mostRows))
				await change(statements.renew(some.length), [leaseMs, ...some]);
		},
		async release({ id, token, revision, band }, next) {
			const values: Value[] = [id, token, revision];
			if (!next && (await change(statements.remove, values)) > 0) return;
			const { at = 0, band: nextBand = band } = next ?? {};
			await change(statements.release, [...values, nextBand, Math.ceil(at)]);
		},
		paused: async () =>
			(await query(statements.paused, [])).map(
				({ agency_id, paused_until, failures, reason }): StoredPause => ({
					agencyId: String(agency_id),
					until: Number(paused_until),
					failures: Number(failures),
					reason: String(reason),
				}),
			),
		async pause({ agencyId, until, failures, reason }) {
			await addAgencies([agencyId]);
			await change(statements.pause, [Math.ceil(until), failures, reason, agencyId]);
		},
		async resume(agencyId) {
			await change(statements.resume, [agencyId]);
		},
		probe: async (agencyId, from, until) => (await change(statements.probe, [Math.ceil(until), agencyId, from])) > 0,
	};
}

/** Of the queues that are due, the ones to take: urgent bands first, then the agencies in turn, one of each before a second one. */
function chosen(
	rows: readonly Row[],
	turn: readonly string[],
	bands: readonly Band[],
	limit: number,
	each: number,
): Row[] {
	const picked: Row[] = [];
	const taken = new Map<string, number>();
	for (const band of bands) {
		const waiting = turn.map((agencyId) => {
			const fitting = rows.filter((row) => Number(row.band) === band && String(row.agency_id) === agencyId);
			// Other workers see the same ones. Among many, begin at a random place.
			const from = fitting.length < choice * each ? 0 : Math.floor(Math.random() * (fitting.length - each + 1));
			return fitting.slice(from);
		});
		for (let round = 0; round < each; round++)
			for (const [at, agencyId] of turn.entries()) {
				const row = waiting[at]?.[round];
				const count = taken.get(agencyId) ?? 0;
				if (!row || count >= each || picked.length >= limit) continue;
				picked.push(row);
				taken.set(agencyId, count + 1);
			}
	}
	return picked;
}
