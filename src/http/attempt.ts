import type { KeyProblem, KeySource } from "../input/connection.ts";
import { onAbort } from "./abort.ts";
import type { Exchange, ExchangeAnswer, ExchangeControl, ExchangeHead, ExchangeRequest } from "./exchange.ts";

/** How one attempt ended. */
export type AttemptEnd = {
	/** The key that the request went out with; undefined when it did not go out. */
	key: string | undefined;
} & (
	| ({ kind: "answer" } & ExchangeAnswer)
	| { kind: "fault"; error: unknown; connected: boolean | undefined; head: ExchangeHead | undefined }
	| { kind: "timeout" | "abort"; unsent: boolean; head: ExchangeHead | undefined }
	| { kind: "key"; problem: KeyProblem }
);

type WithoutKey<End> = End extends AttemptEnd ? Omit<End, "key"> : never;

export interface AttemptOptions {
	exchange: Exchange;
	/** Without the key. */
	request: ExchangeRequest;
	apiKey: KeySource;
	/** Time for the key, the headers and the body together. */
	timeoutMs: number;
	/** The caller's signal, and the one of an iteration that does not need its next page any more. */
	signals: readonly AbortSignal[];
	/** Waits for the end of the current tick first, so that an abort right after the call stops a send. */
	isDeferred: boolean;
}

/** Limit of a decoded body. A compressed body of a few hundred bytes can unpack to 300 MB. */
const maxBytes = 10 * 1024 * 1024;
/** The longest that a response is looked for after a timer that fired late. */
const longestGraceMs = 100;

/** Sends one request and reads its response to the end. It resolves when the time is up even if the exchange does not listen. */
export function attempt(options: AttemptOptions): Promise<AttemptEnd> {
	const { exchange, request, apiKey, timeoutMs, signals, isDeferred } = options;
	return new Promise((resolve) => {
		if (signals.some(({ aborted }) => aborted)) {
			return resolve({ kind: "abort", unsent: true, head: undefined, key: undefined });
		}
		const control: ExchangeControl = { maxBytes };
		let usedKey: string | undefined;
		let isOver = false;

		const settle = (end: WithoutKey<AttemptEnd>): void => {
			if (isOver) return;
			isOver = true;
			clearTimeout(timer);
			for (const remove of removers) remove();
			resolve({ ...end, key: usedKey });
		};
		const cut = (kind: "timeout" | "abort"): void => {
			const { head, connected } = control;
			settle({ kind, unsent: usedKey === undefined || connected === false, head });
			control.cut?.();
		};
		const removers = signals.map((signal) => onAbort(signal, () => cut("abort")));
		const dueAt = performance.now() + timeoutMs;
		let timer = setTimeout(() => {
			// After a blocked event loop the timer runs before the socket is read. Let a response that has arrived win.
			timer = setTimeout(cut, Math.min(longestGraceMs, performance.now() - dueAt), "timeout");
		}, timeoutMs);

		const send = (key: string | KeyProblem): void => {
			if (isOver) return;
			// A listener that was added before can keep the abort from this one.
			if (signals.some(({ aborted }) => aborted)) return void cut("abort");
			if (typeof key !== "string") return void settle({ kind: "key", problem: key });
			usedKey = key;
			const headers = { ...request.headers, authorization: `Bearer ${key}` };
			start(exchange, { ...request, headers }, control).then(
				({ status, headers, text }) => settle({ kind: "answer", status, headers, text }),
				(error: unknown) => settle({ kind: "fault", error, connected: control.connected, head: control.head }),
			);
		};
		const key = apiKey();
		if (typeof key === "string" && !isDeferred) send(key);
		else Promise.resolve(key).then(send);
	});
}

/** Turns what an exchange throws before it returns a promise into a rejection. */
function start(exchange: Exchange, request: ExchangeRequest, control: ExchangeControl): Promise<ExchangeAnswer> {
	try {
		return exchange(request, control);
	} catch (error) {
		return Promise.reject(error);
	}
}
