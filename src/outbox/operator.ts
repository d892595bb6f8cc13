/*
 * What a person asks and decides at three in the morning, in the application or at the command line. It needs no client.
 */

import { checkedLater, fieldsOf, oneOf, optional, rule, whole } from "../shared/validation.ts";
import { type ChangeRow, createChange } from "./change.ts";
import type { ContactRecord } from "./contact-records.ts";
import { ended } from "./decide.ts";
import { type Explanation, stepsOf } from "./explain.ts";
import {
	type ExportOptions,
	exported,
	type OptedOutOptions,
	type OptOutStatus,
	optedOutOf,
} from "./export-contacts.ts";
import { numberIn } from "./given-text.ts";
import { healthOf, type OutboxHealth } from "./health.ts";
import { type ImportedContacts, type ImportOptions, importContacts } from "./import-contacts.ts";
import { check, line, longestName, longestReason, moment, refuse, text as textOf, time } from "./input.ts";
import type { CheckedOptions } from "./options.ts";
import type { OwnClock } from "./own-clock.ts";
import { storedView } from "./policy/contact-view.ts";
import { minutesFrom, type ZonedHours } from "./policy/quiet-hours.ts";
import type { Whose } from "./recipient.ts";
import { type ReportOptions, type ReportRow, reportOf } from "./report.ts";
import { lastRequestAt } from "./requests.ts";
import { type OutboxStatus, statusOf } from "./status.ts";
import type { OutboxStore } from "./store.ts";
import { inChunks } from "./stores/connection.ts";
import { heirsIn, stillArriving } from "./supersede.ts";
import { isUnfinished, type OutboxState, type OutboxText, outboxStates } from "./text.ts";
import { type Snapshot, unknownOptions, waitsForOf } from "./waits-for.ts";

/** Options of `suspend`. */
export interface SuspendOptions {
	/** The agency's id. @default all agencies */
	agencyId?: string | undefined;
	/** Why, for the people who ask: one line of at most 200 characters. Put no contact into it: it is shown, and `onPaused` gets it. */
	reason: string;
	/** Who suspends it: one line of at most 100 characters. */
	by?: string | undefined;
}

/** Options of `resume`. */
export interface ResumeOptions {
	/** The agency's id. @default all agencies. Suspensions of single agencies stay then */
	agencyId?: string | undefined;
	/** Who resumes it, for `health`: one line of at most 100 characters. */
	by?: string | undefined;
}

/** Options of `restored`. */
export interface RestoredOptions {
	/** When the backup was made. A string must include a UTC offset or `Z`. */
	backupAt: Date | string | number;
	/** Who declares it, for `health` and `explain`: one line of at most 100 characters. */
	by?: string | undefined;
}

/** Options of `resolve`. */
export interface ResolveOptions {
	/** Who has looked, for the journal of the text: one line of at most 100 characters. */
	by?: string | undefined;
}

/** Which texts `list` returns. What is left out is not asked for. */
export interface ListOptions {
	/** Contact phone number, as written. */
	to?: string | undefined;
	/** The agency's id. @default all agencies */
	agencyId?: string | undefined;
	/** The state of the texts. @default all states */
	state?: OutboxState | undefined;
	/** Enqueued at this time or later. A string must include a UTC offset or `Z`. */
	since?: Date | string | number | undefined;
	/** The id of the last text of the page before. */
	after?: string | undefined;
	/** At most this many, from 1 to 1000. @default 100 */
	limit?: number | undefined;
}

/** A text of a list. */
export interface ListedText extends OutboxStatus {
	/** The text; null once `erase` has erased it. */
	body: string | null;
}

/** The operations, by the store alone. */
export interface Operator {
	suspend: (options: SuspendOptions) => Promise<void>;
	resume: (options: ResumeOptions) => Promise<boolean>;
	health: () => Promise<OutboxHealth>;
	status: (id: string) => Promise<OutboxStatus | undefined>;
	explain: (id: string) => Promise<Explanation | undefined>;
	list: (options?: ListOptions) => Promise<ListedText[]>;
	/** The status of each of these rows. */
	statuses: (rows: readonly OutboxText[]) => Promise<OutboxStatus[]>;
	resolve: (id: string, outcome: "sent" | "not_sent", options?: ResolveOptions) => Promise<boolean>;
	restored: (options: RestoredOptions) => Promise<number>;
	optedOut: (options: OptedOutOptions) => Promise<OptOutStatus>;
	exportContacts: (options?: ExportOptions) => AsyncIterable<ContactRecord>;
	importContacts: (
		records: Iterable<ContactRecord> | AsyncIterable<ContactRecord>,
		options?: ImportOptions,
	) => Promise<ImportedContacts>;
	report: (options: ReportOptions) => Promise<ReportRow[]>;
}

