/**
 * The sandbox behind msw.
 *
 * @module messaging-conversations/sandbox/msw
 */

import { type HttpHandler, HttpResponse, http } from "msw";
import { checkSandbox } from "./base/input.ts";
import type { Sandbox } from "./index.ts";

/**
 * The sandbox as msw handlers: the application keeps its `fetch`, and the sandbox answers at `sandbox.connection.baseUrl`,
 * which together with `sandbox.connection.apiKey` goes where the application reads its own. A reset shows as msw's own
 * network error (a TypeError without a code).
 *
 * @example
 * const server = setupServer(...handlers(sandbox));
 * server.listen();
 * server.close();
 */
export function handlers(sandbox: Sandbox): HttpHandler[] {
	checkSandbox("handlers", sandbox);
	const { origin } = new URL(sandbox.connection.baseUrl);
	// A regular expression, because msw decodes what a star matches and answers a broken percent-escape with its own 500.
	const everything = new RegExp(`^${origin.replaceAll(".", "\\.")}/`);
	return [
		http.all(everything, async ({ request }) => {
			// As bytes: to a text, fetch adds a content type. Of a copy: another set of handlers may want the body too.
			const body = request.body ? await request.clone().arrayBuffer() : undefined;
			// The application's own fetch follows a redirect, or does not.
			const { url, method, headers, signal } = request;
			const init: RequestInit = { method, headers, redirect: "manual", signal };
			try {
				return await sandbox.fetch(url, body ? { ...init, body } : init);
			} catch {
				// If the application has aborted, it sees its own abort instead of this.
				return HttpResponse.error();
			}
		}),
	];
}
