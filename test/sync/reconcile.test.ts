import { createClient, PartnerInternalError } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { fingerprintOf, type Reconciled, reconcile, type StoredConversation } from "messaging-conversations/sync";
import { expect, test } from "vitest";
import { minutes, openModel } from "./service.ts";

const number = (i: number) => `+4477009${String(i).padStart(5, "0")}`;

/** A sandbox of some conversations, and a CRM that holds them as they are. */
async function open(count = 3) {
	const sandbox = createSandbox();
	for (let i = 0; i < count; i++) {
		sandbox
			.agency()
			.contact(number(i), { name: `Contact ${i}` })
			.writes(`Text ${i}`);
		sandbox.clock.advance({ minutes: 10 });
	}
	const agency = createClient({ ...sandbox.connection, retry: false }).agency(sandbox.agency().id);
	const stored = new Map<string, StoredConversation>();
	for await (const row of agency.conversations.list({ pageSize: 100 })) {
		stored.set(row.phoneNumber, { phoneNumber: row.phoneNumber, fingerprint: fingerprintOf(row) });
	}
	const before = sandbox.requests().length;
	const run = async (given: Iterable<StoredConversation> | AsyncIterable<StoredConversation> = stored.values()) => {
		const delivered: Reconciled[] = [];
		for await (const reconciled of reconcile(agency, { stored: given })) delivered.push(reconciled);
		return delivered;
	};
	const asked = () =>
		sandbox
			.requests()
			.slice(before)
			.map(({ operation }) => operation);
	return { sandbox, agency, stored, run, asked };
}

test("what is as it is stored is not delivered, and costs no more than the list", async () => {
	const { run, asked } = await open(250);
	expect(await run()).toEqual([]);
	expect(asked().filter((operation) => operation !== "conversations.list")).toEqual([]);
});

test("a name, the AI and the visibility become true, without messages", async () => {
	const { sandbox, run } = await open();
	sandbox.agency().contact(number(0), { name: "Renamed" });
	sandbox.agency().staff.setAi({ contact: number(1), on: false });
	sandbox.agency().conversation(number(2)).share();
	expect(await run()).toMatchObject([
		{ phoneNumber: number(0), conversation: { summary: { contactName: "Renamed" } }, messages: [] },
		{ phoneNumber: number(1), conversation: { aiSettings: { enabled: false } }, messages: [] },
		{ phoneNumber: number(2), conversation: { summary: { visibility: { isShared: true } } }, messages: [] },
	]);
});

test("a conversation with more messages than were stored comes with all of them, oldest first", async () => {
	const { sandbox, run } = await open();
	sandbox.agency().contact(number(1)).writes("One more");
	const [only, ...others] = await run();
	expect(others).toEqual([]);
	expect(only?.messages.map(({ body }) => body)).toEqual(["Text 1", "One more"]);
});

test("a conversation that is not stored comes with all its messages, also those of several pages", async () => {
	const { sandbox, stored, run } = await open();
	for (let i = 0; i < 150; i++) sandbox.agency().contact(number(7)).writes(`Text ${i}`);
	stored.delete(number(0));
	const delivered = await run();
	expect(delivered.map(({ phoneNumber, messages }) => [phoneNumber, messages.length])).toEqual([
		[number(0), 1],
		[number(7), 150],
	]);
	expect(delivered[1]?.messages[0]?.body).toBe("Text 0");
});

test("a conversation that is hidden or deleted is delivered with null, after two questions about it", async () => {
	const { sandbox, run, asked } = await open();
	sandbox.agency().conversation(number(1)).hide();
	expect(await run()).toEqual([{ phoneNumber: number(1), conversation: null, messages: [] }]);
	// Only its own 404 makes a conversation gone.
	expect(asked()).toEqual(["conversations.list", "conversations.lookup", "conversations.get"]);
});

test("thousands that are gone are looked up a hundred at a time, and each is read once", async () => {
	const { run, asked, stored } = await open(1);
	const gone = Array.from({ length: 2_500 }, (_, i) => ({ phoneNumber: number(100 + i), fingerprint: "1-x" }));
	const delivered = await run([...stored.values(), ...gone]);
	expect(delivered).toHaveLength(2_500);
	expect(asked().filter((operation) => operation === "conversations.lookup")).toHaveLength(25);
	expect(asked().filter((operation) => operation === "conversations.get")).toHaveLength(2_500);
});

test("a conversation that is hidden between the list and its read is gone", async () => {
	const opened = openModel();
	const { model, contact } = opened;
	model.write(contact(0));
	model.schedule({ at: model.now + 300, happen: () => void (contact(0).hiddenUntil = model.now + minutes(5)) });
	const stored = [{ phoneNumber: contact(0).phoneNumber, fingerprint: "0-x" }];
	const delivered: Reconciled[] = [];
	for await (const reconciled of reconcile(opened.agency, { stored })) delivered.push(reconciled);
	expect(delivered).toEqual([{ phoneNumber: contact(0).phoneNumber, conversation: null, messages: [] }]);
});

