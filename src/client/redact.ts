/** A part of the request with fewer letters and digits is no secret: ordinary words contain it. */
const shortestSecret = 4;
/** This many letters and digits in a row count as a piece of the request. */
const runLength = 12;
/** A longer part is not compared: the service message is withheld. */
export const longestSecret = 20_000;

const withheld =
	"the service's message is withheld because it may repeat the request; the correlation id identifies it";

/** Six or more digits, also in groups: a phone number or a part of one. */
const digits = /\+?\d(?:[\W_]{0,3}\d){5,}/g;

/**
 * The `message` of an error body as it may be shown, or a notice that it is withheld. Only ordinary words are shown,
 * because a gateway can repeat the request in any encoding. Undefined when the body is not an error body of the service.
 *
 * @param secrets the parts of the request that must not be repeated: key, phone numbers, text, search, cursor
 */
export function serviceMessage(body: unknown, secrets: readonly string[]): string | undefined {
	const { _tag, message }: Record<string, unknown> = Object(body);
	if (typeof _tag !== "string" || typeof message !== "string") return undefined;
	const line = message
		.slice(0, 500)
		.replace(/\p{Cc}+/gu, " ")
		.trim();
	const masked = line.replace(digits, "[number]");
	// A mask would cut a repeated text into short pieces, and without it each number would count as repeated.
	const texts = secrets.filter((secret) => /\p{L}/u.test(secret));
	return isOrdinary(masked) && !echoes(line, texts) && !echoes(masked, secrets) ? masked : withheld;
}

/**
 * Whether a text is printable ASCII in words of at most 24 characters, without the escapes of JSON, HTML, URLs and
 * quoted-printable. A dotted field name counts as several words.
 */
function isOrdinary(text: string): boolean {
	return /^[\x20-\x7e]*$/.test(text) && !/[^\s.]{25}|\\|&#?\w+;|%[0-9a-f]{2}|=[0-9a-f]{2}/i.test(text);
}

/** Whether a text repeats a piece of the request: twelve letters and digits in a row, or a shorter secret as a whole. */
export function echoes(text: string, secrets: readonly string[]): boolean {
	const said = lettersOf(text);
	return secrets.some((secret) => {
		if (secret.length > longestSecret) return true;
		const letters = lettersOf(secret);
		const length = Math.min(letters.length, runLength);
		if (length < shortestSecret) return false;
		for (let at = 0; at + length <= said.length; at++) {
			if (letters.includes(said.slice(at, at + length))) return true;
		}
		return false;
	});
}

/** Letters and digits in lower case, accents removed. */
function lettersOf(text: string): string {
	const plain = text.normalize("NFKD").toLowerCase();
	return plain.replace(/[^\p{L}\p{Nd}]+/gu, "");
}

/** `X-Correlation-Id` when it has the form of one. A gateway can put a phone number or a key there, which has not. */
export function correlationIdFrom(value: string | null | undefined): string | undefined {
	if (!value || value.length > 128 || !/^[\w.:/=@-]+$/.test(value)) return undefined;
	return value.includes("_live.") || /^[\d./-]{6,20}$/.test(value) ? undefined : value;
}
