import { userInfo } from "node:os";
import { resolve } from "node:path";
import { version } from "../../package.json";
import { createOperator, type ListedText, type Operator } from "../outbox/operator.ts";
import { createOwnClock } from "../outbox/own-clock.ts";
import type { ListedState, OutboxStore } from "../outbox/store.ts";
import { type OutboxState, outboxStates } from "../outbox/text.ts";
import { Secret } from "../shared/secret.ts";
import { isWanted } from "./ask.ts";
import { readVariables } from "./connection.ts";
import { counted } from "./doctor/check.ts";
import { createReport, statusOf as statusOfChecks } from "./doctor/report.ts";
import type { Host } from "./host.ts";
import { lookOf, mostColumns, wrapped } from "./look.ts";
import {
	commonOptions,
	type End,
	helpOfActions,
	isHelp,
	isVersion,
	type Options,
	readOptions,
	refuseOption,
	refuseUnknownAction,
	type Usage,
	UsageError,
} from "./options.ts";
import { openStore } from "./outbox/database.ts";
import { inLines, readRecords, writeRecords } from "./outbox/records.ts";
import {
	checksOf,
	explainedLines,
	listedLines,
	optedOutSentences,
	reportLines,
	withoutContent,
	withoutReasons,
} from "./outbox/show.ts";
import { jsonLine, printable } from "./text.ts";

const common = {
	database: {
		type: "string",
		value: "<address>",
		help: "The database: postgres://…, mysql://…, mariadb://…, libsql://…, or the path of a SQLite file. Default DATABASE_URL. Prefer that for a URL with a password, because a list of processes shows the options of a command.",
	},
	prefix: {
		type: "string",
		value: "<name>",
		help: "The prefix of the table names. Default outbox, or else that of the only outbox in the database.",
	},
	env: { type: "string", value: "<file>", isFile: true, help: "Reads DATABASE_URL from a file." },
	json: { type: "boolean", default: false, help: "Prints one line of JSON." },
} as const satisfies Options;

const agency = { type: "string", value: "<id>", help: "Only this agency. Default all agencies." } as const;
const content = {
	type: "boolean",
	default: false,
	help: "Shows phone numbers, texts, who sends them and why, the reasons of hooks, and with --json also meta.",
} as const;
const changing = {
	by: {
		type: "string",
		value: "<name>",
		help: "Who does it, for health and explain. Default the user of this machine.",
	},
	yes: { type: "boolean", default: false, help: "Does it without a question." },
} as const satisfies Options;

const listed: readonly ListedState[] = ["waiting", "sending", "held", "unknown"];
const isListed = (state: string): state is ListedState => listed.some((each) => each === state);
const stateOf = (name: string): OutboxState | undefined => outboxStates.find((each) => each === name);

const health = { ...common } as const satisfies Options;
const list = {
	state: {
		type: "string",
		value: "<state>",
		choices: outboxStates,
		help: `${outboxStates.join(", ")}. Default unknown, and all with --to or --since.`,
	},
	to: {
		type: "string",
		value: "<number>",
		help: "Only texts to this number, such as +447700900101, the newest first.",
	},
	since: {
		type: "string",
		value: "<time>",
		help: "Only texts that were enqueued since this time, such as 2026-01-05T03:00:00Z, the newest first.",
	},
	agency: { ...agency, help: "Only texts of this agency. Default all." },
	limit: { type: "string", value: "<number>", default: "50", help: "At most this many, from 1 to 1000. Default 50." },
	"show-content": content,
	...common,
} as const satisfies Options;
const report = {
	since: {
		type: "string",
		value: "<day>",
		help: "The first day, such as 2026-03-01, or a time with a UTC offset. Required.",
	},
	until: { type: "string", value: "<day>", help: "The day after the last one, or a time with a UTC offset. Required." },
	agency: { ...agency, help: "Only texts of this agency. Default all." },
	"time-zone": {
		type: "string",
		value: "<zone>",
		help: "The time zone of the days, such as Europe/Brussels. Default UTC.",
	},
	...common,
} as const satisfies Options;
const explain = { "show-content": content, ...common } as const satisfies Options;
const suspend = {
	agency,
	reason: { type: "string", value: "<text>", help: "Why, in one line, for the people who ask. Required." },
	...changing,
	...common,
} as const satisfies Options;
const resume = { agency, ...changing, ...common } as const satisfies Options;
const resolving = {
	as: {
		type: "string",
		value: "<outcome>",
		choices: ["sent", "not_sent"],
		help: "sent: the contact has it. not_sent: it ends as cancelled, and is never sent again under its id. Required.",
	},
	...changing,
	...common,
} as const satisfies Options;

