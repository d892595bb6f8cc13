// An outbox and a feed on a sandbox's connection show themselves to it, in process and from another one, and to nobody else.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox, type Sandbox, type SandboxOptions, sandboxFetch } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { changes, watchAgencies } from "messaging-conversations/sync";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../eventually.ts";
import { memoryStore } from "../outbox/memory.ts";

const anna = "+447700900101";
const bram = "+447700900102";
type Connection = Sandbox["connection"];

function started(options: SandboxOptions = {}) {
	const sandbox = createSandbox(options);
	const agencyId = sandbox.agency().id;
	/** What a CRM has on a connection: an outbox and a client, for feeds. */
	const crm = (connection: Connection, store = memoryStore()) => {
		const client = createClient({ ...connection, retry: { attempts: 1 } });
		const outbox = createOutbox({ client, store, now: sandbox.clock.now });
		const enqueue = (id: string, to = anna) => outbox.enqueue({ id, agencyId, to, body: `About ${id}` });
		const poll = async () => {
			const delivered = [];
			for await (const { phoneNumber } of changes(client.agency(agencyId), { since: "beginning" }))
				delivered.push(phoneNumber);
			return delivered;
		};
		return { client, outbox, store, enqueue, poll };
	};
	return { sandbox, agencyId, crm };
}

const served = async (sandbox: Sandbox) => {
	const server = await serve(sandbox);
	onTestFinished(() => server.close());
	return server;
};

