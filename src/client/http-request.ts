import { createFinalURL } from "openapi-fetch";
import { version } from "../../package.json";
import type { ExchangeRequest } from "./exchange.ts";

/** The variable parts of a request. A query parameter that is undefined is left out. */
export interface Parameters {
	path?: Readonly<Record<string, string>> | undefined;
	query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
	/** JSON. */
	body?: string | undefined;
}

/** In place of openapi-fetch's own, which also writes arrays and objects, and does not encode names. */
const querySerializer = (query: Readonly<Record<string, unknown>>): string => {
	const parts: string[] = [];
	for (const [name, value] of Object.entries(query)) {
		if (value !== undefined) parts.push(`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`);
	}
	return parts.join("&");
};

const pathSerializer = (template: string, path: Record<string, unknown>): string =>
	template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(path[name])));

/**
 * Builds a request without its key. openapi-fetch writes the URL; its client is not used, because it builds two `Headers`
 * and a `Request` for each call and reads the response itself.
 */
export function createRequest(
	{ baseUrl, userAgent }: { baseUrl: string; userAgent: string | undefined },
	{ method, path: template }: { method: string; path: string },
	{ path = {}, query = {}, body }: Parameters,
	noStore: boolean,
): ExchangeRequest {
	const params = { path, query };
	const url = createFinalURL(template, { baseUrl, params, pathSerializer, querySerializer });
	const headers: Record<string, string> = { accept: "application/json" };
	if (userAgent !== undefined) headers["user-agent"] = userAgent;
	if (body !== undefined) headers["content-type"] = "application/json";
	return { method, url, headers, body, noStore };
}

/** SDK, runtime and application. Undefined in a page, where the browser sets its own. */
export function userAgentOf(appInfo: { name: string; version?: string | undefined } | undefined): string | undefined {
	if (typeof document === "object") return undefined;
	const { process, navigator } = globalThis as {
		process?: { versions?: { node?: string } };
		navigator?: { userAgent?: string };
	};
	const node = process?.versions?.node;
	// A runtime's name with characters that no header can hold would fail every request.
	const own = /^(?!Node\.js)[\x20-\x7e]+$/.exec(navigator?.userAgent ?? "")?.[0];
	const runtime = own ?? (node && `Node.js/${node}`);
	const app = [appInfo?.name, appInfo?.version].flatMap((part) => part?.replace(/[^\w.-]+/g, "-") ?? []).join("/");
	return [`messaging-conversations/${version}`, runtime, app].filter(Boolean).join(" ");
}
