/*
 * The queues of the recipients in a database: which worker has which, whose turn it is, and who is paused. Each change is one
 * statement, or several of which the last one decides, so that a worker may die between any two.
 */
import { type Band, bandOf, type ClaimOptions, type Lease, type OutboxStore, type StoredPause } from "../store.ts";
import { inChunks, type Row, type Value } from "./connection.ts";
import { createHealing } from "./healing.ts";
import { bandsOf, type Statements, type Turns } from "./statements.ts";

type Queues = Pick<
	OutboxStore,
	| "claim"
	| "heal"
	| "watched"
	| "renew"
	| "release"
	| "rest"
	| "agencies"
	| "consent"
	| "keepConsent"
	| "paused"
	| "pause"
	| "probe"
>;

interface Run {
	query: (sql: string, values: Value[]) => Promise<Row[]>;
	change: (sql: string, values: Value[]) => Promise<number>;
	/** Lets new rows have keys that no row has. */
	moveKeys: () => Promise<void>;
	/** Runs what adds rows, once more if they were to have keys that others have. */
	withNewKeys: <Result>(act: () => Promise<Result>) => Promise<Result>;
	/** Throws if this version may not work. */
	checkWork: () => Promise<void>;
}

/** Agencies that one claim looks at. */
const mostAgencies = 8;
/** Other workers see the same queues, so each chooses among this many times as many as it takes. */
const choice = 4;
/** A claim that other workers are faster than looks again as often as this. */
const mostTries = 4;
const mostRows = 200;
/** The newest texts are put into their queues first, because a person waits for them. Then the others, for this long. */
const newest = 200;
const atOnce = 1_000;
const adoptingMs = 50;
const knownMs = 60_000;

/** An agency whose turn it is. */
interface Turn {
	agencyId: string;
	isSuspended: boolean;
}

const turnFrom = ({ agency_id, is_suspended }: Row): Turn => ({
	agencyId: String(agency_id),
	isSuspended: Number(is_suspended) > 0,
});

