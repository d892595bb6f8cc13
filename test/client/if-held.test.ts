// `ifHeld: "refuse"`: a send that reads first, and does not replace a text that the service holds.
import {
	type AttemptEvent,
	type ClientOptions,
	createClient,
	type OutgoingMessage,
	PartnerHeldText,
	type SendOptions,
	type SpanOptions,
} from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { adapters, over } from "../adapters.ts";
import { failure, quick, wrong } from "../calls.ts";
import { sentNow, withMessages } from "../canned.ts";
import { inTurn, refusal, scripted } from "../scripted.ts";

const words = "Would Friday at two suit you?";
const always = Number.POSITIVE_INFINITY;
const read = "conversations.get";

describe.each(adapters)("over %s", (adapter) => {
	/** A contact whose window is closed, and a client over HTTP. */
	async function open(options: Partial<ClientOptions> = {}) {
		const sandbox = createSandbox();
		const server = await serve(sandbox);
		onTestFinished(server.close);
		const own = sandbox.agency();
		const anna = own.contact("+447700900101", { name: "Anna" });
		const { apiKey } = sandbox.connection;
		const { baseUrl } = server;
		const client = createClient({ baseUrl, apiKey, retry: quick, ...over(adapter), ...options });
		const { messages } = client.agency(own.id);
		const text = { to: anna.phoneNumber, body: words, operationId: "note-1", ifHeld: "refuse" } as const;
		const send = (fields: Partial<OutgoingMessage> = {}) => messages.send({ ...text, ...fields });
		/** The requests that reached the sandbox, the calls of `send` alone. */
		const asked = () => sandbox.requests().map(({ operation }) => operation);
		const held = () => own.conversation(anna).state().held?.body;
		return { sandbox, own, anna, client, messages, text, send, asked, held };
	}

	test("a text is sent after one read if nothing is held", async () => {
		const { anna, send, asked } = await open();
		anna.writes("Is the flat still free?");
		const { data, response } = await send().withResponse();
		expect(data).toMatchObject({ queued: false, operationId: "note-1" });
		expect(response).toMatchObject({ status: 200, attempts: 2 });
		expect(asked()).toEqual([read, "messages.send"]);
		expect(anna.inbox().map(({ body }) => body)).toEqual([words]);
	});

	test('without the option, and with "replace", nothing is read and a held text is replaced', async () => {
		const { own, anna, send, asked, held } = await open();
		own.staff.sends({ contact: anna, text: "I'll call you." });
		await send({ ifHeld: undefined, operationId: "note-1" });
		await send({ ifHeld: "replace", operationId: "note-2", body: "Monday?" });
		expect(asked()).toEqual(["messages.send", "messages.send"]);
		expect(held()).toBe("Monday?");
	});

	test("a number without a conversation is sent to", async () => {
		const { send, asked } = await open();
		const { data, response } = await send({ to: "+44 7700 900177" }).withResponse();
		expect([data.queued, response.attempts]).toEqual([true, 2]);
		expect(asked()).toEqual([read, "messages.send"]);
	});

	test("the read asks for the newest message alone, and the body of the send has no ifHeld", async () => {
		const service = await scripted(inTurn(refusal(404), { json: sentNow }, { json: sentNow }));
		const client = createClient({ baseUrl: service.baseUrl, apiKey: "key", ...over(adapter) });
		const { messages } = client.agency("agy_1");
		const text = { to: "+447700900101", body: words, operationId: "note-1" };
		await messages.send({ ...text, ifHeld: "refuse" });
		await messages.send({ ...text, ifHeld: "replace" });
		const body = '{"to":"+447700900101","body":"Would Friday at two suit you?","operationId":"note-1"}';
		expect(service.requests.map(({ method, url, body }) => [method, url, body])).toEqual([
			["GET", "/api/v1/agencies/agy_1/conversations/%2B447700900101?pageSize=1", ""],
			["POST", "/api/v1/agencies/agy_1/messages", body],
			["POST", "/api/v1/agencies/agy_1/messages", body],
		]);
	});

	const holders: [string, (world: Awaited<ReturnType<typeof open>>) => unknown][] = [
		["of staff", ({ own, anna }) => own.staff.sends({ contact: anna, text: "CANARY" })],
		[
			"of another agency that shares the conversation",
			({ sandbox, own, anna }) => {
				const other = sandbox.link({ name: "Second" });
				own.conversation(anna).shareWith(other);
				other.staff.sends({ contact: anna, text: "CANARY" });
			},
		],
		["of another send", ({ messages, text }) => messages.send({ ...text, body: "CANARY", operationId: "other" })],
		[
			"that the contact has answered in words, so that the window is open",
			({ own, anna }) => {
				own.staff.sends({ contact: anna, text: "CANARY" });
				anna.writes("Who is this?");
			},
		],
	];

	test.each(holders)("a text is refused, and not sent, while the service holds one %s", async (_, hold) => {
		const world = await open();
		await hold(world);
		const before = world.asked().length;
		const error = await failure(() => world.send());
		expect(error).toBeInstanceOf(PartnerHeldText);
		expect(error).toMatchObject({
			_tag: "PartnerHeldText",
			name: "PartnerHeldText",
			operation: "messages.send",
			agencyId: world.own.id,
			operationId: "note-1",
			outcome: "not_sent",
			attempts: 1,
			retryable: false,
			sameText: false,
			correlationId: world.sandbox.requests().at(-1)?.correlationId,
		});
		expect(error.status).toBeUndefined();
		expect(world.asked().slice(before)).toEqual([read]);
		expect(world.held()).toBe("CANARY");
		const shown = `${error.stack} ${JSON.stringify(error)}`;
		for (const secret of ["CANARY", words, "7700900101", "900101"]) expect(shown).not.toContain(secret);
		expect(error.stack).toContain("if-held.test.ts");
	});

	test("the text can be sent when the contact has answered, with the same id or another message", async () => {
		const { own, anna, send } = await open();
		own.staff.sends({ contact: anna, text: "I'll call you." });
		expect(await send().result()).toMatchObject({ ok: false, error: { _tag: "PartnerHeldText" } });
		anna.accepts();
		// Nothing went out under the id, so that the guard has given it up.
		expect(await send({ body: "Monday?" })).toMatchObject({ queued: false });
		expect(
			anna
				.inbox()
				.map(({ body }) => body)
				.slice(-2),
		).toEqual(["I'll call you.", "Monday?"]);
	});

	test("sameText tells a second click, and the repeat of a send that was taken", async () => {
		const { sandbox, send, asked, held } = await open();
		sandbox.faults.add({ operation: "messages.send", phase: "after", times: always, effect: "reset" });
		const first = await failure(() => send());
		expect(first).toMatchObject({ _tag: "PartnerConnectionError", outcome: "unknown", operationId: "note-1" });
		const before = asked().length;
		const second = await failure(() => send());
		expect(second).toMatchObject({ _tag: "PartnerHeldText", outcome: "not_sent", sameText: true });
		expect(asked().slice(before)).toEqual([read]);
		expect(held()).toBe(words);
		// The id of the first call, which may have gone out, is not given up.
		expect(await failure(() => send({ body: "Monday?" }))).toMatchObject({ field: "operationId" });
		expect(asked()).toHaveLength(before + 1);
	});

	test("a held text with a file is not the same text", async () => {
		const held = { body: words, attachmentUploadId: "upload-1", attachmentFileName: "plan.pdf" };
		const queued = { id: "queue-1", attachmentMimeType: null, attachmentFileSize: null, status: "queued" };
		const at = "2026-01-05T09:00:00.000Z";
		const conversation = { ...withMessages.conversation };
		conversation.queuedMessages = [{ ...held, ...queued, createdAt: at, updatedAt: at }];
		const service = await scripted(inTurn({ json: { ...withMessages, conversation } }));
		const client = createClient({ baseUrl: service.baseUrl, apiKey: "key", ...over(adapter) });
		const message = { to: "+447700900101", body: words, ifHeld: "refuse" } as const;
		const error = await failure(() => client.agency("agy_1").messages.send(message));
		expect(error).toMatchObject({ _tag: "PartnerHeldText", sameText: false });
		expect(service.requests).toHaveLength(1);
	});

	const page = (status: number) => ({ kind: "html", status }) as const;
	const failing = [
		["a 404 of a gateway", page(404), "PartnerGatewayError", 4],
		["a 403 of a gateway", page(403), "PartnerGatewayError", 1],
		["a 400 of a gateway", page(400), "PartnerGatewayError", 1],
		["a 429", { status: 429 }, "PartnerGatewayError", 1],
		["a 500", { status: 500 }, "PartnerInternalError", 4],
		["a 401", { status: 401 }, "PartnerUnauthorized", 1],
		["a 403", { status: 403 }, "PartnerForbidden", 1],
		["a connection that is reset", "reset", "PartnerConnectionError", 4],
		["an answer that is no JSON", "html", "PartnerGatewayError", 4],
		[
			"an answer without the held texts",
			{ kind: "missing-field", field: "conversation" },
			"PartnerUnexpectedResponse",
			1,
		],
	] as const;

	test.each(failing)("%s of the read ends the call, and nothing is sent", async (_, effect, _tag, requests) => {
		const { sandbox, anna, send, asked } = await open();
		anna.writes("Hello");
		const fault = sandbox.faults.add({ operation: read, times: always, effect });
		const error = await failure(() => send());
		expect(error).toMatchObject({
			_tag,
			operation: read,
			operationId: "note-1",
			outcome: "not_sent",
			attempts: requests,
		});
		expect(asked()).toEqual(Array(requests).fill(read));
		fault.remove();
		// The guard has given the id up.
		expect(await send({ body: "Another text" })).toMatchObject({ queued: false });
		expect(anna.inbox().map(({ body }) => body)).toEqual(["Another text"]);
	});

	test("a 500 of the read is retried, and `retry: false` means one read and one send", async () => {
		const { sandbox, anna, text, messages, asked } = await open();
		anna.writes("Hello");
		sandbox.faults.add({ operation: read, times: 2, effect: { status: 500 } });
		const { response } = await messages.send(text).withResponse();
		expect(response.attempts).toBe(4);
		expect(asked()).toEqual([read, read, read, "messages.send"]);

		sandbox.faults.add({ operation: "messages.send", effect: { status: 500 } });
		const error = await failure(() => messages.send({ ...text, operationId: "note-2" }, { retry: false }));
		expect(error).toMatchObject({ operation: "messages.send", outcome: "unknown", attempts: 2 });
		expect(asked().slice(4)).toEqual([read, "messages.send"]);

		sandbox.faults.add({ operation: read, effect: { status: 500 } });
		await failure(() => messages.send({ ...text, operationId: "note-3" }, { retry: false }));
		expect(asked().slice(6)).toEqual([read]);
	});

	test("a send that fails after the read keeps its own outcome, and is not read for again", async () => {
		const { sandbox, own, anna, send, asked } = await open();
		anna.writes("Hello");
		sandbox.faults.add({ operation: "messages.send", phase: "after", effect: { status: 500 } });
		const { response } = await send().withResponse();
		expect(response.attempts).toBe(3);
		expect(asked()).toEqual([read, "messages.send", "messages.send"]);
		expect(anna.inbox()).toHaveLength(1);

		own.conversation(anna).takeOver();
		const conflict = await failure(() => send({ operationId: "note-2" }));
		expect(conflict).toMatchObject({ _tag: "PartnerConflict", outcome: "not_sent", attempts: 2 });
	});

	test("one deadline covers the read and the send", async () => {
		const { sandbox, own, anna, client, text, messages, asked } = await open();
		anna.writes("Hello");
		sandbox.faults.add({ operation: read, effect: "hang" });
		const cut = await failure(() => messages.send(text, { deadline: 3_000 }));
		expect(cut).toMatchObject({
			_tag: "PartnerTimeoutError",
			operation: read,
			outcome: "not_sent",
			operationId: "note-1",
		});
		expect(asked()).toEqual([read]);

		// After the read the whole time is over.
		const { now } = performance;
		let jumpMs = 0;
		vi.spyOn(performance, "now").mockImplementation(() => now.call(performance) + jumpMs);
		onTestFinished(() => void vi.restoreAllMocks());
		const onAttempt = () => {
			jumpMs = 60_000;
		};
		const late = await failure(() => client.withOptions({ onAttempt }).agency(own.id).messages.send(text));
		expect(late).toMatchObject({ _tag: "PartnerTimeoutError", operation: "messages.send", outcome: "not_sent" });
		expect(asked()).toEqual([read, read]);
	});

	test("a machine that sleeps during the read sends nothing when it wakes up", async () => {
		let jumpMs = 0;
		const { now } = Date;
		const { sandbox, anna, text, client, asked, own } = await open();
		anna.writes("Hello");
		vi.spyOn(Date, "now").mockImplementation(() => now() + jumpMs);
		onTestFinished(() => void vi.restoreAllMocks());
		const apiKey = () => {
			jumpMs = 3_600_000;
			return sandbox.connection.apiKey;
		};
		const error = await failure(() => client.withOptions({ apiKey }).agency(own.id).messages.send(text));
		expect(error).toMatchObject({ _tag: "PartnerTimeoutError", operation: "messages.send", outcome: "not_sent" });
		expect(asked()).toEqual([read]);
	});

	test("a signal that aborts during the read stops the send", async () => {
		const { sandbox, anna, text, messages, asked } = await open();
		anna.writes("Hello");
		sandbox.faults.add({ operation: read, effect: "hang" });
		const leaving = new AbortController();
		const sending = failure(() => messages.send(text, { signal: leaving.signal }));
		await expect.poll(asked).toEqual([read]);
		leaving.abort();
		expect(await sending).toMatchObject({ _tag: "PartnerAbortError", operation: read, outcome: "not_sent" });
		expect(asked()).toEqual([read]);
	});

	test("bad input makes no request, not even the read", async () => {
		const { send, asked } = await open({ allowRecipients: ["+447700900101"] });
		expect(await failure(() => send({ to: "+447700900102" }))).toMatchObject({ field: "to", outcome: "not_sent" });
		expect(await failure(() => send({ to: "nobody" }))).toMatchObject({ field: "to" });
		for (const ifHeld of ["keep", true, null, "Refuse"]) {
			const error = await failure(() => send({ ifHeld: wrong(ifHeld) }));
			expect(error).toMatchObject({ _tag: "PartnerInvalidInput", field: "ifHeld", outcome: "not_sent" });
			expect(error.message).toBe('ifHeld: must be "refuse" or "replace"');
		}
		expect(asked()).toEqual([]);
	});

	test("each request is an attempt of its own operation, with the id of the send", async () => {
		const events: AttemptEvent[] = [];
		const spans: SpanOptions["attributes"][] = [];
		const tracer = {
			startSpan: (_: string, { attributes }: SpanOptions) => {
				spans.push(attributes);
				return { setAttributes: (more: object) => Object.assign(attributes, more), setStatus: () => {}, end: () => {} };
			},
		};
		const { send } = await open({ onAttempt: (event) => events.push(event), tracer });
		await send();
		expect(
			events.map(({ operation, attempt, status, operationId }) => [operation, attempt, status, operationId]),
		).toEqual([
			[read, 1, 404, "note-1"],
			["messages.send", 1, 200, "note-1"],
		]);
		const shown = spans.map((attributes) => [
			attributes["messaging_conversations.operation"],
			attributes["messaging_conversations.operation_id"],
			attributes["error.type"],
		]);
		expect(shown).toEqual([
			[read, "note-1", undefined],
			["messages.send", "note-1", undefined],
		]);
	});

	test("the key function is asked once, so that it does not come between the read and the send", async () => {
		const { sandbox, anna } = await open();
		anna.writes("Hello");
		const server = await serve(sandbox);
		onTestFinished(server.close);
		let asked = 0;
		const apiKey = () => {
			asked++;
			return sandbox.connection.apiKey;
		};
		const client = createClient({ baseUrl: server.baseUrl, apiKey, ...over(adapter) });
		await client.agency(sandbox.agency().id).messages.send({ to: anna.phoneNumber, body: words, ifHeld: "refuse" });
		expect(asked).toBe(1);
	});

	test("two clicks at the same moment are one text", async () => {
		const { anna, send } = await open();
		anna.writes("Hello");
		expect(await Promise.all([send(), send()])).toMatchObject([{ queued: false }, { queued: false }]);
		expect(anna.inbox().map(({ body }) => body)).toEqual([words]);
	});
});

