import {
	type Client,
	type ConversationDetail,
	type ConversationSummary,
	type E164,
	type Message,
	PartnerInvalidInput,
	type ToE164Options,
	toE164,
} from "messaging-conversations";
import { isUuid } from "../shared/uuid.ts";
import {
	checkedLater,
	fieldsOf,
	objectOr,
	oneOf,
	optional,
	orNull,
	refine,
	rule,
	storableText,
	text,
} from "../shared/validation.ts";
import { check, line, longestName, longestReason, moment, refuse, time } from "./input.ts";
import { type OnHeld, type Purpose, policies, purposes, whenClosedOf } from "./policy/purpose.ts";
import type { OutboxStatus } from "./status.ts";
import type { Superseded } from "./store.ts";
import type { GivenOptions, NewText, OutboxText } from "./text.ts";
import type { Transaction } from "./transaction.ts";

/** A text to send. */
export interface EnqueuedText {
	/**
	 * Your id of the text. Use an id for each occasion, such as `visit-17:reminder:2026-03-10`, and `supersedes` for a text whose
	 * occasion moves: the same id is the same text, and enqueuing it again with another time changes nothing. Ids are
	 * unique across agencies, and have at most 255 characters. Enqueued again, it may not have another agency, number, body, sender or
	 * language. Other fields that differ change nothing, and are in `ignored` of the status.
	 */
	id: string;
	/** The agency's id. */
	agencyId: string;
	/** Contact phone number, as written. */
	to: string;
	/** The text. */
	body: string;
	/**
	 * Language of the consent template, for an agency that has several.
	 * @default the agency's `defaultLanguage`
	 */
	consentLanguage?: string | undefined;
	/** The agency's sender to use, a UUID; its default sender when left out or null. */
	subaccountId?: string | null | undefined;
	/** It is not sent before this time, and blocks no other text until then; `quietHours` may delay it further. A string must include a UTC offset or `Z`. */
	notBefore?: Date | string | number | undefined;
	/**
	 * No request begins after this time. It overrides `defaultMaxAgeMs` in both directions. A string must include a UTC offset or `Z`.
	 * A text that the service holds cannot be taken back.
	 */
	notAfter?: Date | string | number | undefined;
	/**
	 * What the text is for. Replies come first and marketing last; quiet hours, opt-outs, a closed window and texts that the service
	 * holds mean something else for each.
	 * @default "notice"
	 */
	purpose?: Purpose | undefined;
	/**
	 * Among texts of one purpose, a higher priority goes first, to one contact and among all. A text that was attempted
	 * stays the first of its contact.
	 * From -1,000,000 to 1,000,000.
	 * @default 0
	 */
	priority?: number | undefined;
	/**
	 * What the text does while the service holds another one for the contact. `"wait"`: it waits until that one has ended.
	 * `"send_if_open"`: it is sent if the window is open, and the held one may end as `replaced`. `"replace"`: it takes its place.
	 * `whenClosed` is about a closed window behind which nothing is held.
	 * @default by its purpose: a reply does not wait for another text of the outbox if the window is open, everything else waits
	 */
	onHeld?: OnHeld | undefined;
	/**
	 * What happens while the window is closed. `"ask"`: the service asks the contact for consent and holds the text. It can't be
	 * taken back then, and may arrive after `notAfter`. `"skip"`: the text ends as `expired`, reason `window_closed`.
	 * Marketing never asks, so that `"ask"` is refused for it, and a window that ends within five minutes counts as closed.
	 * @default "ask", and "skip" for marketing
	 */
	whenClosed?: "ask" | "skip" | undefined;
	/**
	 * The id of an earlier text of the agency whose place this one takes, for example because a visit has moved. If that one waits, it
	 * is cancelled. If it is being sent, it is not sent again; if it arrived all the same, the contact gets both, this one last. If the
	 * service holds it, this one replaces it there, or, if it is to another number of the contact, it can't be taken
	 * back: the status says so. If it has ended, or is not there, this one is stored like any other. If several texts
	 * to one number supersede the same one, only the latest goes out. `onHeld: "replace"` takes the place of whatever is held. Name the
	 * agency too if it is another one.
	 */
	supersedes?:
		| string
		| {
				/** Its id. */
				id: string;
				/** The agency that it was enqueued for. */
				agencyId: string;
		  }
		| undefined;
	/** Who sends it, for whoever asks later: one line of at most 100 characters. `status` and `settled` give it back. It isn't sent. */
	by?: string | undefined;
	/** Why it is sent, for whoever asks later: one line of at most 200 characters. `status` and `settled` give it back. It isn't sent. */
	why?: string | undefined;
	/** A small JSON value of yours, which `beforeSend`, `status` and `settled` give back. It isn't sent anywhere. */
	meta?: unknown;
}

