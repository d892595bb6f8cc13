import { answers } from "../generated/answers.ts";
import { operationTable } from "../generated/operations.ts";
import type { Answer, Fault } from "./attempt.ts";
import {
	abortError,
	isPartnerError,
	type OperationId,
	type Outcome,
	PartnerConnectionError,
	type PartnerError,
	PartnerInternalError,
	PartnerTimeoutError,
	PartnerUnexpectedResponse,
	property,
	refusals,
} from "./errors.ts";
import { headerOf } from "./headers.ts";
import { type Redactor, serviceMessage } from "./redact.ts";
import { retryAfterMs } from "./retry.ts";

/** What one attempt came to. `outcome` is what this attempt alone says of a send. */
export type Verdict = { ok: true; data: unknown } | { ok: false; error: PartnerError; outcome: Outcome };

export interface JudgeContext {
	operation: OperationId;
	/** Whether the request went out. */
	dispatched: boolean;
	/** The time that it had, in milliseconds. */
	timeoutMs: number;
	/** What holds of a good answer beyond its schema: where it breaks, or undefined. */
	verify: (data: unknown) => string | undefined;
	redactor: Redactor;
}

/** The table from an attempt's end to data or an error: by status first, never by the form of an error body. */
export function judge(end: Answer | Fault, context: JudgeContext): Verdict {
	return "kind" in end ? judgeFault(end, context) : judgeAnswer(end, context);
}

function judgeFault(fault: Fault, { operation, dispatched, timeoutMs }: JudgeContext): Verdict {
	const ambiguous = dispatched && !fault.isUnsent ? "unknown" : "not_sent";
	switch (fault.kind) {
		case "init":
			if (!isPartnerError(fault.error)) throw fault.error;
			return { ok: false, error: fault.error, outcome: "not_sent" };
		case "abort":
			return { ok: false, error: abortError(operation), outcome: ambiguous };
		case "timeout": {
			const text = `${operation}: no complete answer within ${timeoutMs} ms`;
			return { ok: false, error: new PartnerTimeoutError(text, { retryable: true }), outcome: ambiguous };
		}
		case "network": {
			const { connecting, certificate, facts } = diagnose(fault);
			const what = certificate ? "no trusted connection" : connecting ? "no connection" : "the connection was lost";
			const text = `${operation}: ${what}${facts.code ? ` (${facts.code})` : ""}`;
			const error = new PartnerConnectionError(text, { retryable: !certificate, cause: facts });
			return { ok: false, error, outcome: connecting || certificate ? "not_sent" : "unknown" };
		}
	}
}

function judgeAnswer(answer: Answer, context: JudgeContext): Verdict {
	const { operation, redactor } = context;
	const { status, headers, body } = answer;
	const broken = breach(answer, context);
	if (broken === undefined && typeof body === "object") return { ok: true, data: body.json };
	const facts = { status, retryAfterMs: retryAfterMs(headers) };
	const said = serviceMessage(body, redactor);
	const say = (what: string): string => `${operation}: ${what}${said ? `: ${said}` : ""}`;

	if (status >= 500 && status < 600) {
		const error = new PartnerInternalError(say(`the service answered ${status}`), { ...facts, retryable: true });
		return { ok: false, error, outcome: "unknown" };
	}
	if (status < 200 || status >= 300) {
		const outcome = status >= 400 && status < 500 ? "not_sent" : "unknown";
		const Refusal = listed(operation, status);
		if (Refusal) return { ok: false, error: new Refusal(say(`refused with ${status}`), facts), outcome };
		const target = status < 400 ? originOf(headerOf(headers, "location"), redactor) : "";
		const text = say(`answered ${status}${target}, which is outside the contract`);
		return { ok: false, error: new PartnerUnexpectedResponse(text, facts), outcome };
	}
	if (body === "unreadable") {
		const error = new PartnerConnectionError(`${operation}: the answer could not be read`, {
			...facts,
			retryable: true,
		});
		return { ok: false, error, outcome: "unknown" };
	}
	if (body === "too-large") {
		const error = new PartnerUnexpectedResponse(`${operation}: the answer is larger than 10 MB`, facts);
		return { ok: false, error, outcome: "unknown" };
	}
	const place = broken?.replace(/(.)\/$/, "$1");
	const error = new PartnerUnexpectedResponse(`${operation}: the answer breaks the contract at ${place}`, facts);
	return { ok: false, error, outcome: property(body.json, "success") === true ? "sent" : "unknown" };
}

