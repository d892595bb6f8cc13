import { runInNewContext } from "node:vm";
import { createClient, type ToE164Options } from "messaging-conversations";
import { nodeHttp } from "messaging-conversations/node";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { changes, reconcile, watch } from "messaging-conversations/sync";
import { expect, test } from "vitest";
import { memoryStore } from "./outbox/memory.ts";

// What is passed in place of the options must not be ignored: a signal that ends nothing, a transaction that is not used.

/** As Kysely's: all of its fields are private. */
class Transaction {
	readonly #executor = {};
	execute(): unknown {
		return this.#executor;
	}
}

const signal = AbortSignal.abort();
const foreignSignal = runInNewContext("signal", { signal });
const headers = new Headers({ "x-request-source": "crm" });

async function world() {
	const sandbox = createSandbox();
	const client = createClient({ ...sandbox.connection });
	const agency = client.agency(sandbox.agency().id);
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Is the flat still free?");
	const outbox = createOutbox({ client, store: memoryStore() });
	const text = { id: "note-1", agencyId: agency.id, to: anna.phoneNumber, body: "Yes!" };
	return { sandbox, client, agency, anna, outbox, text };
}
type World = Awaited<ReturnType<typeof world>>;

const none = (value: unknown): never => value as never;

const calls: [call: string, run: (world: World) => unknown, message: RegExp][] = [
	["me.get(signal)", ({ client }) => client.me.get(none(signal)), /^options: .*Pass it as { signal }$/],
	["get(phone, signal)", (w) => w.agency.conversations.get(w.anna.phoneNumber, none(signal)), /{ signal }$/],
	[
		"get(phone, signal of a realm)",
		(w) => w.agency.conversations.get(w.anna.phoneNumber, none(foreignSignal)),
		/^options: /,
	],
	["list(signal)", ({ agency }) => agency.conversations.list(none(signal)).page(), /^options: .*{ signal }$/],
	[
		"listMessages(phone, signal)",
		(w) => w.agency.conversations.listMessages(w.anna.phoneNumber, none(signal)).page(),
		/{ signal }$/,
	],
	[
		"lookup(numbers, signal)",
		({ agency }) => agency.conversations.lookup(["+447700900101"], none(signal)),
		/{ signal }$/,
	],
	[
		"send(message, signal)",
		(w) => w.agency.messages.send({ to: w.anna.phoneNumber, body: "Hi" }, none(signal)),
		/{ signal }$/,
	],
	[
		"send(map)",
		({ agency }) => agency.messages.send(none(new Map([["to", "+447700900101"]]))),
		/^message: must be an object of to, /,
	],
	[
		"send(number, text)",
		({ agency }) => agency.messages.send(none("+447700900101"), none("Hi")),
		/^message: must be an object of to, body/,
	],
	["request(signal)", ({ client }) => client.request(none(signal)), /^request: must be an object of method, path/],
	[
		"request with a query",
		({ client }) => client.request({ method: "GET", path: "/me", query: none(new URLSearchParams("a=b")) }),
		/^query: /,
	],
	["headers", ({ client }) => client.me.get({ headers: none(headers) }), /^headers: /],
	["withOptions(signal)", ({ client }) => client.withOptions(none(signal)), /^options: /],
	["nodeHttp(signal)", () => nodeHttp(none(signal)), /^options: must be an object/],
	["createClient(promise)", () => createClient(none(Promise.resolve({}))), /^options: must be an object of baseUrl/],
	[
		"changes(agency, promise)",
		({ agency }) => changes(agency, none(Promise.resolve({}))),
		/^options: must be an object of since/,
	],
	["watch(agency, signal)", ({ agency }) => watch(agency, none(signal)), /^options: .*{ signal }$/],
	["reconcile(agency, signal)", ({ agency }) => reconcile(agency, none(signal)), /^options: .*{ signal }$/],
	[
		"enqueue(text, tx)",
		({ outbox, text }) => outbox.enqueue(text, none(new Transaction())),
		/^options: .*Pass it as { tx }$/,
	],
	[
		"enqueue(text, a function)",
		({ outbox, text }) =>
			outbox.enqueue(
				text,
				none(() => {}),
			),
		/^options: .*{ tx }$/,
	],
	[
		"enqueue(text, a database)",
		({ outbox, text }) => outbox.enqueue(text, none(Object.assign(new Transaction(), { processId: 4711 }))),
		/^options: takes tx, allowUnlistedNumber\. /,
	],
	["enqueue(text, null)", ({ outbox, text }) => outbox.enqueue(text, none(null)), /^options: must be an object of tx/],
	["acknowledge(changes, tx)", ({ outbox }) => outbox.acknowledge([], none(new Transaction())), /^options: .*{ tx }$/],
	["work(signal)", ({ outbox }) => outbox.work(none(signal)), /^options: .*{ signal }$/],
	["runOnce(signal)", ({ outbox }) => outbox.runOnce(none(signal)), /^options: .*{ signal }$/],
	["createOutbox(promise)", () => createOutbox(none(Promise.resolve({}))), /^options: must be an object of /],
	["createSandbox(date)", () => createSandbox(none(new Date())), /must be an object of /],
	["clock.advance(date)", ({ sandbox }) => sandbox.clock.advance(none(new Date())), /must be an object of /],
];

test.each(calls)("%s is refused, and the error says what to pass", async (_, run, message) => {
	const w = await world();
	const before = w.sandbox.requests().length;
	await expect((async () => run(w))()).rejects.toThrow(message);
	expect(w.sandbox.requests()).toHaveLength(before);
	expect(await w.outbox.status("note-1")).toBeUndefined();
});

/** As class-transformer makes it of a request's body. */
class SendDto {
	constructor(
		readonly to: string,
		readonly body: string,
	) {}
}

const objects: [kind: string, make: (to: string, body: string) => { to: string; body: string }][] = [
	["without a prototype", (to, body) => Object.assign(Object.create(null), { to, body })],
	["of another realm", (to, body) => runInNewContext("({ to, body })", { to, body })],
	["of a class with these fields", (to, body) => new SendDto(to, body)],
];

test.each(objects)("an object %s is taken", async (_, make) => {
	const { agency, anna } = await world();
	await agency.messages.send(make(anna.phoneNumber, "Yes!"), Object.assign(Object.create(null), { retry: false }));
	expect(anna.inbox().map(({ body }) => body)).toEqual(["Yes!"]);
	const empty: ToE164Options = runInNewContext("({})");
	await agency.conversations.get(anna.phoneNumber, empty as object);
});
