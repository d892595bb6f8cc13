import { type AgencyClient, createClient, PartnerInvalidInput } from "messaging-conversations";
import {
	checkDelivery,
	createOutbox,
	type Outbox,
	type PgBossLike,
	pgBossEngine,
	postgresStore,
	sqliteStore,
} from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { changes } from "messaging-conversations/sync";
import { expect, test, vi } from "vitest";
import { memoryStore } from "./memory.ts";
import { changed, storeMark } from "./port.ts";
import { createWorld } from "./world.ts";

test("a double click is one text", async () => {
	const { outbox, agency, anna, enqueue, texts, state } = createWorld();
	const click = () => enqueue("See you at 14:00.", { id: "note-1" });
	const [first, second] = await Promise.all([click(), click()]);
	expect(second).toEqual(first);
	await outbox.runOnce();
	await click();
	await outbox.runOnce();
	expect(texts()).toEqual(["See you at 14:00."]);
	expect(await state("note-1")).toBe("sent");
	const another = outbox.enqueue({
		id: "note-1",
		agencyId: agency.id,
		to: anna.phoneNumber,
		body: "See you at 15:00.",
	});
	await expect(another).rejects.toMatchObject({ _tag: "PartnerInvalidInput", operation: "enqueue", field: "id" });
});

test("a failing key function kills no text", async () => {
	const sandbox = createSandbox();
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Hello");
	let isBroken = true;
	const apiKey = () => {
		if (isBroken) throw new Error("the vault is closed");
		return sandbox.connection.apiKey;
	};
	const reported: string[] = [];
	const outbox = createOutbox({
		client: createClient({ ...sandbox.connection, apiKey }),
		store: memoryStore(),
		now: sandbox.clock.now,
		onPaused: ({ error }) => reported.push(error?._tag ?? "none"),
	});
	await outbox.enqueue({ id: "a", agencyId: sandbox.agency().id, to: anna.phoneNumber, body: "Hi" });
	for (let minute = 0; minute < 5; minute++) {
		await outbox.runOnce();
		sandbox.clock.advance({ minutes: 1 });
	}
	expect(await outbox.status("a")).toMatchObject({ state: "waiting", attempts: 0 });
	expect(reported).toHaveLength(1);
	isBroken = false;
	await outbox.runOnce();
	expect(await outbox.status("a")).toMatchObject({ state: "sent", attempts: 1 });
});

test("a key function that never returns pauses the whole client, like one that fails", async () => {
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	const anna = agency.contact("+447700900101");
	anna.writes("Hello");
	const pauses: unknown[] = [];
	const outbox = createOutbox({
		client: createClient({ ...sandbox.connection, apiKey: () => new Promise(() => {}), timeoutMs: 20 }),
		store: memoryStore(),
		now: sandbox.clock.now,
		onPaused: ({ error, agencyId }) => pauses.push([error?._tag, agencyId]),
	});
	await outbox.enqueue({ id: "a", agencyId: agency.id, to: anna.phoneNumber, body: "Hi" });
	await outbox.runOnce();
	expect(await outbox.status("a")).toMatchObject({ state: "waiting", attempts: 0 });
	expect(pauses).toEqual([["PartnerTimeoutError", undefined]]);
});

test("a contact who answers in words does not block the queue for 48 hours", async () => {
	const { outbox, anna, enqueue, texts, templates, state, pass, sends, sandbox } = createWorld();
	sandbox.clock.advance({ hours: 25 });
	await enqueue("1");
	await enqueue("2");
	await pass({ minutes: 5 });
	expect([await state("note-1"), await state("note-2"), texts()]).toEqual(["held", "waiting", []]);
	anna.writes("Yes, tell me");
	await pass({ minutes: 10 });
	expect([await state("note-1"), await state("note-2")]).toEqual(["sent", "sent"]);
	expect([texts(), templates()]).toEqual([["1", "2"], 1]);
	expect(sends()).toHaveLength(3);
	expect(await outbox.status("note-1")).toMatchObject({
		attempts: 2,
		messageId: expect.any(String),
		queueId: expect.any(String),
	});
});

test("a tap opens the window and is not an answer: it may be a refusal that the service carries out later", async () => {
	const { anna, enqueue, state, pass, sends, sandbox } = createWorld();
	sandbox.clock.advance({ hours: 25 });
	await enqueue("1");
	await pass({ minutes: 1 });
	anna.taps("visit_later");
	await pass({ minutes: 30 });
	expect([await state("note-1"), sends().length]).toEqual(["held", 1]);
	anna.taps("visit_never");
	anna.writes("Sorry");
	await pass({ ms: 60_000 });
	expect([await state("note-1"), sends().length]).toEqual(["held", 1]);
	await pass({ minutes: 10 });
	expect([await state("note-1"), sends().length]).toEqual(["sent", 2]);
});

test("a request for consent that cannot reach the phone is called so, while the text is held and when it is dropped", async () => {
	const { sandbox, agency, anna, client, enqueue, outbox, pass } = createWorld();
	const words = async (id: string) => (await outbox.status(id))?.description;
	sandbox.clock.advance({ hours: 25 });
	anna.setReachable(false);
	const since = sandbox.clock.now();
	await enqueue("1");
	await pass({ minutes: 1 });
	expect(await words("note-1")).toBe("The request for the contact's consent did not reach the phone.");
	expect((await outbox.status("note-1"))?.consentFailed).toBe(true);
	const text = { to: anna.phoneNumber, body: "1", since };
	const delivery = await checkDelivery(client.agency(agency.id), text, { now: sandbox.clock.now });
	expect(delivery).toMatchObject({ status: "held", consentFailed: true });
	await pass({ hours: 49 });
	expect(await words("note-1")).toBe("Not delivered: the request for the contact's consent did not reach the phone.");
	expect((await outbox.status("note-1"))?.consentFailed).toBe(true);
	anna.setReachable(true);
	await enqueue("2");
	await pass({ minutes: 1 });
	expect(await words("note-2")).toBe("Waits for the contact's consent.");
	expect((await outbox.status("note-2"))?.consentFailed).toBe(false);
});

