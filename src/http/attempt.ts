import type { KeyProblem, KeySource } from "../input/connection.ts";
import { onAbort } from "./abort.ts";
import type { Exchange, ExchangeAnswer, ExchangeControl, ExchangeHead, ExchangeRequest } from "./exchange.ts";

/** How one attempt ended. `key` is the one that its request went out with; undefined when it did not go out. */
export type AttemptEnd = { key: string | undefined } & (
	| ({ kind: "answer" } & ExchangeAnswer)
	| { kind: "fault"; error: unknown; connected: boolean | undefined; head: ExchangeHead | undefined }
	| { kind: "timeout" | "abort"; unsent: boolean; head: ExchangeHead | undefined }
	| { kind: "key"; problem: KeyProblem }
);

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
		let key: string | undefined;
		let isOver = false;

		const settle = (end: AttemptEnd): void => {
			isOver = true;
			clearTimeout(timer);
			for (const remove of removers) remove();
			resolve(end);
		};
		const cut = (kind: "timeout" | "abort"): void => {
			const { head, connected } = control;
			if (key === undefined && kind === "timeout") {
				settle({ kind: "key", key, problem: { rule: "its function gave no key in time", retryable: true } });
			} else settle({ kind, key, unsent: key === undefined || connected === false, head });
			control.cut?.();
		};
		const removers = signals.map((signal) => onAbort(signal, () => cut("abort")));
		const dueAt = performance.now() + timeoutMs;
		let timer = setTimeout(() => {
			const lateMs = performance.now() - dueAt;
			// After a blocked event loop the timer runs before the socket is read. Let a response that has arrived win.
			if (lateMs > 1) timer = setTimeout(() => cut("timeout"), Math.min(lateMs, longestGraceMs));
			else cut("timeout");
		}, timeoutMs);

		const send = async (given: string | KeyProblem): Promise<void> => {
			if (isOver) return;
			// Check before the request goes out, because an earlier listener may have stopped the abort event.
			if (signals.some(({ aborted }) => aborted)) return cut("abort");
			if (typeof given !== "string") return settle({ kind: "key", key, problem: given });
			key = given;
			const authorized = { ...request, headers: { ...request.headers, authorization: `Bearer ${key}` } };
			try {
				const { status, headers, text } = await exchange(authorized, control);
				settle({ kind: "answer", key, status, headers, text });
			} catch (error) {
				settle({ kind: "fault", key, error, connected: control.connected, head: control.head });
			}
		};
		const given = apiKey();
		if (typeof given === "string" && !isDeferred) send(given);
		else Promise.resolve(given).then(send);
	});
}
