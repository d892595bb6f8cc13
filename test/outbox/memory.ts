import type { Lane, OutboxStore, OutboxText, Worker } from "messaging-conversations/outbox";

const unfinished = ["sending", "held", "waiting"];

/** A store that forgets everything with the process: for tests of the outbox that need no database. */
export function memoryStore(): OutboxStore & { all: () => OutboxText[] } {
	const rows = new Map<string, OutboxText>();
	let counter = 0;
	let working: Worker | undefined;
	const copies = (keep: (row: OutboxText) => boolean): OutboxText[] => structuredClone([...rows.values()].filter(keep));
	const isIn = (lane: Partial<Lane>) => (row: OutboxText) =>
		row.to === lane.to && (lane.agencyId === undefined || row.agencyId === lane.agencyId);
	const set = (row: OutboxText, change: Partial<OutboxText>) => rows.set(row.id, { ...row, ...change });
	return {
		all: () => copies(() => true),
		migrate: async () => {},
		async insert(text) {
			const known = rows.get(text.id);
			if (known) return structuredClone(known);
			const row: OutboxText = {
				...text,
				seq: ++counter,
				version: 0,
				state: "waiting",
				since: text.createdAt,
				nextAt: text.createdAt,
				messageId: null,
				queueId: null,
			};
			rows.set(text.id, row);
			return structuredClone(row);
		},
		find: async (id) => structuredClone(rows.get(id)),
		open: async (lane, limit) =>
			copies((row) => isIn(lane)(row) && unfinished.includes(row.state))
				.sort((a, b) => unfinished.indexOf(a.state) - unfinished.indexOf(b.state) || a.seq - b.seq)
				.slice(0, limit),
		followed: async (lane, now) =>
			copies((row) => isIn(lane)(row) && ["sent", "delivered"].includes(row.state) && (row.nextAt ?? now + 1) <= now),
		async save(text) {
			if (rows.get(text.id)?.version !== text.version) return false;
			rows.set(text.id, structuredClone({ ...text, version: text.version + 1 }));
			return true;
		},
		async postpone(lane, until) {
			for (const row of rows.values())
				if (isIn(lane)(row) && ["waiting", "held"].includes(row.state) && (row.nextAt ?? until) < until)
					set(row, { nextAt: until });
		},
		async wake(lane, now) {
			for (const row of rows.values())
				if (isIn(lane)(row) && ["waiting", "held"].includes(row.state) && (row.nextAt ?? now) > now)
					set(row, { nextAt: now, version: row.version + 1 });
		},
		async recover(now) {
			for (const row of rows.values())
				if (unfinished.includes(row.state) && (row.nextAt ?? now) > now) set(row, { nextAt: now });
		},
		async due(now, limit) {
			const due = copies((row) => row.nextAt !== null && row.nextAt <= now).sort(
				(a, b) => (a.nextAt ?? 0) - (b.nextAt ?? 0),
			);
			const lanes = new Map(due.map(({ agencyId, to }) => [`${agencyId} ${to}`, { agencyId, to }]));
			return [...lanes.values()].slice(0, limit);
		},
		async nextDue(after = -1) {
			const times = [...rows.values()].flatMap(({ nextAt }) => nextAt ?? []).filter((time) => time > after);
			return times.length > 0 ? Math.min(...times) : undefined;
		},
		claimed: async (lane) => copies(isIn(lane)).flatMap(({ messageId }) => messageId ?? []),
		byMessage: async (messageId) => copies((row) => row.messageId === messageId)[0],
		async purge(before) {
			const ended = copies((row) => row.nextAt === null && row.since < before);
			for (const { id } of ended) rows.delete(id);
			return ended.length;
		},
		worker: async () => structuredClone(working),
		async takeOver(worker, from) {
			if ((working?.token ?? null) !== from) return false;
			working = structuredClone(worker);
			return true;
		},
		async leave(token) {
			if (working?.token === token) working = undefined;
		},
	};
}
