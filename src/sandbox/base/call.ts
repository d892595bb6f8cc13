/** A request as plain values: what fetch, msw and node:http each make of their own kind of request. */
export interface Call {
	/** The HTTP method. */
	readonly method: string;
	/** Path and query below the base URL, as they came. */
	readonly target: string;
	/** By lower-case name. */
	readonly headers: Readonly<Record<string, string>>;
	/** As it came, text or bytes; empty without one. */
	readonly body: string | Uint8Array;
}

/** An answer as plain values. */
export interface Answer {
	/** The HTTP status. */
	readonly status: number;
	/** By lower-case name. */
	readonly headers: Readonly<Record<string, string>>;
	/** JSON, except where a fault replaced it. */
	readonly body: string;
	/** How a fault breaks the connection: a reset, no answer at all, or half a body. */
	readonly cut?: "reset" | "hang" | "body";
}

/** An answer that comes after a real wait. */
export interface Later {
	/** How long to wait, in real milliseconds. */
	readonly waitMs: number;
	/** Of a request at a breakpoint: resolves once it may continue. Wait for this instead of `waitMs`, or ask after each `waitMs`. */
	readonly until?: Promise<void>;
	/** Gives the answer, once the wait is over. */
	readonly resume: () => Reply;
	/** Call it if the caller disconnects meanwhile, so that the request does not wait any longer. */
	readonly abandon?: () => void;
}

/** The sandbox's reply to a request: an answer, or one that a fault or a breakpoint delays. */
export type Reply = Answer | Later;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A body as text; throws when its bytes are not UTF-8. */
export const textIn = (body: Call["body"]): string => (typeof body === "string" ? body : utf8.decode(body));

/** The version segment of every base URL. */
export const basePath = "/api/v1";

/** Path and query below the base path. A path outside it becomes one that the service lacks (R12). */
export const targetIn = (path: string): string =>
	path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : `/..${path}`;

/** A segment of a path without its escapes; empty, which names nothing, when a % begins none. */
export function decoded(segment: string): string {
	try {
		return decodeURIComponent(segment);
	} catch {
		return "";
	}
}

export function isLater(reply: Reply): reply is Later {
	return "waitMs" in reply;
}