export function createQueues(statements: Statements, { query, change, moveKeys, withNewKeys, checkWork }: Run): Queues {
	/** Agencies whose rows are there. */
	const known = new Set<string>();
	let knownSince = performance.now();

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

	/** Puts texts into their queues. */
	async function put(rows: readonly Row[]): Promise<void> {
		const found = new Map<string, { agencyId: string; to: string; band: Band; at: number }>();
		for (const { agency_id, recipient, purpose, next_at, state } of rows) {
			// It has ended meanwhile.
			if (next_at === null) continue;
			const one = {
				agencyId: String(agency_id),
				to: String(recipient),
				band: bandOf(String(state), String(purpose)),
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
			await withNewKeys(() =>
				query(
					statements.addQueues(some.length),
					some.flatMap(({ to, agencyId, band, at }) => [to, agencyId, band, at]),
				),
			);
	}

	/** Puts texts that have arrived into their queues. Returns how many. */
	async function adopt(sql: string, most: number): Promise<number> {
		const rows = await query(sql, [most]);
		if (rows.length === 0) return 0;
		await put(rows);
		await change(statements.adopted(rows.map(({ seq }) => Number(seq)).join(", ")), []);
		return rows.length;
	}

	async function adoptSome(): Promise<void> {
		const end = performance.now() + adoptingMs;
		if ((await adopt(statements.newest, newest)) < newest) return;
		while ((await adopt(statements.oldest, atOnce)) === atOnce && performance.now() < end);
	}

	/** Takes the turn of at most `most` agencies. Of several workers that see the same ones, each turn goes to one. */
	async function takeTurns(turns: string, values: Value[], most: number): Promise<Turn[]> {
		for (let tries = 0; tries < mostTries; tries++) {
			const found = await query(turns, values);
			if (found.length < 2) return found.map(turnFrom);
			const taken: Turn[] = [];
			for (const row of found) {
				const turn = turnFrom(row);
				if (taken.length < most && (await change(statements.serve, [turn.agencyId, Number(row.served_at)])) > 0)
					taken.push(turn);
			}
			if (taken.length > 0) return taken;
		}
		return [];
	}

	/** Whether a person has suspended an agency, or everybody. */
	async function isSuspended(agencyId: string): Promise<boolean> {
		const rows = await query(statements.suspended, []);
		return rows.some(({ agency_id }) => agency_id === "" || agency_id === agencyId);
	}

	/** Takes those of the queues that no other worker has taken meanwhile. */
	async function take(ids: readonly number[], { now, leaseMs }: ClaimOptions, turn: readonly Turn[]): Promise<Lease[]> {
		if (ids.length === 0) return [];
		const token = crypto.randomUUID();
		const list = ids.join(", ");
		const values = [token, now, leaseMs];
		const { taken } = statements;
		const rows = taken
			? (await change(statements.take(list), values)) > 0
				? await query(taken(list), [token, now])
				: []
			: await query(statements.take(list), values);
		const leases = rows.map(({ id, agency_id, recipient, band, revision, is_following }) => ({
			id: Number(id),
			agencyId: String(agency_id),
			to: String(recipient),
			band: Number(band) as Band,
			revision: Number(revision),
			token,
			isFollowing: Number(is_following) === 1,
			isSuspended: turn.some((each) => each.agencyId === String(agency_id) && each.isSuspended),
		}));
		return leases.sort((one, other) => ids.indexOf(one.id) - ids.indexOf(other.id));
	}

	const healing = createHealing(statements, {
		query,
		change,
		moveKeys,
		putBack(rows) {
			known.clear();
			return put(rows);
		},
	});

	return {
		...healing,
		async claim(options) {
			const { now, limit, each, isReading, without = [], probing, leavesNew = false } = options;
			if (!isReading && probing === undefined && !leavesNew) await adoptSome();
			const what: Turns = probing !== undefined ? "probe" : isReading ? "read" : "send";
			const most = Math.min(limit, mostAgencies);
			// One more, to know whether others wait for their turn.
			const turns = statements.turns(what, without.length, most + 1);
			const turn = probing
				? [{ agencyId: probing, isSuspended: await isSuspended(probing) }]
				: await takeTurns(turns, [now, ...without], most);
			const due = turn.flatMap((agency, at) =>
				bandsOf(what, agency.isSuspended).map(
					(band) => `select * from (${statements.due(band, at, choice * each)}) as q${at}${band}`,
				),
			);
			if (due.length === 0) return [];
			const ids = turn.map(({ agencyId }) => agencyId);
			const picked = chosen(await query(due.join(" union all "), [now, ...ids]), ids, limit, each);
			const leases = await take(
				picked.map(({ id }) => Number(id)),
				options,
				turn,
			);
			// Another worker was faster, or this version may not work any more.
			if (leases.length === 0 && picked.length > 0) await checkWork();
			return leases;
		},
		watched: async (agencyId, now, limit) =>
			(await query(statements.watched, [agencyId, now, limit])).map(({ recipient }) => String(recipient)),
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
		async rest({ id, token, revision, to, agencyId }, now) {
			const values: Value[] = [id, token, revision, to, agencyId];
			if ((await change(statements.rest, [...values, now])) > 0) return true;
			return (await change(statements.removeEmpty, values)) > 0;
		},
		agencies: async () => (await query(statements.agencies, [])).map(({ agency_id }) => String(agency_id)),
		async consent(agencyId) {
			const [row] = await query(statements.consent, [agencyId]);
			const consent = row?.consent ?? null;
			const revision = Number(row?.consent_revision ?? 0);
			return { consent: consent === null ? null : String(consent), revision, isKnown: row !== undefined };
		},
		async keepConsent(agencyId, consent, revision) {
			await addAgencies([agencyId]);
			return (await change(statements.keepConsent, [consent, agencyId, revision])) > 0;
		},
		paused: async () =>
			(await query(statements.paused, [])).map(
				({ agency_id, paused_until, failures, reason, cause, since }): StoredPause => ({
					agencyId: String(agency_id),
					until: Number(paused_until),
					failures: Number(failures),
					reason: String(reason),
					cause: String(cause),
					since: Number(since),
				}),
			),
		async pause({ agencyId, until, failures, reason, cause, since }) {
			await addAgencies([agencyId]);
			await change(statements.pause, [Math.ceil(until), failures, reason, agencyId, cause, Math.floor(since)]);
		},
		probe: async (agencyId, from, until) => (await change(statements.probe, [Math.ceil(until), agencyId, from])) > 0,
	};
}

/** Of the queues that are due, the ones to take: urgent bands first, then the agencies in turn, one of each before a second one. */
function chosen(rows: readonly Row[], turn: readonly string[], limit: number, each: number): Row[] {
	const picked: Row[] = [];
	const taken = new Map<string, number>();
	for (const band of [0, 1, 2, 3]) {
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