/** Fields of a text that a repeated `enqueue` does not change, and does not refuse either. */
export type IgnoredField = Exclude<
	keyof EnqueuedText,
	"id" | "agencyId" | "to" | "body" | "subaccountId" | "consentLanguage"
>;

/** What `enqueue` returns. */
export interface EnqueuedStatus extends OutboxStatus {
	/**
	 * The fields of this call that differ from the stored text, and were ignored, because the id was enqueued before. Empty if
	 * the call stored the text. For a text that is to go out at another time use an id of its own, and `supersedes`.
	 */
	ignored: IgnoredField[];
}

/** Options of `enqueue`. */
export interface EnqueueOptions {
	/**
	 * Your open transaction, as your own library gives it: `pg`, PGlite, postgres.js, mysql2, mariadb, Prisma, Drizzle, Knex,
	 * Kysely, TypeORM, MikroORM, Sequelize, better-sqlite3, libsql or node:sqlite. The text is stored with it, or rolled back with it.
	 */
	tx?: Transaction | undefined;
	/** Accepts a number that the numbering plan of its country does not list, as in `messages.send`. @default false */
	allowUnlistedNumber?: boolean | undefined;
}

/** A change of the change feed, as far as the outbox uses it. */
export interface ObservedChange {
	/** The agency's id. Without it, the contact's texts of every agency are checked. */
	agencyId?: string | undefined;
	/** The conversation, by its detail or its summary. */
	conversation?: ConversationSummary | ConversationDetail | null | undefined;
	/** Messages that are new, or whose status is. */
	messages?: readonly Message[] | undefined;
}

/** What one statement takes on every database. */
const mostTexts = 1_000;
const mostPriority = 1_000_000;
const longest = 255;
const longestMeta = 4_096;

/** No database takes a longer one into an index. */
const short = text.check(refine((value) => String(value).length <= longest, `must have at most ${longest} characters`));
const isPriority = (value: unknown): boolean => Number.isInteger(value) && Math.abs(Number(value)) <= mostPriority;

const schema = fieldsOf<EnqueuedText>({
	id: short,
	agencyId: checkedLater(), // by the client, which knows what an agency id is
	to: checkedLater(), // in the country of the outbox
	body: text,
	consentLanguage: optional(short),
	subaccountId: optional(orNull(rule<string>(isUuid, "must be a UUID or null"))),
	notBefore: optional(time),
	notAfter: optional(time),
	purpose: optional(oneOf(...purposes)),
	priority: optional(rule<number>(isPriority, `must be a whole number from -${mostPriority} to ${mostPriority}`)),
	onHeld: optional(oneOf("wait", "send_if_open", "replace")),
	whenClosed: optional(oneOf("ask", "skip")),
	supersedes: optional(objectOr(fieldsOf<Superseded>({ id: short, agencyId: short }), short)),
	by: optional(line(longestName)),
	why: optional(line(longestReason)),
	meta: checkedLater(), // by JSON.stringify
});

/** A text as it is stored: its number in E.164, every field checked. */
export function checkedText(text: EnqueuedText, client: Client, numbers: ToE164Options, createdAt: number): NewText {
	const given = check(schema, "text", text, "enqueue");
	const { id, to, body, consentLanguage = null, subaccountId = null, priority = 0 } = given;
	const { purpose = "notice", onHeld, whenClosed, supersedes, by = null, why = null, meta } = given;
	if (whenClosed === "ask" && policies[purpose].whenClosed === "skip")
		refuse("whenClosed", `must not be "ask" for ${purpose}, which never asks for consent. Leave it out`, "enqueue");
	const [notBefore = null, notAfter = null] = (["notBefore", "notAfter"] as const).map((field) =>
		given[field] === undefined ? null : moment(field, given[field], "enqueue"),
	);
	if (notAfter !== null && notAfter < (notBefore ?? 0)) refuse("notAfter", "must not be before notBefore", "enqueue");
	const agencyId = check(short, "agencyId", client.agency(given.agencyId).id, "enqueue");
	const superseded = typeof supersedes === "object" ? supersedes : { id: supersedes, agencyId: undefined };
	if (superseded.id === id) refuse("supersedes", "must be the id of another text", "enqueue");
	return {
		id,
		agencyId,
		to: numberIn(to, numbers, "enqueue"),
		body,
		consentLanguage,
		subaccountId,
		notBefore,
		notAfter,
		purpose,
		priority,
		byWhom: by,
		why,
		given: onlyGiven({
			onHeld,
			whenClosed,
			supersedes: superseded.id,
			supersededAgencyId: superseded.agencyId === agencyId ? undefined : superseded.agencyId,
			meta: meta === undefined ? undefined : jsonOf(meta),
		}),
		createdAt,
	};
}

