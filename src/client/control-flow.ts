import type { PartnerError } from "./errors.ts";

/** Carries a value past p-retry, which takes only errors, to the end of a call that is not to be retried. */
export class Interruption extends Error {
	/**
	 * @param thrown what the caller of the client gets
	 * @param failure what the attempt is reported as, if it made a request
	 */
	constructor(
		readonly thrown: unknown,
		readonly failure?: PartnerError,
	) {
		super("interrupted");
	}
}

/**
 * Whether a value that a function of the caller threw steers the caller's framework: a `Response`, a redirect, "not found".
 * It says nothing about the request. No framework steers by a text, and the text of an HTTP client repeats the request. Frameworks recognise it by identity or by its fields, so that it must arrive unchanged.
 */
export function isControlFlow(thrown: unknown): boolean {
	if (typeof thrown === "string") return false;
	return !isError(thrown) || isOfNext(thrown) || isOfH3(thrown);
}

/** An error of another realm is not an instance of our `Error`. */
function isError(value: unknown): value is object {
	const tag = Object.prototype.toString.call(value);
	return value instanceof Error || tag === "[object Error]" || tag === "[object DOMException]";
}

/** Errors by which Next.js and React redirect, or learn that a page is dynamic. The digest of any other error is a hash. */
function isOfNext(error: object): boolean {
	const { digest, code, $$typeof: type }: { digest?: unknown; code?: unknown; $$typeof?: unknown } = error;
	const isNamed = typeof digest === "string" && /^[A-Z]+(_[A-Z]+)+([;@]|$)/.test(digest);
	return isNamed || code === "NEXT_STATIC_GEN_BAILOUT" || type === Symbol.for("react.postpone");
}

/** The errors of h3, by which Nitro and Nuxt answer a request. ky and got have an `HTTPError` too. */
function isOfH3(error: object): boolean {
	if (Object(error.constructor).__h3_error__ === true) return true;
	return Reflect.get(error, "name") === "HTTPError" && Object.hasOwn(error, "unhandled");
}
