import type { OperationId, PartnerErrorTag } from "./errors.ts";
import { quietly } from "./quietly.ts";

/** What is said of an attempt: an allow-list. No URL, no header, no body, no number, no name, no cursor. */
export interface AttemptEvent {
	/** The operation of the call. */
	operation: OperationId;
	/** Counted from 1. */
	attempt: number;
	/** HTTP status, when there was an answer. */
	status?: number;
	/** The error that the attempt ended in; absent when it succeeded. */
	errorTag?: PartnerErrorTag;
	/** The runtime's code of a connection that failed, as `ECONNRESET`. */
	errorCode?: string;
	/** `X-Correlation-Id` of the answer, when there was one: quote it to support. */
	correlationId?: string;
	/** On sends. */
	operationId?: string;
	/** From the request to the end of the answer, in milliseconds. */
	durationMs: number;
	/** The wait before the next attempt in milliseconds; absent when there is none. */
	retryInMs?: number;
}

/** Takes one line of text for each event: `console`, pino and winston fit. */
export interface Logger {
	/** A clean attempt, or one that was given up as nobody waits for its answer any more. */
	debug: (line: string) => unknown;
	/** A 404 of a read: there is no such conversation, no such integration, or no such path behind the gateway. */
	info: (line: string) => unknown;
	/** A failed attempt that is tried again. */
	warn: (line: string) => unknown;
	/** The failed attempt that ends its call. */
	error: (line: string) => unknown;
}

export interface Observers {
	logger?: Logger | undefined;
	onAttempt?: ((event: AttemptEvent) => unknown) | undefined;
}

/** An attempt as the transport knows it; what it does not know is left out of the event. */
type AttemptFacts = Pick<AttemptEvent, "operation" | "attempt" | "durationMs"> & {
	[Fact in keyof AttemptEvent]: AttemptEvent[Fact] | undefined;
} & { isAbandoned: boolean };

/** Tells both observers of an attempt. */
export function observe({ logger, onAttempt }: Observers, facts: AttemptFacts): void {
	if (!logger && !onAttempt) return;
	const { operation, attempt, durationMs, isAbandoned, ...rest } = facts;
	const known = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
	const event: AttemptEvent = { operation, attempt, ...known, durationMs };
	if (onAttempt) quietly(() => onAttempt(event));
	if (!logger) return;
	quietly(() => logger[isAbandoned ? "debug" : levelOf(event)](line(event)));
}

function levelOf({ errorTag, retryInMs }: AttemptEvent): keyof Logger {
	if (errorTag === undefined) return "debug";
	if (errorTag === "PartnerNotFound") return "info";
	return retryInMs === undefined ? "error" : "warn";
}

/** On one line whatever the caller has put into an operationId. */
function line({ operation, ...rest }: AttemptEvent): string {
	const facts = Object.entries(rest).map(
		([name, value]) =>
			`${name}=${typeof value === "number" ? Math.round(value) : value.replace(/[^!-~]+/g, "?").slice(0, 200)}`,
	);
	return `messaging-conversations ${operation} ${facts.join(" ")}`;
}
