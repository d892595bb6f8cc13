import type { Agency, Schemas } from "./state.ts";

/** The consent template of every agency, and the codes of its two buttons. */
export const consentTemplate = "window_reopen_consent";
export const acceptCode = "consent_accept";
export const declineCode = "consent_decline";

/** Whether a send outside the window can be queued (§2 WindowReopenReadiness). */
export function readinessOf({ consent }: Agency): Schemas["WindowReopenReadiness"] {
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