const thrown: [string, unknown][] = [
	["Next.js's signal", Object.assign(new Error("dynamic"), { digest: "DYNAMIC_SERVER_USAGE" })],
	["a Response", new Response(null, { status: 303 })],
	["undefined", undefined],
];

test.each(thrown)("%s that is thrown during the read passes unchanged, and gives up the id", async (_, value) => {
	let calls = 0;
	const fetch = async () => {
		calls++;
		if (calls === 1) throw value;
		return Response.json(calls === 2 ? withMessages : sentNow);
	};
	const client = createClient({ baseUrl: "https://messaging.example/api/v1", apiKey: "key", fetch });
	const { messages } = client.agency("agy_1");
	const text = { to: "+447700900101", operationId: "note-1", ifHeld: "refuse" } as const;
	await expect(messages.send({ ...text, body: "One" }).result()).rejects.toBe(value);
	expect(calls).toBe(1);
	expect(await messages.send({ ...text, body: "Two" })).toMatchObject({ messageId: sentNow.messageId });
});

/** What shows that an answer is a copy. */
type Tells = "Age" | "the correlation id" | "an earlier read";

/** A client behind a cache, which answers the next reads of a conversation with what it has kept of it. */
function cached(serves: number, { isBlind = false, tells = "Age" as Tells } = {}) {
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	const anna = agency.contact("+447700900101");
	const kept = new Map<string, Response>();
	const asked: string[] = [];
	let left = 0;
	let isKeeping = true;
	const fetch: typeof globalThis.fetch = async (input, init) => {
		const url = new URL(String(input));
		// It may take another query for another page.
		const name = isBlind ? url.pathname : url.href;
		const isRead = init?.method === "GET";
		asked.push(`${init?.method} ${url.pathname.split("/").at(-1)}${url.search}`);
		const copy = isRead && left > 0 ? kept.get(name)?.clone() : undefined;
		if (copy) {
			left--;
			if (tells === "Age") copy.headers.set("age", "600");
			if (tells !== "the correlation id") copy.headers.set("x-correlation-id", crypto.randomUUID());
			return copy;
		}
		const response = await sandbox.fetch(url.href, init);
		if (isRead && isKeeping) kept.set(name, new Response(await response.clone().text(), response));
		return response;
	};
	const client = createClient({ ...sandbox.connection, fetch, retry: false });
	const { conversations, messages } = client.agency(agency.id);
	const message = { to: anna.phoneNumber, body: words, operationId: "note-1", ifHeld: "refuse" } as const;
	return {
		sandbox,
		agency,
		anna,
		asked,
		/** The cache keeps the conversation as it is now, for both sizes of the page. */
		keep: async () => {
			for (const pageSize of [1, 2]) await conversations.get(anna.phoneNumber, { pageSize }).result();
			asked.length = 0;
		},
		/** Another send is refused, and the cache keeps nothing of its read. */
		readPast: async () => {
			isKeeping = false;
			await messages.send({ ...message, operationId: "note-0" }).result();
		},
		serve: () => void (left = serves),
		send: () => messages.send(message),
		held: () => agency.conversation(anna).state().held?.body,
	};
}

