import { version } from "../../package.json";
import { PartnerConfigurationError } from "./errors.ts";

/** The API key, or a function that returns it, called for each attempt so that a rotated key is used at once. */
export type ApiKey = string | (() => string | undefined | Promise<string | undefined>);

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

/** Checks a key that is a string. An absent one fails the first call, because build steps create clients without secrets. */
export function checkKey(given: ApiKey | undefined, baseUrl: string): void {
	const rule = given && typeof given === "string" ? keyProblem(given, baseUrl) : undefined;
	if (rule !== undefined) throw refuse("apiKey", rule);
}

/** The rule that a key breaks, or undefined. The service alone checks the form of a key. */
export function keyProblem(key: unknown, baseUrl: string): string | undefined {
	if (!key) return "is required";
	if (typeof key !== "string") return "must be a string";
	if (!/^[\x21-\x7e]+$/.test(key)) return "must be visible ASCII without spaces, and without `Bearer`";
	if (!key.startsWith("sandbox_live.") || baseUrl === "") return undefined;
	const { hostname } = new URL(baseUrl);
	const isSandbox = hostname === "sandbox.invalid" || isLoopback(hostname);
	return isSandbox ? undefined : "is a sandbox key, but baseUrl is not a sandbox";
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

/** SDK, runtime and application. Undefined in a page, where the browser sets its own. */
export function userAgentOf(appInfo: { name: string; version?: string | undefined } | undefined): string | undefined {
	if (typeof document === "object") return undefined;
	const { process, navigator } = globalThis as {
		process?: { versions?: { node?: string } };
		navigator?: { userAgent?: string };
	};
	const node = process?.versions?.node;
	// A runtime's name with characters that no header can hold would fail every request.
	const own = /^(?!Node\.js)[\x20-\x7e]+$/.exec(navigator?.userAgent ?? "")?.[0];
	const runtime = own ?? (node && `Node.js/${node}`);
	const app = [appInfo?.name, appInfo?.version].flatMap((part) => part?.replace(/[^\w.-]+/g, "-") ?? []).join("/");
	return [`messaging-conversations/${version}`, runtime, app].filter(Boolean).join(" ");
}