const restored = {
	"backup-at": {
		type: "string",
		value: "<time>",
		help: "When the backup was made, such as 2026-01-05T03:00:00Z. Required.",
	},
	...changing,
	...common,
} as const satisfies Options;

const optedOut = { agency: { ...agency, help: "The agency. Required." }, ...common } as const satisfies Options;
const exporting = {
	agency: { ...agency, help: "Only what counts for this agency. Default all." },
	out: {
		type: "string",
		value: "<file>",
		isFile: true,
		default: "contacts.ndjson",
		help: "The file to write, which must not exist. Default contacts.ndjson.",
	},
	...common,
} as const satisfies Options;
const importing = {
	into: {
		type: "string",
		value: "<id>",
		help: "The agency that the one of the file becomes part of. Default the agencies of the file.",
	},
	yes: changing.yes,
	...common,
} as const satisfies Options;

const about =
	"Shows and changes the outbox of your project, over the database driver that is installed in this folder.";
const notes = `The address of the database is best kept in DATABASE_URL, in the environment or in the file of
--env, because a list of processes shows the options of a command. No key is needed: no action sends anything itself.

Exit status: 0 done, or all is well; 1 something needs attention, or nothing was changed; 2 the command cannot run, or
texts cannot be sent.`;

const endOf = (example: string): End => ({ example, page: "command-line" });

/** What an action works with. */
interface Desk {
	readonly operator: Operator;
	readonly store: OutboxStore;
	readonly host: Host;
	/** Prints a paragraph in the width of the terminal; nothing with --json. */
	readonly say: (text: string) => void;
	/** Prints lines as they are; nothing with --json. */
	readonly print: (lines: readonly string[]) => void;
	/** Prints a line of JSON, if it was asked for. */
	readonly tell: (value: unknown) => void;
	/** Runs something of the database, whose errors must not show its address. */
	readonly safely: <Result>(act: Promise<Result>) => Promise<Result>;
}

interface Action {
	readonly summary: string;
	readonly options: Options;
	/** The word that follows it. */
	readonly argument?: NonNullable<Usage["file"]>;
	run(args: string[], host: Host): Promise<number>;
}

/** The most texts that are listed or counted at once. */
const mostListed = 1_000;

const noText = "There is no text with this id. Are the database and --prefix the right ones?";
const working = "A worker is running, or was within the last minute. Stop all of them first. Nothing was changed.";

const text = { value: "<id>", help: "The id of the text, as it was given to enqueue.", noun: "id" } as const;
const contact = { value: "<number>", help: "The contact's number, such as +447700900101.", noun: "number" } as const;
const exported = { value: "<file>", help: "The file that export wrote.", noun: "file" } as const;

