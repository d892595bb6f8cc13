import { createFinalURL, createQuerySerializer, defaultPathSerializer } from "openapi-fetch";
import { version } from "../package.json";

/** The parameters of a request. A query parameter that is undefined is left out. */
export interface Parameters {
	path?: Readonly<Record<string, string>> | undefined;
	query?: Readonly<Record<string, string | number | undefined>> | undefined;
}

const querySerializer = createQuerySerializer();

/**
 * Where a request goes: the path's template with its parameters, written as OpenAPI says. Of openapi-fetch just this and
 * not its client, which builds two Headers and a Request for each call and reads the answer itself.
 */
export function requestUrl(baseUrl: string, template: string, { path = {}, query = {} }: Parameters): string {
	return createFinalURL(template, {
		baseUrl,
		params: { path, query },
		pathSerializer: defaultPathSerializer,
		querySerializer,
	});
}

/** What stays the same in all attempts of a call. */
export interface WireRequest {
	method: string;
	/** A framework's fetch can answer a read out of a cache, POST too, and would hide what is new. */
	isRead: boolean;
	body: string | undefined;
	userAgent: string | undefined;
}

/** What `fetch(url, init)` is handed. A redirect is an answer: followed, it would lose a send or carry it elsewhere. */
export function requestInit(request: WireRequest, key: string, signal: AbortSignal | null): RequestInit {
	const { method, isRead, body, userAgent } = request;
	const headers: Record<string, string> = { accept: "application/json", authorization: `Bearer ${key}` };
	if (userAgent) headers["user-agent"] = userAgent;
	const init: RequestInit = { method, headers, redirect: "manual", signal };
	if (body !== undefined) {
		headers["content-type"] = "application/json";
		init.body = body;
	}
	if (isRead && takesCache()) init.cache = "no-store";
	return init;
}

let cacheTaken: boolean | undefined;

/** Some workers refuse the option. Asked at the first call, as touching Request loads the whole of node's fetch. */
function takesCache(): boolean {
	cacheTaken ??= typeof globalThis.Request === "function" && "cache" in globalThis.Request.prototype;
	return cacheTaken;
}

/** SDK, application and runtime; nothing in a page, where the browser has its own. */
export function userAgentOf(appInfo: { name: string; version?: string | undefined } | undefined): string | undefined {
	if (typeof document === "object") return undefined;
	const { process, navigator } = globalThis as {
		process?: { versions?: { node?: string } };
		navigator?: { userAgent?: string };
	};
	const node = process?.versions?.node;
	// What cannot stand in a header would fail every request.
	const own = /^(?!Node\.js)[\x20-\x7e]+$/.exec(navigator?.userAgent ?? "")?.[0];
	const runtime = own ?? (node && `Node.js/${node}`);
	// A product of the header is one word.
	const app = [appInfo?.name, appInfo?.version].flatMap((part) => part?.replace(/[^\w.-]+/g, "-") ?? []).join("/");
	return [`messaging-conversations/${version}`, runtime, app].filter(Boolean).join(" ");
}
