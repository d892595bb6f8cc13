import { operationTable } from "../generated/operations.ts";
import type { OperationId, PartnerError } from "./errors.ts";
import { quietly } from "./quietly.ts";

/** What is used of an OpenTelemetry span. */
export interface Span {
	/** Told once, at the end of the request and its retries: status, attempts, correlation id, error. */
	setAttributes: (attributes: Record<string, string | number>) => unknown;
	/** Told of a call that failed, with the tag of its error. */
	setStatus: (status: { code: number; message?: string }) => unknown;
	/** Always told, whatever became of the call. */
	end: () => unknown;
}

/** What is used of an OpenTelemetry tracer: `trace.getTracer("crm")` fits. */
export interface Tracer {
	/** Asked once for each request and its retries, in the context of the caller: the span is a child of the one that is active there. */
	startSpan: (name: string, options: { kind: number; attributes: Record<string, string | number> }) => Span;
}

/** How a call ended, for its span. */
export interface TraceEnd {
	attempts: number;
	status: number | undefined;
	correlationId: string | undefined;
	/** Undefined for a call that succeeded, or that was given up as nobody waits for it. */
	error: PartnerError | undefined;
}

const clientKind = 2;
const errorStatus = 2;

/**
 * Begins the span of a call, by the HTTP semantic conventions: the path's template, and never the path, which can hold a
 * phone number. @returns what ends it. Neither can fail a call.
 */
export function startTrace(
	tracer: Tracer | undefined,
	operation: OperationId,
	baseUrl: string | undefined,
): (end: TraceEnd) => void {
	if (!tracer) return () => {};
	let span: Span | undefined;
	quietly(() => {
		span = tracer.startSpan(nameOf(operation), { kind: clientKind, attributes: attributesOf(operation, baseUrl) });
		return span;
	});
	// Each by itself: a span that cannot be described can still be ended.
	return (end) => {
		quietly(() => span?.setAttributes(resultOf(end)));
		if (end.error) {
			const status = { code: errorStatus, message: end.error._tag };
			quietly(() => span?.setStatus(status));
		}
		quietly(() => span?.end());
	};
}

type Attributes = Record<string, string | number>;

function nameOf(operation: OperationId): string {
	const { method, path } = operationTable[operation];
	return `${method} ${path}`;
}

/** The convention's `url.full` is left out: it holds the phone number of a path and the words of a search. */
function attributesOf(operation: OperationId, baseUrl: string | undefined): Attributes {
	const { method, path } = operationTable[operation];
	const attributes: Attributes = {
		"http.request.method": method,
		"url.template": path,
		"messaging_conversations.operation": operation,
	};
	if (baseUrl) {
		const { hostname, port, protocol } = new URL(baseUrl);
		attributes["server.address"] = hostname;
		attributes["server.port"] = Number(port) || (protocol === "https:" ? 443 : 80);
	}
	return attributes;
}

function resultOf({ attempts, status, correlationId, error }: TraceEnd): Attributes {
	const attributes: Attributes = { "messaging_conversations.attempts": attempts };
	if (attempts > 1) attributes["http.request.resend_count"] = attempts - 1;
	if (status !== undefined) attributes["http.response.status_code"] = status;
	if (correlationId !== undefined) attributes["messaging_conversations.correlation_id"] = correlationId;
	if (error) attributes["error.type"] = error._tag;
	if (error?.outcome) attributes["messaging_conversations.outcome"] = error.outcome;
	return attributes;
}
