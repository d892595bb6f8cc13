import { isUuid } from "../../shared/uuid.ts";
import { replaceOwn } from "../base/own.ts";
import { consentAnswers, consentTemplate, templateIn } from "../world/consent.ts";
import { encodeCursor, messagesName, positionIn } from "../world/cursor.ts";
import { reasonOf, type SendDecision } from "../world/decision.ts";
import type { EventFault, SandboxEvent } from "../world/event.ts";
import type { Fault } from "../world/fault.ts";
import type { HistoryThread } from "../world/history.ts";
import type { ReplacedText, Violation } from "../world/journal.ts";
import { violationMessages } from "../world/violations.ts";
import type {
	AgencyRecord,
	Held,
	Integration,
	MessageExtras,
	Operation,
	StoredMessage,
	Thread,
} from "../world/world.ts";
import type { BugStep, NamedKey, WholeBug } from "./bug-file.ts";
import {
	codes,
	contentType,
	counterKinds,
	headers,
	isConsentCode,
	isLanguage,
	mediaTypes,
	methods,
	mostOfErrorCodes,
	mostOfNumbers,
	scenarios,
	smallNumber,
	statuses,
	tags,
	words,
} from "./kept.ts";
import type { Pseudonyms } from "./pseudonyms.ts";

/*
 * A bug file without personal content. It is an allowlist: a field whose rule is not written here gets a text of the
 * same length. An unknown field keeps its name if that is one that a program gives, because it may be a typo; else it gets
 * another name too. A file that was opened may have been written by hand, so that ids have rules like any text.
 */

type Rule = (text: string) => string;

const literalSegments = new Set([
	"",
	"..",
	"api",
	"v1",
	"me",
	"agencies",
	"conversations",
	"lookup",
	"messages",
	"openapi.json",
]);
const instantForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)$/;
const numeric = new Set(
	"pageSize totalMessages failedMessages activeFlows completedFlows queuedMessages id messageId numMedia size index attachmentFileSize ttl_minutes".split(
		" ",
	),
);
const counts = new Set(["id", "messageId", "totalMessages", "failedMessages"]);
/** Fields whose values are lists, objects or booleans: their names are kept. */
const structural = new Set(
	"integration agencies scopes conversations nextCursor results conversation messagePage messages summary aiSettings windowReopenReadiness interactiveContent quickReplies listPicker items ctaButtons replyTo media mediaStored visibility hasMore enabled configured templatesApproved eligibleForManualSend aiEnabled isUnlinked isShared isVisibleThroughAgencyTag hasMedia queued windowOpen phoneNumbers unapprovedTemplates missingTemplates missingFlowCodes flowCodes availableLanguages".split(
		" ",
	),
);
/** Where a value is: cursors depend on it. */
interface Context {
	readonly agencyId: string;
	/** The contact's number before. */
	readonly phone: string;
}

/** What of a bug is looked at before anything of it is replaced. */
export interface Before {
	readonly agencyIds: ReadonlySet<string>;
	readonly integrationIds: ReadonlySet<string>;
	/** The greatest number of a message. */
	readonly messages: number;
	/** Whether a person's name is in an identifier. A CRM may put a contact's name where a field should be. */
	isOfName(identifier: string): boolean;
}

type Head = Pick<WholeBug, "content" | "variation" | "place">;

/** What stands in the file for each part of a bug. */
export type Redaction = ReturnType<typeof createRedaction>;

