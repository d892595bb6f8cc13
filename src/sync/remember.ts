import type { Planned } from "./decide.ts";
import type { Feed } from "./feed.ts";
import { retryAfter, schedule } from "./followed.ts";
import { type Change, forget, type Memory, never, skippedKey, tidied } from "./memory.ts";
import { type Note, noteFailure, noteRead, noteSkipped } from "./note.ts";
import type { ReadEnd } from "./read.ts";

/** What the end of a read has changed in the feed. */
export interface Step {
	change?: Change | undefined;
	/** Moves the feed back to before the change. */
	takeBack: () => void;
}

/**
 * Remembers how a read ended. If the service is down, only the failure is noted, and the row remains for the next poll.
 * @param moveOn is called once the row is in the memory
 */
export function remember(feed: Feed, end: ReadEnd<Planned>, moveOn: () => void = () => {}): Step {
	const note = noteOf(feed, end);
	return end.isOutage ? { takeBack: () => {} } : stepOf(feed, end.item, note, moveOn);
}

/** Remembers how a read for the statuses of a conversation ended. */
export function rememberStatuses(feed: Feed, { item, read, error, isSkipped }: ReadEnd<Planned>): Step {
	const { memory, failures, forgotten } = feed;
	const { phoneNumber } = item;
	if (error) failures.push({ phoneNumber, error, leftToReconcile: false });
	if (isSkipped || forgotten.has(phoneNumber)) return stepOf(feed, item, noteSkipped(feed, memory, item));
	const note = read ? noteRead(feed, memory, item, read) : undefined;
	const followed = note?.followed ?? schedule(memory.followed, phoneNumber, retryAfter);
	// A change of the conversation alone is left to the next list.
	return stepOf(feed, item, note?.change?.messages[0] ? note : { entry: memory.known.get(phoneNumber), followed });
}

/**
 * Moves the position once a snapshot is over, and drops what no later poll needs.
 * @returns a function that is called after each row of the snapshot
 */
export function movingPosition(feed: Feed, position: number): (isOver: boolean) => void {
	/** How many conversations are remembered when they are tidied next. Each time costs as much as there are. */
	let tidyAt = 0;
	return (isOver) => {
		if (!isOver && feed.memory.known.size < tidyAt) return;
		const memory = isOver ? { ...feed.memory, position, snapshot: undefined } : feed.memory;
		feed.memory = tidied(memory, feed.lookbackMs);
		tidyAt = 2 * feed.memory.known.size + 2;
	};
}

/** The note of how a read ended. */
function noteOf(feed: Feed, { item, read, error, isSkipped, isOutage }: ReadEnd<Planned>): Note {
	const { memory, failures, forgotten } = feed;
	if (isSkipped || forgotten.has(item.phoneNumber)) return noteSkipped(feed, memory, item);
	if (read) return noteRead(feed, memory, item, read);
	const note = noteFailure(feed, memory, item, !error);
	const leftToReconcile = !isOutage && note.isGivenUp === true;
	if (error) failures.push({ phoneNumber: item.phoneNumber, error, leftToReconcile });
	return note;
}

function stepOf(feed: Feed, item: Planned, note: Note, moveOn: () => void = () => {}): Step {
	const { memory, remaining } = feed;
	const takeOut = put(memory, item, note);
	moveOn();
	return {
		change: note.change,
		takeBack() {
			takeOut();
			Object.assign(feed, { memory, remaining });
			for (const phoneNumber of feed.forgotten) forget(memory, phoneNumber);
		},
	};
}

/**
 * Puts a note into the memory, in a time that does not depend on how much is remembered.
 * @returns a function that takes it out again
 */
function put(memory: Memory, { phoneNumber, at, why }: Planned, note: Note): () => void {
	const { agencyId, known, followed, snapshot } = memory;
	const hidden = skippedKey(agencyId, phoneNumber);
	const before = { entry: known.get(phoneNumber), skipped: known.get(hidden), offset: snapshot?.offset ?? never };
	const isOfSnapshot = snapshot && why !== "failing" && why !== "status";
	const wasToCome = snapshot?.pending.has(phoneNumber);

	// An entry that fails goes to the end, so that the next poll first tries those that have waited longer.
	if (!note.entry || note.isSkipped || note.entry.is === "failing") known.delete(phoneNumber);
	known.delete(hidden);
	if (note.entry) known.set(note.isSkipped ? hidden : phoneNumber, note.entry);
	memory.followed = note.followed;
	if (isOfSnapshot && why !== "moved") snapshot.offset = Math.max(snapshot.offset, at);
	if (isOfSnapshot) snapshot.pending.delete(phoneNumber);
	return () => {
		known.delete(hidden);
		known.delete(phoneNumber);
		if (before.entry) known.set(phoneNumber, before.entry);
		if (before.skipped) known.set(hidden, before.skipped);
		memory.followed = followed;
		if (isOfSnapshot) snapshot.offset = before.offset;
		if (isOfSnapshot && wasToCome) snapshot.pending.add(phoneNumber);
	};
}
