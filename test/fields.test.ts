// An error about input names a parameter of the function that was called, or a field of one, and the function.
import * as main from "messaging-conversations";
import * as node from "messaging-conversations/node";
import * as outboxEntry from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import * as sync from "messaging-conversations/sync";
import { expect, test } from "vitest";
import { memoryStore } from "./outbox/memory.ts";

async function createWorld() {
	const sandbox = createSandbox();
	const client = main.createClient({ ...sandbox.connection });
	const agency = client.agency(sandbox.agency().id);
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Is the flat still free?");
	const outbox = outboxEntry.createOutbox({ client, store: memoryStore() });
	const to: string = anna.phoneNumber;
	const text = { id: "note-1", agencyId: agency.id, to, body: "Yes!" };
	const sent = { to, body: "Yes!", since: new Date() };
	const feed = () => sync.changes(agency, { since: "beginning" });
	return { client, agency, outbox, to, text, sent, feed };
}
type World = Awaited<ReturnType<typeof createWorld>>;

const bad = (value: unknown): never => value as never;
const boss = { send: async () => "", work: async () => "", offWork: async () => {}, createQueue: async () => {} };
const pool = { query: async () => ({ rows: [] }) };

async function first(items: AsyncIterable<unknown>): Promise<void> {
	for await (const _ of items) return;
}

type Case = [field: string, call: (world: World) => unknown];

