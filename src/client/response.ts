import { answers } from "../../generated/answers.ts";
import { operationTable } from "../../generated/operations.ts";
import type { CallState } from "./call-state.ts";
import {
	callErrors,
	type Facts,
	type FaultFacts,
	type Outcome,
	PartnerConfigurationError,
	PartnerConnectionError,
	type PartnerError,
	PartnerGatewayError,
	PartnerInternalError,
	PartnerUnexpectedResponse,
	tagOfStatus,
} from "./errors.ts";
import { isListed, isOfService, isServerError, repeatAfterGateway } from "./gateway.ts";
import { correlationIdOf, originOf, secretsOf, serviceMessage, shown } from "./redact.ts";
import { retryAfterMs } from "./retry.ts";

/** What openapi-fetch makes of a response. `error` is falsy for an empty 500, so that only the status decides. */
export interface Parsed {
	data?: unknown;
	error?: unknown;
}

/** Returns the data of a response that keeps the contract, or throws the error of any other one. */
export function judge<Data>({ data, error }: Parsed, call: CallState<Data>): Data {
	const { head, plan } = call;
	const { status } = head ?? { status: 0 };
	if (status >= 300) throw refused(status, error, call);
	const isOutside = plan.operation === "request";
	// Outside the contract a response may be empty.
	if (data === undefined && !isOutside) throw unreadable(call);
	// This is the only place where JSON gets the type of the contract: the validator generated from it has accepted it.
	const known = (data ?? null) as Data;
	const broken =
		status !== 200 && !isOutside ? "the status" : (brokenField(plan.operation, data) ?? plan.verify?.(known));
	if (broken === undefined) {
		call.client.service.hasAnswered = true;
		return known;
	}
	const outcome = status === 200 && Object(data).success === true ? "sent" : "unknown";
	const message = `${plan.operation}: the answer breaks the contract at ${broken || "/"}`;
	throw new PartnerUnexpectedResponse(message, factsOf(call, outcome));
}

/** The error of a 2xx whose body is empty or no JSON. */
export function unreadable<Data>(call: CallState<Data>): PartnerError {
	const isPage = /html/i.test(call.head?.headers.get("content-type") ?? "");
	// A web app answers every path with its page.
	if (isPage && !call.client.service.hasAnswered && lacksVersion(call))
		return wrongBaseUrl(factsOf(call, "unknown"), "with a web page");
	const hint = isPage ? ": a web page. Is baseUrl right?" : "";
	const message = `${call.plan.operation}: the answer could not be read${hint}`;
	return new PartnerConnectionError(message, { ...factsOf(call, "unknown"), retryable: true });
}

/** The error of a body over the limit. */
export function oversized<Data>(call: CallState<Data>): PartnerError {
	const message = `${call.plan.operation}: the answer is larger than 10 MB`;
	return new PartnerUnexpectedResponse(message, factsOf(call, "unknown"));
}

/** The error of a status of 300 or higher. */
function refused<Data>(status: number, body: unknown, call: CallState<Data>): PartnerError {
	const { operation, isChosenId } = call.plan;
	const { service, errorBodies } = call.client;
	const wait = call.head && retryAfterMs(call.head.headers);
	const facts = (outcome: Outcome): Facts => ({ ...factsOf(call, outcome), retryAfterMs: wait });
	if (status < 400) {
		const message = `${operation}: answered ${status}${targetOf(call)}, which is outside the contract`;
		return new PartnerUnexpectedResponse(message, facts("unknown"));
	}
	if (isWrongBaseUrl(status, body, call)) return wrongBaseUrl(facts(status < 500 ? "not_sent" : "unknown"), status);
	const isOwn = isOfService(status, body);
	const isTaken = isOwn || (errorBodies === "any" && [401, 403, 404].includes(status));
	const listed: readonly number[] = operation === "request" ? anyRefusal : operationTable[operation].refusals;
	if (!isOwn && !(isTaken && listed.includes(status))) {
		const retryable = repeatAfterGateway(status) !== "never";
		const message = `${operation}: ${status} from something in front of the service${intermediaryOf(call)}`;
		return new PartnerGatewayError(message, { ...facts("unknown"), retryable });
	}
	if (isOwn) service.hasAnswered = true;
	const said = serviceMessage(body, secretsOf(call));
	const say = (what: string): string => `${operation}: ${what}${said ? `: ${said}` : ""}`;
	if (isServerError(status)) {
		// The service answers 500 to every retry of an id that was used with another body.
		const hint = isChosenId ? " (the operationId may have been used with a different body)" : "";
		return new PartnerInternalError(say(`the service answered ${status}`) + hint, {
			...facts("unknown"),
			retryable: true,
		});
	}
	const outcome = isOwn ? "not_sent" : "unknown";
	if (isListed(status) && listed.includes(status))
		return new callErrors[tagOfStatus[status]](say(`refused with ${status}`), facts(outcome));
	return new PartnerUnexpectedResponse(say(`answered ${status}, which is outside the contract`), facts(outcome));
}

