/*
 * What the command outbox prints. Numbers and texts are shown only if that was asked for.
 */
import type { Explanation } from "../../outbox/explain.ts";
import type { OptOutStatus, ToldFact } from "../../outbox/export-contacts.ts";
import type { OutboxHealth, RestoreHealth } from "../../outbox/health.ts";
import type { ListedText } from "../../outbox/operator.ts";
import type { ReportRow } from "../../outbox/report.ts";
import { causeIn, shown, suspendedIn } from "../../outbox/sentences.ts";
import type { OutboxStatus } from "../../outbox/status.ts";
import type { OutboxStore } from "../../outbox/store.ts";
import type { OutboxText } from "../../outbox/text.ts";
import { type Check, counted } from "../doctor/check.ts";
import { wrapped } from "../look.ts";
import { printable } from "../text.ts";

/** How long a text may be due before a person should look. */
const lateMs = 10 * 60_000;
const mostCounted = 1_000;
const dayMs = 24 * 3_600_000;
/** By how much a machine's clock may differ from the database's before a person should look. */
const wrongClockMs = 60_000;

/** A number of texts, which was counted up to a limit. */
const texts = (count: number, what: string): string =>
	`${count >= mostCounted ? "at least " : ""}${counted(count, `${what}text`)}`;

const lengthOf = (ms: number): string => {
	const seconds = Math.max(0, Math.round(ms / 1_000));
	if (seconds < 120) return counted(seconds, "second");
	return seconds < 7_200 ? `${Math.round(seconds / 60)} minutes` : `${Math.round(seconds / 3_600)} hours`;
};

const ago = (ms: number): string => `${lengthOf(ms)} ago`;

/** What is fine, and what needs a person. */
export function checksOf(health: OutboxHealth): Check[] {
	const {
		at,
		clockAheadMs,
		workers,
		texts: states,
		due,
		oldestDueAt,
		pauses,
		suspensions,
		resumptions,
		restored,
		lost,
		timeline,
	} = health;
	const alive = workers.filter(({ isAlive }) => isAlive);
	const [last] = workers;
	const now = at.getTime();
	const versions = [...new Set(alive.map(({ version }) => version))].join(", ");
	const seen = last
		? `The last sign of one was ${ago(now - last.lastSeenAt.getTime())}.`
		: "Each one that ran has stopped in order, or none has run within a day.";
	const working: Check =
		alive.length > 0
			? {
					id: "workers",
					state: "ok",
					what: `${counted(alive.length, "worker")} at work, version ${versions}. ${seen}`,
				}
			: {
					id: "workers",
					state: due > 0 ? "fail" : "warn",
					what: `No worker is running. ${seen}`,
					remedy: "Start a process that calls outbox.work or outbox.runOnce.",
				};
	const isLate = oldestDueAt !== null && now - oldestDueAt.getTime() > lateMs;
	const since = oldestDueAt === null ? "" : `, the first since ${shown(oldestDueAt.getTime())}`;
	const remedy = "outbox list --state waiting and outbox explain <id> say what they wait for.";
	return [
		working,
		{
			id: "due",
			state: isLate ? "warn" : "ok",
			what: due === 0 ? "No text is due." : `${texts(due, "")} ${due === 1 ? "is" : "are"} due${since}.`,
			...(isLate && { remedy }),
		},
		{
			id: "unfinished",
			state: "ok",
			what: `${states.waiting} waiting, ${states.sending} sending, ${states.held} held for consent.`,
		},
		states.unknown === 0
			? { id: "unknown", state: "ok", what: "No text is unknown." }
			: {
					id: "unknown",
					state: "warn",
					what: `${texts(states.unknown, "unknown ")}: it is not known whether the contact got it.`,
					remedy: "outbox list shows them. Look at the conversation, then outbox resolve <id> --as sent or not_sent.",
				},
		...(clockAheadMs !== null && Math.abs(clockAheadMs) > wrongClockMs
			? [
					{
						id: "clock",
						state: "warn",
						what: `This machine's clock is ${lengthOf(Math.abs(clockAheadMs))} ${clockAheadMs > 0 ? "ahead of" : "behind"} the database's.`,
						remedy: "The outbox goes by the database's clock. Turn on NTP on the machine whose clock is wrong.",
					} as const,
				]
			: []),
		...(timeline === null
			? []
			: [
					{
						id: "timeline",
						state: "ok",
						what: `PostgreSQL is on timeline ${timeline}, which a failover counts up.`,
					} as const,
				]),
		...(lost ? [restoreCheck(lost, now)] : []),
		...pauses.map(
			({ agencyId, reason, since, until }): Check => ({
				id: "pause",
				state: "warn",
				what: `${agencyId === null ? "All texts are" : `Agency ${agencyId} is`} paused${since ? ` since ${shown(since.getTime())}` : ""}: ${agencyId === null && reason === "forbidden" ? keyForbidden : causeIn(reason)}.`,
				remedy: remedyOf(reason, agencyId, until),
			}),
		),
		...resumptions.map(
			({ agencyId, by, at: since }): Check => ({
				id: "resumed",
				state: "ok",
				what: `${agencyId === null ? "All sends were" : `The sends of ${agencyId} were`} resumed${by === null ? "" : ` by ${by}`} on ${shown(since.getTime())}.`,
			}),
		),
		...(restored && now - restored.at.getTime() < dayMs
			? [
					{
						id: "restored",
						state: "ok",
						what: `The database was restored from a backup of ${shown(restored.backupAt.getTime())}, as ${restored.by ?? "someone"} declared on ${shown(restored.at.getTime())}.`,
					} as const,
				]
			: []),
		...suspensions.map(
			(each): Check => ({
				id: "suspended",
				state: "warn",
				what: `${each.agencyId === null ? "" : `Agency ${each.agencyId}: `}${suspendedIn({ ...each, agencyId: each.agencyId ?? "", since: each.since.getTime() })}`,
				remedy: `outbox resume${each.agencyId === null ? "" : ` --agency ${each.agencyId}`} ends it.`,
			}),
		),
	];
}

