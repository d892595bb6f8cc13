import { type Outcome, refusals } from "../errors.ts";
import { correlationIdFrom, echoes, longestSecret, serviceMessage } from "../observe/redact.ts";
import type { AttemptEnd } from "./attempt.ts";
import type { CallContext, Success } from "./call-context.ts";
import { diagnose } from "./diagnose.ts";
import type { Endpoint } from "./endpoint.ts";
import type { ExchangeAnswer, ExchangeHeaders } from "./exchange.ts";
import { type AttemptFailure, createFailure, type Failure, type FailureFacts } from "./failure.ts";
import type { Parameters } from "./request.ts";
import { retryAfterMs } from "./retry.ts";

export interface ClassifyContext<Data> extends Pick<CallContext<Data>, "verify"> {
	endpoint: Endpoint<Data, Parameters>;
	/** Number of requests made, this one included. */
	attempts: number;
	/** Time limit of the attempt, for its message. */
	timeoutMs: number;
	/** The parts of the request that a message must not repeat. */
	secrets: () => readonly string[];
}

type Classified<Data> = Success<Data> | AttemptFailure;

/** Turns the end of an attempt into data or a failure. The status decides, never the form of an error body. */
export function classify<Data>(end: AttemptEnd, context: ClassifyContext<Data>): Classified<Data> {
	const { operation } = context.endpoint;
	if (end.kind === "answer") return classifyAnswer(end, context);
	if (end.kind === "key") {
		const { rule } = end.problem;
		return fail("PartnerConfigurationError", "not_sent", `apiKey: ${rule}`, { field: "apiKey", ...end.problem });
	}
	const { head } = end;
	// The status of a failure decides, however the body ended.
	if (head && head.status >= 300 && end.kind !== "abort") return classifyAnswer({ ...head, text: "" }, context);
	const seen = head && { status: head.status, correlationId: failedId(head.headers, context) };
	if (end.kind === "fault") {
		const { text, unsent, permanent, fault } = diagnose(end.error, end.connected, head !== undefined);
		const facts = { ...seen, retryable: !permanent, again: !permanent, fault };
		return fail("PartnerConnectionError", unsent ? "not_sent" : "unknown", `${operation}: ${text}`, facts);
	}
	const outcome = end.unsent ? "not_sent" : "unknown";
	if (end.kind === "abort")
		return fail("PartnerAbortError", outcome, `${operation}: aborted by the caller`, { ...seen });
	const message = `${operation}: no complete answer within ${context.timeoutMs} ms`;
	return fail("PartnerTimeoutError", outcome, message, { ...seen, retryable: true, again: true });
}

function classifyAnswer<Data>(answer: ExchangeAnswer, context: ClassifyContext<Data>): Classified<Data> {
	const { endpoint, verify, attempts } = context;
	const { operation, schema, check } = endpoint;
	const { status, headers, text } = answer;
	if (status >= 300) return classifyRefusal(answer, context);
	// Outside the contract a response may be empty.
	const json = schema === undefined && text === "" ? null : parse(text);
	if (json === undefined) return classifyUnreadable(answer, context);
	// This is the only place where JSON gets the type of the contract: the validator generated from it has accepted it.
	const data = json as Data;
	const isListed = status === 200 || schema === undefined;
	const broken = isListed ? (check(json) ?? verify?.(data)) : "the status";
	if (broken === undefined) {
		const correlationId = correlationIdFrom(headers.get("x-correlation-id"));
		return { ok: true, data, response: { status, headers, correlationId, attempts } };
	}
	const facts = { status, correlationId: failedId(headers, context) };
	const outcome = status === 200 && Object(json).success === true ? "sent" : "unknown";
	const message = `${operation}: the answer breaks the contract at ${broken || "/"}`;
	return fail("PartnerUnexpectedResponse", outcome, message, facts);
}

/** A status below 300 with a body that is over the limit or not JSON. */
function classifyUnreadable<Data>(answer: ExchangeAnswer, context: ClassifyContext<Data>): AttemptFailure {
	const { status, headers, text } = answer;
	const { operation } = context.endpoint;
	const facts = { status, correlationId: failedId(headers, context) };
	if (text === undefined) {
		return fail("PartnerUnexpectedResponse", "unknown", `${operation}: the answer is larger than 10 MB`, facts);
	}
	const message = `${operation}: the answer could not be read`;
	return fail("PartnerConnectionError", "unknown", message, { ...facts, retryable: true, again: true });
}

/** A status of 300 or higher. */
function classifyRefusal<Data>(answer: ExchangeAnswer, context: ClassifyContext<Data>): AttemptFailure {
	const { status, headers, text } = answer;
	const { operation, refusals: listed } = context.endpoint;
	const facts = { status, correlationId: failedId(headers, context), retryAfterMs: retryAfterMs(headers) };
	const said = text ? serviceMessage(parse(text), context.secrets()) : undefined;
	const say = (what: string): string => `${operation}: ${what}${said ? `: ${said}` : ""}`;
	if (status >= 500 && status < 600) {
		const message = say(`the service answered ${status}`);
		return fail("PartnerInternalError", "unknown", message, { ...facts, retryable: true, again: true });
	}
	const outcome = status < 500 && status >= 400 ? "not_sent" : "unknown";
	if (isRefusal(status) && listed.includes(status)) {
		return fail(refusals[status].tag, outcome, say(`refused with ${status}`), facts);
	}
	// A 429 has done nothing. With a Retry-After it also says when to try again.
	const isLimited = status === 429;
	const again = isLimited && facts.retryAfterMs !== undefined;
	const target = status < 400 ? originOf(headers.get("location"), context.secrets()) : "";
	const message = say(`answered ${status}${target}, which is outside the contract`);
	return fail("PartnerUnexpectedResponse", outcome, message, { ...facts, retryable: isLimited, again });
}

function fail(tag: Failure["tag"], outcome: Outcome, message: string, facts: FailureFacts): AttemptFailure {
	return { ...createFailure(tag, message, facts), outcome };
}

function parse(text: string | undefined): unknown {
	if (text === undefined) return undefined;
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

function isRefusal(status: number): status is keyof typeof refusals {
	return Object.hasOwn(refusals, status);
}

/** The correlation id of a failed attempt, unless it repeats a part of the request. */
function failedId<Data>(headers: ExchangeHeaders, { secrets }: ClassifyContext<Data>): string | undefined {
	const id = correlationIdFrom(headers.get("x-correlation-id"));
	// The notice of a withheld message points to the id, so that a long text alone does not hide it.
	const compared = secrets().filter(({ length }) => length <= longestSecret);
	return id !== undefined && echoes(id, compared) ? undefined : id;
}

/** Origin of a redirect's target. The rest of the URL can hold a phone number. */
function originOf(location: string | null | undefined, secrets: readonly string[]): string {
	if (!location || !URL.canParse(location)) return "";
	const { origin } = new URL(location);
	const isShown = /^https?:\/\/[\w.:-]{1,100}$/.test(origin) && !/\d{6}/.test(origin) && !echoes(origin, secrets);
	return isShown ? ` to ${origin}` : "";
}
