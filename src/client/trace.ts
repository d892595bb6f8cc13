import { defined, ignoreErrors } from "./attempt-event.ts";
import type { Facts, Operation, PartnerErrorTag } from "./errors.ts";

/** The part of an OpenTelemetry span that the client uses. */
export interface Span {
	/** Called once at the end: status, attempts, correlation id, error. */
	setAttributes: (attributes: Record<string, string | number>) => unknown;
	/** Called for a call that failed, with the tag of its error. */
	setStatus: (status: { code: number; message?: string }) => unknown;
	/** Always called. */
	end: () => unknown;
}

/** Options of a new span, a part of OpenTelemetry's own. */
export interface SpanOptions {
	/** Always 2, OpenTelemetry's number for the span of a client. */
	kind: number;
	/** Attributes that are known at the start: method, path template, server, operation, agency, operationId. */
	attributes: Record<string, string | number>;
}

/** The part of an OpenTelemetry tracer that the client uses: pass `trace.getTracer("crm")`. */
export interface Tracer {
	/** Called once for each request and its retries, in the context of the caller, so that the span is a child of the active one. */
	startSpan: (name: string, options: SpanOptions) => Span;
	/** Used instead of `startSpan` if the tracer has it. The spans of an instrumented `fetch` are then children of this one. */
	startActiveSpan?: <Result>(name: string, options: SpanOptions, run: (span: Span) => Result) => Result;
}

/** The facts of a call that its span shows from the start. */
export interface TraceStart extends Pick<Facts, "agencyId" | "operationId"> {
	operation: Operation;
	method: string;
	/** Path template, such as `/agencies/{agencyId}/conversations/{phone}`. */
	path: string;
	baseUrl?: string | undefined;
}

/** The facts of a call that its span shows at the end, with the tag of its error. */
export interface TraceEnd extends Pick<Facts, "attempts" | "status" | "correlationId" | "outcome"> {
	_tag?: PartnerErrorTag | undefined;
}

const clientKind = 2;
const errorStatus = 2;

/** Ends the span of a call. An abandoned call has no reader. */
export type EndTrace = (end: TraceEnd, isAbandoned: boolean) => void;

/**
 * Runs a call in a span by the HTTP semantic conventions, but for `url.full`, which can hold a phone number or a search.
 * Spans of the instrumentation of `fetch` and node:http are its children. A tracer that throws changes nothing.
 */
export function inTrace<Result>(
	tracer: Tracer,
	start: TraceStart,
	run: (end: EndTrace) => Promise<Result>,
): Promise<Result> {
	const { operation, method, agencyId, operationId, baseUrl } = start;
	// A caller of `client.request` can write a phone number into the path, in place of a name.
	const path = start.path.replace(/\d[\d.-]{5,}/g, "?");
	const server = baseUrl ? new URL(baseUrl) : undefined;
	const attributes = defined({
		"http.request.method": method,
		"url.template": path,
		// The conventions write an IPv6 address without the brackets of a URL.
		"server.address": server?.hostname.replace(/[[\]]/g, ""),
		"server.port": server && (Number(server.port) || (server.protocol === "https:" ? 443 : 80)),
		"messaging_conversations.operation": operation,
		"messaging_conversations.agency_id": agencyId,
		"messaging_conversations.operation_id": operationId,
	});
	const name = `${method} ${path}`;
	const options = { kind: clientKind, attributes };
	// Whatever the tracer does, the call must run once, because a second run would send a second time.
	let result: Promise<Result> | undefined;
	ignoreErrors(() => tracer.startActiveSpan?.(name, options, (span) => (result ??= run(endOf(span)))));
	if (result) return result;
	let span: Span | undefined;
	ignoreErrors(() => {
		span = tracer.startSpan(name, options);
		// Returned, so that a tracer that gives a promise causes no unhandled rejection.
		return span;
	});
	result = run(endOf(span));
	return result;
}

function endOf(span: Span | undefined): EndTrace {
	return ({ _tag: tag, attempts = 0, status, correlationId, outcome }, isAbandoned) => {
		// A 404 of a read, which has no outcome, is an answer, and an abandoned call has no reader.
		const isAnswer = tag === "PartnerNotFound" && outcome === undefined;
		const error = isAnswer || isAbandoned ? undefined : tag;
		const results = defined({
			"http.request.resend_count": attempts > 1 ? attempts - 1 : undefined,
			"http.response.status_code": status,
			"error.type": error,
			"messaging_conversations.attempts": attempts,
			"messaging_conversations.correlation_id": correlationId,
			"messaging_conversations.outcome": outcome,
		});
		ignoreErrors(() => span?.setAttributes(results));
		if (error) ignoreErrors(() => span?.setStatus({ code: errorStatus, message: error }));
		ignoreErrors(() => span?.end());
	};
}