const actions: ReadonlyMap<string, Action> = new Map<string, Action>([
	[
		"health",
		{
			summary: "Shows workers, what is due, pauses, suspensions and unknown texts, and what to do about each.",
			options: health,
			async run(args, host) {
				const values = readOptions(
					{ command: "outbox health", about, options: health, notes, end: endOf("outbox health") },
					args,
					host,
				);
				return values ? withDesk(values, host, showHealth) : 0;
			},
		},
	],
	[
		"list",
		{
			summary: "Lists unknown texts, texts in another state, or texts to a number.",
			options: list,
			async run(args, host) {
				const values = readOptions(
					{ command: "outbox list", about, options: list, notes, end: endOf("outbox list --state waiting") },
					args,
					host,
				);
				if (!values) return 0;
				const limit = /^\d{1,4}$/.test(values.limit) ? Number(values.limit) : 0;
				if (limit < 1 || limit > mostListed) throw new UsageError("--limit must be a number from 1 to 1000.");
				const { to, since } = values;
				const isNewest = to !== undefined || since !== undefined;
				const state = stateOf(values.state ?? (isNewest ? "" : "unknown"));
				const isShown = values["show-content"];
				return withDesk(values, host, async ({ operator, store, say, print, tell, safely }) => {
					// Unfinished texts are listed in the order in which they are due.
					const due = async (state: ListedState): Promise<ListedText[]> => {
						const rows = await store.list(state, limit, values.agency);
						const statuses = await operator.statuses(rows);
						return statuses.map((status, at) => ({ ...status, body: rows[at]?.body || null }));
					};
					const found = await safely(
						!isNewest && state !== undefined && isListed(state)
							? due(state)
							: operator.list({ to, agencyId: values.agency, state, since, limit }),
					);
					print(found.flatMap((each) => listedLines(each, { isShown, columns: columnsOf(host) })));
					const more = found.length === limit ? ", and perhaps more: see --limit" : "";
					say(`${counted(found.length, `${state ? `${state} ` : ""}text`)}${more}.`);
					tell({
						texts: found.map(({ body, ...status }) => ({
							...withoutContent(status, isShown),
							...(isShown && { body }),
						})),
					});
					return 0;
				});
			},
		},
	],
	[
		"explain",
		{
			summary: "Shows what a text waits for, and what happened to it step by step.",
			options: explain,
			argument: text,
			async run(args, host) {
				const values = readOptions(
					{
						command: "outbox explain",
						about,
						options: explain,
						file: text,
						notes,
						end: endOf("outbox explain visit-17"),
					},
					args,
					host,
				);
				if (!values) return 0;
				const id = needed(values.file, "outbox explain needs the id of a text");
				return withDesk(values, host, (desk) => showText(desk, id, values["show-content"]));
			},
		},
	],
	[
		"report",
		{
			summary: "Counts what became of texts, by day, agency and purpose.",
			options: report,
			async run(args, host) {
				const values = readOptions(
					{
						command: "outbox report",
						about,
						options: report,
						notes,
						end: endOf("outbox report --since 2026-03-01 --until 2026-04-01"),
					},
					args,
					host,
				);
				if (!values) return 0;
				const since = needed(values.since, "outbox report needs --since");
				const until = needed(values.until, "outbox report needs --until");
				return withDesk(values, host, async ({ operator, say, print, tell, safely }) => {
					const options = { since, until, agencyId: values.agency, timeZone: values["time-zone"] };
					const rows = await safely(operator.report(options));
					print(reportLines(rows));
					if (rows.length === 0) say("No texts.");
					tell({ rows });
					return 0;
				});
			},
		},
	],
	[
		"suspend",
		{
			summary: "Stops the sends of an agency, or all of them, until resume.",
			options: suspend,
			async run(args, host) {
				const values = readOptions(
					{
						command: "outbox suspend",
						about,
						options: suspend,
						notes,
						end: endOf("outbox suspend --reason Maintenance"),
					},
					args,
					host,
				);
				if (!values) return 0;
				const reason = needed(values.reason, "outbox suspend needs --reason");
				const { agency: agencyId } = values;
				const by = values.by ?? userName();
				return withDesk(values, host, async ({ operator, store, say, tell, safely }) => {
					const what = agencyId === undefined ? "all sends" : `the sends of ${printable(agencyId)}`;
					const waiting = await safely(store.list("waiting", mostListed, agencyId));
					const count = `${waiting.length === mostListed ? "at least " : ""}${counted(waiting.length, "text")}`;
					const whose = agencyId === undefined ? "" : " of that agency";
					const doubt = waiting.length === 0 && agencyId !== undefined ? " Is it the right id?" : "";
					say(
						`This stops ${what} until resume. ${count}${whose} ${waiting.length === 1 ? "waits" : "wait"}.${doubt} Texts expire as always.`,
					);
					if (!(await isAllowed(values, host, "Suspend?", "suspends"))) return undone(say);
					await safely(operator.suspend({ agencyId, reason, by }));
					say(`Suspended ${what}, by ${by}.`);
					tell({ suspended: true, agencyId: agencyId ?? null, by });
					return 0;
				});
			},
		},
	],
	[
		"resume",
		{
			summary: "Ends a suspension. Pauses end by themselves.",
			options: resume,
			async run(args, host) {
				const values = readOptions(
					{ command: "outbox resume", about, options: resume, notes, end: endOf("outbox resume") },
					args,
					host,
				);
				if (!values) return 0;
				const { agency: agencyId } = values;
				const by = values.by ?? userName();
				return withDesk(values, host, async ({ operator, say, tell, safely }) => {
					const what =
						agencyId === undefined ? "the suspension of all agencies" : `the suspension of ${printable(agencyId)}`;
					say(`This ends ${what}. What is due goes out at once.`);
					if (!(await isAllowed(values, host, "Resume?", "resumes"))) return undone(say);
					const isEnded = await safely(operator.resume({ agencyId, by }));
					const { suspensions } = await safely(operator.health());
					say(isEnded ? `Ended ${what}.` : "There was none.");
					if (suspensions.length > 0)
						say(`${counted(suspensions.length, "other suspension")} left: see outbox health.`);
					tell({ resumed: isEnded, agencyId: agencyId ?? null, by });
					return 0;
				});
			},
		},
	],
	[
		"resolve",
		{
			summary: "Ends an unknown text, once you have looked at the conversation.",
			options: resolving,
			argument: text,
			async run(args, host) {
				const values = readOptions(
					{
						command: "outbox resolve",
						about,
						options: resolving,
						file: text,
						notes,
						end: endOf("outbox resolve visit-17 --as sent"),
					},
					args,
					host,
				);
				if (!values) return 0;
				const id = needed(values.file, "outbox resolve needs the id of a text");
				const outcome = needed(values.as, "outbox resolve needs --as sent or --as not_sent");
				const by = values.by ?? userName();
				return withDesk(values, host, async ({ operator, say, tell, safely }) => {
					const status = await safely(operator.status(id));
					if (status?.state !== "unknown") {
						const message = status ? `The text is ${status.state}, and not unknown. Nothing was changed.` : noText;
						say(message);
						tell({ resolved: false, state: status?.state ?? null, message });
						return 1;
					}
					say(
						outcome === "sent"
							? "The text becomes sent."
							: "The text becomes cancelled, and is never sent under its id.",
					);
					if (!(await isAllowed(values, host, "Resolve it?", "resolves it"))) return undone(say);
					const isDone = await safely(operator.resolve(id, outcome === "sent" ? "sent" : "not_sent", { by }));
					say(isDone ? `Resolved by ${by}.` : "Someone else resolved it meanwhile.");
					tell({ resolved: isDone, state: outcome === "sent" ? "sent" : "cancelled" });
					return isDone ? 0 : 1;
				});
			},
		},
	],
	[
		"restored",
		{
			summary: "Declares that the database was restored from a backup, before the workers start.",
			options: restored,
			async run(args, host) {
				const values = readOptions(
					{
						command: "outbox restored",
						about,
						options: restored,
						notes,
						end: endOf("outbox restored --backup-at 2026-01-05T03:00:00Z"),
					},
					args,
					host,
				);
				if (!values) return 0;
				const backupAt = needed(values["backup-at"], "outbox restored needs --backup-at");
				const by = values.by ?? userName();
				return withDesk(values, host, async ({ operator, say, tell, safely }) => {
					const { workers } = await safely(operator.health());
					if (workers.some(({ isAlive, runsOnce }) => isAlive && !runsOnce)) {
						say(working);
						tell({ restored: null, message: working });
						return 1;
					}
					say("Each unfinished text is looked for in its conversation before it goes out.");
					if (!(await isAllowed(values, host, "Declare it?", "declares it"))) return undone(say);
					const count = await safely(operator.restored({ backupAt, by }));
					say(
						`${counted(count, "text")} will be looked for. Now repeat what the backup has lost, and start the workers.`,
					);
					tell({ restored: count, by });
					return 0;
				});
			},
		},
	],
	[
		"opted-out",
		{
			summary: "Tells whether a contact has opted out of an agency's texts, since when, and who said so.",
			options: optedOut,
			argument: contact,
			async run(args, host) {
				const values = readOptions(
					{
						command: "outbox opted-out",
						about,
						options: optedOut,
						file: contact,
						notes,
						end: endOf("outbox opted-out +447700900101 --agency agy_3f"),
					},
					args,
					host,
				);
				if (!values) return 0;
				const to = needed(values.file, "outbox opted-out needs the number of a contact");
				const agencyId = needed(values.agency, "outbox opted-out needs --agency");
				return withDesk(values, host, async ({ operator, say, tell, safely }) => {
					const found = await safely(operator.optedOut({ to, agencyId }));
					for (const sentence of optedOutSentences(found)) say(sentence);
					tell(found);
					return found.isAgencyKnown ? 0 : 1;
				});
			},
		},
	],
	[
		"export",
		{
			summary: "Writes who has opted out, and what else is known of contacts, to a new file. The file is a secret.",
			options: exporting,
			async run(args, host) {
				const values = readOptions(
					{ command: "outbox export", about, options: exporting, notes, end: endOf("outbox export") },
					args,
					host,
				);
				if (!values) return 0;
				const { agency: agencyId, out } = values;
				return withDesk(values, host, async ({ operator, say, tell, safely }) => {
					const count = await safely(writeRecords(resolve(host.cwd, out), operator.exportContacts({ agencyId })));
					say(`Wrote ${counted(count, "contact")} to ${out}.`);
					say(
						"It has hashes of their numbers with the key. Whoever reads it can find out who has opted out: encrypt it, and delete it once it was imported.",
					);
					tell({ exported: count, out });
					return 0;
				});
			},
		},
	],
	[
		"import",
		{
			summary: "Takes in a file of export. You can repeat it, and workers may run.",
			options: importing,
			argument: exported,
			async run(args, host) {
				const values = readOptions(
					{
						command: "outbox import",
						about,
						options: importing,
						file: exported,
						notes,
						end: endOf("outbox import contacts.ndjson"),
					},
					args,
					host,
				);
				if (!values) return 0;
				const file = needed(values.file, "outbox import needs a file");
				const { into } = values;
				return withDesk(values, host, async ({ operator, say, tell, safely }) => {
					say(
						into === undefined
							? "Who has opted out by the file gets no more notices and marketing, and texts to those who were erased are erased."
							: `Who has opted out by the file gets no more notices and marketing of ${printable(into)}.`,
					);
					if (!(await isAllowed(values, host, "Import it?", "imports it"))) return undone(say);
					const running = operator.importContacts(readRecords(resolve(host.cwd, file)), { into });
					const { contacts, cancelled, tooLate } = await safely(
						running.catch((error: unknown) => Promise.reject(inLines(error))),
					);
					say(`Imported ${counted(contacts, "contact")}. ${counted(cancelled.length, "text")} that waited ended.`);
					if (tooLate.length > 0)
						say(
							`${counted(tooLate.length, "text")} to contacts who were erased may still be delivered, and ${tooLate.length === 1 ? "is" : "are"} erased afterwards.`,
						);
					tell({ imported: contacts, cancelled, tooLate });
					return 0;
				});
			},
		},
	],
]);

