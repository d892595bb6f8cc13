import { addressOf, bodyText } from "./control.ts";
import { type Call, connection, view } from "./store.ts";

/** A word of a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** The command that makes a call. */
export function curlOf(call: Call): string {
	const { verb, body, key } = call;
	return [
		"curl -g", // brackets in a query are no pattern
		...(verb === "GET" || (verb === "POST" && body !== undefined) ? [] : ["-X", verb]),
		"-H",
		quoted(`Authorization: Bearer ${key ?? connection.token.value}`),
		...(key === undefined || body === undefined ? [] : ["-H", "'Content-Type: application/json'"]),
		...(body === undefined ? [] : [body instanceof File ? "-d" : "--data-raw", quoted(bodyText(body))]),
		quoted(location.origin + addressOf(call)),
	].join(" ");
}

export async function copy(text: string, what: string): Promise<void> {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		// Browsers have no clipboard for a page that came over plain HTTP under another name than localhost.
		prompt("Copy", text);
		return;
	}
	view.copied.value = what;
	setTimeout(() => (view.copied.value = ""), 2_000);
}
