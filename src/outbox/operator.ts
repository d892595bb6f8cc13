/*
 * What a person asks and decides at three in the morning, in the application or at the command line. It needs no client.
 */
import { type Explanation, stepsOf } from "./explain.ts";
import { healthOf, type OutboxHealth } from "./health.ts";
import { fields, moment, object, refuse, text as textOf } from "./input.ts";
import { type OutboxStatus, statusOf } from "./status.ts";
import type { OutboxStore } from "./store.ts";
import { stillArriving } from "./supersede.ts";
import { changed, isUnfinished, type OutboxText } from "./text.ts";
import type { Situation } from "./waits-for.ts";

/** Options of `suspend`. */
export interface SuspendOptions {
	/** The agency's id. @default everybody */
	agencyId?: string | undefined;
	/** Why, for the people who ask: one line of at most 200 characters. Put no contact into it: it is shown, and `onPaused` gets it. */
	reason: string;
	/** Who suspends it: one line of at most 100 characters. */
	by?: string | undefined;
}

/** Options of `resume`. */
export interface ResumeOptions {
	/** The agency's id. @default everybody. Suspensions of single agencies stay then */
	agencyId?: string | undefined;
}

/** Options of `resolve`. */
export interface ResolveOptions {
	/** Who has looked, for the journal of the text: one line of at most 100 characters. */
	by?: string | undefined;
}

/** The operations, by the store alone. */
export interface Operator {
	suspend: (options: SuspendOptions) => Promise<void>;
	resume: (options: ResumeOptions) => Promise<boolean>;
	health: () => Promise<OutboxHealth>;
	status: (id: string) => Promise<OutboxStatus | undefined>;
	explain: (id: string) => Promise<Explanation | undefined>;
	resolve: (id: string, outcome: "sent" | "not_sent", options?: ResolveOptions) => Promise<boolean>;
	restored: (options: { backupAt: Date | string | number }) => Promise<number>;
}

/** What is due is so by the clock of a worker, and those of two machines may differ. */
const slackMs = 10 * 60_000;
const longestReason = 200;
const longestName = 100;

/** Text on one line, without characters that steer a terminal or turn the direction of what follows. */
function line(field: string, value: unknown, most: number, operation: string): string {
	const checked = textOf(field, value, operation).trim();
	if (checked === "") refuse(field, "must not be empty", operation);
	if (checked.length > most) refuse(field, `must have at most ${most} characters`, operation);
	if (/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u.test(checked))
		refuse(field, "must be one line without control characters", operation);
	return checked;
}

/**
 * @param agencyOf checks the id of an agency
 * @param onChange is called after a text has come to its end
 */
export function createOperator(
	store: OutboxStore,
	now: () => number,
	{
		agencyOf = (id) => textOf("agencyId", id, "outbox"),
		onChange = async () => {},
	}: { agencyOf?: (id: string) => string; onChange?: (text: OutboxText) => Promise<void> } = {},
): Operator {
	/** What an unfinished text may wait for. */
	async function situationOf(row: OutboxText): Promise<Situation> {
		const [[head], suspensions, pauses, workers] = await Promise.all([
			row.state === "waiting" ? store.open(row, 1, now()) : [],
			store.suspended(),
			store.paused(),
			store.workers(),
		]);
		return { head, suspensions, pauses, workers, now: now() };
	}

	async function statusFrom(row: OutboxText): Promise<OutboxStatus> {
		const situation = isUnfinished(row.state) ? await situationOf(row) : undefined;
		return statusOf(row, situation, await stillArriving(store, row));
	}

	return {
		async suspend(given) {
			object("options", given, "suspend");
			fields("options", given, "suspend", "agencyId", "reason", "by");
			const { agencyId, reason, by } = given;
			await store.suspend({
				agencyId: agencyId === undefined ? "" : agencyOf(agencyId),
				reason: line("reason", reason, longestReason, "suspend"),
				by: by === undefined ? null : line("by", by, longestName, "suspend"),
				since: now(),
			});
		},
		async resume(given) {
			fields("options", given, "resume", "agencyId");
			const { agencyId } = given;
			return store.endSuspension(agencyId === undefined ? "" : agencyOf(agencyId), now() - slackMs);
		},
		health: () => healthOf(store, now()),
		async status(id) {
			const row = await store.find(textOf("id", id, "status"));
			return row && statusFrom(row);
		},
		async explain(id) {
			const row = await store.find(textOf("id", id, "explain"));
			return row && { status: await statusFrom(row), steps: stepsOf(row) };
		},
		async resolve(id, outcome, given = {}) {
			const known = textOf("id", id, "resolve");
			if (outcome !== "sent" && outcome !== "not_sent") refuse("outcome", 'must be "sent" or "not_sent"', "resolve");
			fields("options", given, "resolve", "by");
			const by = given.by === undefined ? undefined : line("by", given.by, longestName, "resolve");
			for (;;) {
				const row = await store.find(known);
				if (row?.state !== "unknown") return false;
				const state = outcome === "sent" ? "sent" : "cancelled";
				const next = changed(row, { state, reason: "resolved", nextAt: null }, now(), by);
				// Another process may have resolved it at that moment.
				if (!(await store.save(next))) continue;
				await onChange(next);
				return true;
			}
		},
		async restored(given) {
			object("options", given, "restored");
			fields("options", given, "restored", "backupAt");
			const backupAt = moment("backupAt", given.backupAt, "restored");
			if (backupAt > now()) refuse("backupAt", "must not be in the future", "restored");
			return store.restored({ from: backupAt, to: now() });
		},
	};
}
