/*
 * The records in which what is known of contacts goes from one outbox to another.
 */
import { PartnerInvalidInput } from "messaging-conversations";
import {
	checkedLater,
	checkValue,
	fieldsOf,
	listOf,
	oneOf,
	orNull,
	ownField,
	rule,
	type Schema,
	whole,
} from "../shared/validation.ts";
import { line, longestName } from "./input.ts";
import { allFacts } from "./stores/facts.ts";
import type { ContactFacts, FactSource, FactTime, StoredContact, StoredFact } from "./text.ts";

/** The name of something that is known of a contact. */
export type FactName =
	| "optedOut"
	| "optedIn"
	| "wrongNumber"
	| "refused"
	| "perhapsDeclined"
	| "declined"
	| "declineNoticed"
	| "ignored";

/** Something that is known of a contact. */
export interface ContactFact {
	/**
	 * What is known: they asked for no more texts (`optedOut`), or for them again (`optedIn`), wrote that the number is wrong
	 * (`wrongNumber`), refused something (`refused`), tapped what may be a No (`perhapsDeclined`), declined a text (`declined`,
	 * and `declineNoticed` when the outbox saw that), or left one without an answer (`ignored`).
	 */
	fact: FactName;
	/** Whose clock `at` is by: the service's for a message, the outbox's for a telephone call. */
	clock: "service" | "outbox";
	/** When it last happened, in ISO 8601. */
	at: string;
	/** What told of it: a reading of the conversation, or a method of the outbox. */
	source: FactSource;
	/** Who told it; null if they did not say. */
	by: string | null;
}

/** The first record of an export. */
export interface ExportBegin {
	/** The version of the format. */
	version: 1;
	/** What the record is: the export begins. */
	kind: "begin";
	/** When the export began, in ISO 8601. */
	exportedAt: string;
}

/** The key of hashes that follow. It is a secret: with it anybody can find out whose hash it is, by trying all numbers. */
export interface ExportKey {
	/** The version of the format. */
	version: 1;
	/** What the record is: a key of hashes. */
	kind: "key";
	/** Its random id. */
	keyId: string;
	/** The key. */
	key: string;
}

/** What is known of a contact, in an agency or in all of them. */
export interface ExportContact {
	/** The version of the format. */
	version: 1;
	/** What the record is: a contact. */
	kind: "contact";
	/** The agency's id; null for all agencies. */
	agencyId: string | null;
	/** The id of the key, which a record before it has. */
	keyId: string;
	/** The keyed hash of the number. The outbox stores no number with what is known. */
	hash: string;
	/** What is known. */
	facts: ContactFact[];
	/** When `erase` erased them, in ISO 8601; null if it did not. */
	erasedAt: string | null;
}

/** The last record of an export. Without it the export was cut off. */
export interface ExportEnd {
	/** The version of the format. */
	version: 1;
	/** What the record is: the export is whole. */
	kind: "end";
	/** How many contacts the records before it have. */
	contacts: number;
}

/** A record of {@link Outbox.exportContacts}: JSON, such as one line of a file. */
export type ContactRecord = ExportBegin | ExportKey | ExportContact | ExportEnd;

export const recordVersion = 1;

const clocks = { service: "service", own: "outbox" } as const satisfies Record<keyof FactTime, string>;
/** The compiler finds one that is missing here. */
const sources = {
	reading: true,
	observe: true,
	optOut: true,
	optIn: true,
	cancelAll: true,
	erase: true,
	restored: true,
} satisfies Record<FactSource, true>;

/** The clocks of two machines may differ by so much, and what is later was made up, or is no time. */
const latestMs = 24 * 3_600_000;

/** What is written in a record must be exactly so, because nobody writes it by hand. */
function matching<Value extends string>(pattern: RegExp, words: string): Schema<Value> {
	return rule<Value>((value) => typeof value === "string" && pattern.test(value), words);
}

function isIso(value: unknown): value is string {
	const isShaped = typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value);
	const ms = isShaped ? Date.parse(value) : Number.NaN;
	return !Number.isNaN(ms) && new Date(ms).toISOString() === value;
}

const version = rule<1>((value) => value === recordVersion, "must be 1");
const kind = <Kind extends string>(name: Kind): Schema<Kind> => oneOf(name);
const keyId: Schema<string> = matching(/^[0-9a-f]{32}$/, "must be 32 hexadecimal digits, as in the export");
const isoTime = (now: number): Schema<string> =>
	rule<string>(
		(value) => isIso(value) && Date.parse(value) <= now + latestMs,
		(value) => (isIso(value) ? "must not be in the future" : "must be a time such as 2026-01-05T09:00:00.000Z"),
	);

