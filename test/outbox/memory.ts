import type {
	DueRecipient,
	OpenText,
	OutboxStore,
	OutboxText,
	Recipient,
	Worker,
} from "messaging-conversations/outbox";

const unfinished = ["sending", "held", "waiting"];

/** A store that forgets everything with the process: for tests of the outbox that need no database. */
export function memoryStore(): OutboxStore & { all: () => OutboxText[] } {
	const rows = new Map<string, OutboxText>();
	/** Counts inserts and stops, so that it is known which came first. */
	let tick = 0;
	const begun = new Map<string, number>();
	const lostAt = new Map<string, number>();
	const cancelledAt = new Map<string, number>();
	let counter = 0;
	let working: Worker | undefined;
	let isSettledUsed = false;
	const copies = (keep: (row: OutboxText) => boolean): OutboxText[] => structuredClone([...rows.values()].filter(keep));
	const isIn = (recipient: Partial<Recipient>) => (row: OutboxText) =>
		row.to === recipient.to && (recipient.agencyId === undefined || row.agencyId === recipient.agencyId);
	const set = (row: OutboxText, change: Partial<OutboxText>) => rows.set(row.id, { ...row, ...change });
	const nameOf = ({ agencyId = "", to }: Partial<Recipient>) => `${agencyId} ${to}`;
	const isReady = (row: OutboxText, now: number) =>
		row.state !== "waiting" || row.progress.attempts > 0 || row.readyAt <= now;
	const stoppedBy = (row: OutboxText): OpenText["stoppedBy"] => {
		const at = begun.get(row.id) ?? 0;
		const cancelled = Math.max(cancelledAt.get(nameOf(row)) ?? -1, cancelledAt.get(nameOf({ to: row.to })) ?? -1);
		if (at <= cancelled) return "cancel";
		return at <= (lostAt.get(nameOf(row)) ?? -1) ? "drop" : null;
	};
	const rankOf = ({ state, progress }: OutboxText) =>
		state === "waiting" ? (progress.attempts > 0 ? 2 : 3) : unfinished.indexOf(state);
	return {
		all: () => copies(() => true),
		migrate: async () => {},
		async insert(text) {
			const known = rows.get(text.id);
			if (known) return structuredClone(known);
			const readyAt = text.notBefore ?? 0;
			const row: OutboxText = {
				...text,
				seq: ++counter,
				version: 0,
				state: "waiting",
				reason: null,
				since: text.createdAt,
				nextAt: Math.max(text.createdAt, readyAt),
				readyAt,
				messageId: null,
				queueId: null,
				unacknowledged: null,
			};
			rows.set(text.id, row);
			begun.set(text.id, ++tick);
			return structuredClone(row);
		},
		find: async (id) => structuredClone(rows.get(id)),
		open: async (recipient, limit, now) =>
			copies((row) => isIn(recipient)(row) && unfinished.includes(row.state) && isReady(row, now))
				.sort((a, b) => rankOf(a) - rankOf(b) || b.priority - a.priority || a.seq - b.seq)
				.slice(0, limit)
				.map((row) => ({ ...row, stoppedBy: stoppedBy(row) })),
		unfinished: async (recipient) => copies((row) => isIn(recipient)(row) && unfinished.includes(row.state)),
		followed: async (recipient, now) =>
			copies(
				(row) =>
					isIn(recipient)(row) && ["sent", "delivered"].includes(row.state) && row.nextAt !== null && row.nextAt <= now,
			),
		async save(text, { stops = false, unlessStopped = false } = {}) {
			if (rows.get(text.id)?.version !== text.version) return false;
			if (unlessStopped && stoppedBy(text) !== null) return false;
			const { stoppedBy: _, ...row } = text as OpenText;
			rows.set(text.id, structuredClone({ ...row, version: text.version + 1 }));
			if (stops) lostAt.set(nameOf(text), ++tick);
			return true;
		},
		async stop(recipient) {
			cancelledAt.set(nameOf(recipient), ++tick);
		},
		async postpone(recipient, until, now) {
			for (const row of rows.values())
				if (isIn(recipient)(row) && ["waiting", "held"].includes(row.state) && row.readyAt <= now)
					if (row.nextAt !== null && row.nextAt < until) set(row, { nextAt: until });
		},
		async putOff(recipient, until) {
			for (const row of rows.values())
				if (isIn(recipient)(row) && row.nextAt !== null && row.nextAt < until) set(row, { nextAt: until });
		},
		async wake(recipient, now) {
			for (const row of rows.values()) {
				const at = isReady(row, now) ? now : row.readyAt;
				if (isIn(recipient)(row) && ["waiting", "held"].includes(row.state) && (row.nextAt ?? at) > at)
					set(row, { nextAt: at, version: row.version + 1 });
			}
		},
		async recover(now) {
			for (const row of rows.values()) {
				const at = isReady(row, now) ? now : row.readyAt;
				if (unfinished.includes(row.state) && (row.nextAt ?? at) > at) set(row, { nextAt: at });
			}
		},
		async due(now, limit) {
			const due = copies((row) => row.nextAt !== null && row.nextAt <= now).sort(
				(a, b) => b.priority - a.priority || (a.nextAt ?? 0) - (b.nextAt ?? 0),
			);
			const found = new Map<string, DueRecipient>();
			for (const { agencyId, to, seq } of due) {
				const name = nameOf({ agencyId, to });
				if (!found.has(name)) found.set(name, { agencyId, to, seq });
			}
			return [...found.values()].slice(0, limit);
		},
		async nextDue(after = -1) {
			const times = [...rows.values()].flatMap(({ nextAt }) => nextAt ?? []).filter((time) => time > after);
			return times.length > 0 ? Math.min(...times) : undefined;
		},
		async nextOf(recipient) {
			const times = copies(isIn(recipient)).flatMap(({ nextAt }) => nextAt ?? []);
			return times.length > 0 ? Math.min(...times) : undefined;
		},
		async recipientOf(seq) {
			const [row] = copies((each) => each.seq === seq && each.to !== "");
			return row && { agencyId: row.agencyId, to: row.to };
		},
		claimed: async (recipient) => copies(isIn(recipient)).flatMap(({ messageId }) => messageId ?? []),
		byMessage: async (messageId) => copies((row) => row.messageId === messageId)[0],
		async unacknowledged(limit) {
			isSettledUsed = true;
			return copies((row) => row.unacknowledged !== null)
				.sort((a, b) => a.since - b.since || a.seq - b.seq)
				.slice(0, limit);
		},
		async acknowledge(changes) {
			for (const { id, revision } of changes) {
				const row = rows.get(id);
				if (row?.unacknowledged === revision) set(row, { unacknowledged: null });
			}
		},
		async erase(which) {
			const isOne = "id" in which ? (row: OutboxText) => row.id === which.id : isIn(which);
			for (const row of copies((each) => isOne(each) && !unfinished.includes(each.state))) {
				const progress = { ...row.progress, attempts: 0, requests: [], baseline: null, error: null };
				const none = { subaccountId: null, consentLanguage: null, messageId: null, queueId: null, nextAt: null };
				set(row, { to: "", body: "", ...none, progress, version: row.version + 1 });
			}
		},
		async purge(before) {
			const ended = copies((row) => row.nextAt === null && row.since < before && row.to !== "");
			const purged = ended.filter((row) => row.unacknowledged === null || !isSettledUsed);
			for (const { id } of purged) rows.delete(id);
			return purged.length;
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
