import { TextMap, TextSet } from "./blocks.ts";
import { pollAfter, stateOf } from "./followed.ts";
import { refuse, type SyncFunction } from "./input.ts";
import { type Known, type Memory, type MessageKey, never, newMemory, type Progress } from "./memory.ts";

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

/** The names in a checkpoint, which are older than those in the memory. */
const storedNames: Readonly<Record<string, string>> = { position: "mark", snapshot: "scan" };
const memoryNames = Object.fromEntries(Object.entries(storedNames).map(([name, stored]) => [stored, name]));

export function encode(memory: Memory): string {
	// Joined by +, which copies no text, because a checkpoint may be large and is made after each change.
	let text = `{"v":${version}`;
	for (const [name, value] of Object.entries(memory))
		if (value !== undefined)
			text += `,"${storedNames[name] ?? name}":${partText(memory, name) ?? JSON.stringify(value)}`;
	return `${text}}`;
}

/** The JSON of a part that keeps its text, or has other names; undefined for others. */
function partText({ known, followed, snapshot }: Memory, name: string): string | undefined {
	if (name === "known") return `[${known.text((key) => knownText(key, known.get(key)))}]`;
	if (name === "followed") return followedText(followed);
	if (name !== "snapshot" || !snapshot) return undefined;
	const { highWatermark, offset, pending } = snapshot;
	const top = pending.text((phoneNumber) => JSON.stringify(phoneNumber));
	return `${JSON.stringify({ to: highWatermark, upTo: offset }).slice(0, -1)},"top":[${top}]}`;
}

function knownText(key: string, entry: Known | undefined): string {
	const { uncertain: doubt, messages = [], ...rest } = entry ?? {};
	return JSON.stringify([key, { ...rest, doubt, messages: [...messages] }]);
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
		const { v, ...stored } = JSON.parse(text, (name, part) => {
			const value = part ?? never;
			if (/^(known|messages|followed)$/.test(name)) return new Map(value);
			return name === "top" ? new TextSet(value) : value;
		});
		if (v > version) return "is a checkpoint of a later version";
		const memory = memoryOf(v === 1 ? fromVersion1(stored) : stored);
		if (v >= 1 && isSound(memory)) return memory.agencyId === ownId ? memory : "is a checkpoint of another agency";
	} catch {
		// The text is not JSON, or a part is missing.
	}
	return 'must be "now", "beginning" or a checkpoint';
}

/** A checkpoint of the present version, parsed. */
interface Stored extends Omit<Memory, "position" | "snapshot" | "known"> {
	mark: Memory["position"];
	scan?: { to: number; upTo: number; top: TextSet<string> };
	known: Map<string, StoredKnown>;
}

type StoredKnown = Known & { doubt?: Progress["uncertain"] };

function memoryOf(stored: Stored): Memory {
	const { scan, known } = stored;
	const renamed = Object.entries(stored).map(([name, value]) => [memoryNames[name] ?? name, value]);
	return {
		...Object.fromEntries(renamed),
		...(scan && { snapshot: { highWatermark: scan.to, offset: scan.upTo, pending: scan.top } }),
		known: new TextMap([...known].map(([key, entry]) => [key, knownOf(entry)])),
	};
}

function knownOf({ doubt, ...entry }: StoredKnown): Known {
	return doubt === undefined ? entry : { ...entry, uncertain: doubt };
}

/** Whether all texts and numbers are there, and the numbers are such as a feed writes. */
function isSound({ agencyId, position, clock, snapshot, known, followed }: Memory): boolean {
	const texts: unknown[] = [agencyId, ...(snapshot?.pending ?? [])];
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
	return texts.every(isText) && keys.every((key) => isText(key) || isNumber(key)) && numbers.every(isNumber);
}

/** What the entries of a checkpoint of version 1 had in place of tags. */
interface KnownOf1 extends Omit<Progress, "uncertain"> {
	doubt?: Progress["uncertain"];
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
function fromVersion1(stored: Stored): Stored {
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

function knownFrom1({ fingerprint, failingSince: since, ...entry }: KnownOf1): StoredKnown {
	if (since !== undefined) return { is: "failing", since, fingerprint, ...entry };
	if (fingerprint === "~") return { is: "unread", ...entry };
	const is = fingerprint.startsWith("~") ? "unread" : "delivered";
	return { is, fingerprint: fingerprint.replace("~", ""), ...entry };
}