describe("an old copy is no reading", () => {
	const get = "GET %2B447700900101";
	const befores = [
		["a 200", (world: ReturnType<typeof cached>) => void world.anna.writes("Hello")],
		["a 404", () => {}],
	] as const;

	const told = ["Age", "the correlation id", "an earlier read"] as const;
	test.each(
		befores
			.flatMap(([name, prepare]) => told.map((tells) => [name, tells, prepare] as const))
			// A 404 shows nothing that could be less than what is known.
			.filter(([name, tells]) => name === "a 200" || tells !== "an earlier read"),
	)("#51 %s from before a text was held, as %s shows: the text is refused", async (_, tells, prepare) => {
		const world = cached(1, { tells });
		prepare(world);
		await world.keep();
		world.sandbox.clock.advance({ hours: 30 });
		world.agency.staff.sends({ contact: world.anna, text: "I'll call you." });
		// The cache keeps the page that it had.
		if (tells === "an earlier read") await world.readPast();
		world.serve();
		expect(await failure(world.send)).toMatchObject({ _tag: "PartnerHeldText", outcome: "not_sent" });
		expect(world.asked).not.toContain("POST messages");
		expect(world.held()).toBe("I'll call you.");
	});

	test.each(befores.flatMap(([name, before]) => [true, false].map((isBlind) => [name, isBlind, before] as const)))(
		"#51 nothing but copies of %s: the read has failed, and nothing is sent (blind to the query: %s)",
		async (...given) => {
			const [, isBlind, prepare] = given;
			const world = cached(always, { isBlind });
			prepare(world);
			await world.keep();
			world.sandbox.clock.advance({ hours: 30 });
			world.agency.staff.sends({ contact: world.anna, text: "I'll call you." });
			world.serve();
			const error = await failure(world.send);
			expect(error).toMatchObject({
				_tag: "PartnerUnexpectedResponse",
				operation: read,
				operationId: "note-1",
				outcome: "not_sent",
				retryable: true,
				attempts: world.asked.length,
			});
			expect(world.asked).not.toContain("POST messages");
			expect(world.held()).toBe("I'll call you.");
		},
	);

	test("#51 a copy that a lookup bears out doesn't show what is held", async () => {
		const world = cached(always);
		world.agency.staff.sends({ contact: world.anna, text: "I'll call you." });
		await world.keep();
		world.serve();
		// Even one that shows a held text: it may be the wrong one by now.
		expect(await failure(world.send)).toMatchObject({ _tag: "PartnerUnexpectedResponse", outcome: "not_sent" });
		expect(world.asked).toEqual([`${get}?pageSize=1`, `${get}?pageSize=2`, "POST lookup"]);
	});

	test("a copy of a 404 that a lookup bears out: the number is sent to", async () => {
		const world = cached(always);
		await world.keep();
		world.serve();
		await expect(world.send()).resolves.toMatchObject({ queued: true });
		expect(world.asked).toEqual([`${get}?pageSize=1`, "POST lookup", "POST messages"]);
	});

	test("one correlation id for all answers proves nothing: each send goes out", async () => {
		const sandbox = createSandbox();
		const { id } = sandbox.agency();
		const anna = sandbox.agency().contact("+447700900101");
		anna.writes("Hello");
		const fetch: typeof globalThis.fetch = async (input, init) => {
			const response = await sandbox.fetch(String(input), init);
			const headers = new Headers(response.headers);
			headers.set("x-correlation-id", "gateway");
			return new Response(await response.text(), { status: response.status, headers });
		};
		const { messages } = createClient({ ...sandbox.connection, fetch }).agency(id);
		for (const body of ["One", "Two", "Three"]) await messages.send({ to: anna.phoneNumber, body, ifHeld: "refuse" });
		expect(anna.inbox().map(({ body }) => body)).toEqual(["One", "Two", "Three"]);
	});
});

