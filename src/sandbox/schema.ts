import type { Archive } from "./archive.ts";
import { type Effect, type Fault, faultKinds, faultPhases } from "./faults.ts";
import {
	type Agency,
	aiReasons,
	type Consent,
	type Flow,
	type Held,
	type Integration,
	type Key,
	keyStates,
	type LedgerEntry,
	type StoredMessage,
	scopes,
	type Thread,
	visibilityReasons,
} from "./state.ts";
import {
	aNumber,
	aString,
	assertValid,
	fields,
	isRecord,
	listOf,
	must,
	oneOf,
	optional,
	orNull,
	type Rule,
	trueOrFalse,
	wholeFrom,
} from "./strict.ts";

/*
 * The schema of an archive, field by field: what is imported may have been written by hand or by another version.
 */

const textOrNull = orNull(aString);
const numberOrNull = orNull(aNumber);
const texts = listOf(aString);
const anObject = must("an object", isRecord);

const pairOf =
	(rule: Rule): Rule =>
	(value) => {
		if (!Array.isArray(value) || value.length !== 2 || typeof value[0] !== "string")
			return " must be a name and a value";
		const failure = rule(value[1]);
		return failure && `[1]${failure}`;
	};

const consent = fields<Consent>({
	configured: trueOrFalse,
	languages: texts,
	defaultLanguage: textOrNull,
	flowCodes: texts,
	missingFlowCodes: texts,
	missingTemplates: texts,
	unapprovedTemplates: listOf(
		fields<Consent["unapprovedTemplates"][number]>({ templateCode: aString, status: textOrNull }),
	),
	answerWithinHours: aNumber,
});

const message = fields<StoredMessage>({
	id: wholeFrom(1),
	body: textOrNull,
	outbound: trueOrFalse,
	at: aNumber,
	profileName: textOrNull,
	extras: optional(anObject),
	status: aString,
	deliveredAt: numberOrNull,
	readAt: numberOrNull,
	errorCode: numberOrNull,
});

const held = fields<Held>({
	id: aString,
	createdAt: aNumber,
	expiresAt: aNumber,
	body: aString,
	updatedAt: aNumber,
	sender: textOrNull,
	operationId: textOrNull,
	entry: textOrNull,
});

const thread = fields<Thread>({
	serial: wholeFrom(0),
	agencyId: aString,
	phone: must("E.164", (phone) => typeof phone === "string" && /^\+[1-9]\d{1,14}$/.test(phone)),
	name: textOrNull,
	opened: trueOrFalse,
	hidden: trueOrFalse,
	reason: oneOf(...visibilityReasons),
	shared: trueOrFalse,
	messages: listOf(message),
	failed: wholeFrom(0),
	lastInboundAt: numberOrNull,
	windowFrom: numberOrNull,
	ai: fields<Thread["ai"]>({
		enabled: trueOrFalse,
		reason: oneOf(...aiReasons),
		at: numberOrNull,
	}),
	flows: listOf(fields<Flow>({ id: wholeFrom(1), status: aString, updated: wholeFrom(0) })),
	held: orNull(held),
	conflicts: wholeFrom(0),
	listed: trueOrFalse,
	rank: fields<Thread["rank"]>({ at: aNumber, messageId: wholeFrom(0), serial: wholeFrom(0) }),
});

const agency = fields<Omit<Agency, "roster">>({
	id: aString,
	integrationId: aString,
	name: textOrNull,
	linked: trueOrFalse,
	storesMedia: trueOrFalse,
	consent,
	senders: texts,
	threads: listOf(thread),
});

const effect = fields<Effect>({
	kind: oneOf(...faultKinds),
	status: numberOrNull,
	retryAfter: textOrNull,
	latencyMs: aNumber,
	field: textOrNull,
	location: aString,
});

const fault = fields<Fault>({
	id: wholeFrom(1),
	operation: textOrNull,
	phase: oneOf(...faultPhases),
	effect,
	skip: wholeFrom(0),
	hits: wholeFrom(0),
	remaining: orNull(wholeFrom(0)),
});

const schema = fields<Archive>({
	format: oneOf("messaging-conversations-sandbox"),
	version: (version) => (version === 1 ? undefined : " must be 1"),
	now: must("an instant in milliseconds", (now) => !Number.isNaN(new Date(Number(now)).getTime())),
	counters: listOf(pairOf(wholeFrom(0))),
	integrations: listOf(fields<Integration>({ id: aString, name: aString, hidden: trueOrFalse })),
	keys: listOf(
		fields<Key>({
			id: aString,
			secret: aString,
			integrationId: aString,
			scopes: listOf(oneOf(...scopes)),
			state: oneOf(...keyStates),
		}),
	),
	agencies: listOf(agency),
	ledger: listOf(pairOf(fields<LedgerEntry>({ fingerprint: aString, at: aNumber, result: anObject }))),
	faults: listOf(fault),
});

/** What `import` takes: an export, parsed or as text. */
export function archiveFrom(json: unknown): Archive {
	const value: unknown = typeof json === "string" ? parsed(json) : json;
	assertArchive(value);
	return value;
}

function assertArchive(value: unknown): asserts value is Archive {
	if (!isRecord(value) || value.format !== "messaging-conversations-sandbox" || value.version !== 1)
		throw new TypeError("This is no export of a sandbox, or one of another version.");
	assertValid("import", value, schema);
}

function parsed(json: string): unknown {
	try {
		return JSON.parse(json);
	} catch {
		return undefined;
	}
}