test("a text that went out after a request for consent had failed does not say that the request failed", async () => {
	const { sandbox, anna, enqueue, outbox, state, pass } = createWorld();
	sandbox.clock.advance({ hours: 25 });
	anna.setReachable(false);
	await enqueue("1");
	await pass({ minutes: 1 });
	anna.setReachable(true);
	anna.writes("Did you try to reach me?");
	await pass({ minutes: 12 });
	expect(await state("note-1")).toBe("sent");
	expect((await outbox.status("note-1"))?.consentFailed).toBe(false);
});

test("a text that replaces one whose request for consent did not reach the phone reports it too", async () => {
	const { sandbox, agency, anna, client, enqueue, outbox, pass } = createWorld({ onHeld: "replace" });
	const words = async (id: string) => (await outbox.status(id))?.description;
	sandbox.clock.advance({ hours: 25 });
	anna.setReachable(false);
	await enqueue("1");
	await pass({ minutes: 2 });
	const since = sandbox.clock.now();
	await enqueue("2");
	await pass({ minutes: 2 });
	expect(await words("note-2")).toBe("The request for the contact's consent did not reach the phone.");
	const text = { to: anna.phoneNumber, body: "2", since };
	const delivery = await checkDelivery(client.agency(agency.id), text, { now: sandbox.clock.now });
	expect(delivery).toMatchObject({ status: "held", consentFailed: true });
	await pass({ hours: 49 });
	expect(await words("note-2")).toBe("Not delivered: the request for the contact's consent did not reach the phone.");
});

test("with onReply wait a contact who answers in words still has to consent", async () => {
	const { anna, enqueue, texts, state, pass, sends, sandbox } = createWorld({ onReply: "wait" });
	sandbox.clock.advance({ hours: 25 });
	await enqueue("1");
	await pass({ minutes: 1 });
	anna.writes("Yes, tell me");
	await pass({ hours: 2 });
	expect([await state("note-1"), sends().length]).toEqual(["held", 1]);
	anna.accepts();
	await pass({ hours: 1 });
	expect([await state("note-1"), texts()]).toEqual(["sent", ["1"]]);
});

test("an agency with two languages sends to a closed window, and the language goes in from the first attempt on", async () => {
	const { sandbox, agency, anna, enqueue, texts, templates, state, pass, sends } = createWorld();
	agency.consent.set({ languages: ["nl", "fr"] });
	sandbox.faults.add({ operation: "messages.send", phase: "before", effect: "reset" });
	await enqueue("1", { consentLanguage: "fr" });
	await pass({ ms: 1 });
	sandbox.clock.advance({ hours: 25 });
	await pass({ minutes: 5 });
	expect(await state("note-1")).toBe("held");
	anna.accepts();
	await pass({ hours: 1 });
	expect([await state("note-1"), texts(), templates()]).toEqual(["sent", ["1"], 1]);
	const [first, ...others] = sends().map(({ body }) => body);
	expect(first).toMatchObject({ consentLanguage: "fr" });
	for (const other of others) expect(other).toEqual(first);
});

test("a failed text is not called sent", async () => {
	const { sandbox, enqueue, pass, outbox, settled } = createWorld();
	await enqueue("1");
	await pass({ ms: 1 });
	const sent = await outbox.status("note-1");
	sandbox.message(sent?.messageId ?? "").undelivered({ errorCode: 63016 });
	await pass({ hours: 1 });
	expect(await outbox.status("note-1")).toMatchObject({
		state: "failed",
		description: "Sent, but it did not reach the phone. Check the number, or call the contact.",
	});
	expect(settled.map(({ state }) => state)).toEqual(["sent", "failed"]);
});

test("it knows any number of agencies, each contact of each in order", async () => {
	const { sandbox, outbox, anna, agency, enqueue, pass, state, texts } = createWorld();
	const second = sandbox.link({ name: "Seaside Homes" });
	const there = second.contact(anna.phoneNumber);
	there.writes("Hello");
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
	await enqueue("1");
	await enqueue("2");
	await outbox.enqueue({ id: "other", agencyId: second.id, to: anna.phoneNumber, body: "Hi" });
	await pass({ minutes: 3 });
	expect([await state("note-1"), await state("note-2"), await state("other")]).toEqual(["sent", "sent", "sent"]);
	expect([texts(), there.inbox().map(({ body }) => body)]).toEqual([["1", "2"], ["Hi"]]);
	expect(agency.id).not.toBe(second.id);
});

test("what the contact did not answer, or declined, is dropped, and what is enqueued afterwards has its turn", async () => {
	const { sandbox, anna, enqueue, pass, state, texts, settled } = createWorld();
	sandbox.clock.advance({ hours: 25 });
	await enqueue("1");
	await pass({ hours: 50 });
	await enqueue("2");
	await pass({ hours: 1 });
	expect([await state("note-1"), await state("note-2")]).toEqual(["dropped", "held"]);
	anna.declines();
	await pass({ hours: 1 });
	await enqueue("3");
	await pass({ hours: 1 });
	expect([await state("note-2"), await state("note-3"), texts()]).toEqual(["dropped", "sent", ["3"]]);
	expect(settled.map(({ id }) => id)).toEqual(["note-1", "note-2", "note-3"]);
});

test("a text that staff replaced is called replaced, and staff's text is not replaced in turn", async () => {
	const { sandbox, agency, anna, enqueue, pass, state, texts, sends } = createWorld();
	sandbox.clock.advance({ hours: 25 });
	await enqueue("1");
	await enqueue("2");
	await pass({ minutes: 1 });
	agency.staff.sends({ contact: anna, text: "From a person" });
	// The summary of the conversation shows nothing of it, so that it is seen when the conversation is read.
	await pass({ hours: 9 });
	expect([await state("note-1"), await state("note-2"), sends().length]).toEqual(["replaced", "waiting", 1]);
	anna.accepts();
	await pass({ hours: 1 });
	expect([await state("note-2"), texts()]).toEqual(["sent", ["From a person", "2"]]);
});

test("a text that was declined before staff queued another one is dropped, not replaced", async () => {
	const { sandbox, agency, anna, enqueue, pass, state } = createWorld({ policy: { declineOpensWindow: false } });
	sandbox.clock.advance({ hours: 25 });
	await enqueue("1");
	await pass({ minutes: 1 });
	anna.declines();
	agency.staff.sends({ contact: anna, text: "From a person" });
	await pass({ hours: 2 });
	expect(await state("note-1")).toBe("dropped");
});