/** What an answer says about the one that gave it. */
function intermediaryOf<Data>(call: CallState<Data>): string {
	const secrets = secretsOf(call);
	const said = ["server", "via"].flatMap((name) => {
		const value = call.head?.headers.get(name);
		return value ? `${name}: ${shown(value, secrets)}` : [];
	});
	return said.length > 0 ? ` (${said.join(", ")})` : "";
}

/** The origin of a redirect's target, as the message shows it. */
function targetOf<Data>(call: CallState<Data>): string {
	return originOf(call.head?.headers.get("location"), secretsOf(call));
}

/** Whether the path does not exist at all, because the base URL lacks the version. */
function isWrongBaseUrl<Data>(status: number, body: unknown, call: CallState<Data>): boolean {
	const isMissing = [404, 405, 501].includes(status) && !isOfService(status, body);
	return isMissing && lacksVersion(call) && !call.client.service.hasAnswered;
}

function wrongBaseUrl(facts: Facts, answer: number | string): PartnerError {
	const rule = `must end in /api/v1: the service answered ${answer}`;
	return new PartnerConfigurationError({ ...facts, field: "baseUrl", rule });
}

function lacksVersion<Data>({ plan, client }: CallState<Data>): boolean {
	return plan.operation !== "request" && !/\/api\/v1$/.test(client.baseUrl);
}

const anyRefusal = Object.keys(tagOfStatus).map(Number);

/** The path at which a response breaks the schema of its operation, or undefined. Outside the contract any JSON is valid. */
function brokenField(operation: CallState<unknown>["plan"]["operation"], json: unknown): string | undefined {
	if (operation === "request") return undefined;
	const isBroken = answers[operationTable[operation].answer];
	return isBroken(json) ? brokenPath(isBroken, json) : undefined;
}

/** The path at which a response breaks its schema: the last field that the check read, because it ends at the broken one. */
export function brokenPath(isBroken: (json: unknown) => boolean, json: unknown): string {
	let last = "";
	const watch = (value: unknown, path: string): unknown => {
		last = path;
		if (typeof value !== "object" || value === null) return value;
		return new Proxy(value, { get: (target, key) => watch(Reflect.get(target, key), `${path}/${String(key)}`) });
	};
	isBroken(watch(json, ""));
	return last;
}

/**
 * What the call has seen so far, for the error of the attempt that has just failed.
 *
 * @param outcome what the failed attempt itself proves
 */
export function factsOf<Data>(call: CallState<Data>, outcome: Outcome): Facts {
	const { plan, head, attempts, lastError } = call;
	// Once an attempt was ambiguous, a later one can prove that the send was accepted, but not that it was not.
	const isAmbiguous = lastError?.outcome === "unknown" && outcome === "not_sent";
	return {
		operation: plan.operation,
		agencyId: plan.agencyId,
		status: head?.status,
		headers: head?.headers,
		correlationId: correlationIdOf(call) ?? lastError?.correlationId,
		attempts,
		operationId: plan.operationId,
		outcome: plan.isWrite ? (isAmbiguous ? "unknown" : outcome) : undefined,
	};
}

/*
 * Requests without a response.
 */

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
 * @param connected what the exchange knows: if there was a connection, a fault proves nothing
 */
export function lostConnection<Data>(
	fault: unknown,
	connected: boolean | undefined,
	call: CallState<Data>,
): PartnerError {
	const cause = faultFacts(fault);
	const unsent = call.head ? undefined : unsentBy(fault, connected, cause);
	const isClosed = cause.code === closedCode;
	const lost = isClosed ? "its connections were closed" : "the connection was lost";
	const { text = lost, isPermanent = isClosed } = unsent ?? {};
	const message = `${call.plan.operation}: ${text}${cause.code ? ` (${cause.code})` : ""}`;
	const outcome = unsent ? "not_sent" : "unknown";
	return new PartnerConnectionError(message, { ...factsOf(call, outcome), retryable: !isPermanent, cause });
}

/** How a fault proves that no request was sent, and whether trying again cannot help. Undefined if it proves nothing. */
function unsentBy(
	fault: unknown,
	connected: boolean | undefined,
	{ code = "", syscall }: FaultFacts,
): { text: string; isPermanent?: boolean } | undefined {
	if (refusedCertificateCode.test(code)) return { text: "the client certificate was refused", isPermanent: true };
	// There was no connection, even if a mock raises these. A read or a write happens on a connection.
	const isRefused = code === "ECONNREFUSED" || code === "ENOTFOUND";
	if (isRefused && (syscall === undefined || isConnect(syscall))) return { text: "no connection" };
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

/** Only identifiers are shown, because other text can quote the request. */
export function word(value: unknown): string | undefined {
	return typeof value === "string" && /^[A-Za-z]\w{0,63}$/.test(value) ? value : undefined;
}

function property(value: unknown, name: string): unknown {
	return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
