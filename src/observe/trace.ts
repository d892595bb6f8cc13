import type { Facts, Operation, PartnerErrorTag } from "../errors.ts";
import { ignoreErrors } from "./ignore-errors.ts";

/** The part of an OpenTelemetry span that the client uses. */
export interface Span {
	/** Called once at the end: status, attempts, correlation id, error. */
	setAttributes: (attributes: Record<string, string | number>) => unknown;
	/** Called for a call that failed, with the tag of its error. */
	setStatus: (status: { code: number; message?: string }) => unknown;
	/** Always called. */
	end: () => unknown;
}

/** The part of an OpenTelemetry tracer that the client uses: pass `trace.getTracer("crm")`. */
export interface Tracer {
	/** Called once for each request and its retries, in the context of the caller, so that the span is a child of the active one. */
	startSpan: (name: string, options: { kind: number; attributes: Record<string, string | number> }) => Span;
}

/** The facts of a call that its span shows from the start. */
export interface TraceStart extends Pick<Facts, "agencyId" | "operationId"> {
	operation: Operation;
	method: string;
	/** Path template, such as `/agencies/{agencyId}/conversations/{phone}`. */
	path: string;
	baseUrl?: string | undefined;
}

/** The facts of a call that its span shows at the end. */
export interface TraceEnd extends Pick<Facts, "attempts" | "status" | "correlationId" | "outcome"> {
	/** Tag of the error. Absent for a call that succeeded. */
	tag?: PartnerErrorTag | undefined;
}

type Attributes = Record<string, string | number>;

const clientKind = 2;
const errorStatus = 2;

/**
 * Starts the span of a call by the HTTP semantic conventions. It shows the template of the path, because the path itself
 * can hold a phone number.
 *
 * @returns a function that ends the span. A tracer that throws changes nothing.
 */
export function startTrace(tracer: Tracer, start: TraceStart): (end: TraceEnd, isAbandoned: boolean) => void {
	let span: Span | undefined;
	// A caller of `client.request` can write a phone number into the path, in place of a name.
	const path = start.path.replace(/\d[\d.-]{5,}/g, "?");
	ignoreErrors(() => {
		const name = `${start.method} ${path}`;
		span = tracer.startSpan(name, { kind: clientKind, attributes: attributesOf({ ...start, path }) });
		// Returned, so that a tracer that gives a promise causes no unhandled rejection.
		return span;
	});
	return (end, isAbandoned) => {
		// A 404 of a read, which has no outcome, is an answer, and nobody waits for an abandoned call.
		const isAnswer = end.tag === "PartnerNotFound" && end.outcome === undefined;
		const error = isAnswer || isAbandoned ? undefined : end.tag;
		ignoreErrors(() => span?.setAttributes(resultOf(end, error)));
		if (error) ignoreErrors(() => span?.setStatus({ code: errorStatus, message: error }));
		ignoreErrors(() => span?.end());
	};
}

/** `url.full` of the conventions is left out, because it holds the phone number of a path and the words of a search. */
function attributesOf({ operation, method, path, agencyId, operationId, baseUrl }: TraceStart): Attributes {
	const attributes: Attributes = {
		"http.request.method": method,
		"url.template": path,
		"messaging_conversations.operation": operation,
	};
	if (agencyId !== undefined) attributes["messaging_conversations.agency_id"] = agencyId;
	if (operationId !== undefined) attributes["messaging_conversations.operation_id"] = operationId;
	if (baseUrl) {
		const { hostname, port, protocol } = new URL(baseUrl);
		attributes["server.address"] = hostname;
		attributes["server.port"] = Number(port) || (protocol === "https:" ? 443 : 80);
	}
	return attributes;
}

function resultOf({ attempts = 0, status, correlationId, outcome }: TraceEnd, error: string | undefined): Attributes {
	const attributes: Attributes = { "messaging_conversations.attempts": attempts };
	if (attempts > 1) attributes["http.request.resend_count"] = attempts - 1;
	if (status !== undefined) attributes["http.response.status_code"] = status;
	if (correlationId !== undefined) attributes["messaging_conversations.correlation_id"] = correlationId;
	if (error !== undefined) attributes["error.type"] = error;
	if (outcome !== undefined) attributes["messaging_conversations.outcome"] = outcome;
	return attributes;
}
