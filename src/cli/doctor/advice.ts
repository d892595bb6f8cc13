import type { Secret } from "../../shared/secret.ts";

/** What to do, and who can do it. */
export interface Advice {
	readonly newKey: string;
	readonly bothScopes: string;
	readonly link: string;
	readonly access: string;
	readonly finishConsent: string;
	/** Where a failure of the service is looked into. */
	readonly support: string;
}

const ofService: Advice = {
	newKey: "Create a key in the service's console, under API keys, and set MESSAGING_API_KEY. Waiting does not help.",
	bothScopes: "Create a key with both scopes in the service's console",
	link: "Ask an owner of the integration to link the agency in the service's console.",
	access: "Ask an owner of the integration to link the agency again, or to create a key with both scopes.",
	finishConsent:
		"Ask the agency's staff or the service's support to finish the consent templates. Sends within the window work.",
	support: "Report the correlation id to the service's support, if there is one.",
};

/** A sandbox has no console and no support: its page does all of it. */
const ofSandbox: Advice = {
	newKey:
		"Set MESSAGING_API_KEY to the key that the sandbox printed when it started, or make one on the sandbox's page, under Settings.",
	bothScopes: "Give the key both scopes on the sandbox's page, under Settings",
	link: "Link the agency on the sandbox's page, under Settings.",
	access: "Link the agency again, or give the key both scopes, on the sandbox's page, under Settings.",
	finishConsent: "Complete the consent flow on the sandbox's page, under Settings. Sends within the window work.",
	support: "The sandbox's page shows the request and why it was answered so.",
};

/** The advice for a key. Those of sandboxes have a prefix of their own. */
export const adviceFor = (apiKey: Secret<string> | undefined): Advice =>
	apiKey?.reveal().startsWith("sandbox_live.") ? ofSandbox : ofService;
