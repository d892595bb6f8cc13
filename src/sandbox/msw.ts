import { HttpResponse, http, type RequestHandler } from "msw";
import type { Sandbox } from "./index.ts";

/** How {@link handlers} meets an application. */
export interface HandlersOptions {
	/** The base URL that the application calls. @default the sandbox's own, `sandbox.connection.baseUrl` */
	readonly baseUrl?: string;
}

/**
 * The sandbox as msw handlers: the application keeps its own base URL and `fetch`, and the sandbox answers.
 * A reset shows as msw's own network error (a TypeError without a code).
 *
 * @example
 * const server = setupServer(...handlers(sandbox, { baseUrl: "https://api.example/api/v1" }));
 * server.listen({ onUnhandledRequest: "error" });
 */
export function handlers(sandbox: Sandbox, options: HandlersOptions = {}): RequestHandler[] {
	const baseUrl = new URL(options.baseUrl ?? sandbox.connection.baseUrl).href.replace(/\/+$/, "");
	return [
		http.all(`${baseUrl}/*`, async ({ request }) => {
			const url = sandbox.connection.baseUrl + request.url.slice(baseUrl.length);
			// As bytes: to a text, fetch adds a content type. Of a copy: another set of handlers may want the body too.
			const body = request.body ? await request.clone().arrayBuffer() : undefined;
			// The application's own fetch follows a redirect, or does not.
			const init: RequestInit = {
				method: request.method,
				headers: request.headers,
				redirect: "manual",
				signal: request.signal,
			};
			try {
				return await sandbox.fetch(url, body ? { ...init, body } : init);
			} catch {
				// Also where the application has aborted: it sees its own abort, and not this.
				return HttpResponse.error();
			}
		}),
	];
}