test("with onHeld replace the next text takes the place of the one that waits", async () => {
	const { sandbox, anna, enqueue, pass, state, texts, outbox } = createWorld({ onHeld: "replace" });
	sandbox.clock.advance({ hours: 25 });
	for (const body of ["1", "2"]) await enqueue(body);
	await pass({ minutes: 1 });
	expect([await state("note-1"), await state("note-2")]).toEqual(["replaced", "held"]);
	expect((await outbox.status("note-1"))?.replacedBy).toBe("note-2");
	expect((await outbox.status("note-2"))?.replacedBy).toBeNull();
	anna.accepts();
	await pass({ hours: 1 });
	expect([await state("note-2"), texts()]).toEqual(["sent", ["2"]]);
});

test.each([
	["401", (world: ReturnType<typeof createWorld>) => world.sandbox.keys.revoke(world.sandbox.keys.list()[0]?.id ?? "")],
	["403", (world: ReturnType<typeof createWorld>) => world.agency.unlink()],
	[
		"429",
		({ sandbox }: ReturnType<typeof createWorld>) =>
			void sandbox.faults.add({ operation: "messages.send", times: 50, effect: { status: 429 } }),
	],
	[
		"an outage",
		({ sandbox }: ReturnType<typeof createWorld>) => void sandbox.faults.add({ times: 500, effect: { status: 503 } }),
	],
])("%s changes no text: they wait, and it is reported once", async (_, breakIt) => {
	const world = createWorld();
	const { enqueue, pass, state, pauses, texts, sandbox } = world;
	breakIt(world);
	for (const body of ["1", "2"]) await enqueue(body);
	await pass({ minutes: 30 });
	expect(["waiting", "sending"]).toContain(await state("note-1"));
	expect([await state("note-2"), texts(), pauses.length]).toEqual(["waiting", [], 1]);
	expect(JSON.stringify(pauses)).not.toContain("7700900101");
	// Few requests: the pauses grow. Some are a further read, which leaves the step of a load balancer.
	expect(sandbox.requests().length).toBeLessThan(180);
});

test("after the pause every text goes out, in order", async () => {
	const { sandbox, agency, enqueue, pass, texts } = createWorld();
	agency.unlink();
	for (const body of ["1", "2"]) await enqueue(body);
	await pass({ minutes: 10 });
	agency.link();
	await pass({ minutes: 10 });
	expect(texts()).toEqual(["1", "2"]);
	expect(sandbox.violations()).toEqual([]);
});

test("contacts whose calls fail together make one pause, and not one each", async () => {
	const { sandbox, agency, outbox, enqueue } = createWorld();
	const contacts = ["1", "2", "3", "4"].map((digit) => agency.contact(`+44770090011${digit}`));
	for (const contact of contacts) contact.writes("Hello");
	sandbox.faults.add({ operation: "conversations.get", times: 4, effect: { kind: "html", status: 429 } });
	for (const { phoneNumber } of contacts) await enqueue("Hi", { to: phoneNumber });
	await outbox.runOnce();
	sandbox.clock.advance({ ms: 1_000 });
	await outbox.runOnce();
	expect(contacts.map((contact) => contact.inbox().map(({ body }) => body))).toEqual(contacts.map(() => ["Hi"]));
});

test("a lost answer is settled by reading, which shows the text before its request is repeated", async () => {
	const { sandbox, agency, anna, enqueue, pass, texts, sends, outbox } = createWorld();
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
	// Also that of a reply, because the contact may have asked for no more texts.
	await outbox.enqueue({ id: "0", agencyId: agency.id, to: anna.phoneNumber, body: "1", purpose: "reply" });
	await pass({ ms: 10_000 });
	expect(await outbox.status("0")).toMatchObject({ state: "sent", attempts: 1 });
	sandbox.clock.advance({ hours: 25 });
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
	await enqueue("2");
	await pass({ ms: 10_000 });
	expect(await outbox.status("note-1")).toMatchObject({ state: "held", attempts: 1 });
	expect([texts(), sends().length]).toEqual([["1"], 2]);
});

test("a send that left no trace is sent again, but not before an answer can no longer be on its way", async () => {
	const { sandbox, enqueue, pass, sends, state } = createWorld();
	sandbox.clock.advance({ hours: 25 });
	sandbox.faults.add({ operation: "messages.send", phase: "before", effect: "reset" });
	await enqueue("1");
	await pass({ ms: 64_000 });
	expect([sends().length, await state("note-1")]).toEqual([1, "sending"]);
	await pass({ ms: 2_000 });
	expect([sends().length, await state("note-1")]).toEqual([2, "held"]);
});

test("a first text to somebody who never wrote survives an outage too", async () => {
	const { sandbox, enqueue, pass, state, agency } = createWorld();
	const bert = agency.contact("+447700900102");
	sandbox.faults.add({ operation: "messages.send", phase: "before", effect: { status: 500 } });
	await enqueue("1", { to: bert.phoneNumber });
	await pass({ minutes: 3 });
	expect(await state("note-1")).toBe("held");
	bert.accepts();
	await pass({ minutes: 10 });
	expect(bert.inbox().map(({ kind }) => kind)).toEqual(["template", "text"]);
});

test("a conversation that is hidden while a text is in doubt makes it unknown, and it is never sent again", async () => {
	const { sandbox, agency, anna, enqueue, pass, sends, outbox } = createWorld({ followMs: [1_000, 2_000] });
	sandbox.clock.advance({ hours: 25 });
	sandbox.faults.add({ operation: "messages.send", phase: "before", effect: "reset" });
	await enqueue("1");
	await outbox.runOnce();
	agency.conversation(anna).hide();
	await pass({ hours: 51 });
	expect([(await outbox.status("note-1"))?.state, sends().length]).toEqual(["unknown", 1]);
});

test.each(["open", "closed"])(
	"a 400 refuses the text, with the reason, and the next has its turn: window %s",
	async (window) => {
		const { sandbox, enqueue, pass, outbox, state } = createWorld();
		if (window === "closed") sandbox.clock.advance({ hours: 25 });
		sandbox.faults.add({ operation: "messages.send", phase: "before", effect: { status: 400 } });
		await enqueue("1");
		await enqueue("2");
		await pass({ minutes: 1 });
		expect(await outbox.status("note-1")).toMatchObject({
			state: "refused",
			reason: "bad_request",
			error: { tag: "PartnerBadRequest" },
		});
		expect(await state("note-2")).toBe(window === "closed" ? "held" : "sent");
	},
);

