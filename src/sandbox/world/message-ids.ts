import { eightDigits, hash, hex } from "../base/derived.ts";
import type { StoredMessage, Thread, World } from "./state.ts";

/** The provider's id of a message; it carries the message's own id, so that it can be found by it. */
export function messageSidOf(id: number): string {
	const scramble = hash(`sid ${id}`);
	return `SM${hex(`message ${id}`, 16)}${eightDigits(scramble)}${eightDigits((id ^ scramble) >>> 0)}`;
}

/** A message by its id or its messageSid. */
export function findMessage(world: World, id: number | string): { thread: Thread; message: StoredMessage } | undefined {
	const scrambled = typeof id === "string" && /^SM[0-9a-f]{32}$/.test(id) ? id : undefined;
	const number = scrambled
		? (Number.parseInt(scrambled.slice(18, 26), 16) ^ Number.parseInt(scrambled.slice(26), 16)) >>> 0
		: Number(id);
	const thread = world.threadOf[number];
	const message = thread?.messages[placeOf(thread, number)];
	return thread && message?.id === number && (!scrambled || messageSidOf(number) === scrambled)
		? { thread, message }
		: undefined;
}

/** How many messages of the thread come before message `id`. */
export function placeOf(thread: Thread, id: number): number {
	let low = 0;
	let high = thread.messages.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((thread.messages[middle]?.id ?? 0) < id) low = middle + 1;
		else high = middle;
	}
	return low;
}
