import type { Sandbox, SandboxEvent } from "../index.ts";
import { withoutAnswer } from "../routes/listing.ts";
import type { Unread, Written } from "./unread.ts";

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
export interface EventSink extends Written {
	/** Returns false if the reader is slow: "drain" then says when it has read everything. */
	write(text: string): boolean;
	once(event: "close", listener: () => void): unknown;
	on(event: "drain", listener: () => void): unknown;
}

/** The headers of a stream of events. */
export const streamHeaders = { "content-type": "text/event-stream", "cache-control": "no-store" } as const;

const aliveEveryMs = 15_000;
const stepMs = 1_000;

/** Sends events as server-sent events: those that a reader lacks, then each as it happens. */
export type EventStreams = (wanted: Wanted, sink: EventSink) => void;

/**
 * The readers of events. A reader that is slow gets further events once it has read those that it was sent. One that is
 * cut off, because too much waits for all readers, can resume after the last number that it has.
 */
export function createEventStreams(sandbox: Sandbox, unread: Unread): EventStreams {
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
		const [newest] = sandbox.events({ limit: 1 });
		// A number that no event has is one of an earlier sandbox at this address, so the reader lacks every event of this one.
		let last = after > (newest?.id ?? 0) ? 0 : after;
		const isSlow = (): boolean => unread.has(sink);
		const write = (text: string): void => {
			if (!sink.write(text)) unread.add(sink);
		};
		const send = (event: SandboxEvent): void => {
			if (isSlow() || sink.destroyed || event.id <= last) return;
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
			// One at a time, because building all that a slow reader lacks after each that it reads would take quadratic time.
			while (!isSlow() && !sink.destroyed) {
				const [event] = sandbox.events({ after: last, limit: 1 });
				if (!event) return;
				send(event);
			}
		};
		write(": events of the sandbox\n\n");
		sendKept();
		sink.on("drain", () => {
			unread.remove(sink);
			sendKept();
		});
		const stop = sandbox.subscribe(hear);
		const alive = setInterval(() => isSlow() || write(": alive\n\n"), aliveEveryMs);
		sink.once("close", () => {
			clearInterval(alive);
			clearTimeout(timer);
			stop();
			unread.remove(sink);
		});
	};
}