test("a number that is not one of allowRecipients is refused without a request", async () => {
	const { sandbox, agency, anna, store } = createWorld();
	const client = createClient({ ...sandbox.connection, allowRecipients: ["+447700900199"] });
	const outbox = createOutbox({ client, store, now: sandbox.clock.now });
	await outbox.enqueue({ id: "a", agencyId: agency.id, to: anna.phoneNumber, body: "Hi" });
	await outbox.runOnce();
	expect(await outbox.status("a")).toMatchObject({
		state: "refused",
		reason: "not_allowed",
		error: { tag: "PartnerInvalidInput" },
	});
	expect(sandbox.requests().filter(({ operation }) => operation === "messages.send")).toEqual([]);
});

test("a conflict is read about and retried with the same id", async () => {
	const { sandbox, agency, anna, enqueue, pass, sends, texts } = createWorld();
	agency.conversation(anna).takeOver({ times: 2 });
	await enqueue("1");
	await pass({ minutes: 2 });
	expect([texts(), new Set(sends().map(({ body }) => JSON.stringify(body))).size, sends().length]).toEqual([
		["1"],
		1,
		3,
	]);
	const operations = sandbox.requests().map(({ operation }) => operation);
	expect(operations.filter((operation) => operation === "conversations.get").length).toBeGreaterThanOrEqual(3);
});

test("what has passed its time is not sent, also behind a text that waits for consent", async () => {
	const { sandbox, enqueue, pass, state, anna, texts } = createWorld();
	sandbox.clock.advance({ hours: 25 });
	await enqueue("1");
	await enqueue("2", { notAfter: new Date(sandbox.clock.now().getTime() + 3_600_000) });
	await pass({ hours: 2 });
	expect(await state("note-2")).toBe("expired");
	anna.accepts();
	await pass({ hours: 1 });
	expect(texts()).toEqual(["1"]);
});

test("a text is cancelled while it waits, and not after", async () => {
	const { outbox, enqueue, pass, texts } = createWorld();
	await enqueue("1");
	await enqueue("2");
	expect(await outbox.cancel("note-2")).toBe(true);
	await pass({ minutes: 1 });
	expect([await outbox.cancel("note-1"), await outbox.cancel("note-2"), await outbox.cancel("none"), texts()]).toEqual([
		false,
		true,
		false,
		["1"],
	]);
});

test("the change feed reports what was delivered, and wakes the queues that wait for consent", async () => {
	const { sandbox, outbox, agency, anna, client, enqueue, state, pass, settled } = createWorld();
	await enqueue("1");
	await outbox.runOnce();
	const { messageId } = (await outbox.status("note-1")) ?? {};
	sandbox.message(messageId ?? "").delivered();
	const look = async () => {
		const { conversation, messagePage } = await client.agency(agency.id).conversations.get(anna.phoneNumber);
		await outbox.observe({ agencyId: agency.id, conversation, messages: messagePage.messages });
	};
	await look();
	expect(await state("note-1")).toBe("delivered");
	sandbox.clock.advance({ hours: 25 });
	await enqueue("2");
	await pass({ hours: 3 });
	anna.accepts();
	await outbox.runOnce();
	expect(await state("note-2")).toBe("held");
	await look();
	await outbox.runOnce();
	expect(await state("note-2")).toBe("sent");
	expect(settled.map((status) => `${status.id} ${status.state}`)).toEqual([
		"note-1 sent",
		"note-1 delivered",
		"note-2 sent",
	]);
});

test("a report that is observed while a worker changes the row is stored all the same", async () => {
	const { sandbox, outbox, agency, anna, client, enqueue, state, store, restart } = createWorld();
	await enqueue("1");
	await outbox.runOnce();
	const { messageId } = (await outbox.status("note-1")) ?? {};
	sandbox.message(messageId ?? "").delivered();
	let isChanged = false;
	const byMessage = async (id: string) => {
		const row = await store.byMessage(id);
		if (row && !isChanged) isChanged = await store.save({ ...row, nextAt: null });
		return row;
	};
	const { messagePage } = await client.agency(agency.id).conversations.get(anna.phoneNumber);
	await restart({ store: changed(store, { byMessage }) }).observe({ messages: messagePage.messages });
	expect(isChanged).toBe(true);
	expect(await state("note-1")).toBe("delivered");
});

test("a change that is observed after a later one takes no text back from failed or read", async () => {
	const { sandbox, outbox, agency, anna, client, enqueue, state, settled } = createWorld();
	const read = async () => {
		const { messagePage } = await client.agency(agency.id).conversations.get(anna.phoneNumber);
		return { messages: messagePage.messages };
	};
	for (const end of ["failed", "read"] as const) {
		settled.length = 0;
		const { id } = await enqueue(end);
		await outbox.runOnce();
		const { messageId } = (await outbox.status(id)) ?? {};
		const early = await read();
		sandbox.message(messageId ?? "").delivered();
		const earlier = await read();
		sandbox.message(messageId ?? "")[end]();
		const latest = await read();
		for (const change of [earlier, latest, latest, earlier, early]) await outbox.observe(change);
		expect(await state(id)).toBe(end);
		expect(settled.map((status) => status.state)).toEqual(["sent", "delivered", end]);
	}
});

test("a lively chat that is observed uses up no read of a text, and costs no request", async () => {
	const { sandbox, outbox, agency, anna, client, enqueue, state, pass } = createWorld();
	await enqueue("1");
	await outbox.runOnce();
	const { messageId } = (await outbox.status("note-1")) ?? {};
	for (let count = 0; count < 8; count++) {
		sandbox.clock.advance({ ms: 1_000 });
		anna.writes(`And ${count}`);
		const { conversation } = await client.agency(agency.id).conversations.get(anna.phoneNumber);
		const before = sandbox.requests().length;
		await outbox.observe({ agencyId: agency.id, conversation });
		await outbox.runOnce();
		expect(sandbox.requests().length).toBe(before);
	}
	sandbox.message(messageId ?? "").failed();
	await pass({ hours: 1 });
	expect(await state("note-1")).toBe("failed");
});