/** Why all agencies are refused, which is never the fault of one agency. */
const keyForbidden = "the key lacks a scope, belongs to another integration, or its integration is gone";

/** The last loss of the database. After a day it is history. */
function restoreCheck({ from, to, by, isDone }: RestoreHealth, now: number): Check {
	const who =
		by === "worker" ? "A worker found that the database has lost" : "A person declared that the database has lost";
	const isNew = !isDone || now - to.getTime() < dayMs;
	const remedy = isDone
		? "What may have been sent then is looked for before it goes out. Repeat what was told by telephone or cancelled elsewhere then: see the runbook, After a failover."
		: "Nothing is sent until each text that may have been sent then is marked, which a worker does.";
	return {
		id: "lost",
		state: isNew ? "warn" : "ok",
		what: `${who} what came after ${shown(from.getTime())}, until ${shown(to.getTime())}.`,
		...(isNew && { remedy }),
	};
}

/** What to do about a pause. */
function remedyOf(reason: string, agencyId: string | null, until: Date | null): string {
	const doctor = agencyId === null ? "doctor" : `doctor --agency ${agencyId}`;
	if (/^(key|forbidden|consent_unavailable|language_\w+)$/.test(reason))
		return `It needs a person: ${doctor} finds out more. Once it is fixed, the outbox resumes on its own.`;
	if (reason === "gateway")
		return "It needs a person: tell the people who run the firewall or proxy in front of the service the time, the host and the address of the worker's machine. The doctor only reads, and may find nothing although sends are refused. Once a send passes, the outbox resumes on its own.";
	if (reason === "wrong_number")
		return "It needs a person: see outbox list --state waiting. If a number is right, call optIn; otherwise cancel the text.";
	if (reason === "hook_failed")
		return "It needs a person: see the log of the application. Once it is fixed, the outbox resumes on its own.";
	return `It ends by itself once that has passed${until ? `; the next try is at ${shown(until.getTime())}` : ""}.`;
}

interface Look {
	readonly isShown: boolean;
	readonly columns: number;
}

/** A text of a list. */
export function listedLines(listed: ListedText, { isShown, columns }: Look): string[] {
	const { id, agencyId, purpose, state, reason, since, sentAt, to, body, by, why, description } = listed;
	const sent = sentAt ? `, sent ${shown(sentAt.getTime())}` : "";
	const what = `${state}${reason ? ` (${reason})` : ""} since ${shown(since.getTime())}${sent}`;
	const line = wrapped(printable(`${id}  ${what}  ${agencyId}  ${purpose}`), columns);
	const head = [...line, ...indented(printable(description), columns)];
	if (!isShown) return head;
	const shownLines = [`${to ?? "(erased)"}: ${body ?? ""}`, ...givenBy(by, why)];
	return [...head, ...shownLines.flatMap((line) => indented(printable(line), columns))];
}

