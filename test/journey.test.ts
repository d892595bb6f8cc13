import { type Client, type ClientOptions, createClient, isWindowOpen, toE164 } from "messaging-conversations";
import { createSandbox, type Sandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { expect, onTestFinished, test } from "vitest";
import { failure, quick } from "./calls.ts";

// The same story through two entry points: in process, and over HTTP.

type EntryPoint = (sandbox: Sandbox, options?: Partial<ClientOptions>) => Promise<Client>;

const entryPoints: [string, EntryPoint][] = [
	["in process", async (sandbox, options) => createClient({ ...sandbox.connection, retry: quick, ...options })],
	[
		"over HTTP",
		async (sandbox, options) => {
			const server = await serve(sandbox);
			onTestFinished(() => server.close());
			return createClient({ baseUrl: server.baseUrl, apiKey: server.apiKey, retry: quick, ...options });
		},
	],
];

const anna = "+447700900101";
const bert = "+447700900102";

test.for(entryPoints)("%s: a CRM reads who it is, lists, looks up and reads", async ([, open]) => {
	const sandbox = createSandbox({ now: "2026-01-05T09:00:00Z" });
	const client = await open(sandbox);
	sandbox.agency().contact(anna, { name: "Anna" }).writes("Is the flat still free?");
	sandbox.clock.advance({ minutes: 1 });
	sandbox.agency().contact(bert, { name: "Bert" }).writes("Good morning");

	const { agencies, scopes, integration } = await client.me.get();
	expect(integration.name).toBeTypeOf("string");
	expect(scopes).toEqual(["conversations:read", "messages:write"]);
	expect(agencies.map(({ id }) => id)).toEqual([sandbox.agency().id]);

	const agency = client.agency(sandbox.agency().id);
	const names: (string | null)[] = [];
	for await (const { contactName } of agency.conversations.list({ pageSize: 1 })) names.push(contactName);
	expect(names).toEqual(["Bert", "Anna"]);
	const found = await agency.conversations.list({ search: "anna" }).toArray();
	expect(found.map(({ phoneNumber }) => phoneNumber)).toEqual([anna]);

	const entries = await agency.conversations.lookup(["0044 7700 900101", "n/a", "+447700900999"]);
	expect(entries.map(({ phoneNumber, conversation }) => [phoneNumber, conversation?.contactName ?? null])).toEqual([
		[anna, "Anna"],
		[null, null],
		["+447700900999", null],
	]);

	const { conversation, messagePage } = await agency.conversations.get("+44 7700 900 101");
	expect(isWindowOpen(conversation, sandbox.clock.now())).toBe(true);
	expect(conversation.aiSettings.enabled).toBe(true);
	expect(messagePage.messages.map(({ body }) => body)).toEqual(["Is the flat still free?"]);
	const messages = await agency.conversations.listMessages(anna).toArray();
	expect(messages).toEqual(messagePage.messages);
	await expect(failure(() => agency.conversations.get("+447700900999"))).resolves.toMatchObject({
		_tag: "PartnerNotFound",
	});
	expect(sandbox.violations()).toEqual([]);
});

test.for(entryPoints)("%s: a text in the open window goes out now, and turns the AI off", async ([, open]) => {
	const sandbox = createSandbox();
	const client = await open(sandbox);
	const contact = sandbox.agency().contact(anna, { name: "Anna" });
	contact.writes("Is the flat still free?");
	const agency = client.agency(sandbox.agency().id);

	const sent = await agency.messages.send({ to: anna, body: "Yes!" });
	expect(sent).toMatchObject({ success: true, queued: false, queueId: null, windowOpen: true });
	expect(contact.inbox().map(({ kind, body, operationId }) => [kind, body, operationId])).toEqual([
		["text", "Yes!", sent.operationId],
	]);
	const { conversation } = await agency.conversations.get(anna);
	expect(conversation.aiSettings).toMatchObject({ enabled: false, disabledReason: "manual_send" });
	expect(conversation.summary).toMatchObject({ lastMessageDirection: "outbound", lastMessagePreview: "Yes!" });

	const again = await agency.messages.send({ to: anna, body: "Yes!", operationId: sent.operationId });
	expect(again).toMatchObject({ messageId: sent.messageId, status: null });
	expect(contact.inbox()).toHaveLength(1);
	expect(sandbox.violations()).toEqual([]);
});

test.for(entryPoints)(
	"%s: a text in the closed window is queued, and goes out once the contact accepts",
	async ([, open]) => {
		const sandbox = createSandbox({ now: "2026-01-05T09:00:00Z" });
		const client = await open(sandbox);
		const contact = sandbox.agency().contact(anna, { name: "Anna" });
		contact.writes("Is the flat still free?");
		sandbox.clock.advance({ hours: 25 });
		const agency = client.agency(sandbox.agency().id);
		const before = await agency.conversations.get(anna);
		expect(isWindowOpen(before.conversation, sandbox.clock.now())).toBe(false);

		const sent = await agency.messages.send({ to: anna, body: "Yes!" });
		expect(sent).toMatchObject({ queued: true, messageId: null, status: null, windowOpen: false });
		expect(contact.inbox().map(({ kind }) => kind)).toEqual(["template"]);
		const held = await agency.conversations.get(anna);
		expect(held.conversation.queuedMessages.map(({ id, body }) => [id, body])).toEqual([[sent.queueId, "Yes!"]]);

		expect(contact.accepts()).toEqual({ hadHeldText: true });
		expect(contact.inbox().map(({ kind, body }) => (kind === "text" ? body : kind))).toEqual(["template", "Yes!"]);
		const after = await agency.conversations.get(anna);
		expect(after.conversation.queuedMessages).toEqual([]);
		expect(isWindowOpen(after.conversation, sandbox.clock.now())).toBe(true);
		expect(sandbox.violations()).toEqual([]);
	},
);

test.for(entryPoints)("%s: a text to a contact who has never written needs no conversation", async ([, open]) => {
	const sandbox = createSandbox();
	const client = await open(sandbox);
	const agency = client.agency(sandbox.agency().id);
	const sent = await agency.messages.send({ to: bert, body: "Welcome" });
	expect(sent).toMatchObject({ queued: true, windowExpiresAt: null });
	await expect(agency.conversations.get(bert)).resolves.toMatchObject({
		conversation: { summary: { phoneNumber: bert, queuedMessages: 1 } },
	});
});

test.for(entryPoints)("%s: a send is retried after a 500, and reaches the contact once", async ([, open]) => {
	const sandbox = createSandbox();
	const client = await open(sandbox);
	const contact = sandbox.agency().contact(anna);
	contact.writes("Hello");
	const fault = sandbox.faults.add({
		operation: "messages.send",
		times: 2,
		phase: "before",
		effect: { status: 500 },
	});
	const { data, response } = await client
		.agency(sandbox.agency().id)
		.messages.send({ to: anna, body: "Yes!" })
		.withResponse();
	expect(response.attempts).toBe(3);
	expect(data).toMatchObject({ queued: false });
	expect(fault.hits).toBe(2);
	expect(contact.inbox()).toHaveLength(1);
});

test.for(entryPoints)("%s: a send is retried after a lost answer, and reaches the contact once", async ([, open]) => {
	const sandbox = createSandbox();
	const client = await open(sandbox);
	const contact = sandbox.agency().contact(anna);
	contact.writes("Hello");
	sandbox.faults.add({ operation: "messages.send", times: 1, phase: "after", effect: "reset" });
	const { data, response } = await client
		.agency(sandbox.agency().id)
		.messages.send({ to: anna, body: "Yes!" })
		.withResponse();
	expect(response.attempts).toBe(2);
	expect(data).toMatchObject({ queued: false, status: null, messageId: expect.any(String) });
	expect(contact.inbox().map(({ body }) => body)).toEqual(["Yes!"]);
	expect(sandbox.requests()).toHaveLength(2);
});

test.for(entryPoints)("%s: a send that stays unknown is settled by the error's operationId", async ([, open]) => {
	const sandbox = createSandbox();
	const client = await open(sandbox);
	const contact = sandbox.agency().contact(anna);
	contact.writes("Hello");
	const { messages } = client.agency(sandbox.agency().id);
	sandbox.faults.add({ operation: "messages.send", times: 1, phase: "after", effect: "reset" });
	const error = await failure(() => messages.send({ to: anna, body: "Yes!" }, { retry: false }));
	expect(error).toMatchObject({ _tag: "PartnerConnectionError", outcome: "unknown" });
	await messages.send({ to: anna, body: "Yes!", operationId: error.operationId });
	expect(contact.inbox().map(({ body }) => body)).toEqual(["Yes!"]);
});

test.for(entryPoints)("%s: a queued send whose answer is lost is queued once", async ([, open]) => {
	const sandbox = createSandbox();
	const client = await open(sandbox);
	const contact = sandbox.agency().contact(anna);
	sandbox.faults.add({ operation: "messages.send", times: 1, phase: "after", effect: "reset" });
	const sent = await client.agency(sandbox.agency().id).messages.send({ to: anna, body: "Yes!" });
	expect(sent.queued).toBe(true);
	contact.accepts();
	expect(contact.inbox().map(({ kind, body }) => (kind === "text" ? body : kind))).toEqual(["template", "Yes!"]);
});

test.for(entryPoints)("%s: a takeover is a conflict, and the same send succeeds after a read", async ([, open]) => {
	const sandbox = createSandbox();
	const client = await open(sandbox);
	const contact = sandbox.agency().contact(anna);
	contact.writes("Hello");
	sandbox.agency().conversation(contact).takeOver({ times: 1 });
	const agency = client.agency(sandbox.agency().id);
	const error = await failure(() => agency.messages.send({ to: anna, body: "Yes!" }));
	expect(error).toMatchObject({ _tag: "PartnerConflict", outcome: "not_sent", attempts: 1, retryable: false });
	await agency.conversations.get(anna);
	await agency.messages.send({ to: anna, body: "Yes!", operationId: error.operationId });
	expect(contact.inbox()).toHaveLength(1);
});

test.for(entryPoints)("%s: a busy agency is read in pages, each row once", async ([, open]) => {
	const sandbox = createSandbox({ scenario: "busy" });
	const client = await open(sandbox);
	const { conversations } = client.agency(sandbox.agency().id);
	const rows = await conversations.list({ pageSize: 100 }).toArray();
	expect(rows).toHaveLength(250);
	expect(new Set(rows.map(({ phoneNumber }) => phoneNumber)).size).toBe(250);
	const listed: string[] = [];
	for await (const { phoneNumber } of conversations.list({ pageSize: 100 })) listed.push(phoneNumber);
	expect(listed).toEqual(rows.map(({ phoneNumber }) => phoneNumber));
	const entries = await conversations.lookup(listed);
	expect(entries.every(({ input, conversation }) => conversation?.phoneNumber === input)).toBe(true);
	const longest = rows.reduce((most, row) => (row.totalMessages > most.totalMessages ? row : most));
	const messages = await conversations.listMessages(longest.phoneNumber).toArray();
	expect(messages).toHaveLength(longest.totalMessages);
	expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
	expect(sandbox.violations()).toEqual([]);
});

test.for(entryPoints)("%s: a revoked key, a missing scope and a foreign agency are distinguished", async ([, open]) => {
	const sandbox = createSandbox({ scenario: "readOnlyKey" });
	const reader = await open(sandbox);
	const agency = reader.agency(sandbox.agency().id);
	await expect(failure(() => agency.messages.send({ to: anna, body: "Hi" }))).resolves.toMatchObject({
		_tag: "PartnerForbidden",
		outcome: "not_sent",
	});
	await expect(agency.conversations.list().toArray()).resolves.toBeInstanceOf(Array);
	await expect(failure(() => reader.agency("agy_dead").conversations.list().page())).resolves.toMatchObject({
		_tag: "PartnerForbidden",
	});
	const { id, apiKey } = sandbox.keys.create({ scopes: ["conversations:read"] });
	const other = await open(sandbox, { apiKey });
	await other.me.get();
	sandbox.keys.revoke(id);
	await expect(failure(() => other.me.get())).resolves.toMatchObject({ _tag: "PartnerUnauthorized", attempts: 1 });
});

test.for(entryPoints)("%s: what the service may vary changes nothing for the caller", async ([, open]) => {
	for (const variation of [1, 2, 3, "four"]) {
		const sandbox = createSandbox({ scenario: "oddData", variation });
		const client = await open(sandbox);
		const { conversations } = client.agency(sandbox.agency().id);
		const rows = await conversations.list({ pageSize: 2 }).toArray();
		expect(rows.length).toBeGreaterThan(0);
		for (const { phoneNumber } of rows) {
			const { messagePage } = await conversations.get(toE164(phoneNumber));
			const messages = await conversations.listMessages(phoneNumber, { pageSize: 3 }).toArray();
			expect(messages.map(({ id }) => id)).toEqual(expect.arrayContaining(messagePage.messages.map(({ id }) => id)));
		}
	}
});
