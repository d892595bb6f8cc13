/*
 * How the outbox is, at a glance: a few small statements, whatever the size of the table.
 */
import { allSends, isAlert, type ListedState, type OutboxStore } from "./store.ts";
import { type DeclaredRestore, type Resumption, type Suspension, suspensionFrom } from "./suspension.ts";
import { isAlive } from "./waits-for.ts";

/** How the outbox is. It holds no number and no text. */
export interface OutboxHealth {
	/** When it was asked, by the clock of the outbox. */
	at: Date;
	/**
	 * By how many milliseconds the clock of the machine that asked is ahead of the database's, which the outbox goes by. Null with SQLite
	 * and with a `now` of your own. A wrong one does no harm to texts, but your own code may go by it.
	 */
	clockAheadMs: number | null;
	/** The processes that work, or have within a day; those that were seen last first. One that stops in order is gone at once. */
	workers: WorkerHealth[];
	/** Unfinished texts by their state, and those that a person has to look at. Each is counted up to 1,000. */
	texts: Record<ListedState, number>;
	/**
	 * Texts whose time has come and that wait, counted up to 1,000: also those that could not be sent and are tried again, such as
	 * after an error, and those whose result is not known for two minutes. Left out are those of agencies that a person has
	 * suspended, and those that wait behind a held text of the contact.
	 */
	due: number;
	/** When the first of them was due; null if there is none. */
	oldestDueAt: Date | null;
	/**
	 * What keeps texts from being sent for the moment: the service, something in front of it, settings of an agency, or your hooks.
	 * It ends by itself once the cause has gone.
	 */
	pauses: PauseHealth[];
	/** What people have suspended. Only `resume` ends it. */
	suspensions: Suspension[];
	/** Suspensions that people have ended within a day, the latest one of each agency. */
	resumptions: Resumption[];
	/** The last restore from a backup that a person has declared; null if there was none. */
	restored: DeclaredRestore | null;
	/** The last time of which the database has lost what was stored: after a restore, or after a failover that a worker found out. Null if there was none. */
	lost: RestoreHealth | null;
	/**
	 * The timeline of PostgreSQL, which a promoted standby counts up, so that a monitor sees a failover. Null for other databases, and if
	 * the role may not read it. It pauses and marks nothing.
	 */
	timeline: number | null;
}

/** A process that works. */
export interface WorkerHealth {
	/** A random id, which says nothing of the machine. */
	id: string;
	/** The version of this package that it runs. */
	version: string;
	/** Whether it calls `runOnce`, so that it is silent in between. */
	runsOnce: boolean;
	/** When it started. */
	startedAt: Date;
	/** When it gave its last sign of life. A worker gives one every 5 seconds. */
	lastSeenAt: Date;
	/** Whether it was seen within the last minute; one that calls `runOnce` within the last 15. */
	isAlive: boolean;
}

/** Why texts of an agency, or of everybody, wait. */
export interface PauseHealth {
	/** The agency's id; null for everybody. */
	agencyId: string | null;
	/** Why, in the words of {@link PauseReason}; `wrong_number` if contacts wrote so, to whom alone texts wait. */
	reason: string;
	/** When it began; null if that is not known, as of settings and hooks. */
	since: Date | null;
	/** When one request tries again; null if only a person ends it. */
	until: Date | null;
}

/** A time of which the database has lost what was stored. */
export interface RestoreHealth {
	/** Its beginning, by the clock of the outbox: of the backup, or a moment before the failover. */
	from: Date;
	/** When it was declared, or found out. */
	to: Date;
	/** Whether a worker has found out, or a person called `restored`. */
	by: "worker" | "person";
	/** Whether texts are sent again. Until then all that may have been sent in that time are marked. */
	isDone: boolean;
}

const mostCounted = 1_000;
const dayMs = 24 * 3_600_000;

export async function healthOf(store: OutboxStore, now: number, clockAheadMs?: number): Promise<OutboxHealth> {
	const [workers, counts, paused, suspended, declared, lost, timeline] = await Promise.all([
		store.workers(),
		store.counts(now, mostCounted),
		store.paused(),
		store.suspended(),
		store.declared(now - dayMs),
		store.restoration(),
		store.timeline?.(),
	]);
	const { restored } = declared;
	const pauses = paused.filter(({ agencyId }) => !isAlert(agencyId));
	return {
		at: new Date(now),
		clockAheadMs: clockAheadMs ?? null,
		// Ages, because the clock of the store is another one.
		workers: workers.map((worker) => ({
			id: worker.id,
			version: worker.version,
			runsOnce: worker.runsOnce,
			startedAt: new Date(now - worker.ageMs),
			lastSeenAt: new Date(now - worker.silentMs),
			isAlive: isAlive(worker),
		})),
		texts: counts.states,
		due: counts.due,
		oldestDueAt: counts.oldestDueAt === null ? null : new Date(counts.oldestDueAt),
		pauses: [
			...pauses.map(({ agencyId, cause, since, until }) => ({
				agencyId: agencyId === "" || agencyId === allSends ? null : agencyId,
				reason: cause,
				since: new Date(since),
				until: new Date(until),
			})),
			...counts.keptBack.map(({ agencyId, reason, until }) => ({
				agencyId,
				reason,
				since: null,
				// That is when a worker looks whether a person has called `optIn`.
				until: reason === "wrong_number" ? null : new Date(Math.max(now, until)),
			})),
		],
		suspensions: suspended.map(suspensionFrom),
		resumptions: declared.resumed.map(({ agencyId, at, by }) => ({
			agencyId: agencyId === "" ? null : agencyId,
			by,
			at: new Date(at),
		})),
		restored: restored && { backupAt: new Date(restored.from), by: restored.by, at: new Date(restored.to) },
		lost: lost
			? {
					from: new Date(lost.from),
					to: new Date(lost.to),
					by: lost.source === "worker" ? "worker" : "person",
					isDone: lost.isDone,
				}
			: null,
		timeline: timeline ?? null,
	};
}