describe("a retry that comes later than the reading counts", () => {
	/** A contact, and a client whose waits are over at once, by every clock. */
	function open(options: Partial<ClientOptions> = {}) {
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
		onTestFinished(() => void vi.useRealTimers());
		const sandbox = createSandbox();
		const own = sandbox.agency();
		const anna = own.contact("+447700900101", { name: "Anna" });
		const waits: number[] = [];
		let meanwhile = (): unknown => undefined;
		const onAttempt = ({ retryInMs = 0 }: AttemptEvent) => {
			if (retryInMs < 1_000) return;
			waits.push(retryInMs / 1_000);
			meanwhile();
			// An abort may have ended the test.
			setImmediate(() => vi.isFakeTimers() && vi.advanceTimersByTime(retryInMs));
		};
		const client = createClient({ ...sandbox.connection, onAttempt, retry: quick, ...options });
		const { messages } = client.agency(own.id);
		const text = { to: anna.phoneNumber, body: words, operationId: "note-1", ifHeld: "refuse" } as const;
		/** The service asks for a wait, before or after it has taken the text. */
		const asksFor = (retryAfter: number, phase: "before" | "after" = "before", status = 503) =>
			void sandbox.faults.add({ operation: "messages.send", phase, effect: { status, retryAfter } });
		return {
			sandbox,
			own,
			anna,
			waits,
			given: sandbox.connection.fetch,
			asksFor,
			whileWaiting: (act: () => unknown) => void (meanwhile = act),
			send: (given: SendOptions = {}) => messages.send(text, given),
			asked: () => sandbox.requests().map(({ operation }) => operation),
			held: () => own.conversation(anna).state().held?.body,
		};
	}
	const sending = "messages.send";

	test.each([
		[503, 12],
		[503, 30],
		[429, 29],
	])("a %d that asks for %d seconds is waited for, and the conversation is read again", async (status, seconds) => {
		const { anna, waits, asksFor, send, asked } = open();
		anna.writes("Hello");
		asksFor(seconds, "before", status);
		const { data, response } = await send().withResponse();
		expect(data.queued).toBe(false);
		expect(response.attempts).toBe(4);
		expect(waits).toEqual([seconds]);
		expect(asked()).toEqual([read, sending, read, sending]);
		expect(anna.inbox().map(({ body }) => body)).toEqual([words]);
	});

	test("a short wait needs no second reading", async () => {
		const { anna, waits, asksFor, send, asked } = open();
		anna.writes("Hello");
		asksFor(2);
		await send();
		expect(waits).toEqual([2]);
		expect(asked()).toEqual([read, sending, sending]);
	});

	test("each long wait is followed by a reading, until the deadline leaves no time for another", async () => {
		const { anna, waits, asksFor, send, asked } = open();
		anna.writes("Hello");
		for (let count = 0; count < 3; count++) asksFor(25);
		const error = await failure(() => send());
		expect(error).toMatchObject({
			_tag: "PartnerInternalError",
			retryAfterMs: 25_000,
			outcome: "unknown",
			attempts: 6,
		});
		expect(waits).toEqual([25, 25]);
		expect(asked()).toEqual([read, sending, read, sending, read, sending]);
		await send({ deadline: 300_000 });
		expect(anna.inbox()).toHaveLength(1);
	});

	test("the deadline of the caller and its beginBy end the wait before it begins", async () => {
		const { anna, waits, asksFor, send, asked } = open();
		anna.writes("Hello");
		asksFor(20);
		expect(await failure(() => send({ deadline: 15_000 }))).toMatchObject({ retryAfterMs: 20_000, attempts: 2 });
		asksFor(20);
		const beginBy = () => new Date(Date.now() + 15_000);
		expect(await failure(() => send({ beginBy: beginBy() }))).toMatchObject({ retryAfterMs: 20_000, attempts: 2 });
		expect([waits, asked().length]).toEqual([[], 4]);
	});

	test("a text that a colleague has queued meanwhile is not replaced, and the error is that of the send", async () => {
		const { own, anna, asksFor, whileWaiting, send, asked, held } = open();
		asksFor(20);
		whileWaiting(() => own.staff.sends({ contact: anna, text: "CANARY" }));
		const error = await failure(() => send());
		expect(error).toMatchObject({ _tag: "PartnerInternalError", operation: sending, outcome: "unknown", attempts: 3 });
		expect(asked()).toEqual([read, sending, read]);
		expect(held()).toBe("CANARY");
	});

	test("a text that the service had taken is no other one: the retry gets its result", async () => {
		const { anna, asksFor, send, asked, held } = open();
		asksFor(20, "after");
		expect(await send()).toMatchObject({ queued: true, operationId: "note-1" });
		expect(asked()).toEqual([read, sending, read, sending]);
		expect(held()).toBe(words);
		expect(anna.inbox()).toHaveLength(1);
	});

	test("a reading that fails then ends the call with the error of the send", async () => {
		const { sandbox, anna, asksFor, whileWaiting, send, asked } = open();
		anna.writes("Hello");
		asksFor(20);
		whileWaiting(() => sandbox.faults.add({ operation: read, effect: { status: 403 } }));
		const error = await failure(() => send());
		expect(error).toMatchObject({ _tag: "PartnerInternalError", status: 503, outcome: "unknown", attempts: 3 });
		expect(asked()).toEqual([read, sending, read]);
	});

	describe("after an attempt that reached no server", () => {
		/** The first send finds no server, and the next one would come 12 seconds later at least. */
		function openUnsent() {
			let isFirst = true;
			const { sandbox, ...world } = open({
				retry: { ...quick, baseDelayMs: 24_000, maxDelayMs: 24_000 },
				fetch: async (url, init) => {
					if (init.method === "POST" && isFirst) {
						isFirst = false;
						throw Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNREFUSED", syscall: "connect" } });
					}
					return world.given(url, init);
				},
			});
			return { sandbox, ...world };
		}

		test("a text that a colleague has queued meanwhile is not replaced, and the error says that nothing was sent", async () => {
			const { own, anna, whileWaiting, send, held } = openUnsent();
			whileWaiting(() => own.staff.sends({ contact: anna, text: "CANARY" }));
			const error = await failure(() => send());
			expect(error).toMatchObject({ _tag: "PartnerHeldText", outcome: "not_sent", attempts: 3, sameText: false });
			expect(held()).toBe("CANARY");
		});

		test("a reading that fails then ends the call with its own error", async () => {
			const { sandbox, anna, whileWaiting, send } = openUnsent();
			anna.writes("Hello");
			whileWaiting(() => sandbox.faults.add({ operation: read, effect: { status: 403 } }));
			const error = await failure(() => send());
			expect(error).toMatchObject({ _tag: "PartnerForbidden", operation: read, outcome: "not_sent", attempts: 3 });
			expect(anna.inbox()).toEqual([]);
		});
	});

	test("an abort during the wait ends it", async () => {
		const { anna, asksFor, whileWaiting, send, asked } = open();
		anna.writes("Hello");
		asksFor(20);
		const leaving = new AbortController();
		whileWaiting(() => leaving.abort());
		const error = await failure(() => send({ signal: leaving.signal }));
		expect(error).toMatchObject({ _tag: "PartnerAbortError", outcome: "unknown", operationId: "note-1" });
		expect(asked()).toEqual([read, sending]);
	});
});
