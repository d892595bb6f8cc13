import type { Answer } from "./attempt.ts";
import { property } from "./errors.ts";
import { headerOf } from "./headers.ts";
import { isUuid } from "./operation-id.ts";
import { lettersOf, runsOf, type Spelled, spell } from "./spelling.ts";

/** Keeps what must not be told out of what is said of one call. */
export interface Redactor {
	/** The text without what went out in the call, and without anything like a phone number. */
	clean: (text: string) => string;
	/** Whether the text holds a part of what went out. */
	echoes: (text: string) => boolean;
}

/** Letters of which a secret has fewer are no secret: taking them out would only garble a message. */
const shortest = 4;
/** With fewer letters it is an echo only as a word of its own. */
const unmistakable = 8;
/** So many letters of a longer one are an echo of it: what quotes a request cuts it off somewhere. */
const telling = 12;

/** Six or more digits of any script, also in groups. */
const numbers = /\+?\p{Nd}(?:[\s\p{P}]{0,3}\p{Nd}){5,}/gu;

type Span = readonly [from: number, to: number];

/**
 * The redactor of a call: what went out in it, wherever the service or a gateway echoes it, whole or in part and however
 * encoded, is not told on. The secrets are asked for when there is something to redact, which is seldom.
 */
export function createRedactor(secrets: () => readonly (string | undefined)[]): Redactor {
	const echoed = (text: string): Span[] => {
		const said = spell(text);
		const pieces = piecesOf(said.letters);
		const find = (form: string): Span[] => (form.length < telling ? whole(form, said) : parts(form, said, pieces));
		return secrets().flatMap(formsOf).flatMap(find);
	};
	return {
		clean: (text) => without(text, echoed(text)),
		echoes: (text) => echoed(text).length > 0,
	};
}

/** Of a key any part that is unmistakable, but for what it begins with: that tells no more than whose key it is. */
export function partsOfKey(key: string): string[] {
	const [, ...parts] = key.split(".");
	return [key, ...parts.flatMap((part) => [...runsOf(lettersOf(part), unmistakable)])];
}

/** A secret as it is looked for; of a phone number any part that is unmistakable, as people and machines cut it. */
function formsOf(secret = ""): string[] {
	const letters = lettersOf(secret);
	if (/^\d{9,15}$/.test(letters)) return [...runsOf(letters, unmistakable)];
	return letters.length < shortest ? [] : [letters];
}

/** Where a short secret stands. */
function whole(secret: string, { letters, places }: Spelled): Span[] {
	const found: Span[] = [];
	for (let at = letters.indexOf(secret); at >= 0; at = letters.indexOf(secret, at + 1)) {
		const [from, to] = spanOf(places, at, at + secret.length);
		const isWord = from !== places[at - 1]?.[1] && to !== places[at + secret.length]?.[0];
		if (isWord || secret.length >= unmistakable) found.push([from, to]);
	}
	return found;
}

/** Where parts of a long secret stand. A piece that was found is found once, however often the secret has it. */
function parts(secret: string, { places }: Spelled, pieces: Map<string, number[]>): Span[] {
	const found: Span[] = [];
	for (const piece of runsOf(secret, telling)) {
		for (const place of pieces.get(piece) ?? []) found.push(spanOf(places, place, place + telling));
		pieces.delete(piece);
	}
	return found;
}

/** Where each run of `telling` letters begins. */
function piecesOf(letters: string): Map<string, number[]> {
	const pieces = new Map<string, number[]>();
	let at = 0;
	for (const piece of runsOf(letters, telling)) pieces.set(piece, [...(pieces.get(piece) ?? []), at++]);
	return pieces;
}

function spanOf(places: Spelled["places"], from: number, to: number): Span {
	return [places[from]?.[0] ?? 0, places[to - 1]?.[1] ?? 0];
}

/** The text without what echoes a secret, and without numbers. What touches is taken out as one. */
function without(text: string, echoed: readonly Span[]): string {
	// Marked with what no line has in it.
	const marked = text.split("");
	for (const { 0: digits, index } of text.matchAll(numbers)) marked.fill("\n", index, index + digits.length);
	for (const [from, to] of echoed) marked.fill("\r", from, to);
	return marked
		.join("")
		.replace(/\n*\r[\n\r]*/g, "[redacted]")
		.replace(/\n+/g, "[number]");
}

/**
 * The service's own message, "safe to show or log" by spec §7 and yet: on one line, without what the request held, without
 * anything like a phone number, and of at most 500 characters. Undefined where the body is not the service's.
 */
export function serviceMessage(body: Answer["body"], redactor: Redactor): string | undefined {
	const { _tag, message }: Record<string, unknown> = Object(property(body, "json"));
	if (typeof _tag !== "string" || typeof message !== "string") return undefined;
	const line = message.slice(0, 10_000).replace(/[\p{Cc}\p{Cf}\p{Z}]+/gu, " ");
	// Not between the halves of a character.
	return redactor
		.clean(line.slice(0, 1000))
		.slice(0, 500)
		.replace(/[\ud800-\udbff]$/, "");
}

/** `X-Correlation-Id`, where it has the form of one and echoes nothing of the request. */
export function correlationIdOf(headers: Headers, redactor: Redactor): string | undefined {
	const id = headerOf(headers, "x-correlation-id");
	if (!id || !/^[\x21-\x7e]{1,128}$/.test(id)) return undefined;
	return isUuid(id) || !redactor.echoes(id) ? id : undefined;
}