test("onSettled is called in the order of the states, and not waited for", async () => {
	const digest = crypto.subtle.digest.bind(crypto.subtle);
	const { agency, anna, client, enqueue, outbox, settled, state } = createWorld({
		onSettled: (status) => {
			settled.push(status);
			return new Promise(() => {});
		},
	});
	await enqueue("1");
	const slow = vi.spyOn(crypto.subtle, "digest").mockImplementation(async (...given) => {
		const hash = await digest(...given);
		await new Promise((resolve) => setTimeout(resolve, 20));
		return hash;
	});
	try {
		await outbox.runOnce();
		slow.mockRestore();
		expect(settled.map((status) => status.state)).toEqual(["sent"]);
		anna.reads();
		const { messagePage } = await client.agency(agency.id).conversations.get(anna.phoneNumber);
		await outbox.observe({ messages: messagePage.messages });
		expect(settled.map((status) => status.state)).toEqual(["sent", "read"]);
		expect(await state("note-1")).toBe("read");
	} finally {
		slow.mockRestore();
	}
});

test("a change of the change feed is observed as it comes", async () => {
	const { sandbox, outbox, agency, anna, client, enqueue, state, pass } = createWorld();
	sandbox.clock.advance({ hours: 25 });
	await enqueue("1");
	await pass({ minutes: 1 });
	expect(await state("note-1")).toBe("held");
	const before = changes(client.agency(agency.id), { since: "now" });
	for await (const _ of before);
	sandbox.clock.advance({ hours: 1 });
	anna.accepts();
	for await (const change of changes(client.agency(agency.id), { since: before.checkpoint }))
		await outbox.observe(change);
	await outbox.runOnce();
	expect(await state("note-1")).toBe("sent");
});

test("a clock that gives fractions of milliseconds puts none into the store", async () => {
	const { sandbox, store, enqueue, restart, agency, anna } = createWorld();
	const outbox = restart({ now: () => sandbox.clock.now().getTime() + 0.5 });
	await outbox.enqueue({ id: "a", agencyId: agency.id, to: anna.phoneNumber, body: "Hi" });
	await enqueue("1");
	await outbox.runOnce();
	const times = store.all().flatMap(({ createdAt, since, nextAt }) => [createdAt, since, nextAt]);
	expect(times.filter((time) => !Number.isInteger(time))).toEqual([]);
});

test("finished texts are purged, unfinished ones are not", async () => {
	const { sandbox, outbox, enqueue, pass, store } = createWorld();
	await enqueue("1");
	await pass({ hours: 48 });
	sandbox.clock.advance({ hours: 25 });
	await enqueue("2");
	await pass({ minutes: 1 });
	expect(await outbox.purge({ before: sandbox.clock.now() })).toBe(1);
	expect(store.all().map(({ id }) => id)).toEqual(["note-2"]);
});

test("any number of workers and calls of runOnce share the texts, and runOnce waits for another one of its process", async () => {
	const { outbox, enqueue, restart, texts, state } = createWorld({ now: undefined });
	const stop = new AbortController();
	const others = [restart(), restart()].map((each) => each.work({ signal: stop.signal }));
	for (let at = 1; at <= 5; at++) await enqueue(`${at}`);
	await Promise.all([outbox.runOnce(), outbox.runOnce(), restart().runOnce()]);
	await expect.poll(() => state("note-5")).toBe("sent");
	stop.abort();
	await Promise.all(others);
	expect(texts()).toEqual(["1", "2", "3", "4", "5"]);
});

test("a worker sends what is enqueued while it works, and ends what it began before it stops", async () => {
	const { outbox, enqueue, state } = createWorld({ now: undefined });
	const stop = new AbortController();
	const working = outbox.work({ signal: stop.signal });
	await enqueue("1");
	await expect.poll(() => state("note-1")).toBe("sent");
	stop.abort();
	await working;
});

test.each([
	["to", { to: "nobody" }],
	["to", { to: "+3247012345" }],
	["body", { body: "  " }],
	["body", { body: "\ud800" }],
	["body", { body: "a\u0000b" }],
	["id", { id: "" }],
	["agencyId", { agencyId: "../x" }],
	["consentLanguage", { consentLanguage: "" }],
	["subaccountId", { subaccountId: "x" }],
	["notAfter", { notAfter: "soon" }],
	["notAfter", { notAfter: "2026-01-06 18:00:00" }],
	["text", { attachments: [] }],
])("bad input is refused before anything is stored: %s", async (field, wrong) => {
	const { outbox, agency, store } = createWorld();
	const text = { id: "a", agencyId: agency.id, to: "+447700900101", body: "Hi", ...wrong };
	const error = await outbox.enqueue(text).catch((thrown: unknown) => thrown);
	expect(error).toBeInstanceOf(PartnerInvalidInput);
	expect(error).toMatchObject({ field });
	expect(store.all()).toEqual([]);
});

test("a transaction in place of the options of enqueue is refused: the text would be stored outside it", async () => {
	const { outbox, agency, store } = createWorld();
	const text = { id: "a", agencyId: agency.id, to: "+447700900101", body: "Hi" };
	const tx = { query: async () => ({ rows: [] }) };
	const error = await outbox.enqueue(text, tx as never).catch((thrown: unknown) => thrown);
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", operation: "enqueue", field: "options" });
	// As Kysely's, it may have no fields of its own.
	class Transaction {
		#connection = 1;
		get connection(): number {
			return this.#connection;
		}
	}
	for (const act of [
		() => outbox.enqueue(text, new Transaction() as never),
		() => outbox.acknowledge([], new Transaction() as never),
	])
		await expect(act()).rejects.toThrow(/^options: must be an object of tx.*Pass it as \{ tx \}$/);
	expect(store.all()).toEqual([]);
});

test("an unknown field of a text or of its options is named, with the known ones", async () => {
	const { outbox, agency, store } = createWorld();
	const text = { id: "a", agencyId: agency.id, to: "+447700900101", body: "Hi" };
	await expect(outbox.enqueue({ ...text, language: "fr" } as never)).rejects.toThrow(
		/^text: takes id, agencyId, to, body, consentLanguage, .*does not take: language$/,
	);
	await expect(outbox.enqueue(text, { trx: 1 } as never)).rejects.toThrow(/^options: takes tx, .*does not take: trx$/);
	await expect(outbox.acknowledge([], { trx: 1 } as never)).rejects.toThrow(/^options: takes tx\. .*: trx$/);
	expect(store.all()).toEqual([]);
});

