import type { Exchange, ExchangeControl } from "./exchange.ts";
import { ignoreErrors } from "./ignore-errors.ts";

/** A `fetch` function, called as `fetch(url, init)`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * The exchange over `fetch`. It uses an own AbortController for each request, because `AbortSignal.timeout`,
 * `AbortSignal.any` and `new Request` lose their abort to a garbage collection on Node 20.
 *
 * @param given looked up as `globalThis.fetch` at each request when undefined, so that mocks and instrumentation that
 * are installed later work
 */
export function createFetchExchange(given: Fetch | undefined): Exchange {
	// Checked at the first read, because touching `Request` loads all of Node's fetch.
	let canSkipCache: boolean | undefined;
	return async ({ method, url, headers, body, noStore }, control) => {
		const controller = new AbortController();
		control.cut = () => controller.abort();
		const init: RequestInit = { method, headers, redirect: "manual", signal: controller.signal };
		if (body !== undefined) init.body = body;
		if (noStore && (canSkipCache ??= supportsCache())) init.cache = "no-store";
		const fetch: Fetch | undefined = given ?? globalThis.fetch;
		// The test environments of jsdom have none.
		if (!fetch) throw Object.assign(new TypeError("no fetch"), { code: "ERR_NO_FETCH" });
		const response = await fetch(url, init);
		const { status, headers: received } = response;
		// A status below 200 is not a final one. A `fetch` that ignores its signal comes back after the abort. A mock may
		// have no headers.
		if (!(status >= 200) || typeof received?.get !== "function" || controller.signal.aborted) {
			discard(response);
			throw new TypeError("no usable response");
		}
		control.head = { status, headers: received };
		// A redirect is not followed: it would lose a send, or carry it to another host.
		if (status >= 300 && status < 400) {
			discard(response);
			return { ...control.head, text: "" };
		}
		return { status, headers: received, text: await read(response, control) };
	};
}

/** Some workers reject the option `cache`. */
function supportsCache(): boolean {
	return typeof globalThis.Request === "function" && "cache" in globalThis.Request.prototype;
}

/** Reads the whole body; resolves with undefined when it exceeds the limit. */
async function read(response: Response, control: ExchangeControl): Promise<string | undefined> {
	const { headers, body } = response;
	const length = Number(headers.get("content-length") ?? Number.NaN);
	if (length > control.maxBytes) {
		discard(response);
		return undefined;
	}
	// `content-length` counts compressed bytes: only without an encoding does it bound what `text()` reads.
	const isBounded = length >= 0 && !headers.get("content-encoding");
	if (isBounded || typeof body?.getReader !== "function") {
		const text = await response.text();
		return text.length > control.maxBytes ? undefined : text;
	}
	const reader = body.getReader();
	const cancel = (): void => ignoreErrors(() => reader.cancel());
	const abort = control.cut;
	control.cut = () => {
		abort?.();
		// Cancels for a fetch that ignores its signal. Deferred, because a cloned body rejects unhandled when both come at once.
		setTimeout(cancel);
	};
	const decoder = new TextDecoder();
	let text = "";
	let bytes = 0;
	for (;;) {
		const { done, value } = await reader.read();
		if (done) return text + decoder.decode();
		// An empty chunk counts too, because an endless stream of them must end.
		bytes += value.byteLength || 1000;
		if (bytes > control.maxBytes) {
			cancel();
			return undefined;
		}
		text += decoder.decode(value, { stream: true });
	}
}

/** Cancels an unread body, because it holds its connection. */
function discard(response: Response): void {
	ignoreErrors(() => response.body?.cancel());
}