export const outboxCommand = {
	summary: "Tells why a text was not sent, and stops and resumes sends.",
	failure: 2,
	options: {},
	actions,
	async run([name, ...args]: string[], host: Host): Promise<number> {
		if (name === undefined || isHelp(name)) {
			const [action, ...more] = args.filter((word) => !isHelp(word));
			if (name !== undefined && action !== undefined) return outboxCommand.run([action, ...more, "--help"], host);
			const columns = Math.min(lookOf(host).columns(), mostColumns);
			host.print(helpOfActions({ command: "outbox", about, actions, notes, end: endOf("outbox health") }, columns));
			return name === undefined ? 2 : 0;
		}
		if (isVersion(name)) {
			host.print(version);
			return 0;
		}
		if (name.startsWith("-")) refuseOption(name, commonOptions, " The options of an action follow its name.");
		const action = actions.get(name);
		if (!action) refuseUnknownAction("outbox", name, [...actions.keys()]);
		return action.run(args, host);
	},
};

function needed(value: string | undefined, what: string): string {
	if (value === undefined || value.trim() === "") throw new UsageError(`${what}.`);
	return value;
}

/** Asks before something is changed, unless --yes is given. */
async function isAllowed(
	{ yes, json }: { readonly yes: boolean; readonly json: boolean },
	host: Host,
	question: string,
	what: string,
): Promise<boolean> {
	if (yes) return true;
	if (json) throw new UsageError(`--json asks nothing. --yes ${what} without a question.`);
	return isWanted(host, question, what);
}

