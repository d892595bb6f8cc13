import { createClient, isPartnerError } from "../../src/index.ts";
import { agencyId, apiKey } from "./answers.ts";
import type { Caller, Claim, Wiring } from "./campaign.ts";

/** The default waits and time-outs, a hundredth as long. */
export const quickly = { timeoutMs: 400, retry: { baseDelayMs: 5, maxDelayMs: 80 } } as const;

/** The package itself, called through its public entry points only. */
export function packageCaller({ baseUrl, transport, timeoutMs, deadlineMs, onWait }: Wiring): Caller {
	const client = createClient({
		baseUrl,
		apiKey,
		...transport,
		...quickly,
		timeoutMs,
		deadline: deadlineMs,
		onAttempt: ({ operationId, retryInMs }) => {
			if (operationId !== undefined && retryInMs !== undefined) onWait(operationId, retryInMs);
		},
	});
	const { messages } = client.agency(agencyId);
	return {
		async send(message, signal) {
			try {
				const { operationId } = await messages.send(message, signal === undefined ? {} : { signal });
				return { claim: "sent", operationId };
			} catch (error) {
				return claimOf(error);
			}
		},
	};
}

function claimOf(error: unknown): Claim {
	const untyped = isPartnerError(error) ? {} : { untyped: String(error) };
	const { outcome, operationId, attempts } = factsOf(error);
	const claim = outcome === "sent" || outcome === "not_sent" ? outcome : "unknown";
	return { claim, attempts: Number(attempts), ...untyped, ...(typeof operationId === "string" ? { operationId } : {}) };
}

/** The public fields of an error, read without trusting its type. */
export function factsOf(error: unknown): Readonly<Record<string, unknown>> {
	if (typeof error !== "object" || error === null) return { thrown: error };
	const fields = ["_tag", "name", "operation", "status", "correlationId", "attempts", "retryable"] as const;
	const more = ["retryAfterMs", "operationId", "outcome", "cursor", "itemsRead", "message"] as const;
	return Object.fromEntries([...fields, ...more].map((field) => [field, Reflect.get(error, field)]));
}