/** A service that is no sandbox. */
async function listening() {
	const asked: string[] = [];
	const server = createServer((request, response) => {
		asked.push(`${request.method} ${request.url}`);
		response
			.writeHead(200, { "content-type": "application/json" })
			.end('{"conversations":[],"pageSize":100,"nextCursor":null}');
	}).listen(0, "127.0.0.1");
	onTestFinished(() => {
		server.close();
		server.closeAllConnections();
	});
	await eventually(() => expect(server.listening).toBe(true));
	return { asked, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe("in process", () => {
	test("each text shows its state, its reason and its next attempt, and what ended stays", async () => {
		const { sandbox, crm } = started();
		sandbox.agency().contact(anna, { name: "Anna" }).writes("Hello");
		const { outbox, enqueue } = crm(sandbox.connection);
		await enqueue("open");
		await outbox.runOnce();
		sandbox.clock.advance({ hours: 25 });
		await enqueue("held");
		await outbox.runOnce();
		await enqueue("behind");
		await enqueue("cancelled", bram);
		await outbox.cancel("cancelled");
		sandbox.faults.add({ operation: "messages.send", effect: { status: 503 } });
		await enqueue("failed", bram);
		await outbox.runOnce();
		const { texts, outboxes, unreadable } = await sandbox.observed();
		expect([outboxes, unreadable]).toEqual([1, 0]);
		const byId = new Map(texts.map((text) => [text.id, text]));
		expect(byId.get("open")).toMatchObject({ state: "sent", to: anna, body: "About open", nextAttemptAt: null });
		expect(byId.get("held")).toMatchObject({ state: "held", attempts: 1, operationId: expect.any(String) });
		expect(byId.get("behind")).toMatchObject({
			state: "waiting",
			description: expect.stringContaining("which the service holds until they consent"),
		});
		expect(byId.get("cancelled")).toMatchObject({ state: "cancelled", reason: "requested" });
		const failed = byId.get("failed");
		expect(failed).toMatchObject({ attempts: 1, error: "PartnerInternalError" });
		expect(Date.parse(failed?.nextAttemptAt ?? "")).toBeGreaterThan(sandbox.clock.now().getTime());
	});

	test("each poll says what it delivered, what it left and why it ended", async () => {
		const { sandbox, crm, agencyId } = started();
		const { client, poll } = crm(sandbox.connection);
		sandbox.agency().contact(anna).writes("Hello");
		sandbox.agency().contact(anna).writes("Are you there?");
		sandbox.agency().contact(bram).writes("Hello");
		await poll();
		for await (const _ of changes(client.agency(agencyId), { since: "beginning" })) break;
		sandbox.faults.add({ operation: "conversations.list", effect: { status: 503 } });
		await poll().catch(() => {});
		for await (const _ of watchAgencies(client, { load: () => undefined })) break;
		const { polls } = await sandbox.observed();
		const [fleet, failed, left, whole] = polls;
		expect(polls).toHaveLength(4);
		expect(whole).toMatchObject({
			feed: "changes",
			agencyId,
			count: 2,
			remaining: 0,
			unread: 0,
			error: null,
			delivered: expect.arrayContaining([
				{ phoneNumber: anna, messages: 2 },
				{ phoneNumber: bram, messages: 1 },
			]),
		});
		expect(left).toMatchObject({ count: 0, remaining: 2, error: null });
		expect(failed).toMatchObject({ count: 0, error: "PartnerInternalError" });
		expect(fleet).toMatchObject({ feed: "watchAgencies", count: 0 });
	});

	test("nothing is read until somebody looks, and an outbox that cannot be read disturbs neither", async () => {
		const { sandbox, crm } = started();
		sandbox.agency().contact(anna).writes("Hello");
		const store = memoryStore();
		let lists = 0;
		const broken = {
			...store,
			list: () => {
				lists++;
				throw new Error("the database is closed");
			},
		};
		const { outbox, enqueue } = crm(sandbox.connection, broken as never);
		await enqueue("note-1");
		await outbox.runOnce();
		expect(lists).toBe(0);
		expect((await outbox.status("note-1"))?.state).toBe("sent");
		const second = crm(sandbox.connection);
		await second.enqueue("note-2");
		expect(await sandbox.observed()).toMatchObject({ outboxes: 2, unreadable: 1, texts: [{ id: "note-2" }] });
	});

	test("one option turns it off, and clients with other options still show theirs", async () => {
		const off = started({ observe: false });
		await off.crm(off.sandbox.connection).enqueue("note-1");
		await off.crm(off.sandbox.connection).poll();
		const poll = { feed: "watch", agencyId: "agy_1", at: "2026-01-05T09:00:00.000Z", ms: 1, delivered: [] } as const;
		const polls = [{ ...poll, count: 0, remaining: 0, unread: 0, error: null }];
		const server = await serve(off.sandbox);
		onTestFinished(() => server.close());
		const reported = await fetch(`${server.controlUrl}/observed`, {
			method: "POST",
			headers: { "x-sandbox-token": server.token },
			body: JSON.stringify({ source: "process-1", outboxes: 1, unreadable: 0, texts: [], polls }),
		});
		expect(reported.status).toBe(200);
		expect(await off.sandbox.observed()).toEqual({ isOn: false, outboxes: 0, texts: [], unreadable: 0, polls: [] });
		const on = started();
		const { client } = on.crm(on.sandbox.connection);
		const nightly = client.withOptions({ deadline: 60_000 });
		for await (const _ of changes(nightly.agency(on.agencyId), { since: "now" }));
		createOutbox({ client: nightly, store: memoryStore() });
		expect(await on.sandbox.observed()).toMatchObject({ isOn: true, outboxes: 2, polls: [{ count: 0 }] });
	});
});

describe("over HTTP", () => {
	test("the connection of `serve` shows texts and polls, and the log has no request but those of the client", async () => {
		const { sandbox, crm } = started();
		sandbox.agency().contact(anna).writes("Hello");
		const server = await served(sandbox);
		const { outbox, enqueue, poll } = crm(server.connection);
		await enqueue("note-1");
		await outbox.runOnce();
		await poll();
		expect(await sandbox.observed()).toMatchObject({ texts: [{ state: "sent" }], polls: [{ count: 1 }] });
		const asked = new Set(sandbox.requests().map(({ operation }) => operation));
		expect(asked).not.toContain(null);
		const stranger = await listening();
		await expect(server.connection.fetch(`${stranger.origin}/api/v1/me`)).rejects.toThrow("fetch failed");
		expect(stranger.asked).toEqual([]);
	});

	test("sandboxFetch reports from another process, again after the sandbox was away, and not twice", async () => {
		const { sandbox, crm } = started();
		sandbox.agency().contact(anna).writes("Hello");
		const server = await served(sandbox);
		const { baseUrl, apiKey, controlUrl, token } = server;
		let isAway = true;
		const reports: string[] = [];
		const ending = new AbortController();
		onTestFinished(() => ending.abort());
		const fetch = sandboxFetch({
			controlUrl,
			token,
			signal: ending.signal,
			async fetch(input, init) {
				if (!String(input).endsWith("/observed")) return globalThis.fetch(input, init);
				reports.push(String(init?.body));
				if (isAway) throw new TypeError("fetch failed");
				return globalThis.fetch(input, init);
			},
		});
		const { outbox, enqueue, poll } = crm({ baseUrl, apiKey, fetch });
		await enqueue("note-1");
		await poll();
		await eventually(() => expect(reports.length).toBeGreaterThan(0));
		isAway = false;
		await eventually(async () => expect((await sandbox.observed()).texts[0]?.state).toBe("waiting"));
		await outbox.runOnce();
		await eventually(async () => expect((await sandbox.observed()).texts[0]?.state).toBe("sent"));
		const { texts, polls, outboxes } = await sandbox.observed();
		expect([texts.length, polls.length, outboxes]).toEqual([1, 1, 1]);
		const stranger = await listening();
		for (const url of [`${stranger.origin}/api/v1/me`, new URL(stranger.origin), new Request(stranger.origin)])
			await expect(fetch(url)).rejects.toMatchObject({ cause: { code: "ENOTFOUND" } });
		expect(stranger.asked).toEqual([]);
		expect(sandbox.requests().every(({ operation }) => operation !== null)).toBe(true);
	});

	test("a report of a stranger is checked, limited and needs the token", async () => {
		const { sandbox } = started();
		const { controlUrl, token } = await served(sandbox);
		const text = {
			id: "note-1",
			agencyId: "agy_1",
			to: anna,
			body: "<b>Hello</b>",
			state: "waiting",
			reason: null,
			description: "Waits to be sent.",
			since: "2026-01-05T09:00:00.000Z",
			nextAttemptAt: null,
			attempts: 0,
			operationId: null,
			error: null,
		};
		const report = { source: "process-1", outboxes: 1, unreadable: 0, texts: [text], polls: [] };
		const post = async (body: object, given = token) => {
			const headers = { "x-sandbox-token": given };
			const answer = await fetch(`${controlUrl}/observed`, { method: "POST", headers, body: JSON.stringify(body) });
			return [answer.status, (await answer.json())?.message];
		};
		expect((await post(report, "another-token"))[0]).toBe(401);
		expect(await post(report)).toEqual([200, undefined]);
		expect((await sandbox.observed()).texts).toEqual([text]);
		for (const [field, changed] of [
			["source", { source: "" }],
			["texts", { texts: [{ ...text, body: "x".repeat(501) }] }],
			["texts", { texts: [{ ...text, to: "Anna" }] }],
			["texts", { texts: [{ ...text, extra: 1 }] }],
			["texts", { texts: Array(201).fill(text) }],
			["polls", { polls: [{}] }],
			["outboxes", { outboxes: -1 }],
		] as const)
			expect(await post({ ...report, ...changed })).toEqual([400, expect.stringContaining(field)]);
		for (let each = 0; each < 30; each++) await post({ ...report, source: `process-${each}`, texts: [] });
		expect((await sandbox.observed()).outboxes).toBe(20);
		expect(() => sandboxFetch({ controlUrl: "https://live.example/api/v1", token })).toThrow("controlUrl");
		expect(() => sandboxFetch({ controlUrl, token: "" })).toThrow("token");
	});
});

test("sandboxFetch sends texts to private hosts alone, unless the caller names another", () => {
	const token = "a-token-for-tests";
	const to = (host: string, allowHosts?: string[]) => () =>
		sandboxFetch({ controlUrl: `http://${host}:4010/_sandbox`, token, allowHosts });
	// The service of docker compose, and what a CI job or a cluster calls it.
	for (const host of [
		"sandbox",
		"my_sandbox-1",
		"host.docker.internal",
		"sandbox.local",
		"sandbox.tests.svc",
		"localhost",
	])
		expect(to(host), host).not.toThrow();
	for (const host of ["127.0.0.1", "127.1", "10.0.0.7", "172.17.0.2", "192.168.1.2", "[::1]", "[fd00::1]", "[fe80::1]"])
		expect(to(host), host).not.toThrow();
	const foreign = ["live.example", "8.8.8.8", "172.32.0.1", "10.0.0.7.live.example", "localhost.live.example"];
	for (const host of [...foreign, "sandbox@live.example", "127.0.0.1:1@live.example", "[2001:db8::1]", "[fc::1]"]) {
		expect(to(host), host).toThrow(/^sandboxFetch: controlUrl must have a private host/);
		expect(to(host), host).not.toThrow("live.example");
	}
	expect(to("tests.live.example", ["tests.live.example"])).not.toThrow();
	expect(to("live.example", ["tests.live.example"])).toThrow("allowHosts");
});

test("a client of any other service carries nothing, so nothing is read, made or sent", async () => {
	const { asked, origin } = await listening();
	const client = createClient({
		baseUrl: `${origin}/api/v1`,
		apiKey: createSandbox().connection.apiKey,
		fetch: (input, init) => globalThis.fetch(input, init as never),
	});
	const reads: string[] = [];
	const store = new Proxy(memoryStore(), {
		get(target, name, receiver) {
			reads.push(String(name));
			return Reflect.get(target, name, receiver);
		},
	});
	const outbox = createOutbox({ client, store });
	await outbox.enqueue({ id: "note-1", agencyId: "agy_1", to: anna, body: "Hello" });
	for await (const _ of changes(client.agency("agy_1"), { since: "now" }));
	expect(Object.getOwnPropertySymbols(client)).toEqual([Symbol.for("messaging-conversations/protocol")]);
	expect(reads.filter((name) => /list|find/.test(name))).toEqual([]);
	expect(new Set(asked.map((each) => each.split("?")[0]))).toEqual(
		new Set(["GET /api/v1/agencies/agy_1/conversations"]),
	);
});