function undone(say: (text: string) => void): number {
	say("Nothing was changed.");
	return 1;
}

/** The user of this machine, for the record of who did it. */
function userName(): string {
	try {
		return printable(userInfo().username).trim().slice(0, 100) || "unknown";
	} catch {
		return "unknown";
	}
}

const columnsOf = (host: Host): number => Math.min(lookOf(host).columns(), mostColumns);

interface Place {
	readonly database?: string | undefined;
	readonly prefix?: string | undefined;
	readonly env?: string | undefined;
	readonly json: boolean;
	readonly "show-content"?: boolean;
}

/** Opens the store, and closes it when the action has ended. */
async function withDesk(values: Place, host: Host, act: (desk: Desk) => Promise<number>): Promise<number> {
	const file = values.env;
	const inFile = file === undefined ? undefined : readVariables(file);
	const url = new Secret((values.database ?? host.variable("DATABASE_URL") ?? inFile?.("DATABASE_URL") ?? "").trim());
	if (url.reveal() === "") throw new Error("DATABASE_URL is not set. Set it, or name the database with --database.");
	// It is fine if the reader stops early, such as head.
	host.onOutputClosed(() => {});
	const { store: opened, readOnly, found, safely, close } = await openStore(url, values.prefix, host.cwd);
	const store = values["show-content"] === false ? withoutReasons(opened) : opened;
	try {
		if (found !== undefined)
			host.printError(`Using the tables of --prefix ${found}, the only outbox in this database.`);
		// What changes something asks whether it may.
		if (readOnly !== undefined && "yes" in values) throw new Error(readOnly);
		if (readOnly !== undefined) host.printError(readOnly);
		return await act({
			operator: createOperator(store, createOwnClock(store)),
			store,
			host,
			say(said) {
				for (const line of values.json ? [] : wrapped(printable(said), columnsOf(host))) host.print(line);
			},
			print(lines) {
				for (const line of values.json ? [] : lines) host.print(line);
			},
			tell(value) {
				if (values.json) host.print(jsonLine(value));
			},
			safely,
		});
	} finally {
		await close();
	}
}

async function showHealth({ operator, host, say, print, tell, safely }: Desk): Promise<number> {
	const found = await safely(operator.health());
	const checks = checksOf(found);
	const report = createReport(lookOf(host));
	say(`messaging-conversations ${version} outbox health, ${found.at.toISOString()}`);
	print(["", ...checks.flatMap((check) => report.add(check)), ...report.end()]);
	tell({ status: statusOfChecks(checks), version, health: found, checks });
	return statusOfChecks(checks);
}

async function showText(desk: Desk, id: string, isShown: boolean): Promise<number> {
	const { operator, store, host, say, print, tell, safely } = desk;
	const found = await safely(operator.explain(id));
	const row = found && (await safely(store.find(id)));
	if (!found || !row) {
		say(noText);
		tell({ status: null, steps: [], message: noText });
		return 1;
	}
	const body = isShown ? row.body : undefined;
	print(explainedLines(found, { body, isShown, columns: columnsOf(host) }));
	tell({ status: withoutContent(found.status, isShown), ...(isShown && { body }), steps: found.steps });
	return 0;
}
