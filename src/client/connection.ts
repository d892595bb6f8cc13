import { type FaultFacts, PartnerConfigurationError } from "./errors.ts";

/** The API key, or a function that returns it, called for each attempt so that a rotated key is used at once. */
export type ApiKey = string | (() => string | undefined | Promise<string | undefined>);

/** Why there is no usable key. */
export interface KeyProblem {
	field: "apiKey" | "baseUrl";
	rule: string;
	/** Whether a later call may get a key. */
	retryable: boolean;
	/** What the key function threw. */
	fault?: FaultFacts | undefined;
}

/** The key of the next attempt. It neither throws nor rejects. */
export type KeySource = () => string | KeyProblem | Promise<string | KeyProblem>;

/** Returns the base URL without a trailing slash, or nothing when it is absent. The error never shows the URL. */
export function checkBaseUrl(given = ""): string {
	const text = given.trim();
	if (text === "") return "";
	if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) throw refuse("baseUrl", "must be an absolute https URL");
	const url = new URL(text);
	if (url.protocol !== "https:" && !isLoopback(url.hostname)) {
		throw refuse("baseUrl", "must be https; http is for loopback hosts only: localhost, 127.0.0.0/8, [::1]");
	}
	if (url.username || url.password) throw refuse("baseUrl", "must not hold a user name or password");
	if (/[?#]/.test(text)) throw refuse("baseUrl", "must not have a query or a fragment");
	return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

/**
 * Checks a key that is a string at once, and the key that a function returns at each attempt. An absent key or base URL is
 * a problem of the first call only, because build steps create clients without secrets.
 */
export function createKeySource(given: ApiKey | undefined, baseUrl: string): KeySource {
	const noBaseUrl = baseUrl === "" && ({ field: "baseUrl", rule: "is required", retryable: false } as const);
	if (typeof given !== "function") {
		const key = checkKey(given, baseUrl);
		if (given && typeof key !== "string") throw refuse("apiKey", key.rule);
		return () => noBaseUrl || key;
	}
	return async () => {
		if (noBaseUrl) return noBaseUrl;
		try {
			return checkKey(await given(), baseUrl);
		} catch (error) {
			const { name: given }: { name?: unknown } = Object(error);
			const name = typeof given === "string" && /^[A-Za-z]\w{0,63}$/.test(given) ? given : "Error";
			return { field: "apiKey", rule: `its function failed (${name})`, retryable: true, fault: { name } };
		}
	};
}

const problem = (rule: string): KeyProblem => ({ field: "apiKey", rule, retryable: false });

/** Returns the key if it fits into a header, or its problem. The form of a key is checked by the service alone. */
function checkKey(key: unknown, baseUrl: string): string | KeyProblem {
	if (!key) return problem("is required");
	if (typeof key !== "string") return problem("must be a string");
	if (!/^[\x21-\x7e]+$/.test(key)) return problem("must be visible ASCII without spaces, and without `Bearer`");
	if (key.startsWith("sandbox_live.") && baseUrl !== "") {
		const { hostname } = new URL(baseUrl);
		const isSandbox = hostname === "sandbox.invalid" || isLoopback(hostname);
		if (!isSandbox) return problem("is a sandbox key, but baseUrl is not a sandbox");
	}
	return key;
}

/** `*.localhost` is left out, because a name server may answer for it. */
function isLoopback(hostname: string): boolean {
	return /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}

/** Refuses to run in a page, which shows its key to everybody who opens it. */
export function refuseBrowser(isAllowed: boolean): void {
	const { window, navigator } = globalThis as { window?: { document?: unknown }; navigator?: unknown };
	if (isAllowed || window?.document === undefined || navigator === undefined) return;
	throw refuse("dangerouslyAllowBrowser", "must be true to run in a browser, where everybody can read the key");
}

function refuse(field: string, rule: string): PartnerConfigurationError {
	return new PartnerConfigurationError({ field, rule });
}