/** Each function of an entry that has parameters. Those with several kinds of bad input have the parameters that another one reads. */
const calls: Record<string, Case[]> = {
	cachedKey: [["read", () => main.cachedKey(bad(5))]],
	createClient: [["options", () => main.createClient(bad(5))]],
	isWindowOpen: [
		["conversation", () => main.isWindowOpen(bad({}))],
		["at", () => main.isWindowOpen({ windowExpiresAt: null }, "soon")],
	],
	operationIdFrom: [
		["parts", () => main.operationIdFrom()],
		["parts[1]", () => main.operationIdFrom("crm", bad(5))],
	],
	toE164: [
		["phoneNumber", () => main.toE164("call me")],
		["options", () => main.toE164("0470123456", bad(5))],
		["defaultCountry", () => main.toE164("0470123456", { defaultCountry: bad("XX") })],
	],
	agency: [["agencyId", ({ client }) => client.agency(bad(5))]],
	withOptions: [["options", ({ client }) => client.withOptions(bad(5))]],
	request: [
		["request", ({ client }) => client.request(bad(5))],
		["method", ({ client }) => client.request(bad({}))],
	],
	"me.get": [["options", ({ client }) => client.me.get(bad(5))]],
	"conversations.list": [["options", ({ agency }) => agency.conversations.list(bad(5)).page()]],
	"conversations.get": [
		["phone", ({ agency }) => agency.conversations.get("call me")],
		["options", ({ agency, to }) => agency.conversations.get(to, bad(5))],
	],
	"conversations.listMessages": [
		["phone", ({ agency }) => agency.conversations.listMessages("call me").page()],
		["options", ({ agency, to }) => agency.conversations.listMessages(to, bad(5)).page()],
	],
	"conversations.lookup": [["phoneNumbers", ({ agency }) => agency.conversations.lookup(bad(5))]],
	"messages.send": [
		["message", ({ agency }) => agency.messages.send(bad(5))],
		["to", ({ agency }) => agency.messages.send({ to: "call me", body: "Hi" })],
		["body", ({ agency, to }) => agency.messages.send({ to, body: "" })],
		["options", ({ agency, to }) => agency.messages.send({ to, body: "Hi" }, bad(5))],
	],
	nodeHttp: [
		["options", () => node.nodeHttp(bad(5))],
		["keepAliveMs", () => node.nodeHttp({ keepAliveMs: -1 })],
	],
	changes: [
		["agency", () => sync.changes(bad({}), { since: "beginning" })],
		["options", ({ agency }) => sync.changes(agency, bad(5))],
		["since", ({ agency }) => sync.changes(agency, { since: "yesterday" })],
	],
	erase: [["phoneNumber", ({ feed }) => feed().erase("call me")]],
	batches: [["size", ({ feed }) => first(feed().batches(0))]],
	watch: [
		["agency", () => sync.watch(bad({}), { since: "beginning" })],
		["options", ({ agency }) => sync.watch(agency, bad(5))],
	],
	watchAgencies: [
		["client", () => sync.watchAgencies(bad({}), bad({}))],
		["options", ({ client }) => sync.watchAgencies(client, bad(5))],
	],
	reconcile: [
		["agency", () => first(sync.reconcile(bad({}), { stored: [] }))],
		["options", ({ agency }) => first(sync.reconcile(agency, bad(5)))],
		["stored[0].phoneNumber", ({ agency }) => first(sync.reconcile(agency, { stored: [bad({})] }))],
	],
	fingerprintOf: [["conversation", () => sync.fingerprintOf(bad({}))]],
	checkDelivery: [
		["agency", ({ sent }) => outboxEntry.checkDelivery(bad({}), sent)],
		["text", ({ agency }) => outboxEntry.checkDelivery(agency, bad(5))],
		["to", ({ agency, sent }) => outboxEntry.checkDelivery(agency, { ...sent, to: "call me" })],
		["to", ({ agency, sent }) => outboxEntry.checkDelivery(agency, { ...sent, to: bad(undefined) })],
		["body", ({ agency, sent }) => outboxEntry.checkDelivery(agency, { ...sent, body: bad(5) })],
		["since", ({ agency, sent }) => outboxEntry.checkDelivery(agency, { ...sent, since: "yesterday" })],
		["options", ({ agency, sent }) => outboxEntry.checkDelivery(agency, sent, bad(null))],
		["options", ({ agency, sent }) => outboxEntry.checkDelivery(agency, sent, bad({ retries: 3 }))],
		["claimed", ({ agency, sent }) => outboxEntry.checkDelivery(agency, sent, { claimed: bad(5) })],
		["settleMs", ({ agency, sent }) => outboxEntry.checkDelivery(agency, sent, { settleMs: -1 })],
		["now", ({ agency, sent }) => outboxEntry.checkDelivery(agency, sent, { now: bad(5) })],
		["signal", ({ agency, sent }) => outboxEntry.checkDelivery(agency, sent, { signal: bad(5) })],
		["deadline", ({ agency, sent }) => outboxEntry.checkDelivery(agency, sent, { deadline: bad("soon") })],
	],
	createOutbox: [
		["options", () => outboxEntry.createOutbox(bad(5))],
		["client", () => outboxEntry.createOutbox(bad({}))],
	],
	isOptIn: [["text", () => outboxEntry.isOptIn(bad(5))]],
	isOptOut: [["text", () => outboxEntry.isOptOut(bad(5))]],
	isRefusal: [["text", () => outboxEntry.isRefusal(bad(5))]],
	isWrongNumber: [["text", () => outboxEntry.isWrongNumber(bad(5))]],
	mysqlStore: [["pool", () => outboxEntry.mysqlStore(bad({}))]],
	postgresStore: [
		["pool", () => outboxEntry.postgresStore(bad({}))],
		["options", () => outboxEntry.postgresStore(pool, bad(5))],
		["prefix", () => outboxEntry.postgresStore(pool, { prefix: "a b" })],
	],
	sqliteStore: [["db", () => outboxEntry.sqliteStore(bad({}))]],
	bullmqEngine: [
		["options", () => outboxEntry.bullmqEngine(bad(5))],
		["queue", () => outboxEntry.bullmqEngine(bad({}))],
	],
	pgBossEngine: [
		["boss", () => outboxEntry.pgBossEngine(bad({}))],
		["options", () => outboxEntry.pgBossEngine(bad(boss), bad(5))],
	],
	migrate: [],
	enqueue: [
		["text", ({ outbox }) => outbox.enqueue(bad(5))],
		["to", ({ outbox, text }) => outbox.enqueue({ ...text, to: "call me" })],
		["supersedes.id", ({ outbox, text }) => outbox.enqueue({ ...text, supersedes: bad({}) })],
		["options", ({ outbox, text }) => outbox.enqueue(text, bad(5))],
	],
	enqueueMany: [
		["texts", ({ outbox }) => outbox.enqueueMany(bad(5))],
		["texts[0].to", ({ outbox, text }) => outbox.enqueueMany([{ ...text, to: "call me" }])],
		["options", ({ outbox, text }) => outbox.enqueueMany([text], bad(5))],
	],
	work: [["options", ({ outbox }) => outbox.work(bad(5))]],
	runOnce: [["options", ({ outbox }) => outbox.runOnce(bad(5))]],
	status: [["id", ({ outbox }) => outbox.status(bad(5))]],
	explain: [["id", ({ outbox }) => outbox.explain(bad(5))]],
	list: [["to", ({ outbox }) => outbox.list({ to: "call me" })]],
	report: [["since", ({ outbox }) => outbox.report({ since: "yesterday", until: new Date() })]],
	health: [],
	suspend: [["reason", ({ outbox }) => outbox.suspend(bad({}))]],
	resume: [["by", ({ outbox }) => outbox.resume({ by: bad(5) })]],
	resolve: [
		["id", ({ outbox }) => outbox.resolve(bad(5), "sent")],
		["outcome", ({ outbox }) => outbox.resolve("note-1", bad("perhaps"))],
		["options", ({ outbox }) => outbox.resolve("note-1", "sent", bad(5))],
	],
	cancel: [
		["id", ({ outbox }) => outbox.cancel(bad(5))],
		["options", ({ outbox }) => outbox.cancel("note-1", bad(5))],
	],
	cancelAll: [["to", ({ outbox }) => outbox.cancelAll({ to: "call me" })]],
	"outbox.erase": [["to", ({ outbox, agency }) => outbox.erase({ to: "call me", agencyId: agency.id })]],
	optOut: [["to", ({ outbox }) => outbox.optOut({ to: "call me" })]],
	optIn: [["to", ({ outbox }) => outbox.optIn({ to: "call me" })]],
	optedOut: [["to", ({ outbox, agency }) => outbox.optedOut({ to: "call me", agencyId: agency.id })]],
	exportContacts: [["options", ({ outbox }) => first(outbox.exportContacts(bad(5)))]],
	importContacts: [
		["records", ({ outbox }) => outbox.importContacts(bad(5))],
		["records[0].kind", ({ outbox }) => outbox.importContacts([bad({ version: 1 })])],
		["options", ({ outbox }) => outbox.importContacts([], bad(5))],
	],
	settled: [["limit", ({ outbox }) => outbox.settled({ limit: -1 })]],
	follow: [["onSettled", ({ outbox }) => outbox.follow(bad(5))]],
	acknowledge: [["changes[0]", ({ outbox }) => outbox.acknowledge([bad({})])]],
	leases: [["options", ({ outbox }) => outbox.leases(bad(5))]],
	observe: [
		["change", ({ outbox }) => outbox.observe(bad(5))],
		["agencyId", ({ outbox }) => outbox.observe({ agencyId: bad(5) })],
		["conversation", ({ outbox }) => outbox.observe({ conversation: bad(5) })],
		["conversation.phoneNumber", ({ outbox }) => outbox.observe({ conversation: bad({ phoneNumber: 5 }) })],
		[
			"conversation.summary.phoneNumber",
			({ outbox }) => outbox.observe({ conversation: bad({ summary: { phoneNumber: 5 } }) }),
		],
		["messages[0]", ({ outbox }) => outbox.observe({ messages: [bad(5)] })],
	],
	purge: [["before", ({ outbox }) => outbox.purge(bad({ before: "yesterday" }))]],
	restored: [["backupAt", ({ outbox }) => outbox.restored(bad({ backupAt: "yesterday" }))]],
};

