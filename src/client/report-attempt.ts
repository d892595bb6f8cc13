import { type AttemptFacts, eventOf, ignoreErrors, type Logger, lineOf } from "./attempt-event.ts";
import type { CallState } from "./call-state.ts";
import type { PartnerError } from "./errors.ts";
import { word } from "./network-fault.ts";
import { correlationIdOf } from "./redact.ts";

/** Reports an attempt to the logger and to `onAttempt`, unless it has not begun. Each gets an event object of its own. */
export function reportAttempt<Data>(
	call: CallState<Data>,
	error: PartnerError | undefined,
	retryInMs: number | undefined,
): void {
	const { client, plan, durationMs } = call;
	const { logger, onAttempt } = client;
	if (durationMs === undefined || !(logger || onAttempt)) return;
	const { operation, agencyId, operationId } = plan;
	const facts: AttemptFacts = {
		operation,
		agencyId,
		attempt: call.attempt,
		status: call.head?.status,
		errorTag: error?._tag,
		errorCode: error && codeOf(error),
		correlationId: correlationIdOf(call),
		operationId,
		durationMs,
		retryInMs,
	};
	ignoreErrors(() => onAttempt?.(eventOf(facts)));
	const event = eventOf(facts);
	ignoreErrors(() => logger?.[levelOf(call, error, retryInMs)](lineOf(event), event));
}

function codeOf({ _tag, cause }: PartnerError): string | undefined {
	const { code, name }: { code?: unknown; name?: unknown } = Object(cause);
	if (_tag === "PartnerConfigurationError") return word(name);
	return _tag === "PartnerConnectionError" ? word(code) : undefined;
}

function levelOf<Data>({ plan }: CallState<Data>, error: PartnerError | undefined, retryInMs?: number): keyof Logger {
	// An abandoned call has no reader, and a 404 of a read is an answer.
	if (!error || plan.abandon?.aborted) return "debug";
	if (error._tag === "PartnerNotFound" && !plan.isWrite) return "info";
	return retryInMs === undefined ? "error" : "warn";
}
