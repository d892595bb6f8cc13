/*
 * Maps and sets that keep the text of what they hold, in blocks. A checkpoint is read after each change of a poll, when one
 * entry among thousands has changed: only the text of that entry is made, and only its block is joined again.
 */

const blockSize = 32;

interface Block<Key> {
	/** The text of each key; undefined once its entry has changed. */
	texts: Map<Key, string | undefined>;
	/** All of them; undefined once one has changed. */
	joined?: string | undefined;
}

/** The keys of a map or set in its order, in blocks. */
class Blocks<Key> {
	readonly #blocks = new Set<Block<Key>>();
	readonly #blockOf = new Map<Key, Block<Key>>();
	#latest: Block<Key> = { texts: new Map() };

	/** Notes that the key has a new value. A new key is the last one, as in a map. */
	put(key: Key): void {
		const block = this.#blockOf.get(key) ?? this.#append(key);
		block.texts.set(key, undefined);
		block.joined = undefined;
	}

	remove(key: Key): void {
		const block = this.#blockOf.get(key);
		if (!block) return;
		this.#blockOf.delete(key);
		block.texts.delete(key);
		block.joined = undefined;
		if (block.texts.size === 0) this.#blocks.delete(block);
	}

	/** The texts of all entries, joined by commas. */
	text(textOf: (key: Key) => string): string {
		// Joined by +, which copies no text.
		let text = "";
		for (const block of this.#blocks) {
			block.joined ??= join(block, textOf);
			text += text === "" ? block.joined : `,${block.joined}`;
		}
		return text;
	}

	#append(key: Key): Block<Key> {
		if (this.#latest.texts.size >= blockSize) this.#latest = { texts: new Map() };
		this.#blocks.add(this.#latest);
		this.#blockOf.set(key, this.#latest);
		return this.#latest;
	}
}

function join<Key>({ texts }: Block<Key>, textOf: (key: Key) => string): string {
	for (const [key, text] of texts) if (text === undefined) texts.set(key, textOf(key));
	return [...texts.values()].join();
}

/** A map that keeps its text. */
export class TextMap<Key, Value> extends Map<Key, Value> {
	readonly #blocks = new Blocks<Key>();

	constructor(entries: Iterable<readonly [Key, Value]> = []) {
		super();
		for (const [key, value] of entries) this.set(key, value);
	}

	override set(key: Key, value: Value): this {
		this.#blocks.put(key);
		return super.set(key, value);
	}

	override delete(key: Key): boolean {
		this.#blocks.remove(key);
		return super.delete(key);
	}

	text(textOf: (key: Key) => string): string {
		return this.#blocks.text(textOf);
	}
}

/** A set that keeps its text. */
export class TextSet<Item> extends Set<Item> {
	readonly #blocks = new Blocks<Item>();

	constructor(items: Iterable<Item> = []) {
		super();
		for (const item of items) this.add(item);
	}

	override add(item: Item): this {
		this.#blocks.put(item);
		return super.add(item);
	}

	override delete(item: Item): boolean {
		this.#blocks.remove(item);
		return super.delete(item);
	}

	text(textOf: (item: Item) => string): string {
		return this.#blocks.text(textOf);
	}
}
