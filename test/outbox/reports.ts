// A history of texts, whose report is compared with a count of them one by one.
import { createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { expect } from "vitest";
import { randomFrom } from "../faults/random.ts";
import type { OutboxState, OutboxStore, OutboxText } from "./port.ts";
import { newText } from "./store-suite.ts";

/** Some change their clocks within the history, one of them at midnight, and one has left a day out. */
export const zones = ["UTC", "Europe/Brussels", "America/New_York", "Asia/Kolkata", "Africa/Cairo", "America/Santiago"];

const hourMs = 3_600_000;
/** From each of these on, for ten days: the clocks are changed in March, April or October in these zones. */
const beginnings = ["2026-03-05", "2026-03-24", "2026-04-02", "2026-04-21", "2026-10-21"];
const ends: [OutboxState, OutboxText["reason"]][] = [
	["waiting", null],
	["held", null],
	["sent", null],
	["delivered", null],
	["read", null],
	["failed", null],
	["dropped", "declined"],
	["dropped", "no_answer"],
	["cancelled", "requested"],
	["expired", "too_old"],
	["unknown", "ambiguous"],
];

/** Stores a history, and compares its report in a time zone. */
export async function checkReport(store: OutboxStore, timeZone: string): Promise<void> {
	await store.migrate();
	const random = randomFrom(7);
	const pick = <Each>(list: readonly Each[]): Each => list[Math.floor(random() * list.length)] as Each;
	const { connection } = createSandbox();
	const outbox = createOutbox({ client: createClient({ ...connection }), store });
	const day = new Intl.DateTimeFormat("sv-SE", { timeZone });
	const counted = new Map<string, number>();
	for (let at = 0; at < 300; at++) {
		const createdAt = Date.parse(`${pick(beginnings)}T00:00:00Z`) + Math.floor(random() * 240) * hourMs;
		const notBefore = random() < 0.3 ? createdAt + Math.floor((random() - 0.3) * 48) * hourMs : null;
		const agencyId = pick(["agy_1", "agy_2", "agy_3"]);
		const purpose = pick(["reply", "notice", "marketing"] as const);
		const [state, reason] = pick(ends);
		const text = { ...newText, id: `${at}`, agencyId, purpose, createdAt, notBefore };
		const row = await store.insert(text, undefined);
		expect(await store.save({ ...row, state, reason })).toBe(true);
		const key = JSON.stringify([day.format(Math.max(createdAt, notBefore ?? 0)), agencyId, purpose, state, reason]);
		counted.set(key, (counted.get(key) ?? 0) + 1);
	}
	const count = (wanted: [string, string, string], ...states: OutboxState[]): number =>
		[...counted].reduce((sum, [key, number]) => {
			const [of, agencyId, purpose, state] = JSON.parse(key);
			const isSame = JSON.stringify([of, agencyId, purpose]) === JSON.stringify(wanted);
			return isSame && (states.length === 0 || states.includes(state)) ? sum + number : sum;
		}, 0);
	const groups = [...new Set([...counted.keys()].map((key) => JSON.stringify(JSON.parse(key).slice(0, 3))))].sort();
	const expected = groups.map((group) => {
		const [of, agencyId, purpose] = JSON.parse(group);
		const all = (...states: OutboxState[]) => count([of, agencyId, purpose], ...states);
		const declined = counted.get(JSON.stringify([of, agencyId, purpose, "dropped", "declined"])) ?? 0;
		return {
			...{ day: of, agencyId, purpose, texts: all(), waiting: all("waiting"), held: all("held") },
			...{ sent: all("sent", "delivered", "read"), delivered: all("delivered", "read"), read: all("read") },
			...{ failed: all("failed"), declined, notSent: all("dropped", "cancelled", "expired") - declined },
			unknown: all("unknown"),
		};
	});
	const report = await outbox.report({ since: "2026-03-01", until: "2026-12-01", timeZone });
	expect(report).toEqual(expected);
	// One day alone, and one agency alone.
	const [first] = expected.slice(Math.floor(expected.length / 2));
	const since = first?.day ?? "";
	const until = expected.map((row) => row.day).find((each) => each > since) ?? "2026-12-01";
	const agencyId = first?.agencyId;
	expect(await outbox.report({ since, until, timeZone, agencyId })).toEqual(
		expected.filter((row) => row.day === since && row.agencyId === agencyId),
	);
}