/** The texts of a list. An error names its text, such as `texts[3].to`. */
export function checkedTexts(given: unknown, client: Client, numbers: ToE164Options, createdAt: number): NewText[] {
	if (typeof given !== "object" || !(Symbol.iterator in Object(given)))
		refuse("texts", "must be a list of texts", "enqueueMany");
	const all = [...(given as Iterable<EnqueuedText>)];
	if (all.length > mostTexts) refuse("texts", `must have at most ${mostTexts} texts`, "enqueueMany");
	const known = new Map<string, NewText>();
	return all.map((each, at) => {
		const name = `texts[${at}]`;
		if (Object(each).supersedes !== undefined) refuse(`${name}.supersedes`, "is only for enqueue", "enqueueMany");
		const text = named(name, () => checkedText(each, client, numbers, createdAt));
		const same = known.get(text.id);
		if (same && isOther(text, same)) refuse(`${name}.id`, "is that of another text in the list", "enqueueMany");
		known.set(text.id, text);
		return text;
	});
}

/** The errors of a check, with the name of what is checked. */
function named<Result>(name: string, act: () => Result): Result {
	try {
		return act();
	} catch (error) {
		if (!(error instanceof PartnerInvalidInput)) throw error;
		const field = error.field === "text" ? name : `${name}.${error.field}`;
		return refuse(field, error.rule, "enqueueMany");
	}
}

/** A copy of a value as JSON has it. */
function jsonOf(value: unknown): unknown {
	let json: string | undefined;
	try {
		json = JSON.stringify(value);
	} catch {}
	if (json === undefined) return refuse("meta", "must be a value that JSON.stringify takes", "enqueue");
	if (json.length > longestMeta) refuse("meta", `must have at most ${longestMeta} characters as JSON`, "enqueue");
	return JSON.parse(storableText(json));
}

function onlyGiven(given: GivenOptions): GivenOptions {
	return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** The number of `to` in E.164. `toE164` calls the field `phoneNumber` in its errors. */
export function numberIn(to: string, options: ToE164Options, operation: string): E164 {
	try {
		return toE164(to, options);
	} catch (error) {
		if (!(error instanceof PartnerInvalidInput)) throw error;
		refuse(error.field === "phoneNumber" ? "to" : String(error.field), error.rule, operation);
	}
}

/** Refuses a text whose id has another one. When it may be sent is not compared: a repeated call may compute it anew. */
export function refuseOther(given: NewText, row: OutboxText, field = "id", operation = "enqueue"): void {
	if (row.to === "") refuse(field, "belongs to a text that was erased; use a new id", operation);
	if (isOther(given, row)) refuse(field, "was enqueued with another text; use a new id for a new text", operation);
}

/** The fields of a repeated call that differ from the stored text, and change nothing. */
export function ignoredIn(given: NewText, row: OutboxText): IgnoredField[] {
	const ofEach = (text: NewText): Record<IgnoredField, unknown> => {
		const { supersedes, supersededAgencyId, onHeld, meta = null } = text.given;
		return {
			notBefore: text.notBefore,
			notAfter: text.notAfter,
			purpose: text.purpose,
			priority: text.priority,
			onHeld,
			whenClosed: whenClosedOf(text),
			supersedes: [supersedes, supersededAgencyId],
			by: text.byWhom,
			why: text.why,
			meta,
		};
	};
	const [one, other] = [ofEach(given), ofEach(row)];
	return ignoredFields.filter((field) => inOrder(one[field]) !== inOrder(other[field]));
}

/** The compiler finds a field that is missing here. */
const ignoredFields = Object.keys({
	notBefore: true,
	notAfter: true,
	purpose: true,
	priority: true,
	onHeld: true,
	whenClosed: true,
	supersedes: true,
	by: true,
	why: true,
	meta: true,
} satisfies Record<IgnoredField, true>) as IgnoredField[];

/** A value as JSON, whatever the order of its fields: a database or another process may have another one. */
function inOrder(value: unknown): string | undefined {
	return JSON.stringify(value, (_, each: unknown) =>
		typeof each !== "object" || each === null || Array.isArray(each)
			? each
			: Object.fromEntries(Object.entries(each).sort(([one], [other]) => (one < other ? -1 : 1))),
	);
}

function isOther(given: NewText, known: NewText): boolean {
	const compared = ["agencyId", "to", "body", "subaccountId", "consentLanguage"] as const;
	return compared.some((field) => given[field] !== known[field]);
}
