import { pollAfter, stateOf } from "./followed.ts";
import { refuse, type SyncFunction } from "./input.ts";
import { type Known, type Memory, type MessageKey, never, newMemory, type Past } from "./memory.ts";

/*
 * A checkpoint is the feed's memory as JSON, in which -Infinity is null. It holds no cursor and no message text. Its size
 * follows the activity of the lookback and the number of messages that are followed.
 */

const version = 3;

/** The memory that an option means, by default `since`. */
export function memoryFrom(operation: SyncFunction, field: string, since: string, agencyId: string): Memory {
	if (since === "now" || since === "beginning") return newMemory(agencyId, since);
	const memory = decode(since, agencyId);
	return typeof memory === "string" ? refuse(operation, field, memory) : memory;
}

export function encode(memory: Memory): string {
	const { known, followed, scan } = memory;
	const lists: Record<string, () => string> = {
		top: () => (scan ? inBlocks(scan.top, (phoneNumber) => JSON.stringify(phoneNumber)) : ""),
		known: () => inBlocks(known, entryText),
		followed: () => inBlocks(followed, entryText),
	};
	const short = json({ v: version, ...memory, scan: scan && { ...scan, top: [] }, known: [], followed: [] });
	// Joined by +, which copies no text, because a checkpoint may be large and is made after each change.
	let text = "";
	for (const part of short.split(/(?<="(?:top|known|followed)":\[)/))
		text += part + (lists[/(\w+)":\[$/.exec(part)?.[1] ?? ""]?.() ?? "");
	return text;
}

function json(value: unknown): string {
	// Maps become arrays: of all that a memory holds, only these and arrays have `keys`.
	return JSON.stringify(value, (_, part) => (part?.keys ? [...part] : part));
}

/** The JSON of each entry of a map. An entry belongs to one key. */
const texts = new WeakMap<object, string>();

function entryText(entry: object, key: unknown): string {
	const text = texts.get(entry) ?? json([key, entry]);
	texts.set(entry, text);
	return text;
}

/** Some items of a map or set, in its order, and their text. */
interface Block {
	items: unknown[];
	text: string;
}

const blockSize = 64;
/** The blocks of a map or set when its checkpoint was last read. That is after each change, when few items have changed. */
const blocksOf = new WeakMap<object, Block[]>();

/** The JSON of all items, without the brackets. Only the blocks that have changed are written again. */
function inBlocks<Key, Item>(
	items: ReadonlyMap<Key, Item> | ReadonlySet<Item>,
	textOf: (item: Item, key: unknown) => string,
): string {
	const before = blocksOf.get(items) ?? [];
	const after: Block[] = [];
	let pending: Item[] = [];
	let text = "";
	const entries: Iterable<[Key | Item, Item]> = items.entries();
	const keys: unknown[] = [];
	const close = (): void => {
		const old = before[after.length];
		const isSame = old?.items.length === pending.length && pending.every((item, index) => item === old.items[index]);
		const block =
			isSame && old ? old : { items: pending, text: pending.map((item, i) => textOf(item, keys[i])).join() };
		text += after.length > 0 ? `,${block.text}` : block.text;
		after.push(block);
		pending = [];
		keys.length = 0;
	};
	for (const [key, item] of entries) {
		keys.push(key);
		pending.push(item);
		if (pending.length === blockSize) close();
	}
	if (pending.length > 0) close();
	blocksOf.set(items, after);
	return text;
}

/** The memory of a checkpoint, or the rule that the text breaks. */
function decode(text: string, ownId: string): Memory | string {
	try {
		const { v, ...stored } = JSON.parse(text, (name, part) => {
			const value = part ?? never;
			if (/^(known|messages|followed)$/.test(name)) return new Map(value);
			return name === "top" ? new Set(value) : value;
		});
		if (v > version) return "is a checkpoint of a later version";
		const memory: Memory = v === 1 ? fromVersion1(stored) : stored;
		if (v >= 1 && isSound(memory)) return memory.agencyId === ownId ? memory : "is a checkpoint of another agency";
	} catch {
		// The text is not JSON, or a part is missing.
	}
	return 'must be "now", "beginning" or a checkpoint';
}

/** Whether all texts and numbers are there, and the numbers are such as a feed writes. */
function isSound({ agencyId, mark, clock, scan, known, followed }: Memory): boolean {
	const texts: unknown[] = [agencyId, ...(scan?.top ?? [])];
	const keys: unknown[] = [];
	const numbers: unknown[] = [mark === "now" ? 0 : mark, clock, ...(scan ? [scan.to, scan.upTo] : [])];
	for (const [phoneNumber, entry] of known) {
		const { is, fingerprint = is === "unread" && "", at, from, doubt = [], skipped = [], messages } = entry;
		texts.push(phoneNumber, /^(delivered|unread|failing)$/.test(is) && fingerprint);
		keys.push(...messages.keys());
		numbers.push(at, from, ...doubt, ...skipped, ...messages.values(), is === "failing" ? entry.since : 0);
	}
	for (const [key, { phoneNumber, state, seenAt, dueAt }] of followed) {
		texts.push(phoneNumber, state);
		keys.push(key);
		numbers.push(seenAt === never ? undefined : seenAt, dueAt);
	}
	// Neither an id nor a time is larger.
	const isNumber = (value: unknown): boolean =>
		value === never || (typeof value === "number" && Math.abs(value) < 1e20);
	const isText = (value: unknown): boolean => typeof value === "string";
	return texts.every(isText) && keys.every((key) => isText(key) || isNumber(key)) && numbers.every(isNumber);
}

/** What the entries of a checkpoint of version 1 had in place of tags. */
interface KnownOf1 extends Past {
	/**
	 * `~` and a fingerprint if the conversation was to be read again. `~` alone if it was gone. Empty after a failed read
	 * until the row was listed again.
	 */
	fingerprint: string;
	failingSince?: number;
	at: number;
	messages: Map<MessageKey, number>;
}

/** Version 1 is read for ever. */
function fromVersion1(stored: Memory): Memory {
	const known: Map<string, KnownOf1> = Object(stored.known);
	const followed: Map<MessageKey, { phoneNumber: string; status: string; seenAt: number; looks: number }> = Object(
		stored.followed,
	);
	return {
		...stored,
		clock: never,
		known: new Map([...known].map(([phoneNumber, entry]) => [phoneNumber, knownFrom1(entry)])),
		followed: new Map(
			[...followed].map(([key, { phoneNumber, status, seenAt, looks }]) => {
				const state = stateOf({ status, deliveredAt: null, readAt: null, mediaStored: null });
				return [key, { phoneNumber, state, seenAt, dueAt: seenAt + 1_000 * (pollAfter[looks] ?? 0) }];
			}),
		),
	};
}

function knownFrom1({ fingerprint, failingSince: since, ...entry }: KnownOf1): Known {
	if (since !== undefined) return { is: "failing", since, fingerprint, ...entry };
	if (fingerprint === "~") return { is: "unread", ...entry };
	const is = fingerprint.startsWith("~") ? "unread" : "delivered";
	return { is, fingerprint: fingerprint.replace("~", ""), ...entry };
}
