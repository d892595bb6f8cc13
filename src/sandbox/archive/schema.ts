import {
	type AnySchema,
	flag,
	listOf,
	object,
	optional,
	orNull,
	pair,
	rule,
	type Schema,
	variant,
} from "../../validation.ts";
import { phoneFrom } from "../base/contract.ts";
import {
	aNumber,
	aString,
	assertValid,
	aUuid,
	fields,
	isRecord,
	oneOf,
	someText,
	stringOrNull,
	wholeFrom,
} from "../base/input.ts";
import { type Consent, consentRules } from "../world/consent.ts";
import { interactiveRule, mediaRule, replyRule, storedMediaRule } from "../world/content.ts";
import { faultRule } from "../world/faults.ts";
import { isInstant } from "../world/instant.ts";
import {
	aiReasons,
	type Fate,
	type Flow,
	type Held,
	type Integration,
	type Key,
	keyStates,
	type MessageExtras,
	type Operation,
	type StoredMessage,
	scopes,
	type Thread,
	type View,
	visibilityReasons,
} from "../world/world.ts";
import type { Archive, ArchivedAgency } from "./archive.ts";
import { assertWhole } from "./whole.ts";

/*
 * The schema of an archive, field by field: what is imported may have been written by hand or by another version.
 */

const instant: Schema<number> = rule(isInstant, "must be an instant in milliseconds");
const instantOrNull = orNull(instant);

const author = oneOf("api", "staff", "ai");

const extras = fields<MessageExtras>({
	media: optional(mediaRule),
	mediaStored: optional(storedMediaRule),
	templateName: optional(aString),
	language: optional(aString),
	buttonClicked: optional(aString),
	interactiveContent: optional(interactiveRule),
	replyTo: optional(replyRule),
	sender: optional(stringOrNull),
	operationId: optional(stringOrNull),
	author: optional(author),
});

const message = fields<StoredMessage>({
	id: wholeFrom(1),
	body: stringOrNull,
	outbound: flag,
	at: instant,
	profileName: stringOrNull,
	extras: optional(extras),
	status: aString,
	deliveredAt: instantOrNull,
	readAt: instantOrNull,
	errorCode: orNull(aNumber),
});

const held = fields<Held>({
	id: aString,
	createdAt: instant,
	expiresAt: instant,
	body: aString,
	updatedAt: instant,
	sender: stringOrNull,
	operationId: stringOrNull,
	author,
	operation: stringOrNull,
});

const isE164 = (phone: unknown): boolean => typeof phone === "string" && phoneFrom(phone) === phone;

const thread = fields<Thread>({
	serial: wholeFrom(0),
	phone: rule(isE164, "must be E.164"),
	name: stringOrNull,
	opened: flag,
	shared: flag,
	views: listOf(fields<View>({ agencyId: aString, reason: oneOf(...visibilityReasons), hidden: flag })),
	messages: listOf(message),
	windowFrom: instantOrNull,
	ai: fields<Thread["ai"]>({ enabled: flag, reason: oneOf(...aiReasons), at: instantOrNull }),
	flows: listOf(fields<Flow>({ id: wholeFrom(1), status: aString, updated: wholeFrom(0) })),
	held: orNull(held),
	conflicts: wholeFrom(0),
	reachable: flag,
});

const agency = fields<ArchivedAgency>({
	id: someText,
	integrationId: aString,
	name: stringOrNull,
	linked: flag,
	storesMedia: flag,
	consent: fields<Consent>(consentRules),
	senders: listOf(aUuid),
	threads: listOf(thread),
});

const lost = { queueId: aString, windowExpiresAt: instantOrNull };
const sent = { messageId: wholeFrom(1), windowExpiresAt: instant, wasHeld: flag };

/** The fields of each fate of an operation, beside its state. */
const fateFields: { readonly [State in Fate["state"]]: Record<string, AnySchema> } = {
	sent,
	held: lost,
	dropped: lost,
	replaced: lost,
	taken: {},
};

const fate = variant(
	"state",
	Object.fromEntries(Object.entries(fateFields).map(([state, rest]) => [state, object({ state: aString, ...rest })])),
);

const schema = fields<Archive>({
	format: oneOf("messaging-conversations-sandbox"),
	version: rule((version) => version === 2, "must be 2"),
	now: instant,
	counters: listOf(pair(aString, wholeFrom(0))),
	integrations: listOf(fields<Integration>({ id: someText, name: aString, hidden: flag })),
	keys: listOf(
		fields<Key>({
			id: someText,
			secret: someText,
			integrationId: aString,
			scopes: listOf(oneOf(...scopes)),
			state: oneOf(...keyStates),
		}),
	),
	agencies: listOf(agency),
	operations: listOf(pair(aString, fields<Operation>({ payload: aString, at: instant, fate }))),
	faults: listOf(faultRule),
});

/** The argument of `import`: an export, parsed or as text. */
export function archiveFrom(json: unknown): Archive {
	const value: unknown = typeof json === "string" ? parsed(json) : json;
	assertArchive(value);
	assertWhole(value);
	return value;
}

function assertArchive(value: unknown): asserts value is Archive {
	if (!isRecord(value) || value.format !== "messaging-conversations-sandbox" || value.version !== 2)
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
