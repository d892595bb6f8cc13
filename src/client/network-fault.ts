/*
 * Requests without a complete response, and what their faults prove.
 */
import type { CallState } from "./call-state.ts";
import { type FaultFacts, PartnerConnectionError, type PartnerError } from "./errors.ts";
import { factsOf } from "./facts.ts";
import { repeatsWord } from "./redact.ts";
import { noResponseCode, usedResponseCode } from "./transport.ts";

const connectCode = /^(EAI_(AGAIN|FAIL|NODATA|NONAME)|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket)$/;
/** What `nodeHttp` rejects with after its `close()`. */
const closedCode = "ERR_EXCHANGE_CLOSED";
/** Node names every reason that OpenSSL gives against a certificate, and those that it has no name for `UNSPECIFIED`. */
const certificateCode =
	/^(CERT_|CRL_|DEPTH_ZERO_|ERROR_IN_C|INVALID_(CA|PURPOSE)$|PATH_LENGTH_|SELF_SIGNED_|UNABLE_TO_|UNSPECIFIED$|HOSTNAME_MISMATCH|ERR_TLS_CERT)/;
/** The alerts by which the other side refuses a client certificate: before it reads a request, even if one is on its way. */
const refusedCertificateCode =
	/^ERR_SSL_\w+_ALERT_(BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_\w+|NO_CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)$/;
const handshakeCode = /^ERR_SSL_(WRONG_VERSION|UNSUPPORTED_PROTOCOL|PACKET_LENGTH|HTTP_REQUEST)/;

/**
 * The error of a request that failed without a response. It is `not_sent` only if the fault proves it.
 *
 * @param connected what the transport knows: if there was a connection, a fault proves nothing
 */
export function lostConnection<Data>(
	fault: unknown,
	connected: boolean | undefined,
	call: CallState<Data>,
): PartnerError {
	const cause = faultFacts(fault);
	const unsent = call.head ? undefined : unsentBy(fault, connected, cause);
	const { text, isPermanent } = unsent ?? lostBy(cause.code);
	const shown = shownFacts(call, fault);
	const message = `${call.plan.operation}: ${text}${shown.code ? ` (${shown.code})` : ""}`;
	const outcome = unsent ? "not_sent" : "unknown";
	return new PartnerConnectionError(message, { ...factsOf(call, outcome), retryable: !isPermanent, cause: shown });
}

/** How a request may have been sent that got no response. */
function lostBy(code: string | undefined): { text: string; isPermanent?: boolean } {
	if (code === closedCode) return { text: "its connections were closed", isPermanent: true };
	if (code === usedResponseCode) {
		const text = "what fetch returned was read before. Return a new Response for each call, or a clone()";
		return { text, isPermanent: true };
	}
	if (code !== noResponseCode) return { text: "the connection was lost" };
	const text =
		"what fetch or transport returned is no response. If it is a mock, return `new Response(body, { status })`";
	return { text, isPermanent: true };
}

/** How a fault proves that no request was sent, and whether trying again cannot help. Undefined if it proves nothing. */
function unsentBy(
	fault: unknown,
	connected: boolean | undefined,
	{ code = "", syscall }: FaultFacts,
): { text: string; isPermanent?: boolean } | undefined {
	if (isRefusedStream(fault)) return { text: "the service refused the stream before it read the request" };
	if (refusedCertificateCode.test(code)) return { text: "the client certificate was refused", isPermanent: true };
	// There was no connection, even if a mock raises these. A read or a write happens on a connection. A `fetch` can have written a
	// request before, which it then repeated.
	const isRefused = code === "ECONNREFUSED" || code === "ENOTFOUND";
	const isRepeated = connected === true && isConnect(syscall);
	if (isRefused && !isRepeated && (syscall === undefined || isConnect(syscall))) return { text: "no connection" };
	if (connected === true) return undefined;
	if (code === closedCode) return { text: "its connections were closed by close()", isPermanent: true };
	const cause = property(fault, "cause");
	// Fetch puts a failed handshake into `cause`. Without one, the same code can come from a write after the handshake.
	const isHandshake = (cause !== undefined || connected === false) && handshakeCode.test(code);
	if (isHandshake || certificateCode.test(code)) return { text: "no trusted connection", isPermanent: true };
	if (code === "ERR_NO_FETCH") return { text: "this runtime has no fetch", isPermanent: true };
	if (property(cause, "message") === "bad port") return { text: "fetch blocks the port", isPermanent: true };
	// Node tries several addresses at once and rejects with an AggregateError whose parts each failed to connect.
	const parts = property(cause ?? fault, "errors");
	const allConnects =
		Array.isArray(parts) && parts.length > 0 && parts.every((part) => isConnect(property(part, "syscall")));
	// The same codes also come from a read and a write, which happen after the request.
	const isCode = syscall === undefined && connectCode.test(code);
	return isCode || isConnect(syscall) || allConnects || connected === false ? { text: "no connection" } : undefined;
}

/**
 * Whether the service refused a stream of HTTP/2 unprocessed: by REFUSED_STREAM, which is also what Node makes of a GOAWAY whose last
 * stream is an earlier one. The code of a GOAWAY proves nothing, because a GOAWAY can come after the request was processed.
 */
function isRefusedStream(fault: unknown): boolean {
	const { message, code }: { message?: unknown; code?: unknown } = Object(property(fault, "cause") ?? fault);
	if (code === "ERR_HTTP2_STREAM_ERROR") return message === "Stream closed with error code NGHTTP2_REFUSED_STREAM";
	// Deno's only sign.
	return message === "stream error received: refused stream before processing any application logic";
}

function isConnect(syscall: unknown): boolean {
	return syscall === "connect" || syscall === "getaddrinfo";
}

/** Name, code and syscall of an error, taken from its cause where it has one. */
function faultFacts(error: unknown): FaultFacts {
	const cause = property(error, "cause") ?? error;
	const name = word(property(cause, "name")) ?? "Error";
	const code = word(property(cause, "code")) ?? word(property(error, "code"));
	const syscall = word(property(cause, "syscall"));
	return { name, ...(code && { code }), ...(syscall && { syscall }) };
}

/** The same without a word that repeats the request, as of a fetch whose errors have the text for a name. */
export function shownFacts<Data>(call: CallState<Data>, error: unknown): FaultFacts {
	const { name, ...codes } = faultFacts(error);
	const shown = Object.entries(codes).filter(([, code]) => code !== undefined && !repeatsWord(call, code));
	return { name: repeatsWord(call, name) ? "Error" : name, ...Object.fromEntries(shown) };
}

/** Only identifiers are shown, because other text can quote the request. */
export function word(value: unknown): string | undefined {
	return typeof value === "string" && /^[A-Za-z]\w{0,63}$/.test(value) ? value : undefined;
}

function property(value: unknown, name: string): unknown {
	return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
