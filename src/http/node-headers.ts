import type { IncomingMessage } from "node:http";
import type { ExchangeHeaders } from "./exchange.ts";

/**
 * Headers of a response, from the raw names and values, because Node drops some repeated headers where fetch joins all of
 * them. Nothing is copied until a header is read. A class, because an object with functions of its own takes three times
 * as long to create.
 */
export class NodeHeaders implements ExchangeHeaders {
	readonly #raw: readonly string[];

	constructor({ rawHeaders }: IncomingMessage) {
		this.#raw = rawHeaders;
	}

	get(wanted: string): string | undefined {
		let found: string | undefined;
		for (let at = 0; at < this.#raw.length; at += 2) {
			if (this.#raw[at]?.toLowerCase() !== wanted) continue;
			const value = this.#raw[at + 1];
			found = found === undefined ? value : `${found}, ${value}`;
		}
		return found;
	}

	/** Each value on its own: values of set-cookie cannot be joined. */
	*[Symbol.iterator](): Generator<[string, string]> {
		for (let at = 0; at < this.#raw.length; at += 2) {
			const [name = "", value = ""] = this.#raw.slice(at, at + 2);
			yield [name.toLowerCase(), value];
		}
	}
}
