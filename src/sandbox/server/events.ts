import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { Sandbox, SandboxEvent } from "../index.ts";
import { afterIn } from "./control.ts";

/** Whether a request for events wants them as they happen. */
export const wantsStream = ({ accept = "" }: IncomingHttpHeaders): boolean => /\btext\/event-stream\b/i.test(accept);

/** The number of the last event that a reader has, by `Last-Event-ID` or by the query; 0 when it names none. */
export function afterOf(headers: IncomingHttpHeaders, query: string): number {
	const last = headers["last-event-id"];
	return afterIn(typeof last === "string" ? `after=${last}` : query) || 0;
}

const aliveEveryMs = 15_000;
const mostWaitingBytes = 64 * 2 ** 20;

/**
 * Sends the events after number `after` as server-sent events, then each as it happens. A reader that is too slow is
 * cut off, and resumes after the last number that it has.
 */
export function streamEvents(sandbox: Sandbox, after: number, response: ServerResponse): void {
	response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
	response.write(": events of the sandbox\n\n");
	const send = (event: SandboxEvent): void => {
		response.write(`id: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`);
		if (response.writableLength > mostWaitingBytes) response.destroy();
	};
	for (const event of sandbox.events({ after })) send(event);
	const stop = sandbox.subscribe(send);
	const alive = setInterval(() => response.write(": alive\n\n"), aliveEveryMs);
	response.once("close", () => {
		clearInterval(alive);
		stop();
	});
}