/** What is due is so by the clock of a worker, and those of two machines may differ. */
const slackMs = 10 * 60_000;
/** The texts of a contact that a worker looks at. */
const mostAsked = 20;
/** Texts whose status is looked up at the same time. */
const atOnce = 10;

const optionsOf = {
	// The client knows agency ids.
	suspend: fieldsOf<SuspendOptions>({
		agencyId: checkedLater(),
		reason: line(longestReason),
		by: optional(line(longestName)),
	}),
	resume: fieldsOf<ResumeOptions>({ agencyId: checkedLater(), by: optional(line(longestName)) }),
	list: fieldsOf<ListOptions>({
		to: checkedLater(), // in the country of the outbox
		agencyId: checkedLater(),
		state: optional(oneOf(...outboxStates)),
		since: optional(time),
		after: checkedLater(), // by its text
		limit: optional(whole(1, 1_000)),
	}),
	resolve: fieldsOf<ResolveOptions>({ by: optional(line(longestName)) }),
	restored: fieldsOf<RestoredOptions>({ backupAt: time, by: optional(line(longestName)) }),
	optedOut: fieldsOf<OptedOutOptions>({ to: checkedLater(), agencyId: checkedLater() }),
	exportContacts: fieldsOf<ExportOptions>({ agencyId: checkedLater() }),
	importContacts: fieldsOf<ImportOptions>({ into: checkedLater() }),
};
const records = rule<Iterable<unknown> | AsyncIterable<unknown>>(
	(value) => typeof value === "object" && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value),
	"must be the records of exportContacts, as something that for await takes",
);
const outcomes = oneOf("sent", "not_sent");

/** What an outbox has, and the command line has not. */
interface Own {
	/** Checks the id of an agency. */
	agencyOf?: (id: string) => string;
	change?: ChangeRow;
	options?: CheckedOptions;
	/** Makes the texts of a number due, and wakes the workers. */
	wake?: (whose: Whose) => Promise<void>;
}

/** At the command line nobody is told of it. */
const changeOf = (store: OutboxStore, { now }: OwnClock): ChangeRow => createChange(store, now, async () => {});

