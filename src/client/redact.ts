/** What an error, a log line or an event shows of a response, without what the request contained. */
import { digitOf } from "../shared/digits.ts";
import type { CallState } from "./call-state.ts";

/** A part of the request with fewer characters is not a secret: ordinary words contain it. */
const shortestSecret = 4;
const longestMessage = 500;
const longestHeader = 100;
/** No more of a text is read, because each secret is looked for in all of it. */
const longestRead = 4096;

/** The correlation id of the current response. An id that repeats a part of the request is left out. */
export function correlationIdOf<Data>(call: CallState<Data>): string | undefined {
	const id = call.head?.headers.get("x-correlation-id");
	if (!id || !/^[A-Za-z0-9._:-]{1,64}$/.test(id)) return undefined;
	const said = given(call.plan.secrets);
	const parts = [...keyPartsOf(call), ...numberEnds(said), ...wordsOf(said)];
	return parts.some((part) => part.length >= shortestSecret && id.includes(part)) ? undefined : id;
}

/** The parts of the request that a message must not repeat: keys, the caller's own headers, number, text, search, cursor. */
function secretsOf<Data>(call: CallState<Data>): string[] {
	const headers = Object.values(call.headers).map((value) => value.trim());
	return [...keyPartsOf(call), ...headers, ...given(call.plan.secrets)];
}

/** Each key that was used, whole and by its parts after the public prefix. */
function keyPartsOf<Data>({ keys }: CallState<Data>): string[] {
	return keys.flatMap((key) => [key.reveal(), ...key.reveal().split(".").slice(1)]);
}

function wordsOf(texts: readonly string[]): string[] {
	return texts.flatMap((text) => text.match(/[\p{L}\p{N}]+/gu) ?? []);
}

function given(secrets: readonly (string | undefined)[] = []): string[] {
	return secrets.filter((secret) => secret !== undefined);
}

/** The origin of a redirect's target, as the message shows it. The rest of the URL can hold a phone number. */
export function redirectTarget<Data>(call: CallState<Data>): string {
	const location = call.head?.headers.get("location");
	if (!location || !URL.canParse(location)) return "";
	const { origin } = new URL(location);
	const isShown = /^https?:\/\/[\w.:-]{1,100}$/.test(origin) && !/\d{6}/.test(origin);
	// A host has no spaces and no capitals: it can repeat a text word by word only.
	const words = wordsOf(secretsOf(call)).map((word) => word.toLowerCase());
	const isRepeated = words.some((word) => word.length >= shortestSecret && origin.includes(word));
	return isShown && !isRepeated ? ` to ${origin}` : "";
}

/**
 * The `message` of an error body as it is shown. The contract calls it safe to show, but a gateway can repeat the request
 * in it. Undefined for any other body, which is never shown.
 */
export function serviceMessage<Data>(call: CallState<Data>, body: unknown): string | undefined {
	const { _tag, message }: Record<string, unknown> = Object(body);
	if (typeof _tag !== "string" || typeof message !== "string") return undefined;
	return shown(message, secretsOf(call), longestMessage);
}

/** What an answer says about the gateway that gave it. */
export function intermediary<Data>(call: CallState<Data>): string {
	const secrets = secretsOf(call);
	const said = ["server", "via"].flatMap((name) => {
		const value = call.head?.headers.get(name);
		return value ? `${name}: ${shown(value, secrets)}` : [];
	});
	return said.length > 0 ? ` (${said.join(", ")})` : "";
}

/**
 * A text of the response as an error shows it: in one line, cut, and with `[hidden]` for what the request contained.
 *
 * @param secrets the parts of the request: see {@link secretsOf}
 */
