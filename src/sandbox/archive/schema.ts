import {
	type AnySchema,
	flag,
	listOf,
	object,
	oneOf,
	optional,
	orNull,
	pair,
	rule,
	type Schema,
	variant,
} from "../../shared/validation.ts";
import { phoneFrom } from "../base/contract.ts";
import { aNumber, aString, assertValid, aUuid, fields, someText, stringOrNull, wholeFrom } from "../base/input.ts";
import { type Consent, consentRules } from "../world/consent.ts";
import { interactiveRule, mediaRule, replyRule, storedMediaRule } from "../world/content.ts";
import { faultRule } from "../world/fault.ts";
import { isInstant } from "../world/instant.ts";
import {
	type AgencyRecord,
	aiReasons,
	defaultIds,
	type Fate,
	type Flow,
	type Held,
	type Integration,
	type Key,
	keyStates,
	type MessageExtras,
	nullFields,
	type Operation,
	type StoredMessage,
	scopes,
	type Thread,
	type View,
	visibilityReasons,
} from "../world/world.ts";
import type { Archive, ArchivedAgency } from "./archive.ts";
import { assertFormat, worldFormat } from "./format.ts";

/*
 * The schema of an archive, field by field: what is opened may have been written by hand.
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
	nulls: optional(listOf(oneOf(...nullFields))),
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

export const threadRule: Schema<unknown> = fields<Thread>({
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

const agencyFields = {
	id: someText,
	integrationId: aString,
	name: stringOrNull,
	linked: flag,
	storesMedia: flag,
	consent: fields<Consent>(consentRules),
	senders: listOf(aUuid),
};
const agency = fields<ArchivedAgency>({ ...agencyFields, threads: listOf(threadRule) });
/** An agency without its conversations. */
export const agencyRule: Schema<unknown> = fields<AgencyRecord>(agencyFields);

/** The payload of an operation: recipient, text, sender and language. */
function isPayload(text: unknown): boolean {
	const values = typeof text === "string" ? parsed(text) : undefined;
	if (!Array.isArray(values) || values.length !== 4) return false;
	return values.every((value, at) => typeof value === "string" || (at > 1 && value === null));
}

const lost = { queueId: aString, windowExpiresAt: instantOrNull };
const sent = { messageId: wholeFrom(1), windowExpiresAt: instant, wasHeld: flag };

/** The fields of each `fate` of an operation, beside its state. */
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

export const countersRule: AnySchema = listOf(pair(aString, wholeFrom(0)));
export const integrationRule: Schema<unknown> = fields<Integration>({ id: someText, name: aString, hidden: flag });
export const operationRule: Schema<unknown> = fields<Operation>({
	payload: rule(isPayload, "must be the payload of a send, as a snapshot has it"),
	at: instant,
	fate,
});

const schema = fields<Archive>({
	format: oneOf(worldFormat.format),
	version: rule((version) => version === worldFormat.version, `must be ${worldFormat.version}`),
	now: instant,
	counters: countersRule,
	integrations: listOf(integrationRule),
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
	operations: listOf(pair(aString, operationRule)),
	faults: listOf(faultRule),
});

/** Checks the world of a snapshot, of a bug file or of the file of `--state`. Throws a TypeError that names the field. */
export function archiveFrom(value: unknown): Archive {
	assertArchive(value);
	assertWhole(value);
	return value;
}

function assertArchive(value: unknown): asserts value is Archive {
	assertFormat(value, worldFormat, "world: it", "world: this is not the world of a sandbox.");
	assertValid("world", value, schema);
}

function parsed(json: string): unknown {
	try {
		return JSON.parse(json);
	} catch {
		return undefined;
	}
}

