/**
 * What openapi-fetch makes of a call, in place of a WHATWG Request: building one costs more than all else that a call
 * does here, and its signal is lost to a garbage collection.
 */
export interface LightRequest {
	url: string;
	method: string;
	/** The serialised body: each attempt sends these same bytes. */
	payload?: string | undefined;
}

function LightRequest(url: string, { method, body }: RequestInit): LightRequest {
	return { url, method: method ?? "GET", payload: typeof body === "string" ? body : undefined };
}

/** For openapi-fetch's `Request` option, of which it needs `new`, `url`, `method` and no more. */
export const Request = LightRequest as unknown as typeof globalThis.Request;

/** What openapi-fetch is told of an answer that has been read and judged already: that there is nothing left to read. */
export const settled = { ok: true, status: 204, headers: { get: () => null } } as unknown as Response;

/** What `fetch(url, init)` is handed. A redirect is an answer: followed, it would lose a send or carry it elsewhere. */
export function requestInit(
	request: LightRequest,
	key: string,
	userAgent: string | undefined,
	signal: AbortSignal,
): RequestInit {
	const headers: Record<string, string> = { accept: "application/json", authorization: `Bearer ${key}` };
	if (userAgent) headers["user-agent"] = userAgent;
	const init: RequestInit = { method: request.method, headers, redirect: "manual", signal };
	if (request.payload !== undefined) {
		headers["content-type"] = "application/json";
		init.body = request.payload;
	}
	if (takesCache()) init.cache = "no-store";
	return init;
}

let cacheTaken: boolean | undefined;

/** Some workers refuse the option. Asked at the first call, as touching Request loads the whole of node's fetch. */
function takesCache(): boolean {
	cacheTaken ??= typeof globalThis.Request === "function" && "cache" in globalThis.Request.prototype;
	return cacheTaken;
}
