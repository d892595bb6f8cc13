import type { Sandbox, SandboxEvent } from "../index.ts";
import { withoutAnswer } from "../routes/listing.ts";

/** The headers that a reader of events may send. */
interface EventHeaders {
	readonly accept?: string | undefined;
	readonly "last-event-id"?: string | readonly string[] | undefined;
}

/** Whether a request, whose path is below `/_sandbox/`, wants events as they happen. */
export const wantsStream = (method: string, path: string, { accept = "" }: EventHeaders): boolean =>
	method === "GET" && path === "events" && /\btext\/event-stream\b/i.test(accept);

/** What a reader of events asks for. */
interface Wanted {
	/** The number of the last event that it has; 0 when it names none. */
	readonly after: number;
	/** Leaves out the answers of requests, except refusals. */
	readonly brief: boolean;
}

/** What a reader asks for by `Last-Event-ID` and by its query. */
export function wantedBy(headers: EventHeaders, query: string): Wanted {
	const parameters = new URLSearchParams(query);
	const last = headers["last-event-id"] ?? parameters.get("after");
	const after = typeof last === "string" && /^\d{1,15}$/.test(last) ? Number(last) : 0;
	return { after, brief: parameters.get("brief") === "true" };
}

/** Where the events of one reader are written: a response of node:http, or a stream in a browser. */
export interface EventSink {
	readonly destroyed: boolean;
	/** How many bytes are written that the reader has not read yet. */
	readonly writableLength: number;
	/** Returns false if the reader is slow: "drain" then says when it has read everything. */
	write(text: string): boolean;
	destroy(): unknown;
	once(event: "close", listener: () => void): unknown;
	on(event: "drain", listener: () => void): unknown;
}

/** The headers of a stream of events. */
export const streamHeaders = { "content-type": "text/event-stream", "cache-control": "no-store" } as const;

const aliveEveryMs = 15_000;
const mostWaitingBytes = 64 * 2 ** 20;
const stepMs = 1_000;

/** Sends events as server-sent events: those that a reader lacks, then each as it happens. */
export type EventStreams = (wanted: Wanted, sink: EventSink) => void;

/**
 * The readers of events. A reader that is slow gets further events once it has read those that it was sent. If all slow
 * readers together have more than 64 MB to read, the one that is slow for longest is cut off. It can resume after the
 * last number that it has.
 */
export function createEventStreams(sandbox: Sandbox): EventStreams {
	/** Slow readers, with the bytes that they have to read, in the order in which they became slow. */
	const slow = new Map<EventSink, number>();
	let waitingBytes = 0;
	const hasRead = (sink: EventSink): void => {
		waitingBytes -= slow.get(sink) ?? 0;
		slow.delete(sink);
	};
	const isSlow = (sink: EventSink): void => {
		slow.set(sink, sink.writableLength);
		waitingBytes += sink.writableLength;
		for (const [slowest] of slow) {
			if (waitingBytes <= mostWaitingBytes) break;
			hasRead(slowest);
			slowest.destroy();
		}
	};
	/** The event that was written last, whole and brief: readers of one kind get the same text. */
	const written = new Map<boolean, { readonly id: number; readonly text: string }>();
	const textOf = (event: SandboxEvent, brief: boolean): string => {
		const last = written.get(brief);
		if (last?.id === event.id) return last.text;
		const text = `id: ${event.id}\ndata: ${JSON.stringify(brief ? withoutAnswer(event) : event)}\n\n`;
		written.set(brief, { id: event.id, text });
		return text;
	};
	return ({ after, brief }, sink) => {
		let last = after;
		const write = (text: string): void => {
			if (!sink.write(text)) isSlow(sink);
		};
		const send = (event: SandboxEvent): void => {
			if (slow.has(sink) || sink.destroyed || event.id <= last) return;
			last = event.id;
			write(textOf(event, brief));
		};
		/** The newest step of a clock that runs. The reader hears of such steps once a second. */
		let step: SandboxEvent | undefined;
		let timer: ReturnType<typeof setTimeout> | undefined;
		const sendStep = (): void => {
			clearTimeout(timer);
			timer = undefined;
			if (step) send(step);
			step = undefined;
		};
		let clockAt = sandbox.clock.now().getTime();
		const hear = (event: SandboxEvent): void => {
			const before = clockAt;
			clockAt = Date.parse(event.at);
			if (event.type === "clock.moved" && clockAt - before < stepMs) {
				step = event;
				timer ??= setTimeout(sendStep, stepMs);
				return;
			}
			sendStep();
			send(event);
		};
		const sendKept = (): void => {
			for (const event of sandbox.events({ after: last })) {
				if (slow.has(sink)) return;
				send(event);
			}
		};
		write(": events of the sandbox\n\n");
		sendKept();
		sink.on("drain", () => {
			hasRead(sink);
			sendKept();
		});
		const stop = sandbox.subscribe(hear);
		const alive = setInterval(() => slow.has(sink) || write(": alive\n\n"), aliveEveryMs);
		sink.once("close", () => {
			clearInterval(alive);
			clearTimeout(timer);
			stop();
			hasRead(sink);
		});
	};
}
