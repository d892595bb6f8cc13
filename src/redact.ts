import type { Answer } from "./attempt.ts";
import { headerOf } from "./headers.ts";

/** Takes what must not be told out of a text. */
export type Redact = (text: string) => string;

/** Shorter than this, a text is no secret and taking it out would only garble a message. */
const shortest = 4;
/** As much as this of a longer one is an echo of it: what quotes a request cuts it off somewhere. */
const telling = 12;

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * A redactor of one call: what went out in it, wherever the service or a gateway echoes it, whole or in part, is not told
 * on. The secrets are asked for when there is something to redact, which is seldom.
 */
export function createRedactor(secrets: () => readonly (string | undefined)[]): Redact {
	return (text) => {
		const forms = new Set(secrets().flatMap((secret) => (secret ? spellings(secret) : [])));
		const folded = fold(text);
		const hidden = new Set<number>();
		for (const form of forms) {
			const size = Math.min(form.length, telling);
			if (size < shortest) continue;
			for (let at = 0; at + size <= folded.length; at++) {
				if (!form.includes(folded.slice(at, at + size))) continue;
				for (let index = at; index < at + size; index++) hidden.add(index);
			}
		}
		let shown = "";
		for (let index = 0; index < text.length; index++) {
			if (!hidden.has(index)) shown += text[index];
			else if (!hidden.has(index - 1)) shown += "[redacted]";
		}
		return shown;
	};
}

/** In one case, as a URL lowers its host, and of the same length. */
function fold(text: string): string {
	const lower = text.toLowerCase();
	return lower.length === text.length ? lower : text;
}

function spellings(secret: string): string[] {
	const spelled = [secret, plain(secret), encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
	// A number without its country, in an id or a code.
	if (/^\+?[\d\s().\-/]{8,}$/.test(secret)) spelled.push(secret.replace(/\D/g, "").slice(-8));
	return spelled.map(fold);
}

/**
 * The service's own message, "safe to show or log" by spec §7 and yet: without control characters, without what the
 * request held, without anything like a phone number, and of at most 500 characters. Undefined where the body is not
 * the service's.
 */
export function serviceMessage(body: Answer["body"], redact: Redact): string | undefined {
	if (typeof body === "string" || typeof body.json !== "object" || body.json === null) return undefined;
	const { _tag, message } = body.json as Record<string, unknown>;
	if (typeof _tag !== "string" || typeof message !== "string") return undefined;
	return redact(plain(message.slice(0, 1000))).slice(0, 500);
}

/** `X-Correlation-Id`, where it has the form of one and echoes nothing of the request. */
export function correlationIdOf(headers: Headers, redact: Redact): string | undefined {
	const id = headerOf(headers, "x-correlation-id");
	if (!id || !/^[\x21-\x7e]{1,128}$/.test(id)) return undefined;
	return uuid.test(id) || redact(id) === id ? id : undefined;
}

/** On one line, and without numbers: both what is said and what was sent are brought to this form, to be held together. */
function plain(text: string): string {
	return maskNumbers(text.replace(/[\p{Cc}\p{Cf}\p{Z}]+/gu, " "));
}

/** Runs of six or more digits of any script, also where a number is written in groups. */
export function maskNumbers(text: string): string {
	return text.replace(/\+?\p{Nd}(?:[\s\p{P}]{0,3}\p{Nd}){5,}/gu, "[number]");
}