export function createRedaction(names: Pseudonyms, { agencyIds, integrationIds, messages, isOfName }: Before) {
	const rules = rulesOf(names);
	/** Unknown fields whose names are kept. */
	const kept = new Set<string>();
	const fieldName = (given: string): string => {
		if (!isIdentifier(given) || isOfName(given)) return names.field(given);
		kept.add(given);
		return given;
	};

	const code = codeRule(names);
	const aLanguage = languageRule(names);
	const mostMessages = Math.max(mostOfNumbers, messages);
	const sentence = (text: string): string =>
		replaceOwn(text.replace(longNumber, names.phone), (part) => {
			const quoted = part.startsWith('"') ? parsed(part) : undefined;
			if (typeof quoted === "string") return JSON.stringify(names.text(quoted));
			if (methods.has(part) || part in rules || numeric.has(part) || structural.has(part) || kept.has(part))
				return part;
			if (/^key-\d+$/.test(part)) return part;
			if (statuses.has(part) || codes.has(part)) return part;
			return names.known(part) ?? (isLanguage(part) ? part : names.text(part));
		});

	const value = (given: unknown, name: string, context: Context): unknown => {
		if (typeof given === "number")
			return numeric.has(name) ? smallNumber(given, counts.has(name) ? mostMessages : mostOfNumbers) : 0;
		if (typeof given === "string") return named(given, name, context);
		if (Array.isArray(given)) return given.map((each) => value(each, itemOf(name), context));
		if (typeof given !== "object" || given === null) return given;
		return Object.fromEntries(
			Object.entries(given).map(([key, each]) => {
				const isKnown = key in rules || numeric.has(key) || structural.has(key);
				// The contact who taps an item sends its id as the code.
				const field = key === "id" && name === "items" ? "code" : key;
				return [isKnown ? key : fieldName(key), value(each, isKnown ? field : "", context)];
			}),
		);
	};
	const named = (given: string, name: string, context: Context): string => {
		if (name === "cursor" || name === "nextCursor") return cursor(given, context);
		if (name === "id" || name === "agencyId") return id(given);
		return (rules[name] ?? names.text)(given);
	};
	const id: Rule = (given) => {
		if (agencyIds.has(given)) return agencyId(given);
		return integrationIds.has(given) ? integrationId(given) : queueId(given);
	};
	const agencyId: Rule = (given) => {
		if (/^agy_[0-9a-f]{16,}$/.test(given)) return given;
		return agencyIds.has(given) ? names.agencyId(given) : names.text(given);
	};
	const integrationId: Rule = (given) => (isUuid(given) ? given : names.uuid(given));
	const queueId: Rule = (given) => (/^que_[0-9a-f]{16}$/.test(given) ? given : names.text(given));
	const correlationId: Rule = (given) => (/^sandbox-[0-9a-f]{8}$/.test(given) ? given : names.correlationId(given));
	/** Of a fault or a breakpoint. */
	const numberOf: Rule = (given) => (/^\d{1,5}$/.test(given) ? given : names.fault(given));
	const cursor = (given: string, { agencyId: of, phone }: Context): string => {
		const position = positionIn(given);
		if (position === undefined) return names.text(given);
		// A cursor of messages is good for one number alone, and its checksum would tell the number.
		if (phone === "" || position.length !== 1) return position.length === 3 ? given : names.text(given);
		return encodeCursor(messagesName(id(of), names.phone(phone)), position);
	};

	const segment: Rule = (given) => {
		if (literalSegments.has(given)) return given;
		const plain = decoded(given);
		if (agencyIds.has(plain)) return agencyId(plain) === plain ? given : agencyId(plain);
		const twice = decoded(plain);
		const made = names.phone(plain === twice ? plain : twice);
		if (plain !== twice) return encodeURIComponent(encodeURIComponent(made));
		return given.includes("+") ? made : encodeURIComponent(made);
	};
	const path: Rule = (given) => given.split("/").map(segment).join("/");
	const query = (given: string, context: Context): string => {
		if (given === "") return given;
		const pairs = [...new URLSearchParams(given)].map(([name, text]): [string, string] => {
			if (name === "pageSize")
				return [name, /^\d+$/.test(text) ? `${smallNumber(Number(text), mostOfNumbers)}` : text && "none"];
			if (name === "cursor") return [name, cursor(text, context)];
			return name === "search" ? [name, names.text(text)] : [fieldName(name), names.text(text)];
		});
		return new URLSearchParams(pairs).toString();
	};
	const refusal = (given: unknown, context: Context): unknown => {
		if (typeof given !== "object" || given === null || !("message" in given)) return value(given, "", context);
		const { message, ...rest } = given;
		return { ...Object(value(rest, "", context)), message: typeof message === "string" ? refusalMessage(message) : "" };
	};
	/** "field: rule", or a sentence of the service. The field may be of the caller's own making. */
	const refusalMessage = (message: string): string => {
		const colon = message.lastIndexOf(": ");
		if (colon < 0) return message.replace(longNumber, names.phone);
		const field = message.slice(0, colon);
		const isKnown =
			/^[\w.[\]-]+$/.test(field) &&
			field
				.split(/[.[\]]+/)
				.every(
					(part) =>
						/^\d{0,3}$/.test(part) ||
						part in rules ||
						numeric.has(part) ||
						structural.has(part) ||
						part === "content-type" ||
						part === "subaccountId",
				);
		return isKnown ? message : `${fieldName(field)}${message.slice(colon)}`;
	};

	const eventFault = (given: EventFault): EventFault => ({
		...given,
		id: numberOf(given.id),
		remaining: given.remaining === null ? null : smallNumber(given.remaining, mostOfNumbers),
	});
	/** The fields of events that are ids or numbers, whatever the type of the event. */
	const ofEvents: Readonly<Record<string, (given: never) => unknown>> = {
		correlationId,
		agencyId,
		integrationId,
		queueId,
		messageId: (given: number) => smallNumber(given, mostMessages),
		messageSid: rules.messageSid ?? names.text,
		flowId: numberOf,
		fault: eventFault,
		faultId: numberOf,
		breakpointId: numberOf,
		files: (given: number) => smallNumber(given, mostOfNumbers),
		messages: (given: number) => smallNumber(given, mostOfNumbers),
		ms: (given: number) => Math.min(given, mostOfNumbers),
		scenario: (given: string) => (scenarios.has(given) ? given : "other"),
	};
	const event = (given: SandboxEvent): SandboxEvent => {
		const all: Record<string, unknown> = { ...eventOf(given) };
		for (const [name, each] of Object.entries(given))
			if (Object.hasOwn(ofEvents, name) && each !== null) all[name] = ofEvents[name]?.(each as never);
		return Object.assign({ ...given }, all);
	};
	const eventOf = (given: SandboxEvent): SandboxEvent => {
		switch (given.type) {
			case "request": {
				const [, , agencyId = "", , phone = ""] = given.path.split("/");
				const context = { agencyId: decoded(agencyId), phone: decoded(phone) };
				const { answer, status, fault } = given;
				const isOurs = fault?.kind !== "html";
				const isRefusal = status !== null && status >= 400;
				return {
					...given,
					method: methods.has(given.method) ? given.method : "OTHER",
					path: path(given.path),
					query: query(given.query, context),
					contact: given.contact === null ? null : names.phone(given.contact),
					body: value(given.body, "", context),
					explanation: given.explanation === null ? null : sentence(given.explanation),
					decision: given.decision && decision(given.decision),
					answer:
						given.operation === null && !isRefusal
							? null
							: isRefusal && isOurs
								? refusal(answer, context)
								: value(answer, "", context),
					headers: headers(given.headers),
				};
			}
			case "violation":
				return { ...given, ...violation(given) };
			case "clock.moved":
			case "sandbox.reset":
			case "sandbox.restored":
			case "sandbox.opened":
			case "scenario.loaded":
			case "agency.changed":
			case "access.changed":
			case "fault.added":
			case "fault.removed":
			case "fault.hit":
			case "breakpoint.added":
			case "breakpoint.removed":
			case "request.held":
			case "request.resumed":
				return given;
			default:
				return happened(given);
		}
	};
	/** The sentence is made anew, because a file that was opened may have any. */
	const decision = (given: SendDecision): SendDecision => {
		const facts = { ...given, held: given.held && { ...given.held, queueId: id(given.held.queueId) } };
		return { ...facts, reason: reasonOf(facts) };
	};
	const violation = <Given extends Pick<Violation, "rule" | "message" | "explanation" | "method" | "path">>(
		given: Given,
	): Given => ({
		...given,
		rule: /^R\d{1,3}$/.test(given.rule) ? given.rule : "OTHER",
		message: Object.values<string>(violationMessages).includes(given.message)
			? given.message
			: names.text(given.message),
		explanation: sentence(given.explanation),
		method: methods.has(given.method) ? given.method : "OTHER",
		path: path(given.path),
	});
	/** An event of a conversation. */
	const happened = (given: Extract<SandboxEvent, { readonly name: string | null }>): SandboxEvent => {
		const all: Record<string, unknown> = { contact: names.phone(given.contact), name: aName(given.name) };
		const isAnswer = given.type === "contact.wrote" && isConsentCode(given.buttonClicked);
		if ("body" in given && given.body !== null && !(isAnswer && consentAnswers.has(given.body)))
			all.body = names.text(given.body);
		if ("operationId" in given) all.operationId = operationId(given.operationId);
		if (given.type === "contact.wrote" && given.buttonClicked !== null) all.buttonClicked = code(given.buttonClicked);
		if (given.type === "text.replaced")
			all.replaced = {
				...given.replaced,
				body: names.text(given.replaced.body),
				operationId: operationId(given.replaced.operationId),
			};
		if (given.type === "consent.asked") {
			all.templateCode = code(given.templateCode);
			all.language = given.language === null ? null : aLanguage(given.language);
		}
		if ("status" in given) all.status = aStatus(given.status);
		if ("errorCode" in given && given.errorCode !== null)
			all.errorCode = smallNumber(given.errorCode, mostOfErrorCodes);
		return Object.assign({ ...given }, all);
	};
	const operationId = (given: string | null): string | null => (given === null ? null : names.operationId(given));
	const aName = (given: string | null): string | null => (given === null ? null : names.name("Contact", given));
	const message = (given: StoredMessage): StoredMessage => {
		const { extras, body } = given;
		const isOurs =
			extras?.templateName === consentTemplate
				? body === templateIn(extras.language ?? null).body
				: isConsentCode(extras?.buttonClicked ?? null) && consentAnswers.has(body ?? "");
		return {
			...given,
			body: body === null || isOurs ? body : names.text(body),
			profileName: aName(given.profileName),
			status: aStatus(given.status),
			errorCode: given.errorCode === null ? null : smallNumber(given.errorCode, mostOfErrorCodes),
			extras: extras === undefined ? undefined : extrasOf(extras),
		};
	};
	const extrasOf = (given: MessageExtras): MessageExtras => {
		const {
			templateName,
			language: of,
			buttonClicked,
			sender,
			operationId: op,
			media,
			mediaStored,
			interactiveContent,
			replyTo,
			author,
			nulls,
		} = given;
		const none = { agencyId: "", phone: "" };
		const walked = <Part>(part: Part): Part => value(part, "", none) as Part;
		const isConsent =
			templateName === consentTemplate &&
			JSON.stringify(interactiveContent) === JSON.stringify(templateIn(of ?? null).interactiveContent);
		return {
			...(templateName === undefined ? {} : { templateName: code(templateName) }),
			...(of === undefined ? {} : { language: aLanguage(of) }),
			...(buttonClicked === undefined ? {} : { buttonClicked: code(buttonClicked) }),
			...(sender === undefined ? {} : { sender: sender === null ? null : names.uuid(sender) }),
			...(op === undefined ? {} : { operationId: operationId(op) }),
			...(author === undefined ? {} : { author }),
			...(nulls === undefined ? {} : { nulls }),
			...(media === undefined ? {} : { media: walked(media) }),
			...(mediaStored === undefined ? {} : { mediaStored: walked(mediaStored) }),
			...(replyTo === undefined ? {} : { replyTo: walked(replyTo) }),
			...(interactiveContent === undefined
				? {}
				: { interactiveContent: isConsent ? interactiveContent : walked(interactiveContent) }),
		};
	};
	/** Integration, agency and operationId. */
	const operationKey: Rule = (given) => {
		const [, integration = "", agency = "", operation = ""] = /^(\S+) (\S+) (.*)$/s.exec(given) ?? [];
		return `${integrationId(integration)} ${agencyId(agency)} ${names.operationId(operation)}`;
	};
	const held = (given: Held): Held => ({
		...given,
		id: queueId(given.id),
		body: names.text(given.body),
		sender: given.sender === null ? null : names.uuid(given.sender),
		operationId: operationId(given.operationId),
		operation: given.operation === null ? null : operationKey(given.operation),
	});
	const viewsOf = ({ views: [owner, ...others] }: Thread): Thread["views"] => [
		{ ...owner, agencyId: agencyId(owner.agencyId) },
		...others.map((view) => ({ ...view, agencyId: agencyId(view.agencyId) })),
	];
	/** Its messages are parts of their own. */
	const thread = (given: Thread): Thread => ({
		...given,
		phone: names.phone(given.phone) as Thread["phone"],
		views: viewsOf(given),
		name: aName(given.name),
		flows: given.flows.map((flow) => ({ ...flow, status: aStatus(flow.status) })),
		held: given.held && held(given.held),
	});
	const agency = (given: AgencyRecord): AgencyRecord => ({
		...given,
		id: agencyId(given.id),
		integrationId: integrationId(given.integrationId),
		name: given.name === null ? null : names.name("Agency", given.name),
		senders: given.senders.map(names.uuid),
		consent: {
			...given.consent,
			languages: given.consent.languages.map(aLanguage),
			defaultLanguage: given.consent.defaultLanguage === null ? null : aLanguage(given.consent.defaultLanguage),
			flowCodes: given.consent.flowCodes.map(code),
			missingFlowCodes: given.consent.missingFlowCodes.map(code),
			missingTemplates: given.consent.missingTemplates.map(code),
			unapprovedTemplates: given.consent.unapprovedTemplates.map(({ templateCode, status }) => ({
				templateCode: code(templateCode),
				status: status === null ? null : aStatus(status),
			})),
		},
	});
	const operation = ([key, given]: readonly [string, Operation]): readonly [string, Operation] => {
		const [to, body, sender, of]: unknown[] = JSON.parse(given.payload);
		const payload = [
			names.phone(String(to)),
			names.text(String(body)),
			typeof sender === "string" ? names.uuid(sender) : null,
			typeof of === "string" ? aLanguage(of) : null,
		];
		const { fate } = given;
		const kept: Operation["fate"] = "queueId" in fate ? { ...fate, queueId: queueId(fate.queueId) } : fate;
		return [operationKey(key), { ...given, fate: kept, payload: JSON.stringify(payload) }];
	};
	const fault = (given: Fault): Fault => {
		const { effect } = given;
		const { field, body } = effect;
		return {
			...given,
			id: Number(numberOf(String(given.id))),
			agencyId: given.agencyId && agencyId(given.agencyId),
			contact: given.contact ? names.phone(given.contact) : null,
			skip: smallNumber(given.skip, mostOfNumbers),
			hits: smallNumber(given.hits, mostOfNumbers),
			remaining: given.remaining === null ? null : smallNumber(given.remaining, mostOfNumbers),
			effect: {
				...effect,
				retryAfter:
					effect.retryAfter !== null && /^\d{1,5}$/.test(effect.retryAfter)
						? effect.retryAfter
						: effect.retryAfter && "1",
				field:
					field === null || field.split(".").every((part) => part in rules || numeric.has(part) || structural.has(part))
						? field
						: "nextCursor",
				...(body === undefined ? {} : { body: body === null ? null : names.text(body) }),
				...(effect.contentType === undefined
					? {}
					: { contentType: effect.contentType === null ? null : contentType(effect.contentType) }),
				location: "https://elsewhere.invalid/",
			},
		};
	};
	const integration = (given: Integration): Integration => ({
		...given,
		id: integrationId(given.id),
		name: names.name("CRM", given.name),
	});
	const key = (given: NamedKey): NamedKey => ({ ...given, integrationId: integrationId(given.integrationId) });
	const replacedText = (given: ReplacedText): ReplacedText => ({
		...given,
		queueId: queueId(given.queueId),
		operation: given.operation === null ? null : operationKey(given.operation),
	});
	const counters = (given: BugStep["counters"]): BugStep["counters"] =>
		given.filter(([kind]) => counterKinds.has(kind));
	return {
		head: ({ variation, place }: Pick<WholeBug, "variation" | "place">): Head => ({
			content: "generated",
			variation: variation === null ? null : names.text(variation),
			place: {
				agencyId: place.agencyId && agencyId(place.agencyId),
				contact: place.contact === null ? null : names.phone(place.contact),
				request: place.request && correlationId(place.request),
			},
		}),
		counters,
		integration,
		key,
		agency,
		thread,
		message,
		operation: ([key, given]: readonly [string, Operation | null]) =>
			given ? operation([key, given]) : ([operationKey(key), null] as const),
		fault,
		change: (given: HistoryThread): HistoryThread => ({
			...given,
			agencyId: agencyId(given.agencyId),
			phone: names.phone(given.phone),
		}),
		event,
		correlationId,
		violation: (given: Violation): Violation => ({
			...violation(given),
			correlationId: correlationId(given.correlationId),
		}),
		replaced: replacedText,
	};
}

