import { answers } from "../../generated/answers.ts";
import { operationTable } from "../../generated/operations.ts";
import { isAged, onlyCopy } from "../shared/copies.ts";
import type { Secret } from "../shared/secret.ts";
import type { CallState } from "./call-state.ts";
import { reportErrorDrift } from "./drift.ts";
import {
	callErrors,
	type Facts,
	type Outcome,
	PartnerConfigurationError,
	PartnerConnectionError,
	type PartnerError,
	PartnerGatewayError,
	PartnerInternalError,
	PartnerUnexpectedResponse,
	tagOfStatus,
} from "./errors.ts";
import { factsOf } from "./facts.ts";
import { isListed, isOfService, isServerError, repeatAfterGateway } from "./gateway.ts";
import { intermediary, redirectTarget, serviceMessage } from "./redact.ts";
import { retryAfterMs } from "./retry.ts";

/** What openapi-fetch made of a body. It may repeat the key, so that no frame that throws has it in a variable. */
export type Answer = Secret<{ data?: unknown; error?: unknown }>;

/** Returns the data of a response that keeps the contract, or throws the error of any other one. */
export function judge<Data>(call: CallState<Data>, answer: Answer): Data {
	const verdict = verdictOn(call, answer);
	if (verdict.failure) throw verdict.failure;
	return verdict.data;
}

function verdictOn<Data>(
	call: CallState<Data>,
	answer: Answer,
): { failure: PartnerError } | { failure?: undefined; data: Data } {
	const { data, error } = answer.reveal();
	const { head, plan } = call;
	const { status } = head ?? { status: 0 };
	if (status >= 300) return { failure: refused(call, status, error) };
	const isOutside = plan.operation === "request";
	// Outside the contract a response may be empty.
	if (data === undefined && !isOutside) return { failure: unreadable(call) };
	// This is the only place where JSON gets the type of the contract: the validator generated from it has accepted it.
	const known = (data ?? null) as Data;
	if (plan.operation === "messages.send" && head && isAged(head.headers)) return { failure: copied(call) };
	const broken =
		status !== 200 && !isOutside ? "the status" : (brokenField(plan.operation, data) ?? plan.verify?.(known));
	if (broken === undefined) return { data: known };
	const outcome = status === 200 && isAccepted(data) ? "sent" : "unknown";
	const message = `${plan.operation}: the answer breaks the contract at ${broken || "/"}`;
	return { failure: new PartnerUnexpectedResponse(message, factsOf(call, outcome)) };
}

/** Whether an answer proves that the service took a text. A captive portal or an API gateway says `success` too, but gives no id. */
function isAccepted(data: unknown): boolean {
	const { success = true, queued, messageId, queueId }: Record<string, unknown> = Object(data);
	const hasId = [messageId, queueId].some((id) => typeof id === "string" && id !== "");
	return success === true && typeof queued === "boolean" && hasId;
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

/** The error of a success that is the answer to an earlier request. */
function copied<Data>(call: CallState<Data>): PartnerError {
	return new PartnerUnexpectedResponse(`${call.plan.operation}: ${onlyCopy}`, {
		...factsOf(call, "unknown"),
		retryable: true,
	});
}

/** The error of a body over the limit. */
export function oversized<Data>(call: CallState<Data>): PartnerError {
	const message = `${call.plan.operation}: the answer is larger than 10 MB`;
	return new PartnerUnexpectedResponse(message, factsOf(call, "unknown"));
}

/** The error of a status of 300 or higher. */
function refused<Data>(call: CallState<Data>, status: number, body: unknown): PartnerError {
	const { operation, isChosenId } = call.plan;
	const { errorBodies } = call.client;
	const wait = call.head && retryAfterMs(call.head.headers);
	const facts = (outcome: Outcome): Facts => ({ ...factsOf(call, outcome), retryAfterMs: wait });
	if (status < 400) {
		const message = `${operation}: answered ${status}${redirectTarget(call)}, which is outside the contract`;
		return new PartnerUnexpectedResponse(message, facts("unknown"));
	}
	if (isWrongBaseUrl(call, status, body)) return wrongBaseUrl(facts(status < 500 ? "not_sent" : "unknown"), status);
	// Who reads looks up whether a 404 is one.
	const isStale = call.isCopy && !(status === 404 && !call.plan.isWrite);
	const isOwn = isOfService(status, body) && !isStale;
	if (isOwn && call.client.onContractDrift) reportErrorDrift(call.client.onContractDrift, operation, body);
	const isTaken = isOwn || (errorBodies === "any" && [401, 403, 404].includes(status));
	const listed: readonly number[] = operation === "request" ? anyRefusal : operationTable[operation].refusals;
	if (!isOwn && !(isTaken && listed.includes(status))) {
		const retryable = repeatAfterGateway(status) !== "never";
		const from = isStale ? ", an old copy from" : " from";
		const message = `${operation}: ${status}${from} something in front of the service${intermediary(call)}`;
		return new PartnerGatewayError(message, { ...facts("unknown"), retryable });
	}
	const said = serviceMessage(call, body);
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

/** Whether the path does not exist at all, because the base URL lacks the version. */
function isWrongBaseUrl<Data>(call: CallState<Data>, status: number, body: unknown): boolean {
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