test("a database of the other kind is refused with the store that takes it, and anything else with the libraries", () => {
	const pool = { query: async () => ({ rows: [] }) };
	const db = { prepare: () => ({ all: () => [], run: () => {} }), query: () => ({}) };
	expect(() => sqliteStore(pool as never)).toThrow("db: is of PostgreSQL. Pass it to postgresStore");
	expect(() => postgresStore(db as never)).toThrow("pool: is of SQLite. Pass it to sqliteStore");
	expect(() => sqliteStore({} as never)).toThrow(/better-sqlite3(?!.*postgres\.js)/);
	expect(() => postgresStore({} as never)).toThrow(/postgres\.js(?!.*sqlite3)/);
});

test("a number that its country does not list is sent to with allowUnlistedNumber", async () => {
	const { outbox, agency, sandbox, store, client } = createWorld();
	const text = { id: "a", agencyId: agency.id, to: "+32 446 12 34 56", body: "Hi" };
	const error = await outbox.enqueue(text, { allowUnlistedNumber: "yes" as never }).catch((thrown: unknown) => thrown);
	expect(error).toMatchObject({ field: "allowUnlistedNumber", rule: "must be true or false", operation: "enqueue" });
	sandbox.agency().contact("+32446123456").writes("Hello");
	await outbox.enqueue(text, { allowUnlistedNumber: true });
	expect((await store.find("a"))?.to).toBe("+32446123456");
	const stop = new AbortController();
	const working = outbox.work({ signal: stop.signal });
	await expect.poll(async () => (await outbox.status("a"))?.state).toBe("sent");
	stop.abort();
	await working;
	const { messagePage } = await client.agency(agency.id).conversations.get("+32446123456");
	expect(messagePage.messages[0]?.body).toBe("Hi");
});

test("a local number is read in the country of the client, or in that of the outbox", async () => {
	const { sandbox } = createWorld();
	const client = createClient({ ...sandbox.connection, defaultCountry: "NL" });
	const to = "0475 123 456";
	const dutch = createWorld({ client });
	const belgian = createWorld({ client, defaultCountry: "BE" });
	await dutch.enqueue("Hello", { id: "a", to });
	await belgian.enqueue("Hello", { id: "a", to });
	expect([client.defaultCountry, createClient(sandbox.connection).defaultCountry]).toEqual(["NL", "BE"]);
	expect((await dutch.store.find("a"))?.to).toBe("+31475123456");
	expect((await belgian.store.find("a"))?.to).toBe("+32475123456");
});

test("options are checked when the outbox is made", () => {
	const { client, store } = createWorld();
	for (const [field, wrong] of Object.entries({
		settleMs: 0,
		followMs: [0.5],
		onHeld: "drop",
		onReply: "x",
		concurrency: 0,
		store: {},
		client: {},
		now: 5,
		defaultCountry: "XX",
		options: { other: 1 },
	})) {
		const options = { client, store, ...(field === "options" ? (wrong as object) : { [field]: wrong }) };
		expect(() => createOutbox(options as never), field).toThrow(PartnerInvalidInput);
	}
	for (const defaultMaxAgeMs of [0, -1, 0.5, 86_400_000 / 7, Number.NaN, "1"])
		expect(
			() => createOutbox({ client, store, defaultMaxAgeMs: defaultMaxAgeMs as number }),
			`${defaultMaxAgeMs}`,
		).toThrow(/^defaultMaxAgeMs: /);
	const named = (name: string) => () => createOutbox({ client, store, [name]: 1 } as never);
	expect(named("other")).toThrow(/does not take: other$/);
	expect(named("tel0470123456")).toThrow(/does not take$/);
});

/** A text that waits for consent; Anna has just answered in words, so that it is due to be sent again. */
async function heldAndAnswered(options: Parameters<typeof createWorld>[0] = {}) {
	const world = createWorld({ policy: { retryAfterDelivery: "resend" }, ...options });
	world.sandbox.clock.advance({ hours: 25 });
	await world.enqueue("1");
	await world.pass({ ms: 1 });
	expect(await world.state("note-1")).toBe("held");
	world.anna.writes("What is it?");
	world.sandbox.clock.advance({ minutes: 1 });
	return world;
}

test("a reading that is older than 10 seconds is read again before the text is sent", async () => {
	const world = await heldAndAnswered();
	const { sandbox, anna, store, restart, texts, pass } = world;
	let isFirst = true;
	const slow = {
		...store,
		async save(text: Parameters<typeof store.save>[0]) {
			if (text.state === "sending" && isFirst) {
				isFirst = false;
				// The machine sleeps, and she consents meanwhile.
				sandbox.clock.advance({ ms: 11_000 });
				anna.accepts();
			}
			return store.save(text);
		},
	};
	await restart({ store: slow }).runOnce();
	await pass({ hours: 1 });
	expect([texts(), await world.state("note-1")]).toEqual([["1"], "sent"]);
});

test("the time for an answer counts from the attempt record in the row, even if the database was slow to store it", async () => {
	const store = memoryStore();
	const { sandbox, outbox, enqueue, texts, pauses } = createWorld({
		settleMs: 14_500,
		store: changed(store, {
			async save(text) {
				if (text.state === "sending" && text.progress.attempts === 1) sandbox.clock.advance({ ms: 9_000 });
				return store.save(text);
			},
		}),
	});
	sandbox.faults.add({ operation: "messages.send", phase: "before", effect: "hang" });
	await enqueue("1");
	await outbox.runOnce();
	const [, left] = /deadline of (\d+) ms/.exec(pauses[0]?.error?.message ?? "") ?? [];
	// 500 ms of the 9,500 are left when the call begins, or a little less.
	expect(pauses).toHaveLength(1);
	expect(Number(left)).toBeGreaterThan(0);
	expect(Number(left)).toBeLessThanOrEqual(500);
	expect(texts()).toEqual(["1"]);
});

test("a held text whose second send is in doubt is read about, as she may have consented meanwhile", async () => {
	const { sandbox, anna, outbox, texts, pass, state } = await heldAndAnswered();
	sandbox.faults.add({ operation: "messages.send", phase: "before", effect: { status: 500 } });
	await outbox.runOnce();
	expect(await state("note-1")).toBe("sending");
	anna.accepts();
	await pass({ hours: 1 });
	expect([texts(), await state("note-1")]).toEqual([["1"], "sent"]);
});

