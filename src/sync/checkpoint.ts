import { refuse, type SyncFunction } from "./input.ts";

/*
 * A checkpoint is the feed's whole memory as JSON: { v, agency, … }. It holds no cursor and no message text. Its size
 * follows the activity of the lookback and the messages whose status is followed. Times are the service's, in
 * milliseconds; -Infinity is null in the JSON.
 */

/** What was handed over of a conversation. */
export interface Handed {
	/** All messages before this time were handed over. */
	from: number;
	/**
	 * After a break in a scan it can be in doubt whether the conversation was handed over before. If it has a message between
	 * these times, it was still to come. If not, it was handed over, and all messages before the later time with it.
	 */
	doubt?: readonly [number, number] | undefined;
}

/** A conversation that was handed over within the lookback, or whose read failed. */
export interface Known extends Handed {
	/** The fingerprint that was handed over; while its reads fail, that of its row. */
	fingerprint: string;
	/** The time of its row. */
	at: number;
	/** The messages from then on that were handed over, with their times; null for one that has no time yet. */
	messages: Map<number, number | null>;
	/** When the first of its failed reads was. */
	failingSince?: number;
}

/** A scan that is not through: what has changed is handed over in ascending order of the rows' times. */
export interface Scan {
	/** The mark to come. */
	to: number;
	/** The time of the row that was handed over last. */
	upTo: number;
	/** Conversations that were listed within the lookback of `to` and are not handed over yet. */
	top: Set<string>;
}

/** A message without a final status, by its id. */
export interface Followed {
	phoneNumber: string;
	status: string | null;
	/** When it was first seen, by the local clock. */
	seenAt: number;
	/** How often it was looked at since. */
	looks: number;
}

export interface State {
	agencyId: string;
	/** Up to where all is handed over, but for what becomes visible late; -Infinity is the beginning. */
	mark: number | "now";
	scan: Scan | undefined;
	known: Map<string, Known>;
	followed: Map<number, Followed>;
}

const version = 1;

/** The state that `since` means. */
export function stateFrom(operation: SyncFunction, since: string, agencyId: string): State {
	if (typeof since !== "string") refuse(operation, "since", 'must be "now", "beginning" or a checkpoint');
	if (since !== "now" && since !== "beginning") return decode(operation, since, agencyId);
	const mark = since === "now" ? since : Number.NEGATIVE_INFINITY;
	return { agencyId, mark, scan: undefined, known: new Map(), followed: new Map() };
}

/** Forgets what no later look needs. */
export function tidy({ mark, scan, known }: State, lookbackMs: number): void {
	if (mark === "now") return;
	const edge = (scan ? Math.min(scan.upTo, scan.to) : mark) - lookbackMs;
	for (const [phoneNumber, entry] of known) {
		if (entry.failingSince !== undefined) continue;
		if (!scan && entry.from < edge) {
			entry.from = edge;
			for (const [id, at] of entry.messages) if (at !== null && at < edge) entry.messages.delete(id);
		}
		// An entry of an earlier scan is needed until this one is through.
		const needed = scan !== undefined && entry.from < scan.to - lookbackMs;
		const untimed = [...entry.messages.values()].includes(null);
		const recent = entry.at >= edge && entry.at > Number.NEGATIVE_INFINITY;
		if (!needed && !untimed && !recent) known.delete(phoneNumber);
	}
}

export function encode({ agencyId, mark, scan, known, followed }: State): string {
	const started = mark !== "now";
	return JSON.stringify({
		v: version,
		agency: agencyId,
		mark,
		scan: scan && [scan.to, scan.upTo, ...scan.top],
		known: started
			? [...known].map(([phoneNumber, { fingerprint, at, from, messages, failingSince, doubt }]) => [
					phoneNumber,
					fingerprint,
					at,
					from,
					[...messages].flat(),
					...(failingSince === undefined ? [] : [failingSince, ...(doubt ?? [])]),
				])
			: [],
		followed: [...followed].map(([id, { phoneNumber, status, seenAt, looks }]) => [
			id,
			phoneNumber,
			status,
			seenAt,
			looks,
		]),
	});
}

function decode(operation: SyncFunction, text: string, agencyId: string): State {
	const fields = parsed(text);
	const { v, agency, mark } = fields;
	if (typeof v === "number" && v > version) {
		refuse(operation, "since", "is a checkpoint of a later version of this package");
	}
	const broken = (): never => refuse(operation, "since", 'must be "now", "beginning" or a checkpoint');
	if (v !== version) return broken();
	if (agency !== agencyId) return refuse(operation, "since", "is a checkpoint of another agency");

	const a = reader(broken);
	return {
		agencyId,
		mark: mark === "now" ? mark : a.time(mark),
		scan: fields.scan === undefined ? undefined : scanFrom(a.list(fields.scan)),
		known: new Map(a.list(fields.known).map((row) => knownFrom(a.list(row)))),
		followed: new Map(a.list(fields.followed).map((row) => followedFrom(a.list(row)))),
	};

	function scanFrom([to, upTo, ...top]: unknown[]): Scan {
		return { to: a.time(to), upTo: a.time(upTo), top: new Set(top.map(a.text)) };
	}

	function knownFrom([phoneNumber, fingerprint, at, from, pairs, since, after, before]: unknown[]): [string, Known] {
		const messages = new Map<number, number | null>();
		const flat = a.list(pairs);
		for (let i = 0; i < flat.length; i += 2)
			messages.set(a.number(flat[i]), flat[i + 1] === null ? null : a.number(flat[i + 1]));
		const entry: Known = { fingerprint: a.text(fingerprint), at: a.time(at), from: a.time(from), messages };
		if (since !== undefined) entry.failingSince = a.time(since);
		if (after !== undefined) entry.doubt = [a.time(after), a.time(before)];
		return [a.text(phoneNumber), entry];
	}

	function followedFrom([id, phoneNumber, status, seenAt, looks]: unknown[]): [number, Followed] {
		return [
			a.number(id),
			{
				phoneNumber: a.text(phoneNumber),
				status: status === null ? null : a.text(status),
				seenAt: a.number(seenAt),
				looks: a.number(looks),
			},
		];
	}
}

function parsed(text: string): Record<string, unknown> {
	try {
		const value: unknown = JSON.parse(text);
		return typeof value === "object" && value !== null ? { ...value } : {};
	} catch {
		return {};
	}
}

/** Values of the JSON as what they must be; anything else is a broken checkpoint. */
function reader(broken: () => never) {
	const number = (value: unknown): number => (typeof value === "number" ? value : broken());
	return {
		number,
		time: (value: unknown): number => (value === null ? Number.NEGATIVE_INFINITY : number(value)),
		text: (value: unknown): string => (typeof value === "string" ? value : broken()),
		list: (value: unknown): unknown[] => (Array.isArray(value) ? value : broken()),
	};
}