const each = Object.entries(calls).flatMap(([name, cases]) =>
	cases.map(([field, call]) => ({ name, operation: name.replace("outbox.", ""), field, call })),
);

test.each(each)("$name names its own parameter: $field", async ({ operation, field, call }) => {
	const world = await createWorld();
	const error = await (async () => call(world))().catch((thrown: unknown) => thrown);
	expect(error).toMatchObject({
		_tag: expect.stringMatching(/^Partner(InvalidInput|ConfigurationError)$/),
		operation,
		field,
	});
});

test("every function is among them", async () => {
	const { client, agency, outbox, feed } = await createWorld();
	const named = (prefix: string, value: object): string[] =>
		Object.entries(value).flatMap(([name, each]) => (typeof each === "function" ? [`${prefix}${name}`] : []));
	// They answer whatever they get.
	const total = ["isPartnerError", "isE164"];
	const isError = (name: string): boolean => name.startsWith("Partner");
	const all = [
		...[main, node, outboxEntry, sync, client, outbox, feed()].flatMap((entry) => named("", entry)),
		...named("me.", client.me),
		...named("conversations.", agency.conversations),
		...named("messages.", agency.messages),
	].filter((name) => !isError(name) && !total.includes(name));
	expect(new Set([...all, "outbox.erase"])).toEqual(new Set(Object.keys(calls)));
});
