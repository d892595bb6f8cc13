import type { IncomingMessage } from "node:http";
import type { ExchangeHeaders } from "./exchange.ts";

/**
 * Reads headers from the raw names and values, because Node drops some repeated headers where fetch joins all of them.
 * Nothing is copied until a header is read.
 */
export function headersOf({ rawHeaders }: IncomingMessage): ExchangeHeaders {
	return {
		get(wanted) {
			let found: string | undefined;
			for (let at = 0; at < rawHeaders.length; at += 2) {
				const name = rawHeaders[at] ?? "";
				if (name.toLowerCase() !== wanted) continue;
				const value = rawHeaders[at + 1] ?? "";
				found = found === undefined ? value : `${found}, ${value}`;
			}
			return found;
		},
		// Each value on its own: values of set-cookie cannot be joined.
		*[Symbol.iterator]() {
			for (let at = 0; at < rawHeaders.length; at += 2) {
				yield [rawHeaders[at]?.toLowerCase() ?? "", rawHeaders[at + 1] ?? ""];
			}
		},
	};
}