test("a conversation that is not in the list, but there, is not gone", async () => {
	const opened = openModel();
	const { model, contact } = opened;
	for (const index of [0, 1]) model.write(contact(index));
	contact(0).hiddenUntil = model.now + 250;
	const stored = [0, 1].map((index) => ({ phoneNumber: contact(index).phoneNumber, fingerprint: "0-x" }));
	const delivered: Reconciled[] = [];
	for await (const reconciled of reconcile(opened.agency, { stored })) delivered.push(reconciled);
	expect(delivered.map(({ conversation }) => conversation?.summary.totalMessages)).toEqual([1, 1]);
});

test("with the number of messages that are stored, late ones come that the fingerprint counts already", async () => {
	const { agency, stored, run } = await open();
	const rows = [...stored.values()].map((row) => ({ ...row, messages: row.phoneNumber === number(1) ? 0 : 1 }));
	const delivered = await run(rows);
	expect(delivered.map(({ phoneNumber, messages }) => [phoneNumber, messages.length])).toEqual([[number(1), 1]]);
	expect(agency.id).toMatch(/^agy_/);
});

test("a column without a fingerprint delivers the conversation, and stored rows may stream", async () => {
	const { stored, run } = await open();
	async function* rows() {
		for (const { phoneNumber, fingerprint } of stored.values()) {
			yield { phoneNumber, fingerprint: phoneNumber === number(2) ? null : fingerprint };
		}
	}
	expect(await run(rows())).toMatchObject([{ phoneNumber: number(2), messages: [{ body: "Text 2" }] }]);
});

test("a conversation that cannot be read does not block the others, and its error comes last", async () => {
	const { sandbox, agency } = await open();
	for (const i of [0, 1, 2]) sandbox.agency().contact(number(i), { name: "Renamed" });
	sandbox.faults.add({ operation: "conversations.get", skip: 1, times: 1, effect: { status: 500 } });
	const delivered: string[] = [];
	const run = async () => {
		for await (const { phoneNumber } of reconcile(agency, { stored: [], concurrency: 1 })) delivered.push(phoneNumber);
	};
	await expect(run()).rejects.toBeInstanceOf(PartnerInternalError);
	expect(delivered).toEqual([number(0), number(2)]);
});

test("any number of conversations in a row that cannot be read do not block the others", async () => {
	const { sandbox, agency } = await open(40);
	sandbox.faults.add({ operation: "conversations.get", times: 30, effect: { status: 500 } });
	const delivered: string[] = [];
	const run = async () => {
		for await (const { phoneNumber } of reconcile(agency, { stored: [], concurrency: 1 })) delivered.push(phoneNumber);
	};
	await expect(run()).rejects.toBeInstanceOf(PartnerInternalError);
	expect(delivered).toEqual(Array.from({ length: 10 }, (_, i) => number(30 + i)));
});

test("a service that goes down during the reads ends them, and is not asked for each conversation", async () => {
	const { sandbox, agency } = await open(40);
	const before = sandbox.requests().length;
	sandbox.faults.add({ skip: 1, times: Number.POSITIVE_INFINITY, effect: { status: 500 } });
	const iterator = reconcile(agency, { stored: [], concurrency: 1 })[Symbol.asyncIterator]();
	await expect(iterator.next()).rejects.toBeInstanceOf(PartnerInternalError);
	expect(sandbox.requests().length - before).toBeLessThan(15);
});

test("a 429 ends it, and nothing more is asked", async () => {
	const { sandbox, agency } = await open(40);
	const before = sandbox.requests().length;
	sandbox.faults.add({ operation: "conversations.get", times: Number.POSITIVE_INFINITY, effect: { status: 429 } });
	const stored = [{ phoneNumber: "+447700900999", fingerprint: null }];
	const iterator = reconcile(agency, { stored, concurrency: 1 })[Symbol.asyncIterator]();
	await expect(iterator.next()).rejects.toMatchObject({ status: 429 });
	const asked = sandbox.requests().slice(before);
	expect(asked.map(({ operation }) => operation)).toEqual(["conversations.list", "conversations.get"]);
});

test.each([0, 2, 5])("a conversation of 1 message comes with it when %d are stored", async (messages) => {
	const { stored, run } = await open(1);
	const delivered = await run([...stored.values()].map((row) => ({ ...row, messages })));
	expect(delivered).toMatchObject([{ phoneNumber: number(0), messages: [{ body: "Text 0" }] }]);
});

test("a list that fails delivers nothing as gone", async () => {
	const { sandbox, agency, stored } = await open(250);
	sandbox.faults.add({ operation: "conversations.list", skip: 1, times: 1, effect: { status: 500 } });
	const iterator = reconcile(agency, { stored: stored.values() })[Symbol.asyncIterator]();
	await expect(iterator.next()).rejects.toBeInstanceOf(PartnerInternalError);
});
