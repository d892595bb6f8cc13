/** What an error, a log line or an event shows of a response, without what the request contained. */
import type { CallState } from "./call-state.ts";

/** The correlation id of the current response. An id that repeats a part of the request is left out. */
export function correlationIdOf<Data>(call: CallState<Data>): string | undefined {
	return correlationIdFrom(call.head?.headers.get("x-correlation-id"), given(call.plan.secrets), keyPartsOf(call));
}

/** The parts of the request that a message must not repeat. */
export function secretsOf<Data>(call: CallState<Data>): string[] {
	return [...keyPartsOf(call), ...given(call.plan.secrets)];
}

/** Each key that was used, whole and by its parts after the public prefix. */
function keyPartsOf<Data>({ keys }: CallState<Data>): string[] {
	return keys.flatMap((key) => [key, ...key.split(".").slice(1)]);
}

function given(secrets: readonly (string | undefined)[] = []): string[] {
	return secrets.filter((secret) => secret !== undefined);
}

/** Origin of a redirect's target. The rest of the URL can hold a phone number. */
export function originOf(location: string | null | undefined, secrets: readonly string[]): string {
	if (!location || !URL.canParse(location)) return "";
	const { origin } = new URL(location);
	const isShown = /^https?:\/\/[\w.:-]{1,100}$/.test(origin) && !/\d{6}/.test(origin) && !repeats(origin, secrets);
	return isShown ? ` to ${origin}` : "";
}

/** A part of the request with fewer characters is not a secret: ordinary words contain it. */
const shortestSecret = 4;
const longestMessage = 500;
const longestHeader = 100;

/**
 * The `message` of an error body as it is shown: in one line, without what the request itself contained. The contract
 * calls it safe to show, but a gateway can repeat the request in it. Undefined for any other body, which is never shown.
 *
 * @param secrets the parts of the request: key, phone number, text, search, cursor
 */
export function serviceMessage(body: unknown, secrets: readonly string[]): string | undefined {
	const { _tag, message }: Record<string, unknown> = Object(body);
	if (typeof _tag !== "string" || typeof message !== "string") return undefined;
	return shown(message, secrets, longestMessage);
}

/**
 * A text of the response as an error shows it: in one line, cut, and with `[hidden]` for what the request contained.
 *
 * @param secrets the parts of the request: see {@link secretsOf}
 */
export function shown(text: string, secrets: readonly string[], longest = longestHeader): string {
	// Masked before it is cut, because a cut could leave the beginning of a secret.
	const line = masked(text, secrets).replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, " ");
	return line.trim().slice(0, longest);
}

/** The phone numbers in a text, or what could be one. */
export function numbersIn(text: string): string[] {
	return text.match(anyNumber) ?? [];
}

const anyNumber = /(\+|%2B)?\d[\d\s()./-]{4,}\d/gi;

/** The last digits of the numbers in the request. A response that spells a number in another way has them too. */
function numberEnds(secrets: readonly string[]): string[] {
	return secrets.flatMap(numbersIn).map((number) => digitsOf(number).slice(-8));
}

function digitsOf(number: string): string {
	return number.replace(/\D/g, "");
}

/** Replaces what the request contained: a number in any spelling, the rest as it was given, as JSON and in a URL. */
function masked(text: string, secrets: readonly string[]): string {
	const ends = numberEnds(secrets);
	let shown = text.replace(anyNumber, (number) =>
		ends.some((end) => digitsOf(number).includes(end)) ? "[hidden]" : number,
	);
	// A text of 20,000 letters is not in a short message, and takes long to encode.
	const shorter = secrets.filter(({ length }) => length <= text.length);
	const forms = shorter.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encoded(secret)]);
	// The longest first, because a shorter one can be a part of it.
	const parts = [...new Set(forms)].sort((one, other) => other.length - one.length);
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
 * @param keys the keys among them. An id must not hold them in base64 or hexadecimals either
 */
function correlationIdFrom(
	value: string | null | undefined,
	secrets: readonly string[],
	keys: readonly string[],
): string | undefined {
	if (!value || value.length > 128 || !/^[\w.:/=@-]+$/.test(value)) return undefined;
	if (value.includes("_live.") || /^[\d./-]{6,20}$/.test(value)) return undefined;
	// A UUID, which most ids are, has no room for more than a number.
	const isUuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value);
	const parts = isUuid ? secrets.flatMap(numbersIn) : [...secrets, ...numberEnds(secrets)];
	if (repeats(value, [...keys, ...parts])) return undefined;
	const read = isUuid ? [] : decodings(value);
	const isKey = keys.some((key) => key.length >= shortestSecret && read.some((text) => text.includes(key)));
	return isKey ? undefined : value;
}

/** Whether a short ASCII text, such as an id or a host, repeats a secret, whatever marks are between its letters. */
function repeats(text: string, secrets: readonly string[]): boolean {
	const said = lettersOf(text);
	return secrets.some((secret) => {
		const letters = secret.length > 1000 ? "" : lettersOf(secret);
		return letters.length >= shortestSecret && said.includes(letters);
	});
}

function lettersOf(text: string): string {
	return text.toLowerCase().replace(/[^a-z0-9]+/g, "");
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
