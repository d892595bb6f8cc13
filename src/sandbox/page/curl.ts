import { bodyText, type Call, token } from "./control.ts";
import { signal } from "./signal.ts";
import type { RequestEvent } from "./words.ts";

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

function command(method: string, url: string, headers: readonly string[], body: unknown): string {
	const hasBody = body !== undefined && body !== null;
	return [
		"curl -g", // brackets in a query are no pattern
		...(method === "GET" || (method === "POST" && hasBody) ? [] : ["-X", method]),
		...headers.flatMap((header) => ["-H", quoted(header)]),
		...(hasBody ? [body instanceof File ? "-d" : "--data-raw", quoted(bodyText(body))] : []),
		quoted(url),
	].join(" ");
}

/** The command that makes a request to the service again. */
export function curlOfRequest(
	{ method, path, query, body }: Pick<RequestEvent, "method" | "path" | "query" | "body">,
	apiKey: string,
): string {
	const url = `${location.origin}/api/v1${path}${query && `?${query}`}`;
	const type = body === null ? [] : ["Content-Type: application/json"];
	return command(method, url, [`Authorization: Bearer ${apiKey}`, ...type], body);
}

/** The command that makes a control call. */
export const curlOfCall = ({ verb, path, body }: Call): string =>
	command(verb, `${location.origin}/_sandbox/${path}`, [`X-Sandbox-Token: ${token.value}`], body);

/** The last copied item, for the line that confirms it. */
export const copied = signal("");

export async function copy(text: string, what: string): Promise<void> {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		// Browsers have no clipboard for a page that came over plain HTTP under another name than localhost.
		prompt("Copy", text);
		return;
	}
	copied.value = what;
	setTimeout(() => (copied.value = ""), 2_000);
}
