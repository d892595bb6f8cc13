// What a caller changes after it was given to an outbox or a feed is not read again.
import { watchAgencies } from "messaging-conversations/sync";
import { expect, test } from "vitest";
import { createWorld } from "./world.ts";

test("a text is the one that was given, whatever becomes of the object, its meta and its dates", async () => {
	const { outbox, agency, anna, sandbox, texts } = createWorld();
	const notAfter = new Date(sandbox.clock.now().getTime() + 3_600_000);
	const given = { id: "a", agencyId: agency.id, to: anna.phoneNumber, body: "First", notAfter, meta: { visit: [1] } };
	const many = [{ ...given, id: "b", body: "Second" }];
	const storing = [outbox.enqueue(given), outbox.enqueueMany(many)];
	given.meta.visit.push(2);
	notAfter.setTime(0);
	Object.assign(given, { body: "Changed", to: "+447700900102" });
	Object.assign(many[0] ?? {}, { body: "Changed" });
	await Promise.all(storing);
	await outbox.runOnce();
	expect(texts()).toEqual(["First", "Second"]);
	expect((await outbox.status("a"))?.meta).toEqual({ visit: [1] });
});

test("the times at which an outbox follows a text, and its quiet hours, are those that were given", async () => {
	const followMs = [60_000];
	const quietHours = { from: "01:00", to: "02:00", timeZone: "UTC" };
	const { enqueue, pass, outbox, anna, state, sends } = createWorld({ followMs, quietHours });
	followMs.length = 0;
	Object.assign(quietHours, { from: "00:00", to: "23:59" });
	await enqueue("Hello");
	await pass({ ms: 0 });
	expect(sends()).toHaveLength(1);
	expect((await outbox.status("note-1"))?.state).toBe("sent");
	anna.reads();
	await pass({ minutes: 2 });
	expect(await state("note-1")).toBe("read");
});

test("the part of the agencies that a process follows is the one that was given", async () => {
	const { client, sandbox } = createWorld();
	sandbox.link({ name: "Second" });
	const partition = { index: 0, of: 1 };
	const stop = new AbortController();
	const feed = watchAgencies(client, { load: () => undefined, partition, since: "now", signal: stop.signal });
	Object.assign(partition, { index: 1, of: 2 });
	const ended = expect(feed[Symbol.asyncIterator]().next()).resolves.toMatchObject({ done: true });
	await expect.poll(() => feed.agencies.length).toBe(2);
	stop.abort();
	await ended;
});

test("a fault, a policy and the consent flow of a sandbox are those that were given", async () => {
	const policy: { openSendWhileHeld: "clear" | "keep" } = { openSendWhileHeld: "keep" };
	const { sandbox, agency, client } = createWorld({ policy });
	policy.openSendWhileHeld = "clear";
	expect(sandbox.policy.openSendWhileHeld).toBe("keep");
	const effect = { status: 503 };
	sandbox.faults.add({ effect });
	effect.status = 400;
	expect(sandbox.faults.list()).toMatchObject([{ effect: { status: 503 } }]);
	sandbox.faults.clear();
	const languages = ["nl", "fr"];
	agency.consent.set({ languages });
	languages.push("de");
	const { conversation } = await client.agency(agency.id).conversations.get("+447700900101");
	expect(conversation.windowReopenReadiness.availableLanguages).toEqual(["nl", "fr"]);
});