test("a held text whose second send is in doubt, and whose message is listed some seconds late, is not called dropped", async () => {
	const { sandbox, anna, restart, texts, state } = await heldAndAnswered();
	let isLate = false;
	const fetch: typeof globalThis.fetch = async (url, init) => {
		const answer = await sandbox.fetch(url, init);
		if (!isLate || init?.method === "POST") return answer;
		const page = await answer.json();
		page.messagePage.messages.shift();
		return Response.json(page, { headers: answer.headers });
	};
	const outbox = restart({ client: createClient({ ...sandbox.connection, fetch }) });
	sandbox.faults.add({ operation: "messages.send", phase: "before", effect: { status: 500 } });
	await outbox.runOnce();
	sandbox.clock.advance({ ms: 64_000 });
	anna.accepts();
	isLate = true;
	sandbox.clock.advance({ ms: 2_000 });
	await outbox.runOnce();
	expect([texts(), await state("note-1")]).toEqual([["1"], "sending"]);
	isLate = false;
	sandbox.clock.advance({ minutes: 2 });
	await outbox.runOnce();
	expect(await state("note-1")).toBe("sent");
});

test("a text that the service says it took, and of which there is no trace, is unknown and not sent again", async () => {
	const { sandbox, store, enqueue, restart, state } = createWorld();
	let sends = 0;
	const fetch: typeof globalThis.fetch = async (url, init) => {
		if (init?.method !== "POST") return sandbox.fetch(url, init);
		sends++;
		return Response.json({ success: true, queued: false, messageId: "SM1" });
	};
	const outbox = restart({ client: createClient({ ...sandbox.connection, fetch }) });
	await enqueue("1");
	for (let minute = 0; minute < 10; minute++) {
		await outbox.runOnce();
		sandbox.clock.advance({ minutes: 1 });
	}
	expect([await state("note-1"), sends, store.all().length]).toEqual(["unknown", 1, 1]);
});

test("a refusal does not speak for an earlier try that may have been taken", async () => {
	const { sandbox, enqueue, pass, state, texts } = createWorld();
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
	sandbox.faults.add({ operation: "messages.send", phase: "before", effect: { status: 400 }, skip: 1 });
	await enqueue("1");
	await pass({ minutes: 2 });
	expect([await state("note-1"), texts()]).toEqual(["sent", ["1"]]);
});

test("the status of a text that waits says what it waits for", async () => {
	const { sandbox, outbox, agency, anna, enqueue, pass } = createWorld();
	sandbox.clock.advance({ hours: 25 });
	agency.staff.sends({ contact: anna, text: "From a person" });
	for (const body of ["1", "2"]) await enqueue(body);
	const waits = async (id: string) => {
		const { description, waitsFor } = (await outbox.status(id)) ?? {};
		return [description, waitsFor?.kind, waitsFor?.id ?? null];
	};
	const none = "No worker is running";
	expect(await waits("note-1")).toEqual([expect.stringContaining(none), "no_worker", null]);
	expect(await waits("note-2")).toEqual([expect.stringContaining("another text"), "behind", "note-1"]);
	await outbox.runOnce();
	expect(await waits("note-1")).toEqual([expect.stringContaining("somebody else"), "colleague_held", null]);
	expect(await waits("note-2")).toEqual([
		expect.stringMatching(/another text to the contact \(note-1\).*somebody else/),
		"behind",
		"note-1",
	]);
	anna.accepts();
	sandbox.faults.add({ operation: "messages.send", phase: "before", effect: { status: 409 } });
	await pass({ ms: 10_000 });
	expect(await waits("note-1")).toEqual([expect.stringMatching(/^Waits for the next attempt, at /), "failing", null]);
	await pass({ minutes: 2 });
	expect(await waits("note-1")).toEqual(["Sent.", undefined, null]);
	expect(await waits("note-2")).toEqual(["Sent.", undefined, null]);
});

test("two texts of the same words are distinguished", async () => {
	const { sandbox, enqueue, pass, texts, outbox } = createWorld();
	sandbox.faults.add({ operation: "messages.send", skip: 1, phase: "before", effect: "reset" });
	await enqueue("Yes.");
	await enqueue("Yes.");
	await outbox.runOnce();
	sandbox.clock.advance({ hours: 23, minutes: 50 });
	await pass({ minutes: 5 });
	expect(texts()).toEqual(["Yes.", "Yes."]);
	const [one, two] = [await outbox.status("note-1"), await outbox.status("note-2")];
	expect([one?.state, two?.state, one?.messageId === two?.messageId]).toEqual(["sent", "sent", false]);
});

test("a button handler in a few lines: a double click, a crash and a restart are one text", async () => {
	const { sandbox, client, store, agency, anna, texts } = createWorld();
	const open = () => createOutbox({ client, store, now: sandbox.clock.now });

	// The handler: the form carries the note's id, so that each click is the same note.
	async function onSend(note: { id: string; to: string; body: string }): Promise<string> {
		const { description } = await open().enqueue({ ...note, agencyId: agency.id });
		return description;
	}

	const note = { id: "note-1", to: anna.phoneNumber, body: "See you at 14:00." };
	expect(await Promise.all([onSend(note), onSend(note)])).toEqual(["Waits to be sent.", "Waits to be sent."]);
	// The answer is lost, and the process with it.
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
	await open().runOnce();
	await onSend(note);
	sandbox.clock.advance({ minutes: 2 });
	await open().runOnce();
	expect([texts(), (await open().status("note-1"))?.description]).toEqual([["See you at 14:00."], "Sent."]);
});

const noBoss: PgBossLike = {
	createQueue: async () => {},
	send: async () => {},
	work: async () => "",
	offWork: async () => {},
};

test.each([
	["nothing", undefined],
	["a store of one's own, with every method", { ...memoryStore(), "~outbox": undefined }],
	["what only looks like one", { "~outbox": "1" }],
	["a database of its own", { query: async () => ({ rows: [] }) }],
	["a store that is still to come", Promise.resolve(memoryStore())],
	["the function that makes one", sqliteStore],
])("what none of the three functions has returned is refused as a store: %s", (_, store) => {
	const { client } = createWorld();
	expect(() => createOutbox({ client, store: store as never })).toThrow(
		expect.objectContaining({
			_tag: "PartnerInvalidInput",
			operation: "createOutbox",
			field: "store",
			rule: expect.stringContaining("sqliteStore(db), postgresStore(pool) or mysqlStore(pool)"),
		}),
	);
});

