import { operationTable } from "../generated/operations.ts";
import type { OperationId, PartnerError } from "./errors.ts";
import { quietly } from "./observe.ts";

/** What is used of an OpenTelemetry span. */
export interface Span {
	setAttributes: (attributes: Record<string, string | number>) => unknown;
	setStatus: (status: { code: number; message?: string }) => unknown;
	end: () => unknown;
}

/** What is used of an OpenTelemetry tracer: `trace.getTracer("crm")` fits. */
export interface Tracer {
	startSpan: (name: string, options: { kind: number; attributes: Record<string, string | number> }) => Span;
}

/** How a call ended, for its span. */
export interface TraceEnd {
	attempts: number;
	status: number | undefined;
	correlationId: string | undefined;
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
		const { method, path } = operationTable[operation];
		const attributes: Record<string, string | number> = {
			"http.request.method": method,
			"url.template": path,
			"messaging_conversations.operation": operation,
		};
		if (baseUrl) {
			const { hostname, port, protocol } = new URL(baseUrl);
			attributes["server.address"] = hostname;
			attributes["server.port"] = Number(port) || (protocol === "https:" ? 443 : 80);
		}
		span = tracer.startSpan(`${method} ${path}`, { kind: clientKind, attributes });
	});
	return ({ attempts, status, correlationId, error }) =>
		quietly(() => {
			const attributes: Record<string, string | number> = { "messaging_conversations.attempts": attempts };
			if (attempts > 1) attributes["http.request.resend_count"] = attempts - 1;
			if (status !== undefined) attributes["http.response.status_code"] = status;
			if (correlationId !== undefined) attributes["messaging_conversations.correlation_id"] = correlationId;
			if (error) attributes["error.type"] = error._tag;
			if (error?.outcome) attributes["messaging_conversations.outcome"] = error.outcome;
			span?.setAttributes(attributes);
			if (error) span?.setStatus({ code: errorStatus, message: error._tag });
			span?.end();
		});
}