/** Where a readable answer is not the good one of the contract. */
function breach({ status, body }: Answer, { operation, verify }: JudgeContext): string | undefined {
	if (status !== 200 || typeof body === "string") return "the status";
	return answers[operationTable[operation].answer](body.json) ?? verify(body.json);
}

/** The class of a refusal that the contract lists for this operation. */
function listed(operation: OperationId, status: number): (typeof refusals)[keyof typeof refusals] | undefined {
	const { refusals: statuses } = operationTable[operation];
	const inTable = (statuses as readonly number[]).includes(status) && Object.hasOwn(refusals, status);
	return inTable ? refusals[status as keyof typeof refusals] : undefined;
}

/** Where a redirect points: its origin alone, as the rest can hold a phone number. It is never followed. */
function originOf(location: string | null, redactor: Redactor): string {
	try {
		const { origin } = new URL(location ?? "");
		return origin === "null" ? "" : ` to ${redactor.clean(origin)}`;
	} catch {
		return "";
	}
}

/** What of a fault may be told. Anything else that a runtime puts there can quote a URL, a header or a body. */
interface FaultFacts {
	name: string;
	code?: string;
	syscall?: string;
}

const connectCode =
	/^(ENOTFOUND|EAI_(AGAIN|FAIL|NODATA|NONAME)|ECONNREFUSED|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket)$/;
const certificateCode = /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|ERR_TLS_CERT)/;
const handshakeCode = /^ERR_SSL_(WRONG_VERSION|UNSUPPORTED_PROTOCOL|PACKET_LENGTH|HTTP_REQUEST)/;

/** Tells faults that prove that no request went out from those that prove nothing, as all do once an answer has begun. */
function diagnose({ error, status }: Extract<Fault, { error: unknown }>): {
	connecting: boolean;
	certificate: boolean;
	facts: FaultFacts;
} {
	const facts = factsOf(error);
	const { code, syscall } = facts;
	// Several addresses tried at once: node gives an AggregateError of which each part is a connect.
	const parts = property(property(error, "cause") ?? error, "errors");
	// The same codes come of a read and a write, and those are made after the request.
	const connecting =
		(syscall === undefined && connectCode.test(code ?? "")) ||
		syscall === "connect" ||
		syscall === "getaddrinfo" ||
		(Array.isArray(parts) && parts.length > 0 && parts.every((part) => property(part, "syscall") === "connect"));
	// A fetch names what a handshake ended in as its cause. Bare, the same code also comes of what was written afterwards.
	const shaken = property(error, "cause") !== undefined && handshakeCode.test(code ?? "");
	const certificate = shaken || certificateCode.test(code ?? "");
	const before = status === undefined;
	return { connecting: before && connecting, certificate: before && certificate, facts };
}

/** What an error that anybody can have thrown says of itself, of its cause where it has one. */
export function factsOf(error: unknown): FaultFacts {
	const cause = property(error, "cause") ?? error;
	const facts: FaultFacts = { name: word(property(cause, "name")) ?? "Error" };
	const code = word(property(cause, "code")) ?? word(property(error, "code"));
	const syscall = word(property(cause, "syscall"));
	if (code) facts.code = code;
	if (syscall) facts.syscall = syscall;
	return facts;
}

function word(value: unknown): string | undefined {
	return typeof value === "string" && /^[A-Za-z]\w{0,63}$/.test(value) ? value : undefined;
}