/** A number that is long enough to be a phone's. Times have at most four digits in a row. */
const longNumber = /\+?\d{6,}/g;

/** Whether a text is a name such as programs give: `boddy`, `custom_field`, `addressLine2`. */
const isIdentifier = (text: string): boolean => text.length <= 40 && /^[A-Za-z][A-Za-z_-]*\d?$/.test(text);

/** The words in the names of people and agencies. */
export function createNameWords() {
	const words = new Set<string>();
	const wordsIn = (identifier: string): readonly string[] =>
		identifier
			.replace(/([a-z])([A-Z])/g, "$1 $2")
			.toLowerCase()
			.match(/[a-z]+/g) ?? [];
	return {
		note(name: string | null): void {
			for (const word of (name ?? "").toLowerCase().match(/\p{L}{3,}/gu) ?? []) words.add(word);
		},
		areIn: (identifier: string): boolean =>
			[identifier.toLowerCase(), ...wordsIn(identifier)].some((word) => words.has(word)),
	};
}

const aStatus: Rule = (text) => (statuses.has(text) ? text : "other");

/** The code of a template, a flow or a button. One that is not the service's own may be a name. */
const codeRule =
	(names: Pseudonyms): Rule =>
	(text) =>
		codes.has(text) ? text : names.code(text);
