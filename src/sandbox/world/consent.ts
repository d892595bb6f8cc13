import { type AnySchema, either, flag, listOf, refine, rule } from "../../shared/validation.ts";
import type { Schemas } from "../base/contract.ts";
import { aString, assertValid, fields, partOf, stringOrNull } from "../base/input.ts";

/** The consent template of every agency, and the codes of its two buttons. */
export const consentTemplate = "window_reopen_consent";
export const acceptCode = "consent_accept";
export const declineCode = "consent_decline";

/** A change of the consent flow of an agency. A setting that is left out stays as it is. */
export interface ConsentSettings {
	/** @default true */
	readonly configured?: boolean | undefined;
	/** Languages of the consent template. @default ["en"] */
	readonly languages?: readonly string[] | undefined;
	/** One of `languages`, or null. @default the first language */
	readonly defaultLanguage?: string | null | undefined;
	/** `flowCodes` of `windowReopenReadiness`. */
	readonly flowCodes?: readonly string[] | undefined;
	/** `missingFlowCodes` of `windowReopenReadiness`: with any, a send outside the window is 400. */
	readonly missingFlowCodes?: readonly string[] | undefined;
	/** `missingTemplates` of `windowReopenReadiness`: with any, a send outside the window is 400. */
	readonly missingTemplates?: readonly string[] | undefined;
	/** Template codes, or codes with a status. With any, a send outside the window is 400. */
	readonly unapprovedTemplates?: readonly (string | Schemas["UnapprovedTemplate"])[] | undefined;
	// R121
	/** How long a contact may take to answer. Texts that are held already keep their time. @default 48 */
	readonly answerWithinHours?: number | undefined;
}

/** Settings none of which is left out or undefined. */
type Settled<Settings> = { readonly [Name in keyof Settings]-?: Exclude<Settings[Name], undefined> };

/** The consent flow that an agency has, with everything settled. */
export interface Consent extends Settled<ConsentSettings> {
	readonly unapprovedTemplates: readonly Schemas["UnapprovedTemplate"][];
}

/** The consent flow that a new agency has. */
export const initialConsent: Consent = {
	configured: true,
	languages: ["en"],
	defaultLanguage: "en",
	flowCodes: ["window_reopen"],
	missingFlowCodes: [],
	missingTemplates: [],
	unapprovedTemplates: [],
	answerWithinHours: 48,
};

const texts = listOf(aString);
const isSet = (given: readonly string[]): boolean => new Set(given).size === given.length;
const templateRule = fields<Schemas["UnapprovedTemplate"]>({ templateCode: aString, status: stringOrNull });

/** The rule of each field, also for the fields of an archive. */
export const consentRules: { readonly [Field in keyof Consent]: AnySchema } = {
	configured: flag,
	// R100 counts them, and one given twice is one.
	languages: texts.check(refine(isSet, "must be a list of each language once")),
	defaultLanguage: stringOrNull,
	flowCodes: texts,
	missingFlowCodes: texts,
	missingTemplates: texts,
	unapprovedTemplates: listOf(templateRule),
	answerWithinHours: rule(
		(hours) => typeof hours === "number" && hours > 0 && hours <= 87_600,
		"must be above 0, at most 87600",
	),
};

const settingsRule = partOf<ConsentSettings>({
	...consentRules,
	unapprovedTemplates: listOf(either(aString, templateRule)),
});

/** The consent flow after a change. */
export function consentFrom(before: Consent, given: ConsentSettings): Consent {
	assertValid("consent.set", given, settingsRule);
	// A default value, and not a spread of what is given, because undefined must leave a setting as it is.
	const {
		configured = before.configured,
		languages = before.languages,
		defaultLanguage = before.defaultLanguage,
		flowCodes = before.flowCodes,
		missingFlowCodes = before.missingFlowCodes,
		missingTemplates = before.missingTemplates,
		unapprovedTemplates = before.unapprovedTemplates,
		answerWithinHours = before.answerWithinHours,
	} = structuredClone(given);
	const consent: Consent = {
		configured,
		languages,
		defaultLanguage,
		flowCodes,
		missingFlowCodes,
		missingTemplates,
		unapprovedTemplates: unapprovedTemplates.map((template) =>
			typeof template === "string" ? { templateCode: template, status: "pending" } : template,
		),
		answerWithinHours,
	};
	if (defaultLanguage === null || languages.includes(defaultLanguage)) return consent;
	// R168: null, or one of the languages.
	if (given.defaultLanguage !== undefined)
		throw new RangeError("consent.set: defaultLanguage must be one of languages, or null.");
	return { ...consent, defaultLanguage: languages[0] ?? null };
}

/** Whether a send outside the window can be queued. */
export function readinessOf({ consent }: { readonly consent: Consent }): Schemas["WindowReopenReadiness"] {
	const { configured, languages, missingFlowCodes, missingTemplates, unapprovedTemplates } = consent;
	// R106
	const templatesApproved =
		configured && missingFlowCodes.length === 0 && missingTemplates.length === 0 && unapprovedTemplates.length === 0;
	return {
		configured,
		templatesApproved,
		eligibleForManualSend: templatesApproved && languages.length > 0, // R105
		availableLanguages: [...languages],
		defaultLanguage: consent.defaultLanguage,
		flowCodes: [...consent.flowCodes],
		missingFlowCodes: [...missingFlowCodes],
		missingTemplates: [...missingTemplates],
		unapprovedTemplates: unapprovedTemplates.map((template) => ({ ...template })),
	};
}

interface Wording {
	readonly question: string;
	readonly accept: string;
	readonly decline: string;
}

const english: Wording = { question: "We have a message for you. May we send it?", accept: "Yes", decline: "No" };

const wordings: ReadonlyMap<string, Wording> = new Map([
	["nl", { question: "We hebben een bericht voor u. Mogen we het sturen?", accept: "Ja", decline: "Nee" }],
	["fr", { question: "Nous avons un message pour vous. Pouvons-nous l'envoyer ?", accept: "Oui", decline: "Non" }],
	["de", { question: "Wir haben eine Nachricht für Sie. Dürfen wir sie senden?", accept: "Ja", decline: "Nein" }],
]);

/** What the two buttons say, in each language. */
export const consentAnswers: ReadonlySet<string> = new Set(
	[english, ...wordings.values()].flatMap(({ accept, decline }) => [accept, decline]),
);

/** R85, R177: the consent template as the contact sees it. */
export function templateIn(language: string | null): {
	readonly body: string;
	readonly interactiveContent: Schemas["InteractiveContent"];
} {
	const { question, accept, decline } = wordings.get(language ?? "en") ?? english;
	const quickReplies = [
		{ code: acceptCode, text: accept },
		{ code: declineCode, text: decline },
	];
	return { body: question, interactiveContent: { quickReplies } };
}
