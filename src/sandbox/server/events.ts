import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { Sandbox, SandboxEvent } from "../index.ts";

/** Whether a request for events wants them as they happen. */
export const wantsStream = ({ accept = "" }: IncomingHttpHeaders): boolean => /\btext\/event-stream\b/i.test(accept);

/** The number of the last event that a reader has, by `Last-Event-ID` or by the query; 0 when it names none. */
export function afterOf(headers: IncomingHttpHeaders, query: string): number {
	const last = headers["last-event-id"] ?? new URLSearchParams(query).get("after");
	return typeof last === "string" && /^\d{1,15}$/.test(last) ? Number(last) : 0;
}

const aliveEveryMs = 15_000;
const mostWaitingBytes = 64 * 2 ** 20;

/** Sends the events after number `after` as server-sent events, then each as it happens. */
export type EventStreams = (after: number, response: ServerResponse) => void;

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
	return (after, response) => {
		let last = after;
		const write = (text: string): void => {
			if (!response.write(text)) isSlow(response);
		};
		const send = (event: SandboxEvent): void => {
			if (slow.has(response) || response.destroyed || event.id <= last) return;
			last = event.id;
			write(`id: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`);
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
		const stop = sandbox.subscribe(send);
		const alive = setInterval(() => slow.has(response) || write(": alive\n\n"), aliveEveryMs);
		response.once("close", () => {
			clearInterval(alive);
			stop();
			hasRead(response);
		});
	};
}