/** Checks that the parts fit together. Parts that do not would make answers that the service never gives. */
function assertWhole({ integrations, keys, agencies, operations, counters, faults }: Archive): void {
	for (const [what, items] of Object.entries({ integrations, keys, agencies, faults }))
		unique(
			what,
			items.map(({ id }): string | number => id),
		);
	const integrationIds = new Set(integrations.map(({ id }) => id));
	const agencyIds = new Set(agencies.map(({ id }) => id));
	for (const [place, { integrationId }] of keys.entries())
		if (!integrationIds.has(integrationId)) refuse(`keys[${place}].integrationId names no integration`);
	// Every sandbox begins with these, and its controls act on them.
	if (!integrationIds.has(defaultIds.integration))
		refuse(`integrations must have the default one, ${defaultIds.integration}`);
	if (!agencyIds.has(defaultIds.agency)) refuse(`agencies must have the default one, ${defaultIds.agency}`);
	for (const [place, agency] of agencies.entries()) {
		const { languages, defaultLanguage } = agency.consent;
		if (defaultLanguage !== null && !languages.includes(defaultLanguage))
			refuse(`agencies[${place}].consent.defaultLanguage must be one of languages, or null`); // R168
		if (!integrationIds.has(agency.integrationId)) refuse(`agencies[${place}].integrationId names no integration`);
		assertThreads(`agencies[${place}]`, agency, agencyIds);
	}
	const threads = agencies.flatMap((agency) => agency.threads);
	// An agency sees one conversation of each number, its own or a shared one.
	const seen = threads.flatMap(({ phone, views }) => views.map(({ agencyId }) => `${agencyId} ${phone}`));
	unique("the phone numbers of an agency's threads", seen);
	const serials = threads.map(({ serial }) => serial);
	const messageIds = threads.flatMap(({ messages }) => messages.map(({ id }) => id));
	const flows = threads.flatMap((thread) => thread.flows);
	const queueIds = new Set(threads.flatMap(({ held }) => held?.id ?? []));
	for (const [, { fate }] of operations) if ("queueId" in fate) queueIds.add(fate.queueId);
	unique("the serials of threads", serials);
	unique("the ids of messages", messageIds);
	// A new message, thread or flow must not get the id of an old one.
	const given = new Map(counters);
	const ids = {
		message: messageIds,
		thread: serials,
		flow: flows.map(({ id }) => id),
		"flow update": flows.map(({ updated }) => updated),
		queue: [queueIds.size],
	};
	for (const [kind, numbers] of Object.entries(ids))
		if ((given.get(kind) ?? 0) < numbers.reduce((most, number) => Math.max(most, number), 0))
			refuse(`counters has given out fewer ids of kind "${kind}" than there are`);
}

function assertThreads(place: string, { id, threads }: ArchivedAgency, agencyIds: ReadonlySet<string>): void {
	for (const [index, { views, messages, ai, held, windowFrom }] of threads.entries()) {
		const where = `${place}.threads[${index}]`;
		if (views[0]?.agencyId !== id) refuse(`${where}.views must begin with the agency's own`);
		for (const { agencyId } of views) if (!agencyIds.has(agencyId)) refuse(`${where}.views names no agency`);
		if (new Set(views.map(({ agencyId }) => agencyId)).size < views.length) refuse(`${where}.views names one twice`);
		if (messages.some((message, at) => message.id <= (messages[at - 1]?.id ?? 0)))
			refuse(`${where}.messages must have rising ids`);
		if (ai.enabled !== (ai.reason === null) || ai.enabled !== (ai.at === null))
			refuse(`${where}.ai must have a reason and a time exactly while it is off`); // R169
		if (windowFrom !== null && !messages.some(({ outbound, at }) => !outbound && at === windowFrom))
			refuse(`${where}.windowFrom must be the time of an inbound message`);
		if (held && held.updatedAt < held.createdAt) refuse(`${where}.held was changed before it was created`);
	}
}

function unique(what: string, items: readonly (string | number)[]): void {
	if (new Set(items).size < items.length) refuse(`${what} must differ from each other`);
}

function refuse(rule: string): never {
	throw new TypeError(`world: ${rule}.`);
}
