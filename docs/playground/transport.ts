import type { Sandbox } from "messaging-conversations/sandbox";
import { createControls } from "../../src/sandbox/routes/controls.ts";
import { LongJson } from "../../src/sandbox/routes/route.ts";
import { answerControl } from "../../src/sandbox/server/control.ts";
import {
	createEventStreams,
	type EventSink,
	streamHeaders,
	wantedBy,
	wantsStream,
} from "../../src/sandbox/server/events.ts";
import { createUnread } from "../../src/sandbox/server/unread.ts";

const controlPath = "/_sandbox/";

/**
 * A `fetch` for the sandbox's page that answers in process, with the controls, the events and the service that the
 * sandbox's server has too. It needs no control token, because only this page can call it.
 */
export function createTransport(sandbox: Sandbox): typeof fetch {
	const { baseUrl } = sandbox.connection;
	const controls = createControls(sandbox, () => baseUrl);
	const streamEvents = createEventStreams(sandbox, createUnread());
	return async (input, init = {}) => {
		const url = new URL(String(input), baseUrl);
		if (!url.pathname.startsWith(controlPath)) return sandbox.fetch(url, init);
		const { method = "GET", signal } = init;
		const path = url.pathname.slice(controlPath.length);
		const headers = Object.fromEntries(new Headers(init.headers));
		if (wantsStream(method, path, headers)) {
			const wanted = wantedBy(headers, url.search);
			const events = streamOf((sink) => streamEvents(wanted, sink), signal);
			return new Response(events, { headers: streamHeaders });
		}
		const body = new Uint8Array(await new Response(init.body).arrayBuffer());
		const { status, result } = await answerControl(controls, method, `/${path}${url.search}`, body);
		if (result instanceof LongJson)
			return new Response([...result.pieces].join(""), { headers: { "content-type": "application/json" } });
		return Response.json(result, { status });
	};
}

/** What is written to a sink, as a stream that ends when the signal aborts. Its reader is never slow. */
function streamOf(start: (sink: EventSink) => void, signal?: AbortSignal | null): ReadableStream<Uint8Array> {
	const encoder = new TextEncoder();
	let close = (): void => undefined;
	return new ReadableStream({
		start(controller) {
			start({
				destroyed: false,
				writableLength: 0,
				write(text) {
					controller.enqueue(encoder.encode(text));
					return true;
				},
				destroy: () => undefined,
				on: () => undefined,
				once: (_event, listener) => (close = listener),
			});
			signal?.addEventListener("abort", () => {
				close();
				controller.error(signal.reason);
			});
		},
		cancel: () => close(),
	});
}
