import { createClient } from "messaging-conversations";
import { createSandbox, type Policy } from "messaging-conversations/sandbox";
import { expect, test } from "vitest";
import { failure, quick } from "./calls.ts";

// Where the specification is silent the live service may read it either way, and may vary what nobody may lean on: the
// client must tell the same story under all of it.

// Of every policy its other reading: a new one does not compile without.
const others: Policy = {
	shortSearch: "unfiltered",
	lookupInvalid: "400",
	templateOnReplace: true,
	declineOpensWindow: false,
	inboundFlushesQueue: true,
	openSendWhileHeld: "keep",
	sendOverridesToggle: true,
	retryAfterDelivery: "resend",
	retryAfterDrop: "replay",
	retryAfterReplace: "replay",
	operationIdTtlHours: 48,
};
const readings: Partial<Policy>[] = [{}, ...Object.entries(others).map(([name, value]) => ({ [name]: value }))];

const worlds = ["one", "two", "three", "four", "five"].flatMap((latitude) =>
	readings.map((policy) => [JSON.stringify(policy), latitude, policy] as const),
);

test.for(worlds)("the client tells the same story under policy %s and latitude %s", async ([, latitude, policy]) => {
	const sandbox = createSandbox({ seed: "busy", now: "2026-01-05T09:00:00Z", latitude, policy });
	const drift: string[] = [];
	const client = createClient({
		...sandbox.connection,
		retry: quick,
		onContractDrift: ({ kind, path }) => drift.push(`${kind} ${path}`),
	});
	const [first] = (await client.me.get()).agencies;
	const { conversations, messages } = client.agency(first?.id ?? "");

	const walked = await conversations.list().toArray();
	expect(new Set(walked.map(({ phoneNumber }) => phoneNumber)).size).toBe(250);
	const [longest] = [...walked].sort((a, b) => b.totalMessages - a.totalMessages);
	const read = await conversations.listMessages(longest?.phoneNumber ?? "").toArray();
	expect(new Set(read.map(({ id }) => id)).size).toBe(longest?.totalMessages);

	const anna = sandbox.agency().contact("+32470123456", { name: "Anna" });
	anna.writes("Is the flat still free?");
	const entries = await conversations.lookup(["0470/12.34.56", "n/a", "+32470123456"]);
	expect(entries.map(({ conversation }) => conversation?.contactName ?? null)).toEqual(["Anna", null, "Anna"]);

	sandbox.faults.add({ operation: "messages.send", times: 1, phase: "after", effect: "reset" });
	const sent = await messages.send({ to: "0470 12 34 56", body: "It is." });
	expect(sent).toMatchObject({ queued: false, queueId: null });

	sandbox.clock.advance({ hours: 25 });
	sandbox.faults.add({ operation: "messages.send", times: 1, phase: "after", effect: "reset" });
	const held = await messages.send({ to: anna.phoneNumber, body: "Would Friday suit you?" });
	expect(held).toMatchObject({ queued: true, messageId: null });
	const { conversation } = await conversations.get(anna.phoneNumber);
	expect(conversation.queuedMessages.map(({ id, body }) => [id, body])).toEqual([
		[held.queueId, "Would Friday suit you?"],
	]);
	anna.accepts();
	const texts = anna.inbox().filter(({ kind }) => kind === "text");
	expect(texts.map(({ body }) => body)).toEqual(["It is.", "Would Friday suit you?"]);

	const unknown = await failure(() => conversations.get("+447700900999"));
	expect(unknown._tag).toBe("PartnerNotFound");
	expect(sandbox.violations()).toEqual([]);
	expect(drift.length).toBeGreaterThan(0);
	expect(drift.every((one) => /^unknown-(field|value) /.test(one))).toBe(true);
});
