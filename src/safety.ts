import { PartnerInvalidInput, reading } from "./errors.ts";
import { type CountryCode, type E164, requirePhone } from "./input/phone.ts";

/** The base URL without a trailing slash; undefined when there is none yet. Its own text never goes into an error. */
export function checkedBaseUrl(given: string | undefined): string | undefined {
	const text = given?.trim();
	if (!text) return undefined;
	const refuse = (rule: string): never => {
		throw new PartnerInvalidInput({ field: "baseUrl", rule });
	};
	if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) return refuse("must be an absolute https URL");
	const url = new URL(text);
	if (url.protocol !== "https:" && !isLoopback(url.hostname)) {
		return refuse("must be https; http is for loopback hosts alone");
	}
	if (url.username || url.password) return refuse("must not hold a user name or password");
	if (url.search || url.hash || /[?#]/.test(text)) return refuse("must not have a query or a fragment");
	return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

/**
 * A key that can stand in a header, as the runtime's own refusal would quote it; its form is the service's business. A
 * sandbox key is for a sandbox alone: a mistaken base URL must not look like a working test.
 */
export function checkedKey(key: unknown, baseUrl: string | undefined): string {
	if (!key) return refuseKey("is required");
	if (typeof key !== "string") return refuseKey("must be a string");
	if (!/^[\x21-\x7e]+$/.test(key)) return refuseKey("must be visible ASCII without spaces, and without `Bearer`");
	if (key.startsWith("sandbox_live.") && baseUrl && !isSandboxHost(new URL(baseUrl).hostname)) {
		return refuseKey("is a sandbox key, and baseUrl is no sandbox");
	}
	return key;
}

/** What the caller's function gives. What it throws is the caller's own, and not told. */
export async function askKey(give: () => unknown): Promise<unknown> {
	try {
		return await give();
	} catch {
		return refuseKey("its function failed");
	}
}

function refuseKey(rule: string): never {
	throw new PartnerInvalidInput({ field: "apiKey", rule });
}

function isSandboxHost(hostname: string): boolean {
	return hostname === "sandbox.invalid" || isLoopback(hostname);
}

function isLoopback(hostname: string): boolean {
	return /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}

/** An id as the service gives them out: it is a part of the path. */
export function checkAgencyId(agencyId: unknown): void {
	if (typeof agencyId === "string" && /^[A-Za-z0-9_-]{1,128}$/.test(agencyId)) return;
	const rule = "must be 1 to 128 letters, digits, - or _, as me.get gives it";
	throw new PartnerInvalidInput({ field: "agencyId", rule, operation: "agency" });
}

/** A page shows its key to whoever opens it. */
export function refuseBrowser(allowed: boolean): void {
	const { window, navigator } = globalThis as { window?: { document?: unknown }; navigator?: unknown };
	if (allowed || window?.document === undefined || navigator === undefined) return;
	const rule = "must be true to run in a browser, where anybody can read the key";
	throw new PartnerInvalidInput({ field: "dangerouslyAllowBrowser", rule });
}

/** The seat belt: who may be sent to. A predicate that throws, or says anything but true, refuses. */
export function allowedRecipients(
	given: readonly string[] | ((phone: E164) => boolean) | undefined,
	defaultCountry: CountryCode,
): (phone: E164) => boolean {
	if (given === undefined) return () => true;
	if (typeof given !== "function") {
		const phoneAt = (entry: string, index: number): E164 =>
			requirePhone(entry, defaultCountry, `allowRecipients[${index}]`, "createClient");
		const list = new Set(reading("allowRecipients", "createClient", () => given.map(phoneAt)));
		return (phone) => list.has(phone);
	}
	return (phone) => {
		try {
			return given(phone) === true;
		} catch {
			return false;
		}
	};
}