/** Who sends a text, and why. */
const givenBy = (by: string | null, why: string | null): string[] =>
	[by === null ? "" : `By ${by}`, why === null ? "" : `Why: ${why}`].filter((line) => line !== "");

/** The life of a text. */
export function explainedLines(
	{ status, steps }: Explanation,
	{ body, isShown, columns }: Look & { readonly body: string | undefined },
): string[] {
	const { id, agencyId, purpose, state, reason, since, nextAttemptAt, attempts, error, messageId, to } = status;
	const lines = [
		`${id}: ${state}${reason ? ` (${reason})` : ""} since ${shown(since.getTime())}. ${status.description}`,
		`Agency ${agencyId}, ${purpose}, ${counted(attempts, "attempt")}${messageId ? `, message ${messageId}` : ""}.`,
		...(nextAttemptAt ? [`Next attempt at ${shown(nextAttemptAt.getTime())}.`] : []),
		...(error ? [`Last error: ${error.tag}: ${error.message}`] : []),
		...(isShown ? [`${to ?? "(erased)"}: ${body}`, ...givenBy(status.by, status.why)] : []),
	];
	const told = steps.map(({ at, until, sentence }) => {
		const last = until ? `, until ${shownExactly(until)}` : "";
		return `${shownExactly(at)}${last}  ${sentence}`;
	});
	return [
		...lines.flatMap((line) => wrapped(printable(line), columns)),
		"",
		...told.flatMap((line) => {
			const [first = "", ...rest] = wrapped(printable(line), columns - 2);
			return [first, ...rest.map((each) => `  ${each}`)];
		}),
	];
}

/** Such as 2026-01-05 09:00:02 (UTC). */
const shownExactly = (at: Date): string => at.toISOString().slice(0, 19).replace("T", " ");

const indented = (text: string, columns: number): string[] => wrapped(text, columns - 2).map((line) => `  ${line}`);

/** Reads texts without the reasons that the application's hooks gave, which may name a person. It is for actions that only read. */
export function withoutReasons(store: OutboxStore): OutboxStore {
	const hidden = <Row extends OutboxText>(row: Row): Row => {
		const journal = row.progress.journal?.map((step) => ({ ...step, hookReason: undefined }));
		return { ...row, progress: { ...row.progress, hookReason: undefined, journal } };
	};
	return {
		...store,
		async find(id) {
			const row = await store.find(id);
			return row && hidden(row);
		},
		search: async (...args) => (await store.search(...args)).map(hidden),
		list: async (...args) => (await store.list(...args)).map(hidden),
	};
}

/** Whether a contact has opted out, for a person. */
export function optedOutSentences({ isOptedOut, isAgencyKnown, optOut, optIn }: OptOutStatus): string[] {
	const told = (what: string, found: ToldFact | null): string[] => {
		if (!found) return [];
		const by = found.by === null ? "" : `, by ${found.by}`;
		return [`${what} on ${shown(found.at.getTime())} (${found.source}${by}).`];
	};
	const unknown =
		"No worker has seen an agency of this id here, and nothing is stored of the contact there: is it the right id?";
	return [
		...(isAgencyKnown ? [] : [unknown]),
		isOptedOut
			? "Opted out: they get no notices and no marketing of this agency."
			: "Not opted out, as far as the outbox knows.",
		...told("The last opt-out was", optOut),
		...told("The last opt-in was", optIn),
	];
}

/** A status without the number and what the application gave beside it, unless they are to be shown. */
export function withoutContent(status: OutboxStatus, isShown: boolean): Partial<OutboxStatus> {
	if (isShown) return status;
	const { to: _, by: __, why: ___, meta: ____, ...rest } = status;
	return rest;
}

const reportColumns = [
	"texts",
	"sent",
	"delivered",
	"read",
	"declined",
	"notSent",
	"failed",
	"held",
	"waiting",
	"unknown",
] as const;

/** A table of what became of texts, with a column for each number. */
export function reportLines(rows: readonly ReportRow[]): string[] {
	if (rows.length === 0) return [];
	const head = ["day", "agency", "purpose", ...reportColumns.map((name) => (name === "notSent" ? "not sent" : name))];
	const cells = rows.map((row) => [
		...[row.day, row.agencyId, row.purpose].map(printable),
		...reportColumns.map((name) => String(row[name])),
	]);
	const widths = head.map((_, at) => Math.max(...[head, ...cells].map((line) => line[at]?.length ?? 0)));
	return [head, ...cells].map((line) =>
		line.map((cell, at) => (at < 3 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join("  "),
	);
}
