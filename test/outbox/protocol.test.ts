/*
 * Clients of other copies of the package. A copy of another protocol is refused at once; and if a client refuses what the outbox
 * itself asks for, no text is the reason.
 */
import {
	type AgencyClient,
	type Client,
	createClient,
	PartnerConfigurationError,
	PartnerInvalidInput,
} from "messaging-conversations";
import { checkDelivery, createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { describe, expect, test } from "vitest";
import { another, errorOf, numberless, ofNumber, protocolKey } from "../protocol.ts";
import { memoryStore } from "./memory.ts";
import { createWorld } from "./world.ts";

const sandbox = createSandbox();
const client = createClient({ ...sandbox.connection });
const agency = client.agency(sandbox.agency().id);

/** What a copy of the package without numbers would make. */
const without = <Of extends object>(of: Of): Of => {
	const copy = { ...of };
	Reflect.deleteProperty(copy, protocolKey);
	return copy;
};

const noClient = "must be a client: createClient(options)";

test.each([
	["of a later number", ofNumber(client, 2), another(2)],
	["of an earlier number", ofNumber(client, 0), another(0)],
	["of a much later number", ofNumber(client, 17), another(17)],
	["of a number that is text", ofNumber(client, "1"), numberless],
	["of a number that is no whole one", ofNumber(client, 1.5), numberless],
	["of no number", without(client), numberless],
	["rebuilt from the methods", { agency: client.agency, me: client.me }, numberless],
	["an object of somebody else", { agency: () => ({}) }, numberless],
])("#49 createOutbox refuses a client that is %s, and says what to do", async (_name, wrong, rule) => {
	const error = await errorOf(() => createOutbox({ client: wrong as Client, store: memoryStore() }));
	expect(error).toBeInstanceOf(PartnerConfigurationError);
	expect(error).toMatchObject({ field: "client", operation: "createOutbox", rule, message: `client: ${rule}` });
});

test.each([
	["an agency", agency],
	["undefined", undefined],
	["null", null],
	["an empty object", {}],
	["a text", "client"],
	["the function that makes one", createClient],
])("#49 createOutbox refuses what is no client at all: %s", async (_name, wrong) => {
	const error = await errorOf(() => createOutbox({ client: wrong as Client, store: memoryStore() }));
	expect(error).toBeInstanceOf(PartnerInvalidInput);
	expect(error).toMatchObject({ field: "client", operation: "createOutbox", rule: noClient });
});

test.each([
	["of a later number", ofNumber(agency, 2), "PartnerConfigurationError", another(2)],
	["of an earlier number", ofNumber(agency, 0), "PartnerConfigurationError", another(0)],
	["of no number", without(agency), "PartnerConfigurationError", numberless],
	["of somebody else", { conversations: {} }, "PartnerConfigurationError", numberless],
	["a client", client, "PartnerInvalidInput", "must be client.agency(id)"],
	["undefined", undefined, "PartnerInvalidInput", "must be client.agency(id)"],
])("#49 checkDelivery refuses an agency that is %s, before any request", async (_name, wrong, _tag, rule) => {
	const before = sandbox.requests().length;
	const text = { to: "+447700900101", body: "Hi", since: sandbox.clock.now() };
	const error = await errorOf(() => checkDelivery(wrong as AgencyClient, text));
	expect(error).toMatchObject({ _tag, field: "agency", operation: "checkDelivery", rule });
	expect(sandbox.requests()).toHaveLength(before);
});

const wraps: [name: string, wrap: (client: Client) => Client][] = [
	["by a Proxy", (inner) => new Proxy(inner, {})],
	["by a Proxy of a Proxy", (inner) => new Proxy(new Proxy(inner, {}), {})],
	["by a Proxy that wraps every method", (inner) => wrapAll(inner)],
	["by withOptions", (inner) => inner.withOptions({ deadline: 9_000 })],
	["by a spread with an agency of its own", (inner) => ({ ...inner, agency: (id) => ({ ...inner.agency(id) }) })],
	["by an object whose prototype it is", (inner) => Object.create(inner)],
	["by a frozen copy", (inner) => Object.freeze({ ...inner })],
];

function wrapAll<Of extends object>(of: Of): Of {
	return new Proxy(of, {
		get(target, name) {
			const part: unknown = Reflect.get(target, name);
			if (typeof part !== "function") return typeof part === "object" && part !== null ? wrapAll(part) : part;
			return (...args: unknown[]) => {
				const made: unknown = Reflect.apply(part, target, args);
				// A call has private fields.
				return name === "agency" ? wrapAll(Object(made)) : made;
			};
		},
	});
}

test.each(wraps)("a client that is wrapped %s sends", async (_name, wrap) => {
	const { sandbox, agency, anna, restart, enqueue, texts } = createWorld();
	const wrapped = wrap(createClient({ ...sandbox.connection }));
	await enqueue("Yes!");
	await restart({ client: wrapped }).runOnce();
	expect(texts()).toEqual(["Yes!"]);
	const text = { to: anna.phoneNumber, body: "Yes!", since: sandbox.clock.now() };
	expect(await checkDelivery(wrapped.agency(agency.id), text)).toMatchObject({ status: "sent" });
});

test("JSON of a client shows no number, and a copy keeps it", () => {
	for (const of of [client, agency]) {
		expect(JSON.stringify(of)).not.toMatch(/protocol/);
		expect(Reflect.get({ ...of }, protocolKey)).toBe(1);
	}
});

type Refuse = "messages.send" | "conversations.get" | "conversations.lookup" | "me.get";

/** A client that refuses what the outbox asks for, as one does that is older and knows fewer options. */
function refusing(inner: Client, operation: Refuse, given: object, messageToo: object = {}): Client {
	const more = (of: Refuse, options: object | undefined) => ({ ...options, ...(of === operation && given) });
	return {
		...inner,
		me: { get: (options) => inner.me.get(more("me.get", options)) },
		agency(id) {
			const { conversations, messages } = inner.agency(id);
			return {
				...inner.agency(id),
				conversations: {
					...conversations,
					lookup: (numbers, options) => conversations.lookup(numbers, more("conversations.lookup", options)),
					get: (phone, options) => conversations.get(phone, more("conversations.get", options)),
				},
				messages: {
					send: (text, options) => messages.send({ ...text, ...messageToo }, more("messages.send", options)),
				},
			};
		},
	};
}

const unknown = { notKnownYet: true };

describe.each(["work", "runOnce"] as const)("a refusal of an option of the outbox ends %s", (method) => {
	test.each<[name: string, operation: Refuse, given: object, message: object, named: RegExp]>([
		["an option of a send that the client does not know", "messages.send", unknown, {}, /notKnownYet/],
		["an option of a send whose value it does not take", "messages.send", { deadline: 0 }, {}, /deadline/],
		["a moment that it does not take", "messages.send", { beginBy: "soon" }, {}, /beginBy/],
		["a part of a message that it does not know", "messages.send", {}, unknown, /notKnownYet/],
		["an option of a read that it does not know", "conversations.get", unknown, {}, /notKnownYet/],
	])("#50 with the true sentence, and no text ends: %s", async (_name, operation, given, message, named) => {
		const { sandbox, client, restart, enqueue, outbox, state, texts, sends, settled, pauses } = createWorld();
		await enqueue("Yes!");
		await enqueue("And the second one");
		const broken = restart({ client: refusing(client, operation, given, message) });
		const error = await broken[method]().catch((thrown: unknown) => thrown);
		expect(error).toBeInstanceOf(PartnerConfigurationError);
		expect(error).toMatchObject({ field: "client", operation, outcome: "not_sent", retryable: false });
		const sentence =
			/^client: refuses what the outbox itself asks of .* \(.+\)\. No text is the cause: the client is of another version of .* "npm ls messaging-conversations" shows/;
		expect(String(Object(error).message)).toMatch(sentence);
		expect(String(Object(error).message)).toMatch(named);
		expect(String(Object(error).message)).not.toMatch(/Yes|7700900101|number or the text/);
		expect([await state("note-1"), await state("note-2"), texts(), settled]).toEqual(["waiting", "waiting", [], []]);
		expect(await outbox.status("note-1")).toMatchObject({ attempts: 0, reason: null });
		expect([sends().length, pauses]).toEqual([0, []]);
		// With one version installed, both go out at once.
		sandbox.clock.advance({ ms: 1 });
		await restart().runOnce();
		expect(texts()).toEqual(["Yes!", "And the second one"]);
	});

	test("#50 with the true sentence, when it is asked what a 403 means", async () => {
		const { sandbox, client, restart, enqueue, state } = createWorld();
		await enqueue("Yes!");
		sandbox.faults.add({ operation: "conversations.get", times: 9, effect: { status: 403 } });
		await expect(restart({ client: refusing(client, "me.get", unknown) })[method]()).rejects.toThrow(
			/^client: refuses what the outbox itself asks of me\.get/,
		);
		sandbox.faults.clear();
		sandbox.clock.advance({ minutes: 5 });
		await restart().runOnce();
		expect(await state("note-1")).toBe("sent");
	});
});

test.each<[name: string, message: object, options: object]>([
	["a number", { to: "+44 7700" }, {}],
	["a body", { body: " " }, {}],
	["a language", { consentLanguage: "" }, {}],
	["a sender", { subaccountId: "the first one" }, {}],
	["an id", { operationId: " " }, {}],
])("a refusal of %s is the text's own: it ends that text, and the next one is sent", async (_name, message) => {
	const { client, sandbox, agency, restart, enqueue, outbox, state } = createWorld();
	const bram = agency.contact("+447700900102");
	bram.writes("Hello");
	const wrong = refusing(client, "messages.send", {}, message);
	const mixed: Client = {
		...client,
		agency: (id) => ({
			...client.agency(id),
			messages: {
				send: (text, options) => (text.body === "wrong" ? wrong : client).agency(id).messages.send(text, options),
			},
		}),
	};
	await enqueue("wrong");
	await enqueue("right", { to: bram.phoneNumber });
	await restart({ client: mixed }).runOnce();
	expect(await outbox.status("note-1")).toMatchObject({ state: "refused", reason: "invalid_input" });
	expect(await state("note-2")).toBe("sent");
	expect(sandbox.violations()).toEqual([]);
});

test("a text that was tried before waits for its answer, whatever its next request meets", async () => {
	const { sandbox, client, restart, enqueue, outbox, pass, texts } = createWorld();
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
	await enqueue("Yes!");
	await outbox.runOnce();
	sandbox.faults.add({ operation: "messages.send", effect: "reset" });
	await restart({ client: refusing(client, "messages.send", unknown) })
		.runOnce()
		.catch(() => {});
	await pass({ minutes: 10 });
	expect([(await outbox.status("note-1"))?.state, texts()]).toEqual(["sent", ["Yes!"]]);
});
