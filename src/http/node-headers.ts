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
		const values: string[] = [];
		for (const [name, value] of this) if (name === wanted) values.push(value);
		return values.length > 0 ? values.join(", ") : undefined;
	}

	/** Each value on its own: values of set-cookie cannot be joined. */
	*[Symbol.iterator](): Generator<[string, string]> {
		let name: string | undefined;
		for (const part of this.#raw) {
			if (name === undefined) name = part.toLowerCase();
			else {
				yield [name, part];
				name = undefined;
			}
		}
	}
}