/** The schema of each kind, at a time. To make them takes far longer than to check a record. */
export function schemasAt(now: number) {
	const at = isoTime(now);
	const fact = fieldsOf<ContactFact>({
		fact: oneOf(...allFacts),
		clock: oneOf(clocks.service, clocks.own),
		at,
		source: oneOf(...(Object.keys(sources) as FactSource[])),
		by: orNull(line(longestName)),
	});
	return {
		begin: fieldsOf<ExportBegin>({ version, kind: kind("begin"), exportedAt: at }),
		key: fieldsOf<ExportKey>({
			version,
			kind: kind("key"),
			keyId,
			key: matching(/^[0-9a-f]{64}$/, "must be 64 hexadecimal digits, as in the export"),
		}),
		contact: fieldsOf<ExportContact>({
			version,
			kind: kind("contact"),
			agencyId: checkedLater(), // the client knows agency ids
			keyId,
			hash: matching(
				/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
				"must be the keyed hash of a number, as in the export, and not a number",
			),
			facts: listOf(fact) as Schema<ContactFact[]>,
			erasedAt: orNull(at),
		}),
		end: fieldsOf<ExportEnd>({ version, kind: kind("end"), contacts: whole(0, Number.MAX_SAFE_INTEGER) }),
	};
}

/** Says what is wrong with a record, and never shows it. */
export function refuseRecord(at: number, field: string, words: string): never {
	throw recordError(at, field, words);
}

const recordError = (at: number, field: string, words: string): PartnerInvalidInput =>
	new PartnerInvalidInput({
		field: `records[${at}]${field === "" || field.startsWith("[") ? field : `.${field}`}`,
		rule: words,
		operation: "importContacts",
	});

/** Checks a record, and returns a copy. */
export function checkedRecord(value: unknown, at: number, schemas: ReturnType<typeof schemasAt>): ContactRecord {
	const found = ownField(value, "version");
	if (typeof found === "number" && found > recordVersion)
		refuseRecord(at, "version", "is of a later version of this package: import it with that version");
	const name = ownField(value, "kind");
	const names = Object.keys(schemas) as (keyof typeof schemas)[];
	const known = names.find((each) => each === name);
	if (known === undefined) {
		const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
		if (!isObject) refuseRecord(at, "", "must be an object, as exportContacts gives it");
		refuseRecord(at, "kind", `must be ${names.map((each) => JSON.stringify(each)).join(" or ")}`);
	}
	return checkValue<ContactRecord>(schemas[known] as Schema<ContactRecord>, value, "", (field, words) =>
		recordError(at, field, words),
	);
}

/** The record of a contact. */
export function recordOf({ agencyId, keyId, hash, facts, erasedAt }: StoredContact): ExportContact {
	return {
		version: recordVersion,
		kind: "contact",
		agencyId: agencyId === "" ? null : agencyId,
		keyId,
		hash,
		facts: facts.map(({ fact, clock, at, source, by }) => ({
			fact,
			clock: clocks[clock],
			at: new Date(at).toISOString(),
			source,
			by,
		})),
		erasedAt: erasedAt === null ? null : new Date(erasedAt).toISOString(),
	};
}

/** The contact of a record. Of two facts of one name by one clock the later one counts. */
export function contactOf({ agencyId, keyId, hash, facts, erasedAt }: ExportContact): StoredContact {
	return folded({ agencyId: agencyId ?? "", keyId, hash }, [
		{
			facts: facts.map(({ fact, clock, at, source, by }) => ({
				fact,
				clock: clock === "service" ? "service" : "own",
				at: Date.parse(at),
				source,
				by,
			})),
			erasedAt: erasedAt === null ? null : Date.parse(erasedAt),
		},
	]);
}

/** One contact of several of the same number: of each fact the latest time by each clock. */
export function folded(
	name: Pick<StoredContact, "keyId" | "hash" | "agencyId">,
	all: readonly Pick<StoredContact, "facts" | "erasedAt">[],
): StoredContact {
	const latest = new Map<string, StoredFact>();
	for (const fact of all.flatMap(({ facts }) => facts)) {
		const place = `${fact.fact} ${fact.clock}`;
		if ((latest.get(place)?.at ?? Number.NEGATIVE_INFINITY) < fact.at) latest.set(place, fact);
	}
	const times = all.flatMap(({ erasedAt }) => (erasedAt === null ? [] : [erasedAt]));
	return { ...name, facts: [...latest.values()], erasedAt: times.length > 0 ? Math.max(...times) : null };
}

/** The facts, by their names. */
export function factsOf({ facts }: Pick<StoredContact, "facts">): ContactFacts {
	const found: ContactFacts = {};
	for (const { fact, clock, at } of facts) found[fact] = { ...found[fact], [clock]: at };
	return found;
}
