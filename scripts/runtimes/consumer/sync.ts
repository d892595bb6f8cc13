// What a CRM's mirror does: polls that continue from a checkpoint, a loop that is left, and the nightly comparison.
import type { AgencyClient } from "messaging-conversations";
import { type Change, changes, fingerprintOf, reconcile, watch } from "messaging-conversations/sync";
import { check } from "./check.ts";
import type { Controls } from "./exercise.ts";

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
	const all: Item[] = [];
	for await (const item of items) all.push(item);
	return all;
}

const bodies = (found: readonly Change[]): string =>
	found.flatMap(({ messages }) => messages.map((m) => m.body)).join();

/** `phone` writes. Throws if a poll misses it or sees it twice. */
export async function trySync(agency: AgencyClient, phone: string, { writes }: Controls): Promise<void> {
	const start = changes(agency, { since: "now" });
	check("from now on no existing message is delivered", (await collect(start)).length === 0);
	await writes(phone, "One more thing");
	const next = changes(agency, { since: start.checkpoint });
	const found = await collect(next);
	check("a poll finds who wrote, and the message alone", bodies(found) === "One more thing");
	check("as the client reads it", found[0]?.phoneNumber === phone && found[0].conversation.summary.totalMessages > 1);
	const quiet = await collect(changes(agency, { since: next.checkpoint }));
	check("its checkpoint has been there", quiet.length === 0);
	const batches = await collect(changes(agency, { since: start.checkpoint }).batches(10));
	check("a batch has it too", batches.length === 1 && bodies(batches.flat()) === "One more thing");

	await writes(phone, "And another");
	const seen: Change[] = [];
	for await (const change of watch(agency, { since: next.checkpoint })) {
		seen.push(change);
		break;
	}
	check("the loop finds the next message", bodies(seen) === "And another");

	const stored = (await collect(agency.conversations.list({ pageSize: 100 }))).map((row) => ({
		phoneNumber: row.phoneNumber,
		fingerprint: row.phoneNumber === phone ? null : fingerprintOf(row),
	}));
	const differing = await collect(reconcile(agency, { stored }));
	check("the comparison finds the one that differs", differing.map((row) => row.phoneNumber).join() === phone);
}
