import {
	aString,
	assertValid,
	aUuid,
	fields,
	isRecord,
	listOf,
	must,
	oneOf,
	optional,
	orNull,
	type Rule,
	someText,
	trueOrFalse,
	wholeFrom,
} from "../base/check.ts";
import { phoneFrom } from "../base/phone.ts";
import { isInstant } from "../world/clock.ts";
import { type Consent, consentRules } from "../world/consent.ts";
import { interactiveRule, mediaRule, replyRule, storedMediaRule } from "../world/content.ts";
import { faultRule } from "../world/faults.ts";
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
	type ThreadRecord,
	type View,
	visibilityReasons,
} from "../world/state.ts";
import type { Archive, ArchivedAgency } from "./archive.ts";
import { assertWhole } from "./whole.ts";

/*
 * The schema of an archive, field by field: what is imported may have been written by hand or by another version.
 */

const textOrNull = orNull(aString);
const instant = must("an instant in milliseconds", isInstant);
const instantOrNull = orNull(instant);
const codeOrNull = orNull(must("a finite number", Number.isFinite));

const pairOf =
	(rule: Rule): Rule =>
	(value) => {
		if (!Array.isArray(value) || value.length !== 2 || typeof value[0] !== "string")
			return " must be a name and a value";
		const failure = rule(value[1]);
		return failure && `[1]${failure}`;
	};

const author = oneOf("api", "staff", "ai");

const extras = fields<MessageExtras>({
	media: optional(mediaRule),
	mediaStored: optional(storedMediaRule),
	templateName: optional(aString),
	language: optional(aString),
	buttonClicked: optional(aString),
	interactiveContent: optional(interactiveRule),
	replyTo: optional(replyRule),
	sender: optional(textOrNull),
	operationId: optional(textOrNull),
	author: optional(author),
});

const message = fields<StoredMessage>({
	id: wholeFrom(1),
	body: textOrNull,
	outbound: trueOrFalse,
	at: instant,
	profileName: textOrNull,
	extras: optional(extras),
	status: aString,
	deliveredAt: instantOrNull,
	readAt: instantOrNull,
	errorCode: codeOrNull,
});

const held = fields<Held>({
	id: aString,
	createdAt: instant,
	expiresAt: instant,
	body: aString,
	updatedAt: instant,
	sender: textOrNull,
	operationId: textOrNull,
	author,
	operation: textOrNull,
});

const isE164 = (phone: unknown): boolean => typeof phone === "string" && phoneFrom(phone) === phone;

const thread = fields<ThreadRecord>({
	serial: wholeFrom(0),
	phone: must("E.164", isE164),
	name: textOrNull,
	opened: trueOrFalse,
	shared: trueOrFalse,
	views: listOf(fields<View>({ agencyId: aString, reason: oneOf(...visibilityReasons), hidden: trueOrFalse })),
	messages: listOf(message),
	windowFrom: instantOrNull,
	ai: fields<ThreadRecord["ai"]>({ enabled: trueOrFalse, reason: oneOf(...aiReasons), at: instantOrNull }),
	flows: listOf(fields<Flow>({ id: wholeFrom(1), status: aString, updated: wholeFrom(0) })),
	held: orNull(held),
	conflicts: wholeFrom(0),
	reachable: trueOrFalse,
});

const agency = fields<ArchivedAgency>({
	id: someText,
	integrationId: aString,
	name: textOrNull,
	linked: trueOrFalse,
	storesMedia: trueOrFalse,
	consent: fields<Consent>(consentRules),
	senders: listOf(aUuid),
	threads: listOf(thread),
});

/** The fields of each fate of an operation, beside its state. */
const fateRules: { readonly [State in Fate["state"]]: Rule } = {
	sent: fields<Extract<Fate, { state: "sent" }>>({
		state: oneOf("sent"),
		messageId: wholeFrom(1),
		windowExpiresAt: instant,
		wasHeld: trueOrFalse,
	}),
	held: lostRule("held"),
	dropped: lostRule("dropped"),
	replaced: lostRule("replaced"),
	taken: fields<Extract<Fate, { state: "taken" }>>({ state: oneOf("taken") }),
};

function lostRule(state: string): Rule {
	return fields({ state: oneOf(state), queueId: aString, windowExpiresAt: instantOrNull });
}

const fate: Rule = (value) => {
	const state = isRecord(value) ? value.state : undefined;
	const rule = Object.entries(fateRules).find(([name]) => name === state)?.[1];
	return rule ? rule(value) : `.state${oneOf(...Object.keys(fateRules))(state)}`;
};

const schema = fields<Archive>({
	format: oneOf("messaging-conversations-sandbox"),
	version: (version) => (version === 2 ? undefined : " must be 2"),
	now: instant,
	counters: listOf(pairOf(wholeFrom(0))),
	integrations: listOf(fields<Integration>({ id: someText, name: aString, hidden: trueOrFalse })),
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
	operations: listOf(pairOf(fields<Operation>({ payload: aString, at: instant, fate }))),
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
