import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { Sandbox, SandboxEvent } from "../index.ts";
import { withoutAnswer } from "../routes/listing.ts";

/** Whether a request for events wants them as they happen. */
export const wantsStream = ({ accept = "" }: IncomingHttpHeaders): boolean => /\btext\/event-stream\b/i.test(accept);

/** What a reader of events asks for. */
interface Wanted {
	/** The number of the last event that it has; 0 when it names none. */
	readonly after: number;
	/** Leaves out the answers of requests, except refusals. */
	readonly brief: boolean;
}

/** What a reader asks for by `Last-Event-ID` and by its query. */
export function wantedBy(headers: IncomingHttpHeaders, query: string): Wanted {
	const parameters = new URLSearchParams(query);
	const last = headers["last-event-id"] ?? parameters.get("after");
	const after = typeof last === "string" && /^\d{1,15}$/.test(last) ? Number(last) : 0;
	return { after, brief: parameters.get("brief") === "true" };
}

const aliveEveryMs = 15_000;
const mostWaitingBytes = 64 * 2 ** 20;
const stepMs = 1_000;

/** Sends events as server-sent events: those that a reader lacks, then each as it happens. */
export type EventStreams = (wanted: Wanted, response: ServerResponse) => void;

/**
 * The readers of events. A reader that is slow gets further events once it has read those that it was sent. If all slow
 * readers together have more than 64 MB to read, the one that is slow for longest is cut off. It can resume after the
 * last number that it has.
 */
export function createEventStreams(sandbox: Sandbox): EventStreams {
	/** Slow readers, with the bytes that they have to read, in the order in which they became slow. */
	const slow = new Map<ServerResponse, number>();
	let waitingBytes = 0;
	const hasRead = (response: ServerResponse): void => {
		waitingBytes -= slow.get(response) ?? 0;
		slow.delete(response);
	};
	const isSlow = (response: ServerResponse): void => {
		slow.set(response, response.writableLength);
		waitingBytes += response.writableLength;
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
	return ({ after, brief }, response) => {
		let last = after;
		const write = (text: string): void => {
			if (!response.write(text)) isSlow(response);
		};
		const send = (event: SandboxEvent): void => {
			if (slow.has(response) || response.destroyed || event.id <= last) return;
			last = event.id;
			write(textOf(event, brief));
		};
		/** The newest step of a clock that runs. The reader hears of such steps once a second. */
		let step: SandboxEvent | undefined;
		let timer: NodeJS.Timeout | undefined;
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
				if (slow.has(response)) return;
				send(event);
			}
		};
		response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
		write(": events of the sandbox\n\n");
		sendKept();
		response.on("drain", () => {
			hasRead(response);
			sendKept();
		});
		const stop = sandbox.subscribe(hear);
		const alive = setInterval(() => slow.has(response) || write(": alive\n\n"), aliveEveryMs);
		response.once("close", () => {
			clearInterval(alive);
			clearTimeout(timer);
			stop();
			hasRead(response);
		});
	};
}
