import { type Outcome, refusals } from "../errors.ts";
import { correlationIdFrom, echoes, longestSecret, serviceMessage } from "../observe/redact.ts";
import type { AttemptEnd } from "./attempt.ts";
import type { ActiveCall, Success } from "./call-context.ts";
import { diagnose } from "./diagnose.ts";
import type { ExchangeAnswer, ExchangeHead } from "./exchange.ts";
import { aborted, createFailure, type Failure } from "./failure.ts";
import { retryAfterMs } from "./retry.ts";

/** The outcome of a failed attempt does not count earlier attempts. */
type Classified<Data> = Success<Data> | (Failure & { outcome: Outcome });

/** Turns the end of an attempt into data or a failure. The status decides, never the form of an error body. */
export function classify<Data>(end: AttemptEnd, call: ActiveCall<Data>): Classified<Data> {
	const { operation } = call.endpoint;
	if (end.kind === "answer") return classifyAnswer(end, call);
	if (end.kind === "key") {
		const { field, rule } = end.problem;
		return createFailure("PartnerConfigurationError", `${field}: ${rule}`, { ...end.problem, outcome: "not_sent" });
	}
	const { head } = end;
	// An error status counts also when its body was cut off or came too late.
	if (head && head.status >= 300 && end.kind !== "abort") return classifyRefusal({ ...head, text: "" }, call);
	const seen = head && seenIn(head, call);
	if (end.kind === "fault") {
		const { text, unsent, permanent, fault } = diagnose(end.error, end.connected, head !== undefined);
		const outcome = unsent ? "not_sent" : "unknown";
		const facts = { ...seen, outcome, retryable: !permanent, again: !permanent, fault } as const;
		return createFailure("PartnerConnectionError", `${operation}: ${text}`, facts);
	}
	const outcome = end.unsent ? "not_sent" : "unknown";
	if (end.kind === "abort") return aborted({ ...seen, operation, outcome });
	const message = `${operation}: no ${end.key === undefined ? "key" : "complete answer"} within ${call.timeoutMs} ms`;
	// An attempt whose key did not come in time made no request, so that no number of attempts would end the retries.
	const facts = { ...seen, outcome, retryable: true, again: end.key !== undefined } as const;
	return createFailure("PartnerTimeoutError", message, facts);
}

function classifyAnswer<Data>(answer: ExchangeAnswer, call: ActiveCall<Data>): Classified<Data> {
	const { endpoint, context, attempts } = call;
	const { operation, schema, check } = endpoint;
	const { status, headers, text } = answer;
	if (status >= 300) return classifyRefusal(answer, call);
	if (text === undefined) {
		const message = `${operation}: the answer is larger than 10 MB`;
		return createFailure("PartnerUnexpectedResponse", message, { ...seenIn(answer, call), outcome: "unknown" });
	}
	// Outside the contract a response may be empty.
	const json = schema === undefined && text === "" ? null : parse(text);
	if (json === undefined) {
		const facts = { ...seenIn(answer, call), outcome: "unknown", retryable: true, again: true } as const;
		return createFailure("PartnerConnectionError", `${operation}: the answer could not be read`, facts);
	}
	// This is the only place where JSON gets the type of the contract: the validator generated from it has accepted it.
	const data = json as Data;
	const isListed = status === 200 || schema === undefined;
	const broken = isListed ? (check(json) ?? context.verify?.(data)) : "the status";
	if (broken === undefined) {
		const correlationId = correlationIdFrom(headers.get("x-correlation-id"));
		return { ok: true, data, response: { status, headers, correlationId, attempts } };
	}
	const outcome = status === 200 && Object(json).success === true ? "sent" : "unknown";
	const message = `${operation}: the answer breaks the contract at ${broken || "/"}`;
	return createFailure("PartnerUnexpectedResponse", message, { ...seenIn(answer, call), outcome });
}

/** A status of 300 or higher. */
function classifyRefusal<Data>(answer: ExchangeAnswer, call: ActiveCall<Data>): Classified<Data> {
	const { status, headers, text } = answer;
	const { operation, refusals: listed } = call.endpoint;
	const secrets = secretsOf(call);
	const seen = { ...seenIn(answer, call), retryAfterMs: retryAfterMs(headers) };
	const said = text ? serviceMessage(parse(text), secrets) : undefined;
	const say = (what: string): string => `${operation}: ${what}${said ? `: ${said}` : ""}`;
	if (status >= 500 && status < 600) {
		const facts = { ...seen, outcome: "unknown", retryable: true, again: true } as const;
		return createFailure("PartnerInternalError", say(`the service answered ${status}`), facts);
	}
	const outcome = status < 500 && status >= 400 ? "not_sent" : "unknown";
	if (isRefusal(status) && listed.includes(status)) {
		return createFailure(refusals[status].tag, say(`refused with ${status}`), { ...seen, outcome });
	}
	// A 429 has done nothing. With a Retry-After it also says when to try again.
	const retryable = status === 429;
	const again = retryable && seen.retryAfterMs !== undefined;
	const target = status < 400 ? originOf(headers.get("location"), secrets) : "";
	const message = say(`answered ${status}${target}, which is outside the contract`);
	return createFailure("PartnerUnexpectedResponse", message, { ...seen, outcome, retryable, again });
}

function parse(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

function isRefusal(status: number): status is keyof typeof refusals {
	return Object.hasOwn(refusals, status);
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
