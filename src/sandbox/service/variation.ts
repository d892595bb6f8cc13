import { dice, hex } from "../base/derived.ts";
import type { World } from "../world/world.ts";

/*
 * Varies the parts of an answer that a caller must not rely on, such as timestamp precision, cursor length, key order,
 * extra fields, unknown words and empty lists for null. The same variation and the same
 * calls vary the same way.
 */

/** Fields whose known words are examples ("such as"), so that the service may say others (R161). */
const openWords: ReadonlySet<string> = new Set(["latestFlowStatus", "status"]);
const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Splits the service's cursor from what variation added to it. */
export function cursorProper(world: World, cursor: string): string {
	return world.variation === undefined ? cursor : cursor.replace(/\.[0-9a-f]+$/, "");
}

/** Another answer that means the same. `occasion` is the request; the same occasion varies the same way. */
export function vary(answer: unknown, variation: string, occasion: string): unknown {
	return varyValue(answer, "", dice(`${variation} ${occasion}`));
}

function varyValue(value: unknown, field: string, roll: () => number): unknown {
	if (Array.isArray(value)) {
		const items = value.map((item) => varyValue(item, "", roll));
		return field === "scopes" ? shuffle(items, roll) : items;
	}
	if (typeof value === "object" && value !== null) {
		// A send's status is `queued` or `accepted`, as the provider likes.
		const isSend = "queueId" in value && "status" in value && value.status === "queued";
		const given = isSend && roll() < 0.5 ? { ...value, status: "accepted" } : value;
		const fields = Object.entries(given).map(([name, inner]): [string, unknown] => [
			name,
			varyValue(inner, name, roll),
		]);
		if (roll() < 0.3) fields.push([`x_${hex(String(roll()), 4)}`, roll() < 0.5 ? null : { added: true }]);
		return Object.fromEntries(shuffle(fields, roll));
	}
	if (value === null && field === "media" && roll() < 0.5) return [];
	if (typeof value !== "string") return value;
	if (field === "cursor" || field === "nextCursor")
		return `${value}.${hex(String(roll()), 1 + Math.floor(roll() * 60))}`;
	// A queue entry's status is always `queued`, so that word is left alone.
	if (openWords.has(field) && value !== "queued" && roll() < 0.1) return "sandbox_new_word";
	if (/(At|_at)$/.test(field) && timestamp.test(value)) return precision(value, roll());
	return value;
}

function precision(time: string, roll: number): string {
	if (roll < 0.3) return time.replace("Z", "000Z");
	return roll < 0.6 ? time.replace(".000Z", "Z") : time;
}

function shuffle<T>(items: readonly T[], roll: () => number): T[] {
	return items
		.map((item) => ({ item, place: roll() }))
		.sort((a, b) => a.place - b.place)
		.map(({ item }) => item);
}
