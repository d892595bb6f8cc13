import {
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
import { longestBug } from "../base/encoding.ts";
import { aNumber, aString, assertValid, fields, isRecord, someText, stringOrNull, wholeFrom } from "../base/input.ts";
import type { SendDecision } from "../world/decision.ts";
import type { EventFault, LostText, SandboxEventType } from "../world/event.ts";
import type { Gone } from "../world/event-log.ts";
import { faultKinds, faultPhases, faultRule } from "../world/fault.ts";
import type { HistoryThread } from "../world/history.ts";
import { isInstant } from "../world/instant.ts";
import type { ReplacedText, RequestKey, Violation } from "../world/journal.ts";
import { policyFrom } from "../world/policy.ts";
import { aiReasons, keyStates, scopes } from "../world/world.ts";
import { withSecrets } from "./bug.ts";
import type { BugPlace, BugStep, NamedKey, WholeBug } from "./bug-file.ts";
import { assertFormat, bugFormat } from "./format.ts";
import { agencyRule, archiveFrom, countersRule, integrationRule, operationRule, threadRule } from "./schema.ts";

/*
 * The schema of a bug file. It comes from other people, so nothing in it is trusted: each field is checked, and a text
 * is limited, before anything is shown.
 */

const mostEvents = 200_000;
const mostSteps = 2_000;
/** A step that changes an old message copies the list of those before it. A small file must not fill the memory so. */
const mostCopied = 4_000_000;

const anInstant: Schema<string> = rule(
	(at) => typeof at === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(at) && isInstant(Date.parse(at)),
	"must be an instant such as 2026-01-05T09:00:00.000Z",
);
const instantOrNull = orNull(anInstant);
const correlationId: Schema<string> = rule(
	(id) => typeof id === "string" && /^[\w-]{1,64}$/.test(id),
	"must be a correlation id",
);
export const aPhone: Schema<string> = rule(
	(phone) => typeof phone === "string" && phoneFrom(phone) === phone,
	"must be E.164",
);
const operation = orNull(
	oneOf(
		"me.get",
		"conversations.list",
		"conversations.lookup",
		"conversations.get",
		"conversations.listMessages",
		"messages.send",
	),
);
const author = oneOf("api", "staff", "ai");
const status = orNull(
	rule((given) => Number.isInteger(given) && Number(given) >= 0 && Number(given) <= 999, "must be a status"),
);
/** A value of a body: not deeper than what the sandbox itself keeps. */
const aValue = rule(
	(value) => value !== undefined && isShallow(value, 101),
	"must be there, or null, and have at most 100 levels",
);
const headers = rule(
	(given) => isRecord(given) && Object.values(given).every((value) => typeof value === "string"),
	"must be an object of strings",
);

function isShallow(value: unknown, levels: number): boolean {
	if (typeof value !== "object" || value === null) return true;
	return levels > 0 && Object.values(value).every((each) => isShallow(each, levels - 1));
}

const key = fields<RequestKey>({ state: oneOf("valid", "revoked", "expired", "unknown", "absent"), id: stringOrNull });
const fault = fields<EventFault>({
	id: aString,
	operation,
	phase: oneOf(...faultPhases),
	kind: oneOf(...faultKinds),
	status,
	remaining: orNull(wholeFrom(0)),
});
const decision = fields<SendDecision>({
	outcome: oneOf("sent", "held", "repeat", "refused"),
	rule: rule((given) => typeof given === "string" && /^R\d{1,3}$/.test(given), "must be the number of a rule"),
	reason: aString,
	window: fields<SendDecision["window"]>({
		open: flag,
		expiresAt: instantOrNull,
		openedBy: oneOf("message", "button", "accepted", "declined", null),
	}),
	consent: fields<SendDecision["consent"]>({ canBeAsked: flag, last: oneOf("asked", "accepted", "declined", null) }),
	ai: fields<SendDecision["ai"]>({ enabled: flag, disabledReason: oneOf(...aiReasons) }),
	held: orNull(
		fields<NonNullable<SendDecision["held"]>>({
			queueId: aString,
			since: anInstant,
			became: oneOf("kept", "sent", "replaced"),
		}),
	),
	before: oneOf("sent", "held", "dropped", "replaced", null),
});
const lostText = { body: aString, operationId: stringOrNull, heldAt: anInstant };
const stamp = {
	id: wholeFrom(1),
	action: wholeFrom(1),
	at: anInstant,
	realAt: anInstant,
	correlationId: orNull(correlationId),
	type: aString,
};
const breakpointId: Schema<string> = rule(
	(id) => typeof id === "string" && /^\d{1,15}$/.test(id),
	"must be the number of a breakpoint",
);
const contact = { ...stamp, agencyId: aString, contact: aPhone, name: stringOrNull };
const request = { method: aString, path: aString };

/** The fields of each type of event, beside those that all have. */
const eventFields: { readonly [Type in SandboxEventType]: Readonly<Record<string, Schema<never>>> } = {
	"contact.wrote": {
		...contact,
		messageId: wholeFrom(1),
		body: stringOrNull,
		buttonClicked: stringOrNull,
		files: wholeFrom(0),
	},
	"contact.read": { ...contact, messages: wholeFrom(0) },
	"contact.reachable": { ...contact, reachable: flag },
	"contact.named": contact,
	"text.sent": {
		...contact,
		messageId: wholeFrom(1),
		messageSid: aString,
		body: aString,
		operationId: stringOrNull,
		author,
		queueId: stringOrNull,
	},
	"text.held": { ...contact, queueId: aString, body: aString, operationId: stringOrNull, author, expiresAt: anInstant },
	"text.replaced": {
		...contact,
		queueId: aString,
		body: aString,
		operationId: stringOrNull,
		replaced: fields<LostText>(lostText),
		held: flag,
		expiresAt: instantOrNull,
	},
	"text.dropped": { ...contact, ...lostText, queueId: aString, reason: oneOf("declined", "expired") },
	"consent.asked": { ...contact, messageId: wholeFrom(1), templateCode: aString, language: stringOrNull },
	"consent.accepted": { ...contact, hadHeldText: flag },
	"consent.declined": { ...contact, hadHeldText: flag },
	"window.opened": { ...contact, expiresAt: anInstant },
	"window.closed": contact,
	"ai.on": { ...contact, reason: oneOf("contact_wrote", "staff") },
	"ai.off": { ...contact, reason: oneOf("manual_send", "user_toggle") },
	"flow.started": { ...contact, flowId: aString },
	"flow.changed": { ...contact, flowId: aString, status: aString },
	"message.status": {
		...contact,
		messageId: wholeFrom(1),
		messageSid: aString,
		status: aString,
		errorCode: orNull(aNumber),
	},
	"conversation.changed": contact,
	"clock.moved": { ...stamp, from: anInstant, to: anInstant },
	"agency.changed": { ...stamp, agencyId: aString },
	"access.changed": { ...stamp, integrationId: aString },
	"fault.added": { ...stamp, fault },
	"fault.removed": { ...stamp, faultId: aString },
	"fault.hit": { ...stamp, fault, operation },
	"breakpoint.added": { ...stamp, breakpointId },
	"breakpoint.removed": { ...stamp, breakpointId },
	"request.held": { ...stamp, breakpointId, operation },
	"request.resumed": { ...stamp, kind: oneOf(...faultKinds, null), phase: oneOf(...faultPhases, null) },
	request: {
		...stamp,
		...request,
		operation,
		query: aString,
		agencyId: stringOrNull,
		contact: orNull(aPhone),
		body: aValue,
		status,
		explanation: stringOrNull,
		decision: orNull(decision),
		answer: aValue,
		ms: aNumber,
		fault: orNull(fault),
		keyId: stringOrNull,
		key,
		headers,
	},
	violation: { ...stamp, ...request, rule: aString, message: aString, explanation: aString },
	"scenario.loaded": { ...stamp, scenario: aString },
	"sandbox.reset": stamp,
	"sandbox.restored": { ...stamp, lastEventId: wholeFrom(0) },
	"sandbox.opened": stamp,
} as never;

/** The names of all types of events. */
export const eventTypes: readonly string[] = Object.keys(eventFields);

const event = variant(
	"type",
	Object.fromEntries(Object.entries(eventFields).map(([type, each]) => [type, object(each)])),
);

const keysRule = listOf(
	fields<NamedKey>({
		id: rule((id) => typeof id === "string" && /^[\w-]{1,64}$/.test(id), "must be the name of a key, such as key-1"),
		integrationId: someText,
		scopes: listOf(oneOf(...scopes)),
		state: oneOf(...keyStates),
	}),
);

const step = fields<BugStep>({
	event: wholeFrom(0),
	now: rule(isInstant, "must be an instant in milliseconds"),
	counters: countersRule,
	rest: orNull(
		fields<NonNullable<BugStep["rest"]>>({
			integrations: listOf(integrationRule),
			keys: keysRule,
			agencies: listOf(agencyRule),
			faults: listOf(faultRule),
		}),
	),
	threads: listOf(
		fields<HistoryThread>({ agencyId: aString, phone: aPhone, keep: wholeFrom(0), thread: orNull(threadRule) }),
	),
	operations: listOf(pair(aString, orNull(operationRule))),
});

const schema = fields<WholeBug>({
	format: oneOf(bugFormat.format),
	version: rule((version) => version === bugFormat.version, `must be ${bugFormat.version}`),
	takenAt: anInstant,
	content: oneOf("generated", "kept"),
	place: fields<BugPlace>({ agencyId: stringOrNull, contact: orNull(aPhone), request: orNull(correlationId) }),
	policy: rule(isRecord, "must be an object"), // policyFrom looks at it
	variation: stringOrNull,
	world: rule(isRecord, "must be an object"), // archiveFrom looks at it
	events: listOf(event),
	gone: fields<Gone>({ events: wholeFrom(0), requests: wholeFrom(0), answers: wholeFrom(0) }),
	requests: listOf(correlationId),
	violations: listOf(
		fields<Violation>({ rule: aString, message: aString, explanation: aString, ...request, correlationId }),
	),
	past: optional(listOf(step)),
	replaced: listOf(
		fields<ReplacedText>({
			queueId: aString,
			operation: stringOrNull,
			at: rule(isInstant, "must be an instant in milliseconds"),
		}),
	),
});

/** A bug file, parsed or as text, with each part checked. Throws a TypeError that names the field. */
export function bugFrom(given: unknown): WholeBug {
	if (typeof given === "string" && given.length > longestBug)
		throw new TypeError("bug: the file is too long. A bug file has at most 100 MB.");
	const value: unknown = typeof given === "string" ? parsed(given) : given;
	assertBug(value);
	return value;
}

function assertBug(value: unknown): asserts value is WholeBug {
	assertFormat(value, bugFormat, "bug: this file", "bug: this is not a bug file.");
	assertValid("bug", value, schema);
	const { world, policy, events, past = [] } = value as WholeBug;
	policyFrom(policy);
	assertValid("bug: world.keys", world.keys, keysRule);
	archiveFrom(withSecrets(world));
	if (events.length > mostEvents) throw new TypeError(`bug: events must be at most ${mostEvents}.`);
	if (events.some(({ id }, at) => id <= (events[at - 1]?.id ?? 0)))
		throw new TypeError("bug: events must have rising ids.");
	if (events.some(({ id, action }, at) => action > id || action < (events[at - 1]?.action ?? 0)))
		throw new TypeError("bug: events must have rising actions, each the id of its first event.");
	if (events.some((each) => each.type === "sandbox.restored" && each.lastEventId >= each.id))
		throw new TypeError("bug: events must go back to earlier ones.");
	assertPast(past, events.at(-1)?.id ?? 0);
}

/** Whether the steps can be put together. Whether what they lead to is whole is checked when the page goes there. */
function assertPast(past: readonly BugStep[], newest: number): void {
	const wrong = (words: string): never => {
		throw new TypeError(`bug: past ${words}.`);
	};
	if (past.length > mostSteps) wrong(`must have at most ${mostSteps} steps`);
	if (past[0] && !past[0].rest) wrong("must begin with everything");
	if (past.some(({ event }, at) => event <= (past[at - 1]?.event ?? -1) || event >= newest))
		wrong("must have rising numbers of events, below the newest one");
	/** How many messages each conversation has so far. */
	const counts = new Map<string, number>();
	let copied = 0;
	for (const { threads } of past)
		for (const { agencyId, phone, keep, thread } of threads) {
			const name = `${agencyId} ${phone}`;
			const before = counts.get(name) ?? 0;
			if (keep > before) wrong("must keep no more messages of a conversation than there were");
			if (thread && (thread.phone !== phone || thread.views[0]?.agencyId !== agencyId))
				wrong("must name each conversation as it is");
			if (keep < before) copied += keep;
			if (copied > mostCopied) wrong("must change less");
			counts.set(name, thread ? keep + thread.messages.length : 0);
		}
}

function parsed(json: string): unknown {
	try {
		return JSON.parse(json);
	} catch {
		return undefined;
	}
}
