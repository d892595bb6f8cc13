/*
 * A firewall, a proxy or a load balancer refused a request in place of the service. One that dislikes the words of a text must
 * not stop the others, and one that lets nothing through must not end every text.
 */
import type { PartnerError } from "messaging-conversations";
import type { OutboxText } from "../text.ts";
import type { Access } from "./access.ts";
import type { Pauses } from "./pauses.ts";

/** What a refusal by something in front of the service means for a text. */
export interface Refusal {
	/** When the text may be sent again. */
	nextAt: number;
	/** Only this text is refused: since its last request the send of another one has succeeded, and nothing else was refused. */
	isBlocked: boolean;
}

/** Tells what is refused: this text, or all of them. */
export interface Gateway {
	/** Asks whether anything passes. `waitMs` is how long this text would wait alone. */
	refused: (error: PartnerError, text: OutboxText, waitMs: number) => Promise<Refusal>;
	/** Notes a send that succeeded. */
	sent: (text: OutboxText) => void;
}

/** A gateway says with these that it got no answer, or that it was busy. They say nothing about the request. */
const passing = new Set([404, 408, 410, 421, 425, 429, 499]);

/**
 * Whether something in front of the service refused the request itself. With `errorBodies: "any"` its 401 or 403 of a send has
 * the class of the service's. It is `unknown` all the same, which the service's own never is.
 */
export function isRefusedByGateway({ _tag, status = 0, outcome }: PartnerError): boolean {
	return (
		(_tag === "PartnerGatewayError" || outcome === "unknown") && status >= 400 && status < 500 && !passing.has(status)
	);
}

/** A call of a text, and when it ended. */
interface Call {
	/** The text; empty for a read, which has no words that one could dislike. */
	id: string;
	at: number;
}

/** The last calls of two texts, because a text proves nothing about itself, and the last read. */
const withCall = (calls: readonly Call[], call: Call): Call[] =>
	[call, ...calls.filter(({ id }) => id !== call.id)].slice(0, 3);

export function createGateway(access: Access, pauses: Pauses, now: () => number): Gateway {
	let succeeded: Call[] = [];
	let refused: Call[] = [];

	return {
		async refused(error, text, waitMs) {
			// The last one is the request that was refused.
			const previous = text.progress.requests.at(-2)?.at;
			const isSend = error.operation === "messages.send";
			const { failed, isStale } = await access.failure();
			const isOfOthers = ({ id, at }: Call): boolean => id !== text.id && previous !== undefined && at > previous;
			// If others were refused too, it is one of several nodes that refuses, and not the text that is.
			const isBlocked = isSend && !failed && succeeded.some(isOfOthers) && !refused.some(isOfOthers);
			refused = withCall(refused, { id: isSend ? text.id : "", at: now() });
			const isAll = failed !== undefined || (isSend && !isBlocked);
			const until = await (isAll
				? pauses.holdAll("gateway", failed ?? error)
				: pauses.met(error, text, waitMs, { isUnclear: isStale }));
			return { nextAt: Math.max(until, now() + waitMs), isBlocked };
		},
		sent: ({ id }) => {
			succeeded = withCall(succeeded, { id, at: now() });
		},
	};
}
