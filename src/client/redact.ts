/** A part of the request with fewer characters is no secret: ordinary words contain it. */
const shortestSecret = 4;
const longestMessage = 500;

/**
 * The `message` of an error body as it is shown: in one line, without what the request itself contained. The contract
 * calls it safe to show, but a gateway can repeat the request in it. Undefined for any other body, which is never shown.
 *
 * @param secrets the parts of the request: key, phone number, text, search, cursor
 */
export function serviceMessage(body: unknown, secrets: readonly string[]): string | undefined {
	const { _tag, message }: Record<string, unknown> = Object(body);
	if (typeof _tag !== "string" || typeof message !== "string") return undefined;
	// Masked before it is cut, because a cut could leave the beginning of a secret.
	const line = masked(message, secrets).replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, " ");
	return line.trim().slice(0, longestMessage);
}

/** Replaces what the request contained, as it was given, as JSON and in a URL. */
function masked(text: string, secrets: readonly string[]): string {
	const forms = secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encoded(secret)]);
	// The longest first, because a shorter one can be a part of it.
	const parts = [...new Set(forms)].sort((one, other) => other.length - one.length);
	let shown = text;
	for (const part of parts) if (part.length >= shortestSecret) shown = shown.replaceAll(part, "[hidden]");
	return shown;
}

function encoded(text: string): string {
	return /\p{Surrogate}/u.test(text) ? text : encodeURIComponent(text);
}

/**
 * `X-Correlation-Id` if it has the form of an id and repeats no secret. A gateway can put a phone number or a key there.
 *
 * @param secrets the parts of the request
 * @param keys the keys among them, which an id must not hold in base64 or hexadecimals either
 */
export function correlationIdFrom(
	value: string | null | undefined,
	secrets: readonly string[],
	keys: readonly string[],
): string | undefined {
	if (!value || value.length > 128 || !/^[\w.:/=@-]+$/.test(value)) return undefined;
	if (value.includes("_live.") || /^[\d./-]{6,20}$/.test(value)) return undefined;
	const said = lettersOf(value);
	const isSaid = (secret: string): boolean => {
		const letters = secret.length > 1000 ? "" : lettersOf(secret);
		return letters.length >= shortestSecret && said.includes(letters);
	};
	if ([...keys, ...secrets].some(isSaid)) return undefined;
	const read = decodings(value);
	return keys.some((key) => key.length >= shortestSecret && read.some((text) => text.includes(key)))
		? undefined
		: value;
}

function lettersOf(text: string): string {
	return text.toLowerCase().replace(/[^\p{L}\p{Nd}]+/gu, "");
}

/** What an id says if it is base64 or hexadecimals. Base64 can begin anywhere in it. */
function decodings(id: string): string[] {
	const base64 = id
		.replaceAll("-", "+")
		.replaceAll("_", "/")
		.replace(/[^\w+/]/g, "");
	const found = [0, 1, 2, 3].map((from) => {
		const whole = base64.slice(from);
		return atob(whole.slice(0, whole.length - (whole.length % 4)));
	});
	const pairs = id.replace(/[^0-9a-f]/gi, "").match(/../g) ?? [];
	return [...found, String.fromCharCode(...pairs.map((pair) => Number.parseInt(pair, 16)))];
}
