/** A request as plain values: what every frame (fetch, msw, node:http) makes of its own kind of request. */
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
	/** JSON, as a rule. */
	readonly body: string;
	/** A fault of the connection: nothing but a reset, nothing at all, or the body only half. */
	readonly cut?: "reset" | "hang" | "body";
}

/** An answer that comes after a real wait; what runs, runs when it is asked for. */
export interface Later {
	/** How long to wait, in real milliseconds. */
	readonly waitMs: number;
	/** Gives the answer, once the wait is over. */
	readonly resume: () => Reply;
}

/** What the sandbox says to a request: at once, or later when a fault holds it back. */
export type Reply = Answer | Later;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A body as text; throws when its bytes are not UTF-8. */
export const textIn = (body: Call["body"]): string => (typeof body === "string" ? body : utf8.decode(body));

const basePath = "/api/v1"; // §9

/** Path and query below the base path. What is not below it is asked for as a path that the service lacks (R12). */
export const targetIn = (path: string): string =>
	path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : `/..${path}`;

export function isLater(reply: Reply): reply is Later {
	return "waitMs" in reply;
}
