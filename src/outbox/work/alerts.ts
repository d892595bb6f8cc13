/*
 * Tells people of each fact once, whatever the number of contacts, agencies, workers and processes that meet it.
 *
 * What was told is stored beside the pauses, under a name that no agency has. So a cron job that starts a new process each minute tells
 * of an outage once, and of two workers one does.
 */
import { alertName, type OutboxStore, type StoredPause } from "../store.ts";
import type { Pause } from "./pause.ts";

/** Which calls show that a fact has passed. */
export type Call = "read" | "send" | "key" | "gateway" | "settings" | "text" | "suspension" | "follow";

/** Whom a call concerns. */
export interface Concerned {
	agencyId: string;
	/** A contact, or a text; absent for the whole agency. */
	who?: string | undefined;
}

/** What keeps texts waiting. */
export interface Fact extends Concerned {
	/** Which fact it is, without a number or a text. */
	name: string;
	call: Call;
	/** What is told of it, if nobody else meets it. */
	pause: Pause;
	/** A call of anybody that succeeds shows that it has passed. Otherwise everybody who met it has to succeed. */
	isShared?: boolean | undefined;
	/** A success proves that it has passed. Otherwise it may be one of several nodes that is well, so that a minute has to pass too. */
	isCertain?: boolean | undefined;
	/** How many agencies meet it is not told: it concerns all of them, or texts are counted. */
	counts?: "agencies" | "texts" | undefined;
	/** It will soon be known whom it concerns, and is not told yet. */
	isUnclear?: boolean | undefined;
	/** When it is told again if it lasts, in milliseconds. */
	againMs?: number;
}

export interface Alerts {
	/** Notes that a call met a fact. It is told at once, unless the agencies that meet it are counted. */
	met: (fact: Fact) => Promise<void>;
	/** Notes what has succeeded, of somebody and of their agency. */
	passed: (calls: readonly Call[], whose: Concerned) => Promise<void>;
	/** Ends all facts of a kind but those. */
	ended: (call: Call, but?: ReadonlySet<string>) => Promise<void>;
	/** Ends a fact that the store knew when it was last asked. One that began since is not over. */
	over: (name: string) => Promise<void>;
	/** Takes in what the store has just said. */
	seen: (stored: readonly StoredPause[]) => void;
	/** Tells what is new. It is called once everything that is due was tried, so that the number of agencies is known. */
	tell: () => Promise<void>;
	/** Whether something has been new for a while. */
	isUrgent: () => boolean;
}