const languageRule =
	(names: Pseudonyms): Rule =>
	(text) =>
		isLanguage(text) ? text : names.language(text);

/** The rule of each field of the contract that holds text. */
function rulesOf(names: Pseudonyms): Readonly<Record<string, Rule>> {
	const word: Rule = (text) => (words.has(text) ? text : "other");
	const media: Rule = (text) => {
		const type = text.slice(0, `${text};`.indexOf(";")).trimEnd(); // without its parameters
		return mediaTypes.has(type) ? type : "application/octet-stream";
	};
	const code = codeRule(names);
	const time: Rule = (text) => (instantForm.test(text) ? text : names.text(text));
	const sid: Rule = (text) => (/^SM[0-9a-f]{32}$/.test(text) ? text : names.text(text));
	const tag: Rule = (text) => (tags.has(text) ? text : "other");
	const contact: Rule = (text) => names.name("Contact", text);
	const of = (rule: Rule, fields: string): Record<string, Rule> =>
		Object.fromEntries(fields.split(" ").map((field) => [field, rule]));
	return Object.assign(Object.create(null), {
		...of(names.phone, "phoneNumber to phone"),
		...of(contact, "contactName profileName"),
		name: (text: string) => names.known(text) ?? names.text(text),
		...of(
			names.text,
			"body lastMessagePreview message text title description buttonText attachmentFileName attachmentUploadId",
		),
		...of(names.text, "cursor nextCursor agencyId queueId"),
		queueId: (text: string) => (/^que_[0-9a-f]{16}$/.test(text) ? text : names.text(text)),
		...of(word, "direction lastMessageDirection reason disabledReason type scopes"),
		...of(media, "contentType content_type attachmentMimeType"),
		...of(aStatus, "status latestFlowStatus"),
		...of(code, "templateName templateCode buttonClicked code flowCodes missingFlowCodes missingTemplates"),
		...of(
			time,
			"lastMessageAt lastInboundAt windowExpiresAt createdAt updatedAt deliveredAt readAt disabledAt downloaded_at",
		),
		...of(languageRule(names), "consentLanguage defaultLanguage availableLanguages"),
		messageSid: sid,
		operationId: (text: string) => names.operationId(text),
		subaccountId: (text: string) => (/^[0-9a-f-]{36}$/i.test(text) ? names.uuid(text) : names.text(text)),
		_tag: tag,
		url: () => "https://files.invalid/1",
		stored_url: () => "https://files.invalid/1",
		original_url: () => "https://files.invalid/1",
		storage_path: () => "1",
	});
}

/** The field of which an item of a list is. */
const itemOf = (name: string): string => (name === "phoneNumbers" ? "phoneNumber" : name);

function parsed(json: string): unknown {
	try {
		return JSON.parse(json);
	} catch {
		return undefined;
	}
}

function decoded(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}
