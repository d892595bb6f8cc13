import { type Answer, type Call, isLater, type Reply, targetIn } from "../base/call.ts";
import { isRedirect } from "./spoil.ts";

/** A call of fetch as plain values. */
interface Asked {
	readonly url: string;
	readonly call: Omit<Call, "target">;
	readonly signal: AbortSignal | null;
	readonly redirect: RequestRedirect;
	readonly request?: Request;
}

/** A `fetch` that `answer` answers: in process, no socket. Faults look as they do with Node's own fetch. */
export function createFetch(baseUrl: string, answer: (call: Call) => Reply): typeof globalThis.fetch {
	// Held here, or a garbage collection would part a waiting Request from the signal that aborts it (Node 20 to 24).
	const waiting: Waiting = new Set();
	return async (input, init) => {
		const asked =
			typeof input === "object" && "headers" in input ? await fromRequest(input, init) : await fromUrl(input, init);
		const { signal, call } = asked;
		if (signal?.aborted) throw signal.reason;
		let reply = answer({ ...call, target: targetOf(baseUrl, asked.url) });
		while (isLater(reply)) {
			const { waitMs, until, resume, abandon } = reply;
			try {
				await (until ? holdBack(waiting, asked, undefined, until) : holdBack(waiting, asked, waitMs));
			} catch (error) {
				abandon?.();
				throw error;
			}
			reply = resume();
		}
		if (reply.cut === "reset") throw failure("read ECONNRESET", "ECONNRESET", "read");
		if (reply.cut === "hang") await holdBack(waiting, asked);
		if (isRedirect(reply.status)) refuseRedirect(asked.redirect);
		return responseFrom(reply, call.method);
	};
}

/** Path and query below the base URL; throws where another origin is meant. */
function targetOf(baseUrl: string, url: string): string {
	if (url.startsWith(`${baseUrl}/`)) return url.slice(baseUrl.length).replace(/#.*$/s, "");
	const { origin, pathname, search } = new URL(url);
	if (origin !== new URL(baseUrl).origin) throw failure("getaddrinfo ENOTFOUND", "ENOTFOUND", "getaddrinfo");
	return targetIn(pathname + search);
}

async function fromUrl(input: string | URL, init: RequestInit = {}): Promise<Asked> {
	const { method = "GET", headers, body, signal = null, redirect = "follow" } = init;
	if (body != null && /^(GET|HEAD)$/i.test(method)) throw new TypeError("A GET or HEAD request cannot have a body.");
	const url = new URL(input).href;
	const read =
		typeof body === "string" || body == null
			? { content: body ?? "", type: "text/plain;charset=UTF-8" }
			: await bodyOf(body);
	const named = lowerCased(headers);
	// As fetch does: a body without a content type gets the one of its kind.
	if (body != null && read.type && named["content-type"] === undefined) named["content-type"] = read.type;
	return { url, call: { method: method.toUpperCase(), headers: named, body: read.content }, signal, redirect };
}

async function fromRequest(request: Request, init: RequestInit | undefined): Promise<Asked> {
	if (init) return fromRequest(new Request(request, init), undefined);
	const { url, method, headers, signal, redirect } = request;
	const body = method === "GET" || method === "HEAD" ? "" : new Uint8Array(await request.arrayBuffer());
	return { url, call: { method, headers: Object.fromEntries(headers), body }, signal, redirect, request };
}

async function bodyOf(body: BodyInit): Promise<{ content: Uint8Array; type: string | null }> {
	const response = new Response(body);
	return { content: new Uint8Array(await response.arrayBuffer()), type: response.headers.get("content-type") };
}

function lowerCased(headers: RequestInit["headers"]): Record<string, string> {
	if (!headers) return {};
	// Not by `instanceof`: under Jest, a Headers can be of another realm. One that is ours or a list is iterable.
	const pairs = Symbol.iterator in headers ? [...headers] : Object.entries(headers);
	const named: Record<string, string> = {};
	for (const [given, value] of pairs) {
		if (given === undefined || value === undefined) continue;
		// As Headers does: space around a value goes, and a name that comes twice, in any case, has both values.
		const [name, proper] = [given.toLowerCase(), trimmed(String(value))];
		named[name] = Object.hasOwn(named, name) ? `${named[name]}, ${proper}` : proper;
	}
	return named;
}

/** Without the space that `Headers` removes. */
const trimmed = (value: string): string => /[^\t\n\r ](?:.*[^\t\n\r ])?/s.exec(value)?.[0] ?? "";

type Waiting = Set<() => Asked>;

/** Waits for a time or until something, or for ever; rejects as fetch does when the signal aborts. */
function holdBack(waiting: Waiting, asked: Asked, ms?: number, until?: Promise<void>): Promise<void> {
	const { signal } = asked;
	return new Promise((resolve, reject) => {
		const held = () => asked;
		const finish = (): void => {
			clearTimeout(timer);
			waiting.delete(held);
			signal?.removeEventListener("abort", finish);
			if (signal?.aborted) reject(signal.reason);
			else resolve();
		};
		const timer = ms === undefined ? undefined : setTimeout(finish, ms);
		if (signal?.aborted) return finish();
		waiting.add(held);
		until?.then(finish);
		signal?.addEventListener("abort", finish);
	});
}

function refuseRedirect(redirect: RequestRedirect): void {
	if (redirect === "error") throw new TypeError("fetch failed", { cause: new Error("unexpected redirect") });
	// The host that the sandbox redirects to does not exist.
	if (redirect === "follow") throw failure("getaddrinfo ENOTFOUND", "ENOTFOUND", "getaddrinfo");
}

function responseFrom({ status, headers, body, cut }: Answer, method: string): Response {
	if (cut === "body") return new Response(half(body), { status, headers });
	// These have no body, and Response insists; to an empty text it would give a content type.
	const bodiless = status === 204 || status === 205 || status === 304 || method === "HEAD" || body === "";
	return new Response(bodiless ? null : whole(body), { status, headers });
}

/** Node ends the body of a Response of a text by `queueMicrotask`: where fake timers hold it, such a body never ends. */
function whole(body: string): ReadableStream<Uint8Array> {
	return new ReadableStream({
		start(controller) {
			controller.enqueue(new TextEncoder().encode(body));
			controller.close();
		},
	});
}

/** The first half of a body, then the error of Node's fetch when the other side closes. */
function half(body: string): ReadableStream<Uint8Array> {
	const bytes = new TextEncoder().encode(body);
	let sent = false;
	return new ReadableStream({
		pull(controller) {
			if (sent) {
				const cause = Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" });
				controller.error(new TypeError("terminated", { cause }));
			} else controller.enqueue(bytes.slice(0, Math.ceil(bytes.length / 2)));
			sent = true;
		},
	});
}

function failure(message: string, code: string, syscall: string): TypeError {
	return new TypeError("fetch failed", { cause: Object.assign(new Error(message), { code, syscall }) });
}
