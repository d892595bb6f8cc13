import { cuttableOf } from "./cuttable.ts";
import { headerOf } from "./headers.ts";
import { quietly } from "./quietly.ts";
import { isAborted, onAbort } from "./signal.ts";

/** The `fetch` that a client is given. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** A response that reads its own body within a limit: one that needs no WHATWG stream to count its bytes. */
export interface BoundedResponse extends Response {
	/** The text; undefined, and the rest given up, when it is longer than so many decoded bytes. */
	textWithin: (maxBytes: number) => Promise<string | undefined>;
}

/** One request on its way: what is sent, and for how long. */
export interface AttemptOptions {
	/** Called unbound. */
	fetch: Fetch;
	url: string;
	/** Made inside the attempt, as the key is asked for each time; the time that a promise takes counts. */
	init: (signal: AbortSignal | null) => RequestInit | Promise<RequestInit>;
	/** Headers and body together. */
	timeoutMs: number;
	/** The caller's signal, and the one by which a walk gives up a page that nobody waits for any more. */
	signals: readonly AbortSignal[];
	/** Called as the request goes out, and may still throw; from then on the service may have acted. */
	onDispatch: () => void;
}

/** What comes of an answer before its body. */
interface Head {
	status: number;
	headers: Headers;
}

/** An answer, read to its end. */
export interface Answer extends Head {
	body: { json: unknown } | "unreadable" | "too-large";
}

/**
 * How an attempt ends without a whole answer, with the head of one that broke off. `error` is what `init` or `onDispatch`
 * threw, or what fetch did; `isUnsent` is true where fetch knows that nothing has gone out although it was asked.
 */
export type Fault = Partial<Head> &
	({ kind: "init" | "network"; error: unknown; isUnsent?: never } | { kind: "timeout" | "abort"; isUnsent?: true });

/** Decoded bytes: `content-length` counts compressed ones, and a bomb of a few hundred bytes unpacks to 300 MB. */
const maxBodyBytes = 10 * 1024 * 1024;

/**
 * One request and its answer, read to the end. Rejects only where a signal throws. One controller and one timer, handed
 * over as `fetch(url, init)`: `AbortSignal.timeout`, `AbortSignal.any` and `new Request(…)` lose their abort to a
 * garbage collection. The promise settles when the time is up even where fetch does not listen.
 */
export function attempt(options: AttemptOptions): Promise<Answer | Fault> {
	const { fetch, url, init, timeoutMs, signals, onDispatch } = options;
	return new Promise((resolve) => {
		if (isAborted(signals)) return resolve({ kind: "abort" });
		const cuttable = cuttableOf(fetch);
		const controller = cuttable ? undefined : new AbortController();
		let stop = (): unknown => controller?.abort();
		let settled = false;
		let head: Head | undefined;
		let answered: Answer | undefined;
		const settle = (end: Answer | Fault): void => {
			if (settled) return;
			settled = true;
			clearTimeout(timer);
			resolve(end);
			off();
		};
		const cut = (kind: "timeout" | "abort") => (): void => {
			const fault: Fault = { kind, ...head };
			// A refusal is a refusal however long its text takes.
			settle(answered && kind === "timeout" ? answered : fault);
			// Still before anybody looks at it, and after the end stands: what is cut can throw.
			if (stop() === true) fault.isUnsent = true;
		};
		// A signal may throw, and then there must be no timer.
		const off = onAbort(signals, cut("abort"));
		const timer = setTimeout(cut("timeout"), timeoutMs);

		const exchange = async (): Promise<Answer | Fault> => {
			let ready: RequestInit;
			try {
				const made = init(controller?.signal ?? null);
				ready = "then" in made ? await made : made;
				if (settled || isAborted(signals)) return { kind: "abort" };
				onDispatch();
			} catch (error) {
				return { kind: "init", error };
			}
			try {
				const onCut = (cut: () => unknown): void => {
					const before = stop;
					stop = () => {
						before();
						return cut();
					};
				};
				const response = await (cuttable ? cuttable(url, ready, onCut) : fetch(url, ready));
				const { status, headers } = response;
				// One below 200 is another protocol's, or no answer yet.
				if (!Number.isInteger(status) || status < 200) {
					discard(response);
					throw new TypeError();
				}
				head = { status, headers };
				if (status >= 300) answered = { ...head, body: "unreadable" };
				if (settled || (answered && status < 400)) {
					discard(response);
					return answered ?? { kind: "abort" };
				}
				return { ...head, body: parsed(await read(response, onCut)) };
			} catch (error) {
				return answered ?? { kind: "network", error, ...head };
			}
		};
		exchange().then(settle);
	});
}

/** The body as JSON; a body that ends early without a framing error does not parse, and is unreadable. */
function parsed(text: string | undefined): Answer["body"] {
	if (text === undefined) return "too-large";
	try {
		return { json: JSON.parse(text) };
	} catch {
		return "unreadable";
	}
}

/** The body to its end; undefined when it is too large. Only framing errors reject. `onCut` is told how to give it up. */
function read(
	response: Response,
	onCut: (cut: () => unknown) => void,
): string | undefined | Promise<string | undefined> {
	if (isBounded(response)) return response.textWithin(maxBodyBytes);
	const length = Number(headerOf(response.headers, "content-length") ?? Number.NaN);
	if (length > maxBodyBytes) {
		discard(response);
		return undefined;
	}
	// The length is the body's own only where nothing is to be unpacked: then the runtime's own reader serves.
	const exact = length >= 0 && !headerOf(response.headers, "content-encoding");
	// A body of another kind is that of another library's fetch.
	if (exact || typeof response.body?.getReader !== "function") {
		return response.text().then((text) => (text.length > maxBodyBytes ? undefined : text));
	}
	const reader = response.body.getReader();
	// For a fetch that does not listen. Only once the abort is through: a clone that meets both at a time rejects unheard.
	onCut(() => setTimeout(() => quietly(() => reader.cancel())));
	return readCapped(reader);
}

function isBounded(response: Response): response is BoundedResponse {
	return "textWithin" in response;
}

async function readCapped(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string | undefined> {
	const decoder = new TextDecoder();
	let text = "";
	let bytes = 0;
	for (;;) {
		const { done, value } = await reader.read();
		if (done) return text + decoder.decode();
		// Empty ones without end would hold the process.
		bytes += value.byteLength || 1000;
		if (bytes > maxBodyBytes) {
			quietly(() => reader.cancel());
			return undefined;
		}
		text += decoder.decode(value, { stream: true });
	}
}

/** An unread body holds its connection. */
function discard(response: Response): void {
	quietly(() => response.body?.cancel());
}
