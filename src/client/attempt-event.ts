import type { Operation, PartnerErrorTag } from "./errors.ts";

/** One attempt, for logs and metrics. It holds no URL, header, body, phone number, name or cursor. */
export interface AttemptEvent {
	/** Operation id of the call, or `request` for `client.request`. */
	operation: Operation;
	/** Agency of the call. */
	agencyId?: string;
	/** Counted from 1. */
	attempt: number;
	/** HTTP status, when there was a response. */
	status?: number;
	/** Tag of the error that the attempt ended in. Absent when it succeeded. */
	errorTag?: PartnerErrorTag;
	/** The runtime's code of a failed connection, such as `ECONNRESET`, or the name of the error that a key function threw. */
	errorCode?: string;
	/** `X-Correlation-Id` of the response. Quote it to support. */
	correlationId?: string;
	/** Idempotency key, on sends and on the read that `ifHeld` makes before one. */
	operationId?: string;
	/** From the call of the key function to the end of the response, in milliseconds. */
	durationMs: number;
	/** Wait before the next attempt, in milliseconds. Absent when there is none. */
	retryInMs?: number;
}

/** Receives one line of text and the event that it was made from. `console`, pino and winston fit. */
export interface Logger {
	/** A successful attempt, or one that was abandoned because its iteration was left. */
	debug: (line: string, event: AttemptEvent) => unknown;
	/** A 404 of a read: no such conversation, integration or path. */
	info: (line: string, event: AttemptEvent) => unknown;
	/** A failed attempt that is retried. */
	warn: (line: string, event: AttemptEvent) => unknown;
	/** The failed attempt that ends its call. */
	error: (line: string, event: AttemptEvent) => unknown;
}

export interface Observers {
	logger?: Logger | undefined;
	onAttempt?: ((event: AttemptEvent) => unknown) | undefined;
}

/** The fields of an event. Undefined ones are left out of it. */
export type AttemptFacts = { [Field in keyof AttemptEvent]: AttemptEvent[Field] | undefined } & Pick<
	AttemptEvent,
	"operation" | "attempt" | "durationMs"
>;

export function eventOf({ operation, attempt, durationMs, ...rest }: AttemptFacts): AttemptEvent {
	return { operation, attempt, ...defined(rest), durationMs };
}

/**
 * One line of visible ASCII, whatever characters the caller has put into an operationId. It has no `%`, because a logger
 * that formats its first argument, as console does, would replace it and one that does not would show an escaped one.
 */
export function lineOf({ operation, ...rest }: AttemptEvent): string {
	const facts = Object.entries(rest).map(([name, value]) => {
		const shown = typeof value === "number" ? Math.round(value) : value.replace(/[^!-$&-~]+/g, "?").slice(0, 200);
		return `${name}=${shown}`;
	});
	return `messaging-conversations ${operation} ${facts.join(" ")}`;
}

/** The fields that are not undefined. */
export function defined<Fields extends object>(
	fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
	return Object.fromEntries(
		Object.entries(fields).filter(([, value]) => value !== undefined),
	) as Partial<Fields> as never;
}

/** Runs a callback and ignores anything it throws or rejects with, so that it cannot change the result of a call. */
export function ignoreErrors(run: () => unknown): void {
	(async () => run())().catch(() => {});
}
