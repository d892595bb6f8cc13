import { refuse, type SyncFunction } from "./input.ts";

/*
 * A checkpoint is the feed's memory as JSON. It holds no cursor and no message text. Its size follows the activity of the
 * lookback and the messages whose status is followed. Times are the service's, in milliseconds; -Infinity is null there.
 */

/** A time before all others; stands for an absent time. */
export const never: number = -Infinity;

/** No row has a fingerprint that begins with this, so that the conversation is read again while it is listed. */
export const stale = "~";

/** How far a conversation was handed over. */
export interface Handed {
	/** All messages before this time were handed over. */
	from: number;
	/**
	 * Set when a scan that was interrupted may have handed the conversation over already. With a message between these
	 * times it had not. Without one it had, with all messages before the later time.
	 */
	doubt?: readonly [number, number];
}

/** A conversation that was handed over within the lookback, or whose read failed. An entry is replaced, never changed. */
export interface Known extends Handed {
	/**
	 * The fingerprint that was handed over. It begins with `stale` when the newest message was missing, and is `stale` alone
	 * when there was no conversation. A feed that begins now has `stale` and the fingerprint of the row until it reads the
	 * conversation. After a failed read it is that of the row, empty until the row is listed again.
	 */
	fingerprint: string;
	/** The time of its row. */
	at: number;
	/** The messages from then on that were handed over, with their times. */
	messages: Map<number, number>;
	/** When the first of its failed reads was. */
	failingSince?: number;
}

/** A scan that is not through. It hands conversations over in ascending order of their rows' times. */
export interface Scan {
	/** The feed's mark once the scan is through. */
	to: number;
	/** The time of the row that was handed over last. */
	upTo: number;
	/** Conversations that were listed within the lookback of `to` and are not handed over yet. */
	top: Set<string>;
}

/** A message without a final status, by its id. */
export interface Followed {
	phoneNumber: string;
	/** Empty for null. */
	status: string;
	/** When it was first seen, by the local clock. */
	seenAt: number;
	/** How often it was looked at since. */
	looks: number;
}

export interface State {
	agencyId: string;
	/** All messages before this time are handed over, except those that become visible late; -Infinity from the beginning. */
	mark: number | "now";
	scan?: Scan | undefined;
	known: Map<string, Known>;
	followed: Map<number, Followed>;
}

const version = 1;

/** The state that `since` means. */
export function stateFrom(operation: SyncFunction, since: string, agencyId: string): State {
	if (since === "now" || since === "beginning")
		return { agencyId, mark: since === "now" ? since : never, known: new Map(), followed: new Map() };
	const state = decode(since, agencyId);
	return typeof state === "string" ? refuse(operation, "since", state) : state;
}

/** The mark of a feed that has begun, once the scan that is under way is through. */
export function markToCome({ mark, scan }: State): number {
	return Number(scan?.to ?? mark);
}

/** Forgets what no later look needs. */
export function tidy(state: State, lookbackMs: number): void {
	const { scan, known } = state;
	const to = markToCome(state);
	const edge = Math.min(scan?.upTo ?? to, to) - lookbackMs;
	for (const [phoneNumber, entry] of known) {
		const { at, from, messages, failingSince, fingerprint } = entry;
		if (failingSince !== undefined) continue;
		// An entry of an earlier scan is needed until this one is through.
		const needed = scan && from < to - lookbackMs;
		// The service may answer from a copy that lags behind, with a row that is older than what was handed over.
		const kept = [...messages].filter(([, at]) => at === never || at >= edge);
		if (!needed && !kept[0] && (at < edge || at === never)) known.delete(phoneNumber);
		else if (!scan && from < edge && fingerprint !== stale) {
			known.set(phoneNumber, { ...entry, from: edge, messages: new Map(kept) });
		}
	}
}

/** The JSON of each entry, kept because a checkpoint is read after each change and few entries have changed by then. */
const texts = new WeakMap<Known, string>();

export function encode(state: State): string {
	const known = [...state.known].map((pair) => {
		const text = texts.get(pair[1]) ?? json(pair);
		texts.set(pair[1], text);
		return text;
	});
	return json({ v: version, ...state, known: 0 }).replace('"known":0', () => `"known":[${known}]`);
}

function json(value: unknown): string {
	// Maps and sets become arrays: of all that a state holds, only these and arrays have `keys`.
	return JSON.stringify(value, (_, part) => (part?.keys ? [...part] : part));
}

/** The state of a checkpoint, or the rule that the text breaks. */
function decode(text: string, ownId: string): State | string {
	try {
		const { v, ...state }: State & { v: number } = JSON.parse(text, (name, part) => {
			const value = part ?? never;
			if (/^(known|messages|followed)$/.test(name)) return new Map(value);
			return name === "top" ? new Set(value) : value;
		});
		if (v > version) return "is a checkpoint of a later version";
		if (v === version && isSound(state)) return state.agencyId === ownId ? state : "is a checkpoint of another agency";
	} catch {
		// The text is not JSON, or lacks a part.
	}
	return 'must be "now", "beginning" or a checkpoint';
}

/** Whether all times and texts are there. */
function isSound({ agencyId, mark, scan, known, followed }: State): boolean {
	const times: unknown[] = [mark === "now" ? 0 : mark, ...(scan ? [scan.to, scan.upTo] : [])];
	const texts: unknown[] = [agencyId, ...(scan?.top ?? [])];
	for (const [number, { fingerprint, at, from, failingSince = 0, doubt = [], messages }] of known) {
		times.push(at, from, failingSince, ...doubt, ...[...messages].flat());
		texts.push(number, fingerprint);
	}
	for (const [id, { phoneNumber, status, seenAt, looks }] of followed) {
		times.push(id, seenAt, looks);
		texts.push(phoneNumber, status);
	}
	return times.every((time) => typeof time === "number") && texts.every((text) => typeof text === "string");
}
