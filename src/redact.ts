import type { Answer } from "./attempt.ts";

/** Takes what must not be told out of a text. */
export type Redact = (text: string) => string;

/** Shorter than this, a text is no secret and taking it out would only garble a message. */
const shortest = 4;

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * A redactor of one call: what went out in it, wherever the service or a gateway echoes it, is not told on. The secrets
 * are asked for when there is something to redact, which is seldom.
 */
export function createRedactor(secrets: () => readonly (string | undefined)[]): Redact {
	return (text) => {
		const forms = secrets().flatMap((secret) => (secret ? spellings(secret) : []));
		return forms
			.filter((form) => form.length >= shortest)
			.sort((a, b) => b.length - a.length)
			.reduce((rest, form) => rest.replaceAll(new RegExp(literal(form), "gi"), "[redacted]"), text);
	};
}

/** As a pattern that matches itself, in whatever case: a URL lowers its host. */
function literal(form: string): string {
	return form.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

function spellings(secret: string): string[] {
	return [secret, printable(secret), encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
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
	return maskNumbers(redact(printable(message.slice(0, 10_000)))).slice(0, 500);
}

/** `X-Correlation-Id`, where it has the form of one and echoes nothing of the request. */
export function correlationIdOf(headers: Headers, redact: Redact): string | undefined {
	const id = headers.get("x-correlation-id");
	if (!id || !/^[\x21-\x7e]{1,128}$/.test(id)) return undefined;
	return uuid.test(id) || redact(id) === id ? id : undefined;
}

function printable(text: string): string {
	return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");
}

/** Runs of six or more digits, also where a number is written in groups. */
export function maskNumbers(text: string): string {
	return text.replace(/\+?\d(?:[\s().\-/]{0,2}\d){5,}/g, "[number]");
}
