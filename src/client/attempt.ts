import { onAbort } from "./abort.ts";
import type { ActiveCall } from "./call-context.ts";
import type { KeyProblem } from "./connection.ts";
import type { ExchangeAnswer, ExchangeControl } from "./exchange.ts";

/** How one attempt ended. */
export interface AttemptEnd {
	how:
		| { kind: "answer"; answer: ExchangeAnswer }
		| { kind: "fault"; error: unknown }
		| { kind: "timeout" | "abort" }
		| { kind: "key"; problem: KeyProblem };
	/** The key that the request went out with. Undefined when it did not go out. */
	key: string | undefined;
	/** What the exchange had noted until then. */
	seen: Pick<ExchangeControl, "head" | "connected">;
}

/** Limit of a decoded body. A compressed body of a few hundred bytes can unpack to 300 MB. */
const maxBytes = 10 * 1024 * 1024;
/** The longest that a time-out is put off for a response that may have arrived while the event loop was blocked. */
const longestGraceMs = 100;

/**
 * Sends one request and reads its response to the end. It resolves when the time is up even if the exchange does not listen.
 *
 * @param limitMs time for the key, the headers and the body together
 */
export function attempt<Data>(call: ActiveCall<Data>, limitMs: number): Promise<AttemptEnd> {
	const { client, request, signals, context } = call;
	const isAborted = (): boolean => signals.some(({ aborted }) => aborted);
	return new Promise((resolve) => {
		const control: ExchangeControl = { maxBytes };
		if (isAborted()) return resolve({ how: { kind: "abort" }, key: undefined, seen: control });
		let key: string | undefined;
		let isOver = false;

		const settle = (how: AttemptEnd["how"]): void => {
			isOver = true;
			clearTimeout(timer);
			for (const remove of removers) remove();
			resolve({ how, key, seen: control });
		};
		const cut = (kind: "timeout" | "abort"): void => {
			settle({ kind });
			control.cut?.();
		};
		const removers = signals.map((signal) => onAbort(signal, () => cut("abort")));
		const dueAt = performance.now() + limitMs;
		let timer = setTimeout(() => {
			const lateMs = performance.now() - dueAt;
			// After a blocked event loop the timer runs before the socket is read. Let a response that has arrived win.
			if (lateMs > 1) timer = setTimeout(() => cut("timeout"), Math.min(lateMs, longestGraceMs));
			else cut("timeout");
		}, limitMs);

		const send = async (given: string | KeyProblem): Promise<void> => {
			if (isOver) return;
			// Check before the request goes out, because an earlier listener may have stopped the abort event.
			if (isAborted()) return cut("abort");
			if (typeof given !== "string") return settle({ kind: "key", problem: given });
			key = given;
			const headers = { authorization: `Bearer ${key}`, ...request.headers };
			try {
				const { status, headers: received, text } = await client.exchange({ ...request, headers }, control);
				settle({ kind: "answer", answer: { status, headers: received, text } });
			} catch (error) {
				settle({ kind: "fault", error });
			}
		};
		const given = client.apiKey();
		// A send waits for the end of the current tick, so that an abort right after the call stops it.
		if (typeof given === "string" && !context.isWrite) send(given);
		else Promise.resolve(given).then(send);
	});
}