interface Known extends Fact {
	/** The agencies of those who meet it, and when each last did. Those of other processes are not known. */
	meeting: Map<string, { agencyId: string; at: number }>;
	/** Only another process has met it. */
	isTheirs: boolean;
	/** When it was last met, or will be tried next. */
	lastAt: number;
	/** It has passed if it was not met for so long. Twice as long each time that it comes back. */
	quietMs: number;
	/** What is stored was told of what has passed since. */
	isBack: boolean;
	/** Met since it was last looked at. */
	isNew: boolean;
	/** When it is looked at again. */
	nextAt: number;
	/** How many met it when it was told. */
	told: number;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** Somebody may have missed it. */
const againAfterMs = 6 * hourMs;
/** An outage that grows so many times is told again: what one conversation meets may be met by everybody later. */
const growth = 10;
/** Others may still be tried, which takes long if nobody answers. */
const longestCountMs = 5_000;
/** Who meets a fact in another process is not known. */
const othersQuietMs = 15 * minuteMs;

const keyOf = (call: Call, { agencyId, who = "" }: Concerned): string => `${call} ${agencyId} ${who}`;

/** A fact of which nothing is known yet. */
const unmet = { isTheirs: false, isBack: false, isNew: false, nextAt: Number.NEGATIVE_INFINITY, told: 0 };

export function createAlerts(
	report: (pause: Pause) => void,
	now: () => number,
	store: Pick<OutboxStore, "pause" | "probe" | "resume">,
): Alerts {
	const facts = new Map<string, Known>();
	/** How long facts that have passed had to be quiet. */
	const passedQuietMs = new Map<string, number>();
	let stored = new Map<string, StoredPause>();
	let newSince: number | undefined;

	const countOf = ({ meeting, counts }: Known): number =>
		counts === "texts" ? meeting.size : new Set([...meeting.values()].map(({ agencyId }) => agencyId)).size;

	/** Whether nobody meets it. The text of somebody whose last failure is old may have been cancelled. */
	function isQuiet({ meeting, lastAt, quietMs, isCertain }: Known): boolean {
		for (const [key, { at }] of meeting) if (now() - at > hourMs) meeting.delete(key);
		return meeting.size === 0 && (isCertain === true || now() - lastAt >= quietMs);
	}

	async function end(name: string): Promise<void> {
		const fact = facts.get(name);
		if (!fact) return;
		facts.delete(name);
		passedQuietMs.set(name, fact.quietMs);
		if (stored.delete(alertName(name))) await store.resume(alertName(name), now());
	}

	/** Whether this process is the one that tells. What it knows of the store may be old: of several, one changes the row. */
	async function mayTell(fact: Known, most: number): Promise<boolean> {
		const { name, call, pause, isBack, againMs = againAfterMs } = fact;
		const agencyId = alertName(name);
		const at = now();
		const until = Math.max(at, pause.retryAt.getTime());
		const row = { agencyId, reason: call, cause: pause.reason, since: at };
		const known = stored.get(agencyId);
		const isDue =
			!known || isBack || most >= growth * known.failures || Math.abs(at - known.since) >= againMs || known.until === 0;
		if (!known) await store.pause({ ...row, until: 0, failures: 1 });
		const from = known?.until ?? 0;
		const isOurs = await store.probe(agencyId, from, from === until ? until + 1 : until);
		if (!isOurs || !isDue) return false;
		if (known) await store.resume(agencyId, at);
		const told = { ...row, until, failures: Math.max(1, most) };
		await store.pause(told);
		stored.set(agencyId, told);
		return true;
	}

	/** What is told of a fact that several meet. */
	function told({ pause, counts, meeting }: Known, most: number): Pause {
		if (counts !== "agencies" || meeting.size < 2) return pause;
		const { agencyId, id, ...rest } = pause;
		return most < 2 ? { ...rest, ...(agencyId !== undefined && { agencyId }) } : { ...rest, agencies: most };
	}

	async function tellOf(fact: Known): Promise<void> {
		if (!fact.isNew) return;
		fact.isNew = false;
		const most = fact.counts ? countOf(fact) : 1;
		if (now() < fact.nextAt && most < growth * fact.told) return;
		fact.nextAt = now() + minuteMs;
		fact.told = Math.max(most, fact.told);
		if (await mayTell(fact, most)) report(told(fact, most));
		fact.isBack = false;
	}

	return {
		async met(fact) {
			const { name, call, agencyId } = fact;
			const at = now();
			const key = keyOf(call, fact);
			const before = facts.get(name);
			// Whether it has passed in another process is not known before a call succeeds here.
			const goesOn = before && (before.isTheirs || before.meeting.has(key) || !isQuiet(before));
			const quietMs = Math.min(hourMs, 2 * (before?.quietMs ?? passedQuietMs.get(name) ?? minuteMs / 2));
			const known: Known = goesOn
				? { ...before, ...fact, pause: before.isNew ? before.pause : fact.pause, isTheirs: false }
				: { ...unmet, ...fact, meeting: new Map(), quietMs, isBack: before !== undefined, lastAt: at };
			known.lastAt = Math.max(known.lastAt, at);
			known.meeting.set(key, { agencyId, at });
			facts.set(name, known);
			if (fact.isUnclear) return;
			known.isNew = true;
			if (!fact.counts) return tellOf(known);
			newSince ??= performance.now();
		},
		async passed(calls, { agencyId, who }) {
			const keys = calls.flatMap((call) => [keyOf(call, { agencyId, who }), keyOf(call, { agencyId })]);
			for (const fact of facts.values()) {
				const isMeant = calls.includes(fact.call);
				if (isMeant && fact.isShared) fact.meeting.clear();
				else for (const key of keys) fact.meeting.delete(key);
				if (isMeant && isQuiet(fact)) await end(fact.name);
			}
		},
		async ended(call, but = new Set()) {
			for (const { name, call: other } of facts.values()) if (other === call && !but.has(name)) await end(name);
		},
		over: async (name) => {
			if (stored.has(alertName(name))) await end(name);
		},
		seen(all) {
			stored = new Map(all.map((each) => [each.agencyId, each]));
			for (const { agencyId, until, reason, cause } of all) {
				const name = agencyId.slice(1);
				const known = facts.get(name);
				if (known) known.lastAt = Math.max(known.lastAt, until);
				else if (alertName(name) === agencyId)
					facts.set(name, {
						...unmet,
						name,
						call: reason as Call,
						agencyId: "",
						pause: { reason: cause as Pause["reason"], retryAt: new Date(until) },
						meeting: new Map(),
						isTheirs: true,
						lastAt: until,
						quietMs: othersQuietMs,
					});
			}
		},
		async tell() {
			newSince = undefined;
			for (const fact of [...facts.values()]) await tellOf(fact);
		},
		isUrgent: () => newSince !== undefined && performance.now() - newSince > longestCountMs,
	};
}
