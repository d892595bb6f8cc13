// A store as somebody else would write it: an object, for runtimes without a database.
import type { Lane, OutboxStore, OutboxText, Worker } from "messaging-conversations/outbox";

const unfinished = ["sending", "held", "waiting"];

export function objectStore(): OutboxStore {
	const rows = new Map<string, OutboxText>();
	let working: Worker | undefined;
	const where = (keep: (row: OutboxText) => boolean): OutboxText[] => [...rows.values()].filter(keep);
	const isIn = ({ agencyId, to }: Partial<Lane>, row: OutboxText): boolean =>
		row.to === to && (agencyId === undefined || row.agencyId === agencyId);
	const isOpen = ({ state }: OutboxText): boolean => unfinished.includes(state);
	const isDue = ({ nextAt }: OutboxText, now: number): boolean => nextAt !== null && nextAt <= now;
	const put = (found: readonly OutboxText[], nextAt: number): void => {
		for (const row of found) rows.set(row.id, { ...row, nextAt });
	};
	return {
		migrate: async () => {},
		async insert(text) {
			const { id, createdAt } = text;
			const fresh = { version: 0, state: "waiting", since: createdAt, nextAt: createdAt } as const;
			const row = rows.get(id) ?? { ...text, ...fresh, seq: rows.size + 1, messageId: null, queueId: null };
			rows.set(id, row);
			return row;
		},
		find: async (id) => rows.get(id),
		open: async (lane, limit) => {
			const order = (row: OutboxText): number => unfinished.indexOf(row.state);
			const found = where((row) => isIn(lane, row) && isOpen(row));
			return found.sort((a, b) => order(a) - order(b) || a.seq - b.seq).slice(0, limit);
		},
		followed: async (lane, now) => where((row) => isIn(lane, row) && !isOpen(row) && isDue(row, now)),
		async save(text) {
			const isLatest = rows.get(text.id)?.version === text.version;
			if (isLatest) rows.set(text.id, { ...text, version: text.version + 1 });
			return isLatest;
		},
		postpone: async (lane, until) =>
			put(
				where((row) => isIn(lane, row) && isOpen(row) && row.state !== "sending" && isDue(row, until)),
				until,
			),
		wake: async (lane, now) => {
			for (const row of where((one) => isIn(lane, one) && one.state !== "sending" && (one.nextAt ?? now) > now))
				rows.set(row.id, { ...row, nextAt: now, version: row.version + 1 });
		},
		recover: async (now) => put(where(isOpen), now),
		due: async (now, limit) => where((row) => isDue(row, now)).slice(0, limit),
		async nextDue() {
			const times = [...rows.values()].flatMap(({ nextAt }) => nextAt ?? []);
			return times.length > 0 ? Math.min(...times) : undefined;
		},
		claimed: async (lane) => where((row) => isIn(lane, row)).flatMap(({ messageId }) => messageId ?? []),
		byMessage: async (messageId) => where((row) => row.messageId === messageId)[0],
		async purge(before) {
			const ended = where((row) => row.nextAt === null && row.since < before);
			for (const { id } of ended) rows.delete(id);
			return ended.length;
		},
		worker: async () => working,
		async takeOver(worker, from) {
			const isFree = (working?.token ?? null) === from;
			if (isFree) working = worker;
			return isFree;
		},
		async leave(token) {
			if (working?.token === token) working = undefined;
		},
	};
}
