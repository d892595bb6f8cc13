import { pausedAt } from "./entries.ts";
import { signal } from "./signal.ts";
import { type RequestEvent, wordsOf } from "./words.ts";

/*
 * What a screen reader says of the log: one sentence a second at most. The log itself is no live region, because it would
 * be read out line by line.
 */

/** Whether new requests are said at all. */
export const isSaying = signal(true);
export const said = signal("");

const everyMs = 1_000;
let count = 0;
let latest: RequestEvent | undefined;

/** Says a new request, with those that come within a second. */
export function announce(request: RequestEvent): void {
	if (!isSaying.value || pausedAt.value !== null) return;
	count++;
	latest = request;
	if (count === 1) setTimeout(say, everyMs);
}

function say(): void {
	const words = latest ? wordsOf(latest).text : "";
	said.value = count > 1 ? `${count} new requests, the last one: ${words}` : words;
	count = 0;
}