function shown(text: string, secrets: readonly string[], longest = longestHeader): string {
	const isCut = text.length > longestRead;
	// The cut may be in the middle of an escape, such as %C3%A9.
	const read = isCut ? text.slice(0, longestRead).replace(/(?:%[\da-f]{0,2}){1,4}$|\\u?[\da-f]{0,4}$/i, "") : text;
	// Masked before it is cut to its length, because a cut could leave the beginning of a secret.
	const line = masked(read, isCut, secrets).replace(
		/[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu,
		" ",
	);
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

/**
 * Hides what the request contained. A number is hidden in any spelling. The rest is hidden as it was given, in another case,
 * Unicode-normalised, percent-encoded and as JSON escapes it.
 *
 * @param isCut whether the text ends in the middle, so that the beginning of a secret at its end is hidden too
 */
function masked(text: string, isCut: boolean, secrets: readonly string[]): string {
	const { folded, origins } = decoded(text);
	const hidden = new Uint8Array(text.length);
	const hide = (from: number, to: number): void => void hidden.fill(1, origins[from], origins[to]);

	const ends = new Set(numberEnds(secrets));
	for (const { 0: number, index } of folded.matchAll(anyNumber))
		if (holdsAny(digitsOf(number), ends)) hide(index, index + number.length);
	for (const [from, to] of spelledNumbers(folded, ends)) hide(from, to);
	const lastWords = folded.search(/\d[\d\s()./-]*$/);
	if (isCut && ends.size > 0 && lastWords >= 0) hide(folded.search(/[\d\s()./+-]+$/), folded.length);

	// Neither an escape nor a normal form makes a text more than four times as long.
	const parts = secrets.filter((part) => part.length >= shortestSecret).map((part) => part.slice(0, 4 * longestRead));
	const needles = new Set(
		parts.flatMap((part) => (/[%\\]/.test(part) ? [fold(part), decoded(part).folded] : fold(part))),
	);
	for (const needle of needles) {
		for (let at = folded.indexOf(needle); at >= 0; at = folded.indexOf(needle, at + needle.length))
			hide(at, at + needle.length);
		const start = isCut ? beginningAtEnd(folded, needle) : -1;
		if (start >= 0) hide(start, folded.length);
	}
	let shown = "";
	for (let at = 0; at < text.length; at++) {
		if (!hidden[at]) shown += text[at];
		else if (!hidden[at - 1]) shown += "[hidden]";
	}
	return shown;
}

/** Whether one of the ends, which have six to eight digits, is among some digits. */
function holdsAny(digits: string, ends: ReadonlySet<string>): boolean {
	for (let at = 0; at + 6 <= digits.length; at++)
		for (const length of [6, 7, 8]) if (ends.has(digits.slice(at, at + length))) return true;
	return false;
}

/** Between two digits of a number there may be marks, tags and escapes. */
const widestGap = 12;

/** Where a text has the last digits of a number in order, whatever is between them, and the digits before them. */
function spelledNumbers(text: string, ends: ReadonlySet<string>): [from: number, to: number][] {
	if (ends.size === 0) return [];
	const digits = Array.from(text.matchAll(/\p{Nd}/gu), ({ 0: character, index }) => ({
		value: digitOf(character),
		from: index,
		to: index + character.length,
	}));
	const isNear = (at: number): boolean => (digits[at]?.from ?? 0) - (digits[at - 1]?.to ?? 0) <= widestGap;
	const found: [number, number][] = [];
	/** The digits before this one are of a number that was found. */
	let floor = 0;
	for (let start = 0; start < digits.length; start++) {
		let end = "";
		for (let at = start; at < digits.length && end.length < 8 && (at === start || isNear(at)); at++) {
			end += digits[at]?.value;
			if (!ends.has(end)) continue;
			let first = start;
			while (first > floor && start - first < 7 && isNear(first)) first--;
			floor = at + 1;
			const from = digits[first]?.from ?? 0;
			found.push([text[from - 1] === "+" ? from - 1 : from, digits[at]?.to ?? 0]);
		}
	}
	return found;
}

/** Where a text ends with the beginning of a secret; -1 if it does not. */
function beginningAtEnd(text: string, secret: string): number {
	for (let at = Math.max(0, text.length - secret.length); at < text.length; at++)
		if (text[at] === secret[0] && secret.startsWith(text.slice(at))) return at;
	return -1;
}

/** The same for all cases and normal forms of a text. Capitals, because the small form of a sigma depends on its place. */
function fold(text: string): string {
	return text.normalize("NFKD").toUpperCase();
}

/** A character of UTF-8 in a URL, an escape of JSON, or a character with its accents. */
const characters =
	/%[0-7][\da-f]|%[cd][\da-f]%[89ab][\da-f]|%e[\da-f](?:%[89ab][\da-f]){2}|%f[0-7](?:%[89ab][\da-f]){3}|\\u[\da-f]{4}|\\["\\/bfnrt]|[^\p{M}]\p{M}*|\p{M}/giu;

/** A text folded and without escapes, and where each of its characters begins in the text. */
function decoded(text: string): { folded: string; origins: number[] } {
	let folded = "";
	const origins: number[] = [];
	for (const { 0: character, index } of text.matchAll(characters)) {
		const plain = fold(unescaped(character));
		for (let count = 0; count < plain.length; count++) origins.push(index);
		folded += plain;
	}
	return { folded, origins: [...origins, text.length] };
}

function unescaped(character: string): string {
	// Nothing here may throw: the caller has the key in a variable.
	if (character.length > 2 && character.startsWith("%")) {
		const bytes = character.slice(1).split("%");
		const text = utf8.decode(Uint8Array.from(bytes, (pair) => Number.parseInt(pair, 16)));
		// Not UTF-8, such as half of a surrogate pair.
		return text.includes("\ufffd") ? character : text;
	}
	return character.length > 1 && character.startsWith("\\") ? JSON.parse(`"${character}"`) : character;
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** In another realm a buffer is no instance of ours. */
const isBytes = (value: unknown): value is AllowSharedBufferSource =>
	ArrayBuffer.isView(value) || /ArrayBuffer\]$/.test(Object.prototype.toString.call(value));

/** Whether an identifier is one of the words of the request, or has a part of the key or the end of a number. */
export function repeatsWord<Data>(call: CallState<Data>, word: string): boolean {
	const said = given(call.plan.secrets);
	const parts = [...keyPartsOf(call), ...numberEnds(said)];
	return (
		parts.some((part) => part.length >= shortestSecret && word.includes(part)) ||
		(word.length >= shortestSecret && wordsOf(said).includes(word))
	);
}

/** More of a value that was thrown is not read. */
const mostRead = { values: 1000, depth: 6 };
/** Fields that are not an object's own, or that are not enumerable, and name what was asked. */
const telling = ["message", "stack", "cause", "errors", "url", "headers", "request", "response", "config"];

/**
 * Whether a value that `fetch` or `transport` threw repeats the key, the number or the text of the request, as the errors of HTTP
 * clients do. True if it cannot be read whole.
 */
export function repeatsRequest<Data>(call: CallState<Data>, thrown: unknown): boolean {
	const secrets = [...keyPartsOf(call), ...given(call.plan.secrets)];
	const seen = new Set<unknown>();
	const holds = (value: unknown, depth: number): boolean => {
		if (typeof value === "string") return value.length > longestRead || masked(value, false, secrets) !== value;
		if (typeof value === "symbol") return holds(value.description, depth);
		// A number can be that of the contact, and bytes a body.
		if (typeof value === "number" || typeof value === "bigint") return holds(String(value), depth);
		if (isBytes(value)) return holds(utf8.decode(value), depth);
		if (value === null || (typeof value !== "object" && typeof value !== "function") || seen.has(value)) return false;
		if (depth > mostRead.depth || seen.add(value).size > mostRead.values) return true;
		const names = new Set<PropertyKey>([...Reflect.ownKeys(value), ...telling]);
		if (Symbol.iterator in value && [...(value as Iterable<unknown>)].some((each) => holds(each, depth + 1)))
			return true;
		return [...names].some((name) => holds(String(name), depth) || holds(Reflect.get(value, name), depth + 1));
	};
	try {
		return holds(thrown, 0);
	} catch {
		return true;
	}
}
