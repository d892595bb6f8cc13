/** The headers of an answer, of which mostly two or three are asked for: the runtime's own are made for the rest. */
export class IncomingHeaders implements Headers {
	readonly #raw: readonly string[];
	#full: Headers | undefined;

	/** @param raw names and values in turn, as they came */
	constructor(raw: readonly string[]) {
		this.#raw = raw;
	}

	/** A header that comes twice is one list, as in fetch. */
	get(name: string): string | null {
		return this.#valuesOf(name)?.join(", ") ?? null;
	}

	has(name: string): boolean {
		return this.#valuesOf(name) !== undefined;
	}

	getSetCookie(): string[] {
		return this.#valuesOf("set-cookie") ?? [];
	}

	forEach(...given: Parameters<Headers["forEach"]>): void {
		this.#asHeaders().forEach(...given);
	}

	keys(): ReturnType<Headers["keys"]> {
		return this.#asHeaders().keys();
	}

	values(): ReturnType<Headers["values"]> {
		return this.#asHeaders().values();
	}

	entries(): ReturnType<Headers["entries"]> {
		return this.#asHeaders().entries();
	}

	[Symbol.iterator](): ReturnType<Headers["entries"]> {
		return this.#asHeaders().entries();
	}

	append(): never {
		throw new TypeError("the headers of an answer are immutable");
	}

	delete(): never {
		return this.append();
	}

	set(): never {
		return this.append();
	}

	#valuesOf(name: string): string[] | undefined {
		const wanted = name.toLowerCase();
		let values: string[] | undefined;
		for (let at = 0; at + 1 < this.#raw.length; at += 2) {
			const given = this.#raw[at] ?? "";
			if (given.length !== wanted.length || given.toLowerCase() !== wanted) continue;
			values ??= [];
			values.push(this.#raw[at + 1] ?? "");
		}
		return values;
	}

	#asHeaders(): Headers {
		if (this.#full) return this.#full;
		this.#full = new Headers();
		for (let at = 0; at + 1 < this.#raw.length; at += 2)
			this.#full.append(this.#raw[at] ?? "", this.#raw[at + 1] ?? "");
		return this.#full;
	}
}
