import { TextMap, TextSet } from "./blocks.ts";
import { refuse, type SyncFunction } from "./input.ts";
import { type Known, type Memory, never, newMemory } from "./memory.ts";

/*
 * A checkpoint is the feed's memory as JSON, in which -Infinity is null. It holds no cursor and no message text. Its size
 * follows the activity of the lookback and the number of messages that are followed.
 */

/** The number of the format. One that has another is refused, because this file would misread it. */
const formatNumber = 1;

/** The memory that an option means, by default `since`. */
export function memoryFrom(operation: SyncFunction, field: string, since: string, agencyId: string): Memory {
	if (since === "now" || since === "beginning") return newMemory(agencyId, since);
	const memory = decode(since, agencyId);
	return typeof memory === "string" ? refuse(operation, field, memory) : memory;
}

export function encode(memory: Memory): string {
	// Joined by +, which copies no text, because a checkpoint may be large and is made after each change.
	let text = `{"v":${formatNumber}`;
	for (const [name, value] of Object.entries(memory))
		if (value !== undefined) text += `,"${name}":${partText(memory, name) ?? JSON.stringify(value)}`;
	return `${text}}`;
}

/** The JSON of a part that keeps its text; undefined for others. */
function partText({ known, followed, snapshot }: Memory, name: string): string | undefined {
	if (name === "known") return `[${known.text((key) => knownText(key, known.get(key)))}]`;
	if (name === "followed") return followedText(followed);
	if (name !== "snapshot" || !snapshot) return undefined;
	const { pending, ...times } = snapshot;
	const numbers = pending.text((phoneNumber) => JSON.stringify(phoneNumber));
	return `${JSON.stringify(times).slice(0, -1)},"pending":[${numbers}]}`;
}

function knownText(key: string, entry: Known | undefined): string {
	return JSON.stringify([key, { ...entry, messages: [...(entry?.messages ?? [])] }]);
}

/** The JSON of what is followed, which is replaced and never changed. */
const texts = new WeakMap<Memory["followed"], string>();

function followedText(followed: Memory["followed"]): string {
	const text = texts.get(followed) ?? JSON.stringify([...followed]);
	texts.set(followed, text);
	return text;
}

/** The memory of a checkpoint, or the rule that the text breaks. */
function decode(text: string, ownId: string): Memory | string {
	try {
		const { v, ...memory }: Memory & { v: unknown } = JSON.parse(text, (name, part) => {
			const value = part ?? never;
			if (name === "known") return new TextMap(value);
			if (name === "messages" || name === "followed") return new Map(value);
			return name === "pending" ? new TextSet(value) : value;
		});
		if (v === formatNumber && isSound(memory))
			return memory.agencyId === ownId ? memory : "is a checkpoint of another agency";
	} catch {
		// The text is not JSON, or a part is missing.
	}
	return isLater(text)
		? "was made by a later version of messaging-conversations. Update the package in this program"
		: 'must be "now", "beginning" or a checkpoint';
}

/** Whether a text that cannot be read has a later number. Its parts may have any form. */
function isLater(text: string): boolean {
	try {
		const { v } = Object(JSON.parse(text));
		return Number.isSafeInteger(v) && v > formatNumber;
	} catch {
		return false;
	}
}

/** Whether all texts and numbers are there, and the numbers are such as a feed writes. */
function isSound({ agencyId, position, clock, snapshot, known, followed }: Memory): boolean {
	const texts: unknown[] = [agencyId, ...(snapshot ? snapshot.pending : [])];
	const keys: unknown[] = [];
	const times = snapshot ? [snapshot.highWatermark, snapshot.offset] : [];
	const numbers: unknown[] = [position === "now" ? 0 : position, clock, ...times];
	for (const [phoneNumber, entry] of known) {
		const { is, fingerprint = is === "unread" && "", at, from, uncertain = [], skipped = [], messages } = entry;
		texts.push(phoneNumber, /^(delivered|unread|failing)$/.test(is) && fingerprint);
		keys.push(...messages.keys());
		numbers.push(at, from, ...uncertain, ...skipped, ...messages.values(), is === "failing" ? entry.since : 0);
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
	return texts.every(isText) && keys.every(isText) && numbers.every(isNumber);
}