export function createOperator(
	store: OutboxStore,
	clock: OwnClock,
	{ agencyOf = (id) => textOf("agencyId", id, "outbox"), change = changeOf(store, clock), options, wake }: Own = {},
): Operator {
	const { now, measure } = clock;
	// The number of a contact can have become invalid since.
	const numberOf = (to: string, operation: string): string =>
		numberIn(to, { defaultCountry: options?.defaultCountry, allowUnlistedNumber: true }, operation);

	async function snapshot(): Promise<Snapshot> {
		await measure();
		const [suspensions, pauses, workers] = await Promise.all([store.suspended(), store.paused(), store.workers()]);
		return { suspensions, pauses, workers, options, hours: zonedHours(), now: now() };
	}

	async function statusFrom(row: OutboxText, all: Snapshot): Promise<OutboxStatus> {
		const arriving = await stillArriving(store, row);
		if (!isUnfinished(row.state)) return statusOf(store, row, undefined, arriving);
		const [queue, facts] = await Promise.all([store.open(row, mostAsked, all.now), store.facts(row)]);
		const heirs = await heirsIn(store, queue);
		return statusOf(store, row, waitsForOf(row, { ...all, queue, heirs, contact: storedView(facts) }), arriving);
	}

	const { quietHours } = options ?? {};
	/** The quiet hours, if no hook has to be asked for the time zone. */
	function zonedHours(): ZonedHours | null {
		if (!quietHours || typeof quietHours.timeZone !== "string") return null;
		const [from = 0, to = 0] = [minutesFrom(quietHours.from), minutesFrom(quietHours.to)];
		return { from, to, timeZone: quietHours.timeZone };
	}

	async function statuses(rows: readonly OutboxText[]): Promise<OutboxStatus[]> {
		const all = await snapshot();
		const found: OutboxStatus[] = [];
		for (const some of inChunks(rows, atOnce))
			found.push(...(await Promise.all(some.map((row) => statusFrom(row, all)))));
		return found;
	}

	return {
		async suspend(given) {
			const { agencyId, reason, by = null } = check(optionsOf.suspend, "options", given, "suspend");
			const who = agencyId === undefined ? "" : agencyOf(agencyId);
			await measure();
			await store.suspend({ agencyId: who, reason, by, since: now() });
		},
		async resume(given) {
			const { agencyId, by = null } = check(optionsOf.resume, "options", given, "resume");
			const who = agencyId === undefined ? "" : agencyOf(agencyId);
			await measure();
			return store.endSuspension(who, now() - slackMs, { at: now(), by });
		},
		async health() {
			await measure();
			return healthOf(store, now(), clock.aheadMs());
		},
		async status(id) {
			const row = await store.find(textOf("id", id, "status"));
			return row && statusFrom(row, await snapshot());
		},
		async explain(id) {
			const row = await store.find(textOf("id", id, "explain"));
			if (!row) return undefined;
			const { restored } = row.progress;
			const declared = restored && (await store.declared(now())).restored;
			const by = declared?.to === restored?.to ? declared?.by : undefined;
			return { status: await statusFrom(row, await snapshot()), steps: stepsOf(row, by) };
		},
		statuses,
		async list(given = {}) {
			const { to, agencyId, state, since, after, limit = 100 } = check(optionsOf.list, "options", given, "list");
			const filter = {
				to: to === undefined ? undefined : numberOf(to, "list"),
				agencyId: agencyId === undefined ? undefined : agencyOf(agencyId),
				state,
				since: since === undefined ? undefined : moment("since", since, "list"),
			};
			const last = after === undefined ? undefined : await store.find(textOf("after", after, "list"));
			if (after !== undefined && !last) refuse("after", "must be the id of the last text of a page", "list");
			const rows = await store.search({ ...filter, before: last?.seq }, limit);
			return (await statuses(rows)).map((status, at) => ({ ...status, body: rows[at]?.body || null }));
		},
		async resolve(id, outcome, given = {}) {
			const known = textOf("id", id, "resolve");
			check(outcomes, "outcome", outcome, "resolve");
			const { by } = check(optionsOf.resolve, "options", given, "resolve");
			await measure();
			const state = outcome === "sent" ? "sent" : "cancelled";
			const resolved = (row: OutboxText) =>
				row.state === "unknown" ? { ...ended(state, "resolved"), sentAt: lastRequestAt(row) ?? row.since } : undefined;
			return (await change(known, resolved, by)).isChanged;
		},
		async restored(given) {
			const options = check(optionsOf.restored, "options", given, "restored");
			const backupAt = moment("backupAt", options.backupAt, "restored");
			await measure();
			if (backupAt > now()) refuse("backupAt", "must not be in the future", "restored");
			return (await store.restored({ from: backupAt, to: now() }, "restored", options.by)).count;
		},
		async optedOut(given) {
			const { to, agencyId } = check(optionsOf.optedOut, "options", given, "optedOut");
			const [number, agency] = [numberOf(to, "optedOut"), agencyOf(agencyId)];
			await store.checkKeys("optedOut");
			return optedOutOf(store, number, agency);
		},
		exportContacts(given = {}) {
			const { agencyId } = check(optionsOf.exportContacts, "options", given, "exportContacts");
			const who = agencyId === undefined ? undefined : agencyOf(agencyId);
			return exported({ store, clock, agencyId: who });
		},
		async importContacts(given, rest = {}) {
			const found = check(records, "records", given, "importContacts");
			const { into } = check(optionsOf.importContacts, "options", rest, "importContacts");
			const agency = into === undefined ? undefined : agencyOf(into);
			await measure();
			const waking = wake ?? ((whose) => store.wake(whose, now()));
			const context = { store, now, change, agencyOf, rules: options ?? unknownOptions, wake: waking };
			return importContacts(context, found, agency);
		},
		report: (given) => reportOf(store, agencyOf, given),
	};
}
