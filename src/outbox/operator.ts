/*
 * What a person asks and decides at three in the morning, in the application or at the command line. It needs no client.
 */

import {
	checkedLater,
	fieldsOf,
	text as notBlank,
	oneOf,
	optional,
	overwrite,
	refine,
	type Schema,
} from "../shared/validation.ts";
import { type Explanation, stepsOf } from "./explain.ts";
import { healthOf, type OutboxHealth } from "./health.ts";
import { check, moment, refuse, text as textOf, time } from "./input.ts";
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
const line = (most: number): Schema<string> =>
	notBlank.check(
		overwrite((given) => given.trim()),
		refine((value) => value.length <= most, `must have at most ${most} characters`),
		refine(
			(value) => !/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u.test(value),
			"must be one line without control characters",
		),
	);

const optionsOf = {
	// The client knows agency ids.
	suspend: fieldsOf<SuspendOptions>({
		agencyId: checkedLater(),
		reason: line(longestReason),
		by: optional(line(longestName)),
	}),
	resume: fieldsOf<ResumeOptions>({ agencyId: checkedLater() }),
	resolve: fieldsOf<ResolveOptions>({ by: optional(line(longestName)) }),
	restored: fieldsOf<{ backupAt: Date | string | number }>({ backupAt: time }),
};
const outcomes = oneOf("sent", "not_sent");

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
			const { agencyId, reason, by = null } = check(optionsOf.suspend, "options", given, "suspend");
			const who = agencyId === undefined ? "" : agencyOf(agencyId);
			await store.suspend({ agencyId: who, reason, by, since: now() });
		},
		async resume(given) {
			const { agencyId } = check(optionsOf.resume, "options", given, "resume");
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
			check(outcomes, "outcome", outcome, "resolve");
			const { by } = check(optionsOf.resolve, "options", given, "resolve");
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
			const options = check(optionsOf.restored, "options", given, "restored");
			const backupAt = moment("backupAt", options.backupAt, "restored");
			if (backupAt > now()) refuse("backupAt", "must not be in the future", "restored");
			return store.restored({ from: backupAt, to: now() });
		},
	};
}
