import type { AttemptEnd } from "./attempt.ts";
import type { ActiveCall, Reply } from "./call-context.ts";
import { diagnose } from "./diagnose.ts";
import { brokenPath } from "./endpoint.ts";
import { tagOfStatus } from "./errors.ts";
import type { ExchangeAnswer, ExchangeHead } from "./exchange.ts";
import { aborted, createFailure, type Failure } from "./failure.ts";
import { correlationIdFrom, echoes, longestSecret, serviceMessage } from "./redact.ts";
import { retryAfterMs } from "./retry.ts";

/**
 * Turns the end of an attempt into data or a failure. The status decides, never the form of an error body. A failure without
 * an outcome proves nothing: the request may have been processed. Earlier attempts do not count here.
 */
export function classify<Data>(
	{ how, key, seen: { head, connected } }: AttemptEnd,
	call: ActiveCall<Data>,
): Reply<Data> {
	const { operation } = call.endpoint;
	if (how.kind === "answer") return how.answer.status < 300 ? readAnswer(how.answer, call) : refuse(how.answer, call);
	if (how.kind === "key") {
		const { field, rule } = how.problem;
		return createFailure("PartnerConfigurationError", `${field}: ${rule}`, { ...how.problem, outcome: "not_sent" });
	}
	// An error status counts also when its body was cut off or came too late.
	if (head && head.status >= 300 && how.kind !== "abort") return refuse({ ...head, text: "" }, call);
	const seen = head && seenIn(head, call);
	if (how.kind === "fault") {
		const { text, unsent, permanent, fault } = diagnose(how.error, connected, head !== undefined);
		const facts = { ...seen, outcome: outcomeIf(unsent), retryable: !permanent, again: !permanent, fault };
		return createFailure("PartnerConnectionError", `${operation}: ${text}`, facts);
	}
	const outcome = outcomeIf(key === undefined || connected === false);
	if (how.kind === "abort") return aborted({ ...seen, operation, outcome });
	const message = `${operation}: no ${key === undefined ? "key" : "complete answer"} within ${call.timeoutMs} ms`;
	// An attempt whose key did not come in time made no request, so that no number of attempts would end the retries.
	return createFailure("PartnerTimeoutError", message, { ...seen, outcome, retryable: true, again: key !== undefined });
}

function outcomeIf(unsent: boolean): Failure["outcome"] {
	return unsent ? "not_sent" : "unknown";
}

/** A status of 2xx. */
function readAnswer<Data>(answer: ExchangeAnswer, call: ActiveCall<Data>): Reply<Data> {
	const { operation, schema, isBroken } = call.endpoint;
	const { status, headers, text } = answer;
	if (text === undefined) {
		return createFailure(
			"PartnerUnexpectedResponse",
			`${operation}: the answer is larger than 10 MB`,
			seenIn(answer, call),
		);
	}
	// Outside the contract a response may be empty.
	const json = schema === undefined && text === "" ? null : parse(text);
	if (json === undefined) {
		const facts = { ...seenIn(answer, call), retryable: true, again: true };
		return createFailure("PartnerConnectionError", `${operation}: the answer could not be read`, facts);
	}
	// This is the only place where JSON gets the type of the contract: the validator generated from it has accepted it.
	const data = json as Data;
	const isListed = status === 200 || schema === undefined;
	const broken = !isListed ? "the status" : isBroken(json) ? brokenPath(isBroken, json) : call.context.verify?.(data);
	if (broken === undefined) {
		const correlationId = correlationIdFrom(headers.get("x-correlation-id"));
		return { ok: true, data, response: { status, headers, correlationId, attempts: call.attempts } };
	}
	const outcome = status === 200 && Object(json).success === true ? "sent" : "unknown";
	const message = `${operation}: the answer breaks the contract at ${broken || "/"}`;
	return createFailure("PartnerUnexpectedResponse", message, { ...seenIn(answer, call), outcome });
}

/** A status of 300 or higher. */
function refuse<Data>(answer: ExchangeAnswer, call: ActiveCall<Data>): Failure {
	const { status, headers, text } = answer;
	const { operation, refusals } = call.endpoint;
	const secrets = secretsOf(call);
	const seen = { ...seenIn(answer, call), retryAfterMs: retryAfterMs(headers) };
	const said = text ? serviceMessage(parse(text), secrets) : undefined;
	const say = (what: string): string => `${operation}: ${what}${said ? `: ${said}` : ""}`;
	if (status >= 500 && status < 600) {
		const facts = { ...seen, retryable: true, again: true };
		return createFailure("PartnerInternalError", say(`the service answered ${status}`), facts);
	}
	const outcome = outcomeIf(status >= 400 && status < 500);
	if (isKnown(status) && refusals.includes(status)) {
		return createFailure(tagOfStatus[status], say(`refused with ${status}`), { ...seen, outcome });
	}
	// A 429 has done nothing. With a Retry-After it also says when to try again.
	const retryable = status === 429;
	const again = retryable && seen.retryAfterMs !== undefined;
	const target = status < 400 ? originOf(headers.get("location"), secrets) : "";
	const message = say(`answered ${status}${target}, which is outside the contract`);
	return createFailure("PartnerUnexpectedResponse", message, { ...seen, outcome, retryable, again });
}

function isKnown(status: number): status is keyof typeof tagOfStatus {
	return Object.hasOwn(tagOfStatus, status);
}

function parse(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** Status and correlation id of a failed attempt. An id that repeats a part of the request is left out. */
function seenIn<Data>(
	{ status, headers }: ExchangeHead,
	call: ActiveCall<Data>,
): Pick<Failure, "status" | "correlationId"> {
	const id = correlationIdFrom(headers.get("x-correlation-id"));
	// The notice of a withheld message points to the id, so that a long text alone does not hide it.
	const compared = secretsOf(call).filter(({ length }) => length <= longestSecret);
	return { status, correlationId: id !== undefined && echoes(id, compared) ? undefined : id };
}

/** The parts of the request that a message must not repeat. A key counts whole, and by its parts after the public prefix. */
function secretsOf<Data>({ keys, context }: ActiveCall<Data>): string[] {
	const parts = keys.flatMap((key) => [key, ...key.split(".").slice(1)]);
	return [...parts, ...(context.secrets ?? [])].filter((secret) => secret !== undefined);
}

/** Origin of a redirect's target. The rest of the URL can hold a phone number. */
function originOf(location: string | null | undefined, secrets: readonly string[]): string {
	if (!location || !URL.canParse(location)) return "";
	const { origin } = new URL(location);
	const isShown = /^https?:\/\/[\w.:-]{1,100}$/.test(origin) && !/\d{6}/.test(origin) && !echoes(origin, secrets);
	return isShown ? ` to ${origin}` : "";
}
