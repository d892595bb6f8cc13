import {
	type Band,
	type ContactFacts,
	type Lease,
	type NamedLease,
	type NewText,
	newProgress,
	type OpenText,
	type OutboxStore,
	type OutboxText,
	type Recipient,
	type Restoration,
	type Restored,
	type StoredContact,
	type StoredCount,
	type StoredDeclarations,
	type StoredFact,
	type StoredPause,
	type StoredSuspension,
	type StoredWait,
	type StoredWorker,
	storeMark,
} from "./port.ts";

const unfinished = ["sending", "held", "waiting"];
const purposes = ["reply", "notice", "marketing"];

const factNames = [
	"optedOut",
	"optedIn",
	"wrongNumber",
	"refused",
	"perhapsDeclined",
	"declined",
	"declineNoticed",
	"ignored",
] as const;

/** Of each fact the latest time by each clock. */
function latest(all: readonly ContactFacts[]): ContactFacts {
	const facts: ContactFacts = {};
	for (const each of all)
		for (const fact of factNames)
			for (const clock of ["service", "own"] as const) {
				const at = each[fact]?.[clock];
				if (at !== undefined) facts[fact] = { ...facts[fact], [clock]: Math.max(at, facts[fact]?.[clock] ?? 0) };
			}
	return facts;
}

export interface MemoryStore extends OutboxStore {
	all: () => OutboxText[];
	/** When something is to be done next, as a worker would find it. */
	nextDue: () => Promise<number | undefined>;
	/** Returns a function that puts texts and facts back as they are now. */
	snapshot: () => () => void;
	/** Loses all queues with their leases, and puts the texts into new ones, as a worker does that finds out. */
	forget: () => void;
	/** All that the next statements depend on. */
	dump: () => { rows: OutboxText[]; queues: Queue[]; pauses: StoredPause[]; rest: unknown[] };
}

interface Queue extends Lease {
	dueAt: number;
	leasedUntil: number;
}

/**
 * A store that forgets everything with the process: for tests of the outbox that need no database.
 * @param clock of the leases, as that of a database
 */
