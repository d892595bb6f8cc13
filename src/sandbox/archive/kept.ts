import { acceptCode, consentTemplate, declineCode, initialConsent } from "../world/consent.ts";

/*
 * The values that a bug file keeps. What has the form of a code, a media type or a language may still be a name or a number,
 * so that each is one of a list, or a number too small to be a phone's.
 */

const setOf = (words: string): ReadonlySet<string> => new Set(words.split(" "));

export const statuses = setOf(
	"queued accepted sending sent delivered read failed undelivered received active waiting completed cancelled timeout pending approved rejected",
);
export const words = setOf(
	"inbound outbound manual_send user_toggle focus unlinked tagged unknown api staff ai declined expired contact_wrote URL PHONE_NUMBER QUICK_REPLY conversations:read messages:write",
);
export const tags = setOf(
	"PartnerBadRequest PartnerUnauthorized PartnerForbidden PartnerNotFound PartnerConflict PartnerInternalError SandboxRefused SandboxError SandboxBadRequest SandboxNotFound SandboxFault SandboxReadOnly SandboxUnsupported",
);
/** The scenarios that can be loaded. */
export const scenarios = setOf("fresh busy closed held ineligible twoLanguages unlinked readOnlyKey oddData");
export const methods = setOf("GET POST PUT PATCH DELETE HEAD OPTIONS CONNECT TRACE");
/** The kinds of ids that a sandbox counts. */
export const counterKinds: ReadonlySet<string> = new Set([
	...setOf("request message thread flow queue integration key agency"),
	"flow update",
]);
/** Codes of templates, flows and buttons that the service itself has. */
export const codes = new Set([consentTemplate, acceptCode, declineCode, ...initialConsent.flowCodes]);

export const isConsentCode = (code: string | null): boolean => code === acceptCode || code === declineCode;

export const mediaTypes = setOf(
	"application/json application/problem+json application/octet-stream application/pdf application/x-www-form-urlencoded multipart/form-data audio/aac audio/amr audio/mp4 audio/mpeg audio/ogg image/gif image/jpeg image/png image/webp text/csv text/event-stream text/html text/plain text/vcard video/3gpp video/mp4",
);
const accepted = new Set([...mediaTypes, "*/*", "application/*", "text/*", "image/*"]);
const encodings = setOf("gzip deflate br zstd compress identity *");

/** A content type that the service takes in the same way: as JSON, or not. */
export function contentType(given: string): string {
	const [, type = "", charset] = /^\s*([^;]*?)\s*(;\s*charset=utf-8)?\s*$/i.exec(given) ?? [];
	if (mediaTypes.has(type)) return charset === undefined ? type : `${type}; charset=utf-8`;
	return /^\s*application\/([\w.+-]+\+)?json\s*(;|$)/i.test(given) ? "application/json" : "text/plain";
}

/** The items of a list in a header that are known, with their weights. */
const items = (given: string, known: ReadonlySet<string>): string =>
	given
		.split(",")
		.map((item) => item.trim())
		.filter((item) => {
			const [name = "", ...weights] = item.split(/\s*;\s*/);
			return known.has(name) && weights.every((weight) => /^q=[01](\.\d)?$/.test(weight));
		})
		.join(", ");

/** The rule of each header that is kept. One of which nothing is left is dropped. */
const headerRules: Readonly<Record<string, (text: string) => string>> = {
	"content-type": contentType,
	accept: (text) => items(text, accepted),
	"accept-encoding": (text) => items(text, encodings),
	"transfer-encoding": (text) => (text === "chunked" ? text : ""),
	connection: (text) => (/^(keep-alive|close)$/i.test(text) ? text : ""),
};

export const headers = (given: Readonly<Record<string, string>>): Record<string, string> =>
	Object.fromEntries(
		Object.entries(headerRules)
			.map(([name, rule]): [string, string] => [name, Object.hasOwn(given, name) ? rule(given[name] ?? "") : ""])
			.filter(([, text]) => text !== ""),
	);

/** ISO 639-1, and the longer codes that templates come in. */
const languages = setOf(
	"aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu fil yue",
);
const scripts = setOf("Arab Cyrl Deva Guru Hans Hant Latn");

/** Whether a text is a language as BCP 47 or a template writes it, such as `zh-Hans-CN` or `es_419`. */
export function isLanguage(text: string): boolean {
	const [, language = "", script] =
		/^([a-z]{2,3})(?:[-_]([A-Z][a-z]{3}))?(?:[-_](?:[A-Z]{2}|[a-z]{2}|\d{3}))?$/.exec(text) ?? [];
	return languages.has(language) && (script === undefined || scripts.has(script));
}

/** The greatest number of a body, but for counts and ids of messages. */
export const mostOfNumbers = 9_999;
/** Providers have codes of five digits. */
export const mostOfErrorCodes = 99_999;

/** A number that is too small to be a phone's, on the same side of each limit of the contract. */
export function smallNumber(given: number, most: number): number {
	if (!Number.isInteger(given)) return 0.5;
	return Math.min(Math.max(given, -1), most);
}