test("#49 a store of another version of the package is refused, with what to do", () => {
	const { client } = createWorld();
	const store = { ...memoryStore(), "~outbox": storeMark["~outbox"] + 1 };
	expect(() => createOutbox({ client, store })).toThrow(
		expect.objectContaining({
			_tag: "PartnerConfigurationError",
			field: "store",
			rule: expect.stringMatching(/^is of another version .* protocol is 2, and this version needs 1\. Install one/),
		}),
	);
});

test("a job of pg-boss has the text's priority, and neither its number nor its words", async () => {
	const jobs: unknown[] = [];
	const boss: PgBossLike = { ...noBoss, send: async (...job) => jobs.push(job) };
	const { outbox, agency, anna } = createWorld({ engine: pgBossEngine(boss) });
	const text = { agencyId: agency.id, to: anna.phoneNumber, body: "The secret garden" };
	await outbox.enqueue({ ...text, id: `campaign ${anna.phoneNumber}`, priority: 10 });
	await outbox.cancelAll({ to: anna.phoneNumber });
	await outbox.enqueue({ ...text, id: "later" });
	await outbox.cancel("later");
	expect(jobs).toMatchObject([
		["messaging-outbox", { text: 1 }, { priority: 10 }],
		["messaging-outbox", { text: 2 }, { priority: 0 }],
	]);
	expect(JSON.stringify(jobs)).not.toMatch(/447700900101|secret|campaign/);
});

test.each([
	["work", (outbox: Outbox) => outbox.work(null as never)],
	["work", (outbox: Outbox) => outbox.work({ signal: "x" } as never)],
	["runOnce", (outbox: Outbox) => outbox.runOnce({ signal: 20_000 } as never)],
	["runOnce", (outbox: Outbox) => outbox.runOnce({ timeoutMs: 20_000 } as never)],
	["purge", (outbox: Outbox) => outbox.purge(undefined as never)],
	["purge", (outbox: Outbox) => outbox.purge({ before: new Date(), after: 1 } as never)],
	["observe", (outbox: Outbox) => outbox.observe(undefined as never)],
	["checkDelivery", (_: Outbox, agency: AgencyClient) => checkDelivery(agency, undefined as never)],
	["pgBossEngine", async () => pgBossEngine(noBoss, { pollseconds: 5 } as never)],
	["postgresStore", async () => postgresStore({ query: async () => ({ rows: [] }) }, null as never)],
	["postgresStore", async () => postgresStore({ query: async () => ({ rows: [] }) }, { tabel: "x" } as never)],
])("wrong arguments are bad input, by name: %s", async (operation, call) => {
	const { outbox, client, agency } = createWorld();
	await expect(call(outbox, client.agency(agency.id))).rejects.toMatchObject({
		_tag: "PartnerInvalidInput",
		operation,
	});
});

test("a transaction whose query gives the rows alone, as an ORM's does, is refused by name, and so is such a pool", async () => {
	const { client, agency, anna } = createWorld();
	const text = { id: "note-1", agencyId: agency.id, to: anna.phoneNumber, body: "Hi" };
	const orm = { query: async () => [] };
	const outbox = createOutbox({ client, store: postgresStore({ query: async () => ({ rows: [] }) }) });
	const inTransaction = outbox.enqueue(text, { tx: orm as never });
	await expect(inTransaction).rejects.toMatchObject({ operation: "enqueue", field: "tx" });
	const migrated = createOutbox({ client, store: postgresStore(orm as never) }).migrate();
	await expect(migrated).rejects.toMatchObject({ operation: "postgresStore", field: "pool" });
});

test.each([
	["seconds", 1_774_774_800],
	["a Date of seconds", new Date(1_774_774_800)],
	["0", 0],
	["a negative number", -1],
	["a date in US form", "03/29/2026 09:00:00Z"],
	["the 30th of February", "2026-02-30T09:00:00Z"],
	["the 13th month", "2026-13-01T09:00:00Z"],
])("a time that was meant otherwise is refused: %s", async (_, notBefore) => {
	const { outbox, agency, anna } = createWorld();
	const text = { id: "1", agencyId: agency.id, to: anna.phoneNumber, body: "Hi" };
	const refused = { _tag: "PartnerInvalidInput", field: "notBefore" };
	await expect(outbox.enqueue({ ...text, notBefore })).rejects.toMatchObject(refused);
	expect(await outbox.status("1")).toBeUndefined();
	for (const good of ["2026-03-29T09:00Z", "2026-03-29 09:00:00.5+0200", 1_774_774_800_000])
		await outbox.enqueue({ ...text, id: `${good}`, notBefore: good });
});

test.each(["id", "consentLanguage"])("a field that no index takes is refused on every database: %s", async (field) => {
	const { outbox, agency, anna } = createWorld();
	const text = { id: "1", agencyId: agency.id, to: anna.phoneNumber, body: "Hi", [field]: "x".repeat(256) };
	await expect(outbox.enqueue(text)).rejects.toMatchObject({
		field,
		rule: "must have at most 255 characters",
	});
	expect(await outbox.enqueue({ ...text, [field]: "x".repeat(255) })).toMatchObject({ state: "waiting" });
});

test.each([300, 900, 1_500, 6_000, 65_000])("a request may take less than settleMs: %d", async (settleMs) => {
	const { restart, sandbox, enqueue } = createWorld();
	const limits: number[] = [];
	const client = createClient({ ...sandbox.connection, retry: false });
	const measuring = {
		...client,
		agency: (id: string) => {
			const agency = client.agency(id);
			const send: typeof agency.messages.send = (message, options) => {
				limits.push(Number(options?.deadline ?? Number.POSITIVE_INFINITY) - Date.now());
				return agency.messages.send(message, options);
			};
			return { ...agency, conversations: agency.conversations, messages: { ...agency.messages, send } };
		},
	};
	await enqueue("1");
	const outbox = restart({ client: measuring, settleMs });
	// A busy machine may need longer than the shortest of these times before it has begun, and tries again.
	for (; limits.length === 0; sandbox.clock.advance({ minutes: 10 })) await outbox.runOnce();
	expect(Math.max(...limits)).toBeLessThan(settleMs);
});
