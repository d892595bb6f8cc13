// A store as somebody else would write it: an object, for runtimes without a database.
import type {
	ContactFacts,
	Lease,
	OutboxStore,
	OutboxText,
	Recipient,
	StoredPause,
	StoredSuspension,
	StoredWorker,
} from "messaging-conversations/outbox";

const unfinished = ["sending", "held", "waiting"];

/** Of each fact the latest time. */
function latest(all: readonly (ContactFacts | undefined)[]): ContactFacts {
	const found: Record<string, number> = {};
	for (const facts of all)
		for (const [name, at] of Object.entries(facts ?? {})) found[name] = Math.max(found[name] ?? 0, at);
	return found;
}

export function objectStore(): OutboxStore {
	const rows = new Map<string, OutboxText>();
	const stops = new Map<string, number>();
	const facts = new Map<string, ContactFacts>();
	/** Until when each queue is leased, and by which token. */
	const leases = new Map<string, { token: string; until: number }>();
	const pauses = new Map<string, StoredPause>();
	const suspensions = new Map<string, StoredSuspension>();
	const workers = new Map<string, StoredWorker>();
	const isSuspended = (agencyId: string): boolean => suspensions.has("") || suspensions.has(agencyId);
	const where = (keep: (row: OutboxText) => boolean): OutboxText[] => [...rows.values()].filter(keep);
	const isIn = ({ agencyId, to }: Partial<Recipient>, row: OutboxText): boolean =>
		row.to === to && (agencyId === undefined || row.agencyId === agencyId);
	const isOpen = ({ state }: OutboxText): boolean => unfinished.includes(state);
	const isDue = ({ nextAt }: OutboxText, now: number): boolean => nextAt !== null && nextAt <= now;
	const put = (found: readonly OutboxText[], nextAt: number): void => {
		for (const row of found) rows.set(row.id, { ...row, nextAt: Math.max(nextAt, row.readyAt) });
	};
	const nameOf = ({ agencyId = "", to }: Partial<Recipient>): string => `${agencyId} ${to}`;
	// The rows have numbers in the order of arrival.
	const isStopped = (row: OutboxText): boolean =>
		row.seq <= Math.max(stops.get(nameOf(row)) ?? 0, stops.get(nameOf({ to: row.to })) ?? 0);
	const stop = (recipient: Partial<Recipient>): void => void stops.set(nameOf(recipient), rows.size);
	return {
		migrate: async () => {},
		async insert(text) {
			const { id, createdAt, notBefore } = text;
			const times = { since: createdAt, nextAt: Math.max(createdAt, notBefore ?? 0), readyAt: notBefore ?? 0 };
			const none = { reason: null, messageId: null, queueId: null, unacknowledged: null };
			const fresh: OutboxText = { ...text, ...times, ...none, version: 0, state: "waiting", seq: rows.size + 1 };
			const row = rows.get(id) ?? fresh;
			rows.set(id, row);
			return row;
		},
		async insertMany(texts, tx) {
			const found: OutboxText[] = [];
			for (const text of texts) found.push(await this.insert(text, tx));
			return found;
		},
		async cancelIn(id, now) {
			const row = rows.get(id);
			if (row?.state === "waiting" && row.progress.attempts === 0)
				rows.set(id, { ...row, state: "cancelled", reason: "requested", since: now, nextAt: null });
			return rows.get(id);
		},
		restored: async (restored) => {
			const found = where(isOpen);
			for (const row of found) rows.set(row.id, { ...row, progress: { ...row.progress, restored } });
			return found.length;
		},
		find: async (id) => rows.get(id),
		open: async (recipient, limit, now) => {
			const order = (row: OutboxText): number => unfinished.indexOf(row.state);
			const found = where((row) => isIn(recipient, row) && isOpen(row) && row.readyAt <= now);
			found.sort((a, b) => order(a) - order(b) || b.priority - a.priority || a.seq - b.seq);
			return found.slice(0, limit).map((row) => ({ ...row, isStopped: isStopped(row) }));
		},
		unfinished: async (recipient) => where((row) => isIn(recipient, row) && isOpen(row)),
		followed: async (recipient, now) => where((row) => isIn(recipient, row) && !isOpen(row) && isDue(row, now)),
		async save(text, { unlessStopped = false, lease } = {}) {
			if (lease && (isSuspended(text.agencyId) || leases.get(nameOf(lease))?.token !== lease.token)) return false;
			if (rows.get(text.id)?.version !== text.version || (unlessStopped && isStopped(text))) return false;
			rows.set(text.id, { ...text, version: text.version + 1 });
			return true;
		},
		stop: async (recipient) => stop(recipient),
		facts: async (recipient) => latest([facts.get(nameOf(recipient)), facts.get(nameOf({ to: recipient.to }))]),
		note: async (recipient, found) => void facts.set(nameOf(recipient), latest([facts.get(nameOf(recipient)), found])),
		watched: async (agencyId, now, limit) =>
			where((row) => row.agencyId === agencyId && isDue(row, now))
				.map(({ to }) => to)
				.slice(0, limit),
		wake: async (recipient, now) => {
			for (const row of where((one) => isIn(recipient, one) && one.state !== "sending" && (one.nextAt ?? now) > now))
				rows.set(row.id, { ...row, nextAt: Math.max(now, row.readyAt), version: row.version + 1 });
		},
		recover: async (now) => put(where(isOpen), now),
		async nextOf(recipient, now) {
			const times = where((row) => isIn(recipient, row)).flatMap(({ nextAt }) => nextAt ?? []);
			const later = times.filter((time) => time > now);
			return later.length > 0 ? { at: Math.min(...later), band: 1 } : undefined;
		},
		join: async () => true,
		// The queues are found from their texts each time.
		async claim({ now, limit, isReading, leaseMs, without = [], probing }) {
			const claimed: Lease[] = [];
			const at = Date.now();
			for (const { agencyId, to, seq } of where((row) => isDue(row, now))) {
				const name = nameOf({ agencyId, to });
				const isPaused = probing === undefined && (pauses.has("") || pauses.has(agencyId));
				const isTaken =
					isPaused ||
					isReading !== isSuspended(agencyId) ||
					without.includes(agencyId) ||
					(leases.get(name)?.until ?? 0) > at;
				if (isTaken || claimed.length === limit) continue;
				const token = crypto.randomUUID();
				leases.set(name, { token, until: at + leaseMs });
				claimed.push({ agencyId, to, id: seq, token, revision: 0, band: 1, isSuspended: isReading });
			}
			return claimed;
		},
		async renew(tokens, leaseMs) {
			for (const lease of leases.values()) if (tokens.includes(lease.token)) lease.until = Date.now() + leaseMs;
		},
		async release(lease) {
			if (leases.get(nameOf(lease))?.token === lease.token) leases.delete(nameOf(lease));
		},
		asleep: async () => [],
		awaken: async () => {},
		agencies: async () => [...new Set([...rows.values()].map(({ agencyId }) => agencyId))],
		paused: async () => [...pauses.values()],
		pause: async (pause) => void pauses.set(pause.agencyId, pause),
		resume: async (agencyId) => void pauses.delete(agencyId),
		async probe(agencyId, from, until) {
			const pause = pauses.get(agencyId);
			if (pause?.until === from) pauses.set(agencyId, { ...pause, until });
			return pause?.until === from;
		},
		suspend: async (suspension) => void suspensions.set(suspension.agencyId, suspension),
		endSuspension: async (agencyId) => suspensions.delete(agencyId),
		suspended: async () => [...suspensions.values()],
		beat: async (worker) => void workers.set(worker.id, { ...worker, ageMs: 0, silentMs: 0 }),
		leave: async (id) => void workers.delete(id),
		workers: async () => [...workers.values()],
		async counts(now) {
			const count = (state: string): number => where((row) => row.state === state).length;
			const due = where((row) => row.state === "waiting" && isDue(row, now)).flatMap(({ nextAt }) => nextAt ?? []);
			const states = {
				waiting: count("waiting"),
				sending: count("sending"),
				held: count("held"),
				unknown: count("unknown"),
			};
			return { states, due: due.length, oldestDueAt: due.length > 0 ? Math.min(...due) : null, keptBack: [] };
		},
		list: async (state, limit) => where((row) => row.state === state).slice(0, limit),
		claimed: async (recipient) => where((row) => isIn(recipient, row)).flatMap(({ messageId }) => messageId ?? []),
		byMessage: async (messageId) => where((row) => row.messageId === messageId)[0],
		unacknowledged: async (limit) => where((row) => row.unacknowledged !== null).slice(0, limit),
		async acknowledge(changes) {
			for (const { id, revision } of changes)
				for (const row of where((one) => one.id === id && one.unacknowledged === revision))
					rows.set(id, { ...row, unacknowledged: null });
		},
		async erase(which) {
			for (const row of where((one) => !isOpen(one) && ("id" in which ? one.id === which.id : isIn(which, one))))
				rows.set(row.id, { ...row, to: "", body: "", messageId: null, queueId: null, nextAt: null });
		},
		async purge(before) {
			const ended = where((row) => row.nextAt === null && row.since < before && row.to !== "");
			for (const { id } of ended) rows.delete(id);
			return ended.length;
		},
	};
}
