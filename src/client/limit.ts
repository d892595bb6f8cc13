import { onAbort } from "../shared/signals.ts";
import { beginLeftMs, type CallState, leftMs } from "./call-state.ts";

/** The longest that a time-out is put off for a response that may have arrived while the event loop was blocked. */
export const longestGraceMs = 100;

type Timed = Pick<
	CallState<unknown>,
	"deadlineAt" | "deadlineDate" | "beginAt" | "beginDate" | "timeoutMs" | "signals"
>;

/** Cuts an attempt off when its time is up, or when a signal aborts. */
export class Limit {
	/** `late`: the latest moment to begin had passed before anything was written. */
	cutBy: "timeout" | "abort" | "late" | undefined;
	/** Whether this is the deadline of the whole call. */
	isDeadline: boolean;
	readonly #controller = new AbortController();
	readonly #call: Timed;
	readonly #removers: (() => void)[];
	readonly #dueAt: number;
	#timer: ReturnType<typeof setTimeout>;
	#giveUp: (error: Error) => void = () => {};

	constructor(call: Timed) {
		const { deadlineAt, timeoutMs, signals } = call;
		const now = performance.now();
		this.isDeadline = deadlineAt - now <= timeoutMs;
		this.#dueAt = this.isDeadline ? deadlineAt : now + timeoutMs;
		this.#call = call;
		this.#removers = signals.map((signal) => onAbort(signal, () => this.#cut("abort")));
		this.#timer = setTimeout(() => {
			const lateMs = performance.now() - this.#dueAt;
			// After a blocked event loop the timer runs before the socket is read. Let a response that has arrived win.
			if (lateMs > 1) this.#timer = setTimeout(() => this.#cut("timeout"), Math.min(lateMs, longestGraceMs));
			else this.#cut("timeout");
		}, this.#dueAt - now);
	}

	/** Aborts when the attempt is cut off. */
	get signal(): AbortSignal {
		return this.#controller.signal;
	}

	/**
	 * Looks at the time right before a request begins.
	 * Aborts `signal` if the time is up or a signal has aborted: an earlier listener can keep an abort event to itself.
	 *
	 * @param graceMs how long after the limit of the attempt a request may still go out; none does after the deadline
	 */
	check(graceMs: number): void {
		const isLate = leftMs(this.#call) <= 0;
		this.isDeadline ||= isLate;
		if (this.#call.signals.some(({ aborted }) => aborted)) this.#cut("abort");
		else if (beginLeftMs(this.#call) <= 0) this.#cut("late");
		else if (isLate || performance.now() >= this.#dueAt + graceMs) this.#cut("timeout");
	}

	/** Settles with the work, or rejects when it is cut off and does not end by itself in the next turn of the event loop. */
	race<T>(work: Promise<T>): Promise<T> {
		return new Promise((resolve, reject) => {
			this.#giveUp = reject;
			work.then(resolve, reject);
		});
	}

	end(): void {
		clearTimeout(this.#timer);
		for (const remove of this.#removers) remove();
	}

	#cut(by: "timeout" | "abort" | "late"): void {
		if (this.cutBy) return;
		this.end();
		this.cutBy = by;
		// By the reason a transport knows whether the service was silent or the caller gave up. A caller can set a time too.
		const isSilent = by === "timeout" || this.#call.signals.some(({ reason }) => reason?.name === "TimeoutError");
		this.#controller.abort(isSilent ? new DOMException("no answer in time", "TimeoutError") : undefined);
		// A transport that listens rejects now, and says whether it had a connection and a status.
		this.#timer = setTimeout(() => this.#giveUp(new Error("cut")));
	}
}