export function memoryStore(clock: () => number = () => performance.now()): MemoryStore {
	const rows = new Map<string, OutboxText>();
	/** Counts inserts and stops, so that it is known which came first. */
	let tick = 0;
	const begun = new Map<string, number>();
	const cancelledAt = new Map<string, number>();
	let counter = 0;
	const queues = new Map<string, Queue>();
	const arrived = new Set<string>();
	/** What is known of contacts, by key, hash and agency. */
	const contacts = new Map<string, StoredContact>();
	const ownKey = crypto.randomUUID().replaceAll("-", "");
	const keys = new Map([[ownKey, `${crypto.randomUUID()}${crypto.randomUUID()}`.replaceAll("-", "")]]);
	/** Not one that hides the number, but at once. */
	const hashOf = (keyId: string, to = ""): string => {
		const digits = `${(keys.get(keyId) ?? "").slice(0, 16)}${to.replace(/\D/g, "").padStart(16, "0")}`;
		return digits.replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
	};
	const placeOf = ({ keyId, hash, agencyId }: Pick<StoredContact, "keyId" | "hash" | "agencyId">): string =>
		JSON.stringify([keyId, hash, agencyId]);
	const contactsOf = (to: string | undefined): StoredContact[] => {
		const hashes = new Map([...keys.keys()].map((keyId) => [keyId, hashOf(keyId, to)]));
		return [...contacts.values()].filter(({ keyId, hash }) => hashes.get(keyId) === hash);
	};
	/** Of two times by one clock the later one stays. */
	function learn(given: StoredContact): void {
		const known = contacts.get(placeOf(given)) ?? { ...given, facts: [], erasedAt: null };
		const latest = new Map(known.facts.map((each) => [`${each.fact} ${each.clock}`, each]));
		for (const each of given.facts) {
			const name = `${each.fact} ${each.clock}`;
			if ((latest.get(name)?.at ?? Number.NEGATIVE_INFINITY) < each.at) latest.set(name, each);
		}
		const erasedAt = Math.max(known.erasedAt ?? 0, given.erasedAt ?? 0) || null;
		contacts.set(placeOf(given), structuredClone({ ...known, facts: [...latest.values()], erasedAt }));
	}
	const ownName = ({ agencyId = "", to }: Partial<Recipient>) => ({
		keyId: ownKey,
		hash: hashOf(ownKey, to),
		agencyId,
	});
	const declarations: {
		resumed: Map<string, { at: number; by: string | null }>;
		restored: StoredDeclarations["restored"];
	} = { resumed: new Map(), restored: null };
	const consents = new Map<string, { consent: string; revision: number }>();
	const servedAt = new Map<string, number>();
	const pauses = new Map<string, StoredPause>();
	const suspensions = new Map<string, StoredSuspension>();
	const isSuspended = (agencyId: string) => suspensions.has("") || suspensions.has(agencyId);
	const areSendsPaused = () => pauses.has("*");
	const workers = new Map<
		string,
		Pick<StoredWorker, "id" | "version" | "runsOnce"> & { began: number; seen: number }
	>();
	let isSettledUsed = false;
	let restoration: (Restored & { source: Restoration["source"]; number: number }) | undefined;
	/** Under which restoration a text was marked last. */
	const marked = new Map<string, number>();
	const copies = (keep: (row: OutboxText) => boolean): OutboxText[] => structuredClone([...rows.values()].filter(keep));
	const isIn = (recipient: Partial<Recipient>) => (row: OutboxText) =>
		row.to === recipient.to && (recipient.agencyId === undefined || row.agencyId === recipient.agencyId);
	const isOf =
		({ agencyId }: Partial<Recipient>) =>
		(row: OutboxText) =>
			row.agencyId === agencyId;
	const set = (row: OutboxText, change: Partial<OutboxText>) => rows.set(row.id, { ...row, ...change });
	const nameOf = ({ agencyId = "", to }: Partial<Recipient>) => `${agencyId} ${to}`;
	const isReady = (row: OutboxText, now: number) =>
		row.state !== "waiting" || row.progress.attempts > 0 || row.readyAt <= now;
	const isStopped = (row: OutboxText): boolean => {
		const all: Partial<Recipient>[] = [row, { to: row.to }, { agencyId: row.agencyId }];
		const stopped = Math.max(...all.map((whose) => cancelledAt.get(nameOf(whose)) ?? -1));
		return (begun.get(row.id) ?? 0) <= stopped;
	};
	const rankOf = ({ state, progress }: OutboxText) =>
		state === "waiting" ? (progress.attempts > 0 ? 2 : 3) : unfinished.indexOf(state);
	const bandOf = ({ state, purpose }: OutboxText): Band =>
		state === "waiting" || state === "sending" ? (purposes.indexOf(purpose) as Band) : 3;
	function adopt(): void {
		for (const id of arrived) {
			const row = rows.get(id);
			if (!row || row.nextAt === null) continue;
			const name = nameOf(row);
			const { agencyId, to } = row;
			const queue = queues.get(name);
			const [band, dueAt] = [bandOf(row), row.nextAt];
			const fresh = {
				id: ++counter,
				agencyId,
				to,
				band,
				dueAt,
				revision: 0,
				token: "",
				leasedUntil: 0,
				isSuspended: false,
				isFollowing: false,
			};
			const changes = queue && {
				band: Math.min(queue.band, band) as Band,
				dueAt: Math.min(queue.dueAt, dueAt),
				revision: queue.revision + 1,
			};
			queues.set(name, { ...fresh, ...queue, ...changes });
		}
		arrived.clear();
	}
	const cancel = (row: OutboxText, reason: OutboxText["reason"], now: number): void => {
		const isUnsent = row.state === "waiting" && row.progress.attempts === 0 && !row.progress.restored;
		const ended = {
			state: "cancelled",
			reason,
			since: now,
			endedAt: now,
			nextAt: null,
			unacknowledged: row.version + 1,
		} as const;
		const marked =
			row.state === "held"
				? { unacknowledged: row.version + 1 }
				: row.state === "waiting"
					? { nextAt: now, readyAt: Math.min(row.readyAt, now) }
					: {};
		set(row, {
			...(isUnsent ? ended : marked),
			version: row.version + 1,
			progress: {
				...row.progress,
				cancelRequested: true,
				...(reason === "superseded" && { superseded: true as const }),
			},
		});
	};
	const insert = async (text: NewText): Promise<OutboxText> => {
		const known = rows.get(text.id);
		if (known) return structuredClone(known);
		const readyAt = text.notBefore ?? 0;
		const row: OutboxText = {
			...text,
			progress: newProgress,
			seq: ++counter,
			version: 0,
			state: "waiting",
			reason: null,
			since: text.createdAt,
			sentAt: null,
			endedAt: null,
			nextAt: Math.max(text.createdAt, readyAt),
			readyAt,
			messageId: null,
			queueId: null,
			unacknowledged: null,
		};
		rows.set(text.id, row);
		begun.set(text.id, ++tick);
		arrived.add(text.id);
		return structuredClone(row);
	};
	const openOf = (recipient: Recipient, limit: number, now: number): OpenText[] =>
		copies((row) => isIn(recipient)(row) && unfinished.includes(row.state) && isReady(row, now))
			.sort(
				(a, b) =>
					rankOf(a) - rankOf(b) ||
					purposes.indexOf(a.purpose) - purposes.indexOf(b.purpose) ||
					b.priority - a.priority ||
					a.seq - b.seq,
			)
			.slice(0, limit)
			.map((row) => ({ ...row, isStopped: isStopped(row) }));
	const leases = new Map<string, NamedLease & { until: number }>();
	const leaseName = ({ topic, name }: NamedLease) => JSON.stringify([topic, name]);
	const ownerOf = (lease: NamedLease) => leases.get(leaseName(lease))?.owner;
	const isLeased = (lease: NamedLease) => {
		const leftMs = (leases.get(leaseName(lease))?.until ?? 0) - clock();
		return leftMs > 0 && leftMs <= 30_000;
	};
	const factsOf = ({ agencyId, to }: Recipient): ContactFacts =>
		latest(
			contactsOf(to)
				.filter((each) => each.agencyId === "" || each.agencyId === agencyId)
				.flatMap(({ facts }) => facts.map(({ fact, clock, at }) => ({ [fact]: { [clock]: at } }))),
		);
	const find = (lease: Lease) => [...queues].find(([, { id, token }]) => id === lease.id && token === lease.token);
	return {
		...storeMark,
		all: () => copies(() => true),
		dump: () => ({
			rows: [...rows.values()],
			queues: [...queues.values()],
			pauses: [...pauses.values()],
			rest: [[...arrived], [...begun], [...cancelledAt]],
		}),
		forget() {
			queues.clear();
			for (const { id, nextAt } of rows.values()) if (nextAt !== null) arrived.add(id);
		},
		migrate: async () => {},
		snapshot() {
			const before = structuredClone({ rows, contacts, restoration, marked });
			return () => {
				rows.clear();
				for (const [id, row] of before.rows) rows.set(id, row);
				restoration = before.restoration;
				marked.clear();
				for (const [id, number] of before.marked) marked.set(id, number);
				contacts.clear();
				for (const [name, known] of before.contacts) contacts.set(name, known);
				for (const id of arrived) if (!rows.has(id)) arrived.delete(id);
			};
		},
		insert: async (text) => insert(text),
		async supersede(text, { id, agencyId }) {
			const old = rows.get(id);
			const isThere = old && old.to !== "";
			const isFree = rows.has(text.id) || !isThere || old.agencyId === agencyId;
			if (!isFree) return { old: structuredClone(old) };
			if (isThere && !rows.has(text.id) && unfinished.includes(old.state)) cancel(old, "superseded", text.createdAt);
			return { text: await insert(text), old: structuredClone(rows.get(id)) };
		},
		insertMany: (texts) => Promise.all(texts.map(insert)),
		async cancelIn(id, now, _tx, by) {
			const row = rows.get(id);
			if (row && unfinished.includes(row.state)) {
				cancel(row, "requested", now);
				const found = rows.get(id);
				if (found && by !== undefined) found.progress = { ...found.progress, cancelledBy: by, cancelledAt: now };
			}
			return structuredClone(rows.get(id));
		},
		find: async (id) => structuredClone(rows.get(id)),
		open: async (...given) => openOf(...given),
		async openWithFacts(recipient, limit, now) {
			return { texts: openOf(recipient, limit, now), facts: factsOf(recipient) };
		},
		unfinished: async (recipient) => {
			const isMeant = recipient.to === undefined ? isOf(recipient) : isIn(recipient);
			return copies((row) => isMeant(row) && unfinished.includes(row.state));
		},
		followed: async (recipient, now) =>
			copies(
				(row) =>
					isIn(recipient)(row) && ["sent", "delivered"].includes(row.state) && row.nextAt !== null && row.nextAt <= now,
			),
		async save(text, { unlessStopped = false, lease, leaseMs = 0 } = {}) {
			const [, queue] = (lease && find(lease)) ?? [];
			if (lease && !queue) return false;
			if (lease && (isSuspended(text.agencyId) || areSendsPaused())) return false;
			if (rows.get(text.id)?.version !== text.version) return false;
			if (unlessStopped && isStopped(text)) return false;
			const { isStopped: _, ...row } = text as OpenText;
			rows.set(text.id, structuredClone({ ...row, version: text.version + 1 }));
			if (queue) queue.leasedUntil = clock() + leaseMs;
			if (lease) arrived.delete(text.id);
			return true;
		},
		async stop(recipient) {
			cancelledAt.set(nameOf(recipient), ++tick);
		},
		async wake(recipient, now) {
			for (const row of rows.values()) {
				const at = isReady(row, now) ? now : row.readyAt;
				if (isIn(recipient)(row) && ["waiting", "held"].includes(row.state) && (row.nextAt ?? at) > at)
					set(row, { nextAt: at, version: row.version + 1 });
			}
			for (const queue of queues.values())
				if (queue.to === recipient.to && (recipient.agencyId ?? queue.agencyId) === queue.agencyId) {
					queue.dueAt = Math.min(queue.dueAt, now);
					queue.band = Math.min(queue.band, 1) as Band;
					queue.revision++;
				}
		},
		asleep: async () => {
			const sleeping = copies(({ state, reason }) => state === "waiting" && reason === "quiet_hours");
			const found = sleeping.map(({ agencyId, nextAt }) => ({ agencyId, until: nextAt ?? 0 }));
			return [...new Map(found.map((each) => [JSON.stringify(each), each])).values()];
		},
		async awaken({ agencyId, until }, now) {
			for (const row of rows.values())
				if (row.agencyId === agencyId && row.reason === "quiet_hours" && row.nextAt === until)
					set(row, { nextAt: now, version: row.version + 1 });
			for (const queue of queues.values())
				if (queue.agencyId === agencyId) {
					queue.dueAt = Math.min(queue.dueAt, now);
					queue.revision++;
				}
		},
		async recover(now) {
			for (const row of rows.values()) {
				const at = isReady(row, now) ? now : row.readyAt;
				if (unfinished.includes(row.state) && (row.nextAt ?? at) > at) set(row, { nextAt: at });
			}
			for (const queue of queues.values()) queue.dueAt = Math.min(queue.dueAt, now);
			for (const pause of pauses.values()) pause.until = Math.min(pause.until, now);
		},
		async nextDue() {
			adopt();
			const until = (agencyId: string) => Math.max(pauses.get("")?.until ?? 0, pauses.get(agencyId)?.until ?? 0);
			const times = [...queues.values()].map(({ dueAt, agencyId }) => Math.max(dueAt, until(agencyId)));
			return times.length > 0 ? Math.min(...times) : undefined;
		},
		async nextOf(recipient, now) {
			const [next] = copies((row) => isIn(recipient)(row) && (row.nextAt ?? 0) > now).sort(
				(a, b) => (a.nextAt ?? 0) - (b.nextAt ?? 0),
			);
			return next && { at: next.nextAt ?? 0, band: bandOf(next) };
		},
		async claim({ now, limit, each, leaseMs, isReading, without = [], probing, leavesNew }) {
			if (!leavesNew) adopt();
			if (probing === undefined && pauses.has("")) return [];
			const mayBe = ({ agencyId, band, dueAt, leasedUntil }: Queue): boolean => {
				// One that ends later was stored by a clock of the future.
				const isLeased = leasedUntil > clock() && leasedUntil <= clock() + 15 * 60_000;
				if (dueAt > now || isLeased || without.includes(agencyId)) return false;
				const isIdle = isSuspended(agencyId) || (areSendsPaused() && probing === undefined);
				const isOwnPause = probing === "" && (pauses.get(agencyId)?.until ?? 0) > now;
				if (probing !== undefined)
					return !isOwnPause && (probing === "" || probing === agencyId) && (band === 3 || !isIdle);
				if (pauses.has(agencyId)) return false;
				return isReading ? band === 3 || isIdle : band !== 3 && !isIdle;
			};
			const due = [...queues.values()].filter(mayBe).sort((a, b) => a.band - b.band || a.dueAt - b.dueAt);
			const turn = (agencyId: string) => servedAt.get(agencyId) ?? 0;
			due.sort((a, b) => Number(a.band > 0) - Number(b.band > 0) || turn(a.agencyId) - turn(b.agencyId));
			const leases: Lease[] = [];
			for (const queue of due) {
				const ofAgency = leases.filter(({ agencyId }) => agencyId === queue.agencyId).length;
				if (leases.length === limit || ofAgency === each) continue;
				Object.assign(queue, { token: crypto.randomUUID(), leasedUntil: clock() + leaseMs });
				servedAt.set(queue.agencyId, ++tick);
				const isRead = isSuspended(queue.agencyId) || (areSendsPaused() && probing === undefined);
				const isFollowing = [...rows.values()].some(
					(row) =>
						isIn(queue)(row) && ["sent", "delivered"].includes(row.state) && row.nextAt !== null && row.nextAt <= now,
				);
				leases.push({ ...queue, isSuspended: isRead, isFollowing });
			}
			return leases;
		},
		// Nobody can delete a queue.
		heal: async () => 0,
		async watched(agencyId, now, limit) {
			const due = [...queues.values()].filter((queue) => queue.agencyId === agencyId && queue.dueAt <= now);
			due.sort((a, b) => b.band - a.band || a.dueAt - b.dueAt);
			return due.slice(0, limit).map(({ to }) => to);
		},
		consent: async (agencyId) => ({
			...(consents.get(agencyId) ?? { consent: null, revision: 0 }),
			isKnown: consents.has(agencyId) || servedAt.has(agencyId),
		}),
		async keepConsent(agencyId, consent, revision) {
			if ((consents.get(agencyId)?.revision ?? 0) !== revision) return false;
			consents.set(agencyId, { consent, revision: revision + 1 });
			return true;
		},
		outboxId: async () => "memory",
		facts: async (recipient) => factsOf(recipient),
		async note(recipient, given, source, by = undefined) {
			const told: StoredFact[] = factNames.flatMap((fact) =>
				(["service", "own"] as const).flatMap((clock) => {
					const at = given[fact]?.[clock];
					const isTold = clock === "own" && (fact === "optedOut" || fact === "optedIn");
					return at === undefined ? [] : [{ fact, clock, at: Math.ceil(at), source, by: (isTold && by) || null }];
				}),
			);
			learn({ ...ownName(recipient), facts: told, erasedAt: null });
		},
		async contacts(after) {
			const places = [...contacts.keys()].sort();
			const next = places.filter((place) => !after || place > placeOf(after)).slice(0, 500);
			return structuredClone(next.map((place) => contacts.get(place) as StoredContact));
		},
		contactsOf: async (numbers) =>
			structuredClone(numbers.flatMap((to) => contactsOf(to).map((contact) => ({ to, contact })))),
		async learn(given) {
			for (const each of given) learn(each);
		},
		keys: async () => new Map(keys),
		async addKeys(added) {
			for (const [keyId, key] of added) if (!keys.has(keyId)) keys.set(keyId, key);
		},
		async checkKeys() {
			for (const { keyId } of contacts.values()) if (!keys.has(keyId)) throw new Error("A key is missing.");
		},
		numbers: async (after) => {
			const all = new Set(copies(({ to }) => to > after).map(({ to }) => to));
			return [...all].sort().slice(0, 500);
		},
		declared: async (since) => ({
			resumed: [...declarations.resumed].flatMap(([agencyId, told]) =>
				told.at > since ? [{ agencyId, ...told }] : [],
			),
			restored: declarations.restored,
		}),
		async renew(tokens, leaseMs) {
			for (const queue of queues.values())
				if (tokens.includes(queue.token)) queue.leasedUntil = Math.max(queue.leasedUntil, clock() + leaseMs);
		},
		async release(lease, next) {
			const [name, queue] = find(lease) ?? [];
			if (name === undefined || !queue) return;
			const isSame = queue.revision === lease.revision;
			if (!next && isSame) queues.delete(name);
			queue.token = "";
			queue.leasedUntil = 0;
			if (next) queue.band = isSame ? next.band : (Math.min(queue.band, next.band) as Band);
			if (next && isSame) queue.dueAt = next.at;
		},
		async rest(lease, now) {
			const [name, queue] = find(lease) ?? [];
			if (name === undefined || !queue || queue.revision !== lease.revision) return false;
			const [first] = copies((row) => isIn(lease)(row) && row.nextAt !== null).sort(
				(a, b) => (a.nextAt ?? 0) - (b.nextAt ?? 0),
			);
			if (!first) return queues.delete(name);
			if ((first.nextAt ?? 0) <= now || bandOf(first) !== 3) return false;
			Object.assign(queue, { band: 3, dueAt: first.nextAt, token: "", leasedUntil: 0 });
			return true;
		},
		async takeLease(lease) {
			if (isLeased(lease) && ownerOf(lease) !== lease.owner) return false;
			leases.set(leaseName(lease), { ...lease, until: clock() + 30_000 });
			return true;
		},
		async prolongLeases(topic, owner, names) {
			const ours = names.filter((name) => ownerOf({ topic, name, owner }) === owner);
			for (const name of ours)
				leases.set(leaseName({ topic, name, owner }), { topic, name, owner, until: clock() + 30_000 });
			return ours;
		},
		confirmLease: async (lease) => ownerOf(lease) === lease.owner,
		async endLease(lease) {
			if (ownerOf(lease) === lease.owner) leases.delete(leaseName(lease));
		},
		countLeases: async (topic) => [...leases.values()].filter((each) => each.topic === topic && isLeased(each)).length,
		paused: async () => structuredClone([...pauses.values()]),
		async pause(pause) {
			const known = pauses.get(pause.agencyId);
			const isLonger = known && known.failures >= pause.failures;
			const failures = Math.max(pause.failures, known?.failures ?? 0);
			const until = isLonger ? Math.max(known.until, pause.until) : pause.until;
			pauses.set(pause.agencyId, { ...pause, until, failures, since: known?.since ?? pause.since });
		},
		agencies: async () => [...new Set([...rows.values()].map(({ agencyId }) => agencyId))],
		async resume(agencyId, now) {
			if (agencyId === "*" && pauses.has("*"))
				for (const queue of queues.values()) {
					queue.dueAt = Math.min(queue.dueAt, now);
					queue.revision++;
				}
			pauses.delete(agencyId);
		},
		async probe(agencyId, from, until) {
			const known = pauses.get(agencyId);
			if (known?.until !== from) return false;
			known.until = until;
			return true;
		},
		async restored({ from, to }, source, by = undefined) {
			if (source === "restored") declarations.restored = { from, to, by: by ?? null };
			const isDeclared = restoration !== undefined && from < restoration.to && restoration.to <= to;
			const joined = { ...restoration, from: Math.min(from, restoration?.from ?? from) };
			restoration = isDeclared
				? { number: 1, to, source, ...joined }
				: { from, to, source, number: (restoration?.number ?? 0) + 1 };
			const { number, ...window } = restoration;
			const mayHaveBegun = (row: OutboxText): boolean =>
				row.state !== "waiting" ||
				((row.progress.attempts > 0 || row.readyAt <= window.to) &&
					(row.notAfter === null || row.notAfter >= window.from) &&
					!(row.reason === "quiet_hours" && (row.nextAt ?? 0) > window.to));
			const isMeant = (row: OutboxText): boolean =>
				(marked.get(row.id) ?? 0) < number
					? row.createdAt <= window.to && mayHaveBegun(row)
					: (row.progress.restored?.from ?? window.from) > window.from;
			const found = copies((row) => unfinished.includes(row.state) && row.nextAt !== null && isMeant(row));
			for (const row of found) {
				marked.set(row.id, number);
				const restored = { from: window.from, to: window.to };
				set(row, { version: row.version + 1, progress: { ...row.progress, restored } });
				arrived.add(row.id);
			}
			return { count: found.length, isNew: !isDeclared };
		},
		finishRestore: async () => true,
		restoration: async () => restoration && { ...restoration, isDone: true },
		async suspend(suspension) {
			const { agencyId } = suspension;
			suspensions.set(agencyId, { ...suspension, since: suspensions.get(agencyId)?.since ?? suspension.since });
		},
		async endSuspension(agencyId, now, told = undefined) {
			const isEnded = suspensions.delete(agencyId);
			if (isEnded) declarations.resumed.set(agencyId, told ?? { at: now, by: null });
			for (const queue of queues.values())
				if (agencyId === "" || queue.agencyId === agencyId) {
					queue.dueAt = Math.min(queue.dueAt, now);
					queue.revision++;
				}
			return isEnded;
		},
		suspended: async () => structuredClone([...suspensions.values()]),
		async beat(worker) {
			workers.set(worker.id, { ...worker, began: workers.get(worker.id)?.began ?? clock(), seen: clock() });
			return { restore: restoration?.number ?? 0, isRestoring: false };
		},
		async leave(id) {
			workers.delete(id);
		},
		workers: async () =>
			[...workers.values()].map(({ id, version, runsOnce, began, seen }) => ({
				id,
				version,
				runsOnce,
				ageMs: clock() - began,
				silentMs: clock() - seen,
			})),
		async counts(now, most) {
			const count = (state: string) => Math.min(most, copies((row) => row.state === state).length);
			const unsettled = ["consent_unavailable", "language_required", "language_unavailable"];
			const wasTried = ({ reason, progress }: OutboxText): boolean =>
				!["quiet_hours", "wrong_number", "refusal", "perhaps_declined"].includes(String(reason)) &&
				(progress.attempts + progress.failures > 0 || unsettled.includes(String(reason)));
			const isRepeat = ({ progress }: OutboxText): boolean => progress.attempts > 1;
			const isBehindHeld = (row: OutboxText): boolean =>
				copies((other) => other.state === "held" && nameOf(other) === nameOf(row)).length > 0;
			const isTurn = (row: OutboxText): boolean =>
				arrived.has(row.id) ||
				((areSendsPaused() || (queues.get(nameOf(row))?.dueAt ?? 0) <= now) && !isBehindHeld(row));
			const isLate = (row: OutboxText): boolean => {
				if (row.state === "sending") return isRepeat(row) || row.since <= now - 2 * 60_000;
				if (row.state !== "waiting") return false;
				return Number(row.nextAt) <= now ? isTurn(row) || wasTried(row) : row.readyAt <= now && wasTried(row);
			};
			const due = copies((row) => row.nextAt !== null && !isSuspended(row.agencyId) && isLate(row));
			const states = {
				waiting: count("waiting"),
				sending: count("sending"),
				held: count("held"),
				unknown: count("unknown"),
			};
			const dueAt = (row: OutboxText): number => {
				const { state, since, nextAt, readyAt, createdAt } = row;
				if (state === "sending" ? isRepeat(row) : wasTried(row)) return Math.max(readyAt, createdAt);
				if (state === "sending") return since;
				// What waited behind another one is late since its turn came.
				const turnAt = queues.get(nameOf(row))?.dueAt ?? 0;
				return turnAt <= now ? Math.max(turnAt, Number(nextAt)) : Number(nextAt);
			};
			const times = due.map(dueAt);
			const keptBack = new Map<string, StoredWait>();
			for (const { agencyId, reason, nextAt } of copies(({ state }) => state === "waiting")) {
				if (reason === null || ![...unsettled, "hook_failed", "wrong_number"].includes(reason)) continue;
				const name = `${agencyId} ${reason}`;
				const until = Math.min(Number(nextAt), keptBack.get(name)?.until ?? Number.POSITIVE_INFINITY);
				keptBack.set(name, { agencyId, reason, until });
			}
			return {
				states,
				due: Math.min(most, due.length),
				oldestDueAt: times.length > 0 ? Math.min(...times) : null,
				keptBack: [...keptBack.values()],
			};
		},
		list: async (state, limit, agencyId) =>
			copies((row) => row.state === state && (agencyId === undefined || row.agencyId === agencyId))
				.sort((a, b) => (a.nextAt ?? 0) - (b.nextAt ?? 0))
				.slice(0, limit),
		search: async ({ to, agencyId, state, since = 0, before = Number.MAX_SAFE_INTEGER }, limit) =>
			copies((row) => row.seq < before && row.createdAt >= since)
				.filter((row) => (to ?? row.to) === row.to && (agencyId ?? row.agencyId) === row.agencyId)
				.filter((row) => (state ?? row.state) === row.state)
				.sort((a, b) => b.seq - a.seq)
				.slice(0, limit),
		claimed: async (recipient) =>
			copies(isIn(recipient)).flatMap(({ messageId, queueId }) =>
				messageId === null ? [] : [{ messageId, wasHeld: queueId !== null }],
			),
		async countDays(agencyId, bounds) {
			const found = new Map<string, StoredCount>();
			for (const { agencyId: of, createdAt, notBefore, purpose, state, reason } of rows.values()) {
				const at = Math.max(createdAt, notBefore ?? 0);
				const day = bounds.filter((bound) => bound <= at).length - 1;
				if (of !== agencyId || day < 0 || day >= bounds.length - 1) continue;
				const name = JSON.stringify([day, purpose, state, reason]);
				found.set(name, { day, purpose, state, reason, count: (found.get(name)?.count ?? 0) + 1 });
			}
			return [...found.values()];
		},
		nextAgency: async (after) =>
			[...rows.values()]
				.map(({ agencyId }) => agencyId)
				.filter((id) => id > after)
				.sort()[0],
		byMessage: async (messageId) => copies((row) => row.messageId === messageId)[0],
		async unacknowledged(limit, { held = false } = {}) {
			isSettledUsed = true;
			const isListed = ({ state, reason }: OutboxText) =>
				(held && (state === "held" || reason === "wrong_number")) || !unfinished.includes(state);
			return copies((row) => row.unacknowledged !== null && isListed(row))
				.sort((a, b) => a.since - b.since || a.seq - b.seq)
				.slice(0, limit);
		},
		async acknowledge(changes) {
			for (const { id, revision } of changes) {
				const row = rows.get(id);
				if (row?.unacknowledged === revision) set(row, { unacknowledged: null });
			}
		},
		async erase(which, at) {
			if (!("id" in which)) {
				if (at !== undefined) learn({ ...ownName(which), facts: [], erasedAt: at });
				for (const each of contactsOf(which.to))
					if (which.agencyId === undefined || each.agencyId === which.agencyId)
						for (const fact of each.facts) fact.by = null;
			}
			const isOne = "id" in which ? (row: OutboxText) => row.id === which.id : isIn(which);
			for (const row of copies((each) => isOne(each) && !unfinished.includes(each.state))) {
				const {
					optOutSid: _,
					journal: __,
					hookReason: ___,
					cancelledBy: _by,
					cancelledAt: _at,
					...kept
				} = row.progress;
				const progress = { ...kept, attempts: 0, failures: 0, requests: [], baseline: null, error: null };
				const none = {
					given: {},
					subaccountId: null,
					consentLanguage: null,
					byWhom: null,
					why: null,
					messageId: null,
					queueId: null,
					nextAt: null,
				};
				set(row, { to: "", body: "", ...none, progress, version: row.version + 1 });
			}
			if (!("id" in which))
				for (const [name, queue] of queues)
					if (!copies(isIn(queue)).some(({ nextAt }) => nextAt !== null)) queues.delete(name);
		},
		async purge(before) {
			const ended = copies((row) => row.nextAt === null && row.since < before && row.to !== "");
			const purged = ended.filter((row) => row.unacknowledged === null || !isSettledUsed);
			for (const { id } of purged) rows.delete(id);
			return purged.length;
		},
	};
}
