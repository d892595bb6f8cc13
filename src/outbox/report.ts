/*
 * Counts what has become of texts, by day, agency and purpose.
 */
import { checkedLater, fieldsOf, optional, rule } from "../shared/validation.ts";
import { check, isTime, moment, refuse } from "./input.ts";
import { dayOf, startOfDay } from "./policy/days.ts";
import type { Purpose } from "./policy/purpose.ts";
import { isTimeZone } from "./policy/quiet-hours.ts";
import type { OutboxStore, StoredCount } from "./store.ts";

/** Options of `report`. */
export interface ReportOptions {
	/** The agency's id. @default all agencies */
	agencyId?: string | undefined;
	/** The first moment that counts: a day such as `2026-03-01`, which begins in the time zone, or a time with its zone. */
	since: Date | string | number;
	/** The first moment that counts no more, in the same forms. At most 366 days after `since`. */
	until: Date | string | number;
	/** The time zone of the days, such as `Europe/Brussels`. @default "UTC" */
	timeZone?: string | undefined;
}

/** How many texts of a purpose an agency had on a day, and what has become of them by now. Days without a text are left out. */
export interface ReportRow {
	/** The day, such as `2026-03-01`. A text counts on the day on which it was enqueued, or on the day of its `notBefore` if that is later. */
	day: string;
	/** The agency's id. */
	agencyId: string;
	/** Its purpose. */
	purpose: Purpose;
	/** All of them: `waiting`, `held`, `sent`, `failed`, `declined`, `notSent` and `unknown` add up to it. */
	texts: number;
	/** Not sent yet, or at this moment. */
	waiting: number;
	/** The service holds it until the contact consents. */
	held: number;
	/** Sent, also if it was delivered or read since. */
	sent: number;
	/** Of those, the ones that are on the phone. */
	delivered: number;
	/** Of those, the ones that were read. */
	read: number;
	/** Sent, and the provider could not deliver it. */
	failed: number;
	/** The contact declined this text when they were asked for consent. */
	declined: number;
	/** It ended without being sent: cancelled, expired, refused, replaced, or dropped for another reason than a decline. */
	notSent: number;
	/** The outbox cannot tell whether it was sent. */
	unknown: number;
}

const day = /^\d{4}-\d\d-\d\d$/;
const isDay = (value: unknown): value is string =>
	typeof value === "string" && day.test(value) && new Date(`${value}T00:00:00Z`).toJSON()?.startsWith(value) === true;
const dayOrTime = rule<Date | string | number>(
	(value) => isDay(value) || isTime(value),
	"must be a day such as 2026-03-01, or a time with a zone, such as 2026-03-01T09:00:00Z",
);
const schema = fieldsOf<ReportOptions>({
	agencyId: checkedLater(), // the client knows agency ids
	since: dayOrTime,
	until: dayOrTime,
	timeZone: optional(rule<string>(isTimeZone, "must be a time zone such as Europe/Brussels")),
});

const mostDays = 366;
/** Days of one statement, which compares each text with each of them. */
const daysAtOnce = 31;

export async function reportOf(
	store: OutboxStore,
	agencyOf: (id: string) => string,
	given: ReportOptions,
): Promise<ReportRow[]> {
	const { agencyId, since, until, timeZone = "UTC" } = check(schema, "options", given, "report");
	const at = (field: "since" | "until", value: Date | string | number): number =>
		isDay(value) ? startOfDay(value, timeZone) : moment(field, value, "report");
	const [from, to] = [at("since", since), at("until", until)];
	if (to <= from) refuse("until", "must be later than since", "report");
	const whose = agencyId === undefined ? undefined : agencyOf(agencyId);
	const bounds = [from];
	for (let next = startAfter(from, timeZone); next < to; next = startAfter(next, timeZone)) {
		bounds.push(next);
		if (bounds.length > mostDays) refuse("until", `must be at most ${mostDays} days after since`, "report");
	}
	const rows = new Map<string, ReportRow>();
	for (let first = 0; first < bounds.length; first += daysAtOnce) {
		const some = [...bounds.slice(first, first + daysAtOnce), bounds[first + daysAtOnce] ?? to];
		for await (const id of agenciesOf(store, whose))
			for (const count of await store.countDays(id, some))
				add(rows, dayOf(some[count.day] ?? from, timeZone), id, count);
	}
	return [...rows].sort(([one], [other]) => one.localeCompare(other)).map(([, row]) => row);
}

/** The agencies one after the other, by an index. */
async function* agenciesOf(store: OutboxStore, agencyId: string | undefined): AsyncGenerator<string, void, undefined> {
	if (agencyId !== undefined) return void (yield agencyId);
	for (let id = await store.nextAgency(""); id !== undefined; id = await store.nextAgency(id)) yield id;
}

/** When the next day begins. */
function startAfter(at: number, timeZone: string): number {
	const [year = 0, month = 0, date = 0] = dayOf(at, timeZone).split("-").map(Number);
	// A zone that crosses the date line may leave a day out.
	for (let ahead = 1; ; ahead++) {
		const next = new Date(Date.UTC(year, month - 1, date + ahead)).toISOString().slice(0, 10);
		const start = startOfDay(next, timeZone);
		if (start > at) return start;
	}
}

function add(
	rows: Map<string, ReportRow>,
	day: string,
	agencyId: string,
	{ purpose, state, reason, count }: StoredCount,
): void {
	const name = JSON.stringify([day, agencyId, purpose]);
	const none = { texts: 0, waiting: 0, held: 0, sent: 0, delivered: 0, read: 0 };
	const row = rows.get(name) ?? { day, agencyId, purpose, ...none, failed: 0, declined: 0, notSent: 0, unknown: 0 };
	rows.set(name, row);
	row.texts += count;
	if (state === "waiting" || state === "sending") row.waiting += count;
	else if (state === "held" || state === "failed" || state === "unknown") row[state] += count;
	else if (state === "sent" || state === "delivered" || state === "read") {
		row.sent += count;
		if (state !== "sent") row.delivered += count;
		if (state === "read") row.read += count;
	} else if (state === "dropped" && reason === "declined") row.declined += count;
	else row.notSent += count;
}
