import { log } from "./store.ts";

import { type RequestEvent, wordsOf } from "./words.ts";

/*
 * What a screen reader says of the log: one sentence a second at most. The log itself is not a live region, because it would
 * be read out line by line.
 */

const everyMs = 1_000;
let count = 0;
let latest: RequestEvent | undefined;

/** Says a new request, with those that come within a second. */
export function announce(request: RequestEvent): void {
	if (!log.isSaid.value || log.pausedAt.value !== null) return;
	count++;
	latest = request;
	if (count === 1) setTimeout(say, everyMs);
}

function say(): void {
	const words = latest ? wordsOf(latest).text : "";
	log.said.value = count > 1 ? `${count} new requests, the last one: ${words}` : words;
	count = 0;
}
