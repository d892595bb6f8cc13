import net from "node:net";
import { expect, test, vi } from "vitest";
import { createSandbox } from "../../src/sandbox/index.ts";
import { document, operations } from "./contract.ts";
import {
	ANNA,
	after,
	agencyCalls,
	BELGIAN,
	type Box,
	BRAM,
	call,
	get,
	list,
	lookup,
	me,
	messages,
	send,
	summaryOf,
	throughEachEntryPoint,
} from "./entry-points.ts";

throughEachEntryPoint((open, entryPoint) => {
	test("R1 answers six operations under a base URL that ends in /api/v1", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		expect(operations).toHaveLength(6);
		expect(box.baseUrl).toMatch(/\/api\/v1$/);
		expect((await me(box)).status).toBe(200);
		for (const run of Object.values(agencyCalls(box, ANNA))) expect((await run()).status).toBe(200);
	});

	test("R2 serves the contract without a key", async () => {
		const box = await open();
		const served = JSON.parse((await call(box, "GET", "/openapi.json", { key: null })).text);
		expect(served.openapi).toMatch(/^3\.1\./);
		expect(served.info.version).toBe("1.0.0");
		expect(served.paths).toEqual(document.paths);
		expect(served.components).toEqual(document.components);
	});

	test("R3 gives every response a correlation id of its own and does not echo the caller's", async () => {
		const box = await open();
		const headers = { "x-correlation-id": "mine" };
		const answers = [
			await me(box, { headers }),
			await me(box, { headers }),
			await me(box, { headers, key: null }),
			await list(box, { pageSize: 0 }, { headers }),
			await list(box, {}, { headers, agencyId: "agy_0" }),
			await get(box, ANNA, {}, { headers }),
			await call(box, "GET", "/nowhere", { headers }),
			await call(box, "GET", "/openapi.json", { headers }),
		];
		expect(answers.map((answer) => answer.status)).toEqual([200, 200, 401, 400, 403, 404, 501, 200]);
		const ids = answers.map((answer) => answer.headers.get("x-correlation-id"));
		expect(new Set(ids).size).toBe(answers.length);
		for (const id of ids) expect(id).toBeTruthy();
		expect(ids).not.toContain("mine");
	});

	test("R4 writes an error as JSON of exactly _tag and message", async () => {
		const box = await open();
		for (const answer of [await me(box, { key: null }), await list(box, { pageSize: 0 }), await get(box, ANNA)]) {
			const body = JSON.parse(answer.text);
			expect(Object.keys(body).sort()).toEqual(["_tag", "message"]);
			expect(typeof body._tag).toBe("string");
			expect(body.message).not.toBe("");
		}
	});

	test("R5 tags each status by its name", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		expect((await list(box, { pageSize: 0 })).refused(400)._tag).toBe("PartnerBadRequest");
		expect((await me(box, { key: null })).refused(401)._tag).toBe("PartnerUnauthorized");
		expect((await list(box, {}, { agencyId: "agy_0" })).refused(403)._tag).toBe("PartnerForbidden");
		expect((await get(box, BRAM)).refused(404)._tag).toBe("PartnerNotFound");
		box.agency.conversation(anna).takeOver({ times: 1 });
		expect((await send(box, { to: ANNA, body: "Hi" })).refused(409)._tag).toBe("PartnerConflict");
		await send(box, { to: ANNA, body: "One", operationId: "a" });
		const reused = await send(box, { to: ANNA, body: "Two", operationId: "a" });
		expect(reused.refused(500)._tag).toBe("PartnerInternalError");
	});

	test("R6 names the failing field or rule in a 400", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		expect((await list(box, { pageSize: 101 })).refused(400).message).toMatch(/pageSize/);
		expect((await list(box, { cursor: "garbage" })).refused(400).message).toMatch(/cursor/);
		expect((await get(box, ANNA, { pageSize: 0 })).refused(400).message).toMatch(/pageSize/);
		expect((await messages(box, ANNA, { cursor: "garbage" })).refused(400).message).toMatch(/cursor/);
		expect((await get(box, "abc")).refused(400).message).toMatch(/phone/i);
		expect((await lookup(box, [])).refused(400).message).toMatch(/phoneNumbers/);
		expect((await send(box, { body: "Hi" })).refused(400).message).toMatch(/\bto\b/);
		expect((await send(box, { to: ANNA })).refused(400).message).toMatch(/body/);
		expect((await send(box, { to: ANNA, body: "Hi", attachments: [] })).refused(400).message).toMatch(/attachments/);
		expect((await send(box, { to: ANNA, body: "Hi", subaccountId: "x" })).refused(400).message).toMatch(/subaccountId/);
		box.agency.consent.set({ languages: ["nl", "fr"], defaultLanguage: "nl" });
		expect((await send(box, { to: BRAM, body: "Hi" })).refused(400).message).toMatch(/consentLanguage/);
		box.agency.consent.set({ missingTemplates: ["consent_nl"] });
		const ineligible = await send(box, { to: BRAM, body: "Hi", consentLanguage: "nl" });
		expect(ineligible.refused(400).message).toMatch(/consent|eligible|template/i);
	});

	test("R6 names an unknown field in 64 characters at most, and without control characters", async () => {
		const box = await open();
		const refusal = async (name: string) => (await send(box, { to: ANNA, body: "Hi", [name]: 1 })).refused(400).message;
		expect(await refusal(`${"🏡".repeat(64)}tail`)).toBe(`${"🏡".repeat(64)}…: is not a field of this request.`);
		expect(await refusal("a\r\n\u001b[31m\u202eb: c")).toBe("a[31mb: c: is not a field of this request.");
		expect(await refusal("attachments")).toBe("attachments: is not a field of this request.");
	});

	test("R7 says nothing of the cause in a 500", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		await send(box, { to: ANNA, body: "One", operationId: "a" });
		const reused = await send(box, { to: ANNA, body: "Two", operationId: "a" });
		box.sandbox.faults.add({ times: 2, phase: "before", effect: { status: 500 } });
		const sent = await send(box, { to: ANNA, body: "Three" });
		const read = await list(box);
		expect(reused.text).toBe(sent.text);
		expect(reused.text).toBe(read.text);
		expect(reused.refused(500).message).not.toMatch(/operation|fault|sandbox|reuse|different/i);
	});

	test("R8 answers each operation with the statuses that are listed for it, all of them and no other", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		const { apiKey: blind } = box.sandbox.keys.create({ scopes: [] });
		const seen = new Map<string, Set<number>>(operations.map((operation) => [operation.id, new Set<number>()]));
		const note = (id: string, status: number) => seen.get(id)?.add(status);
		const fail = (operation: "me.get" | "conversations.list", status: number) =>
			box.sandbox.faults.add({ operation, times: 1, phase: "before", effect: { status } });
		note("me.get", (await me(box)).status);
		note("me.get", (await me(box, { key: null })).status);
		fail("me.get", 403);
		note("me.get", (await me(box)).status);
		box.sandbox.integration.hide();
		note("me.get", (await me(box)).status);
		box.sandbox.integration.restore();
		fail("me.get", 500);
		note("me.get", (await me(box)).status);
		const drive = async (options: object, phone = ANNA) => {
			for (const [id, run] of Object.entries(agencyCalls(box, phone, options))) note(id, (await run()).status);
		};
		await drive({});
		await drive({ key: null });
		await drive({ key: blind });
		await drive({ agencyId: "agy_0" });
		await drive({}, BRAM);
		box.sandbox.faults.add({ times: 5, phase: "before", effect: { status: 500 } });
		await drive({});
		note("conversations.list", (await list(box, { pageSize: 0 })).status);
		note("conversations.lookup", (await lookup(box, [])).status);
		note("conversations.get", (await get(box, "abc")).status);
		note("conversations.listMessages", (await messages(box, "abc")).status);
		note("messages.send", (await send(box, {})).status);
		box.agency.conversation(anna).takeOver({ times: 1 });
		note("messages.send", (await send(box, { to: ANNA, body: "Hi" })).status);
		for (const operation of operations) {
			const sorted = [...(seen.get(operation.id) ?? [])].sort();
			expect(sorted, operation.id).toEqual([...operation.statuses.keys()].sort());
		}
	});

	test("R9 writes instants as ISO 8601 in UTC with milliseconds", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		box.sandbox.clock.advance({ hours: 25 });
		await send(box, { to: ANNA, body: "Hi" });
		const { text } = await get(box, ANNA);
		const instants = [...text.matchAll(/"(\w+(?:At|Expires\w*))":"([^"]*)"/g)];
		expect(instants.length).toBeGreaterThan(5);
		for (const [, , instant] of instants) expect(instant).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
		expect(text).toContain(`"disabledAt":"${after(25)}"`);
	});

	test("R10 writes phone numbers as E.164 whatever form came in", async () => {
		const box = await open();
		box.agency.contact("0470 12 34 56").writes("Hello");
		expect((await list(box)).ok().conversations[0]?.phoneNumber).toBe(BELGIAN);
		expect((await get(box, "0470123456")).ok().conversation.summary.phoneNumber).toBe(BELGIAN);
		expect((await lookup(box, ["0032470123456"])).ok().results[0]?.conversation?.phoneNumber).toBe(BELGIAN);
	});

	test("R11 keeps fields without a value as null and leaves optional fields out", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		box.agency.conversation(anna).open();
		expect(await summaryOf(box, ANNA)).toMatchObject({
			contactName: null,
			lastMessageAt: null,
			lastMessagePreview: null,
			lastMessageDirection: null,
			latestFlowStatus: null,
			lastInboundAt: null,
			windowExpiresAt: null,
		});
		anna.writes("Hello");
		const [message] = (await messages(box, ANNA)).ok().messages;
		expect(message).toMatchObject({ templateName: null, buttonClicked: null });
		expect(message).not.toHaveProperty("interactiveContent");
		expect(message).not.toHaveProperty("replyTo");
	});

	test("R12 refuses an unknown path or method with 501 and records a violation", async () => {
		const box = await open();
		const agency = `/agencies/${box.agency.id}`;
		const unknown = [
			["GET", "/nowhere"],
			["GET", "/agencies"],
			["GET", agency],
			["DELETE", "/me"],
			["POST", "/me"],
			["PUT", `${agency}/conversations`],
			["GET", `${agency}/messages`],
			["DELETE", `${agency}/conversations/${encodeURIComponent(ANNA)}`],
			["GET", `${agency}/conversations/${encodeURIComponent(ANNA)}/media`],
			["GET", "/%E0%A4%A"],
		] as const;
		for (const [index, [method, path]] of unknown.entries()) {
			const answer = await call(box, method, path);
			expect(answer.refused(501)._tag, `${method} ${path}`).toBe("SandboxUnsupported");
			expect(box.sandbox.violations()).toHaveLength(index + 1);
		}
	});

	test("R12 refuses whatever else is asked of its origin as an unknown path, HEAD without a body", async () => {
		const box = await open();
		const outside = ["/../v2/me", "/../../me", "/../v10/me", "/../v1", "/../../openapi.json"];
		for (const [index, path] of outside.entries()) {
			expect((await call(box, "GET", path)).refused(501)._tag, path).toBe("SandboxUnsupported");
			expect(box.sandbox.violations()).toHaveLength(index + 1);
		}
		const head = await call(box, "HEAD", "/me", { check: "broken" });
		expect([head.status, head.text]).toEqual([501, ""]);
		expect(head.headers.get("content-type")).toBe("application/json");
		expect(head.headers.get("x-correlation-id")).not.toBeNull();
	});

	test("R13 ignores unknown query parameters and refuses a known one given twice", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		expect((await list(box, { sort: "asc", pageSize: 1 })).ok().conversations).toHaveLength(1);
		const twice = async (path: string) => (await call(box, "GET", path)).refused(400);
		const conversations = `/agencies/${box.agency.id}/conversations`;
		const anna = `${conversations}/${encodeURIComponent(ANNA)}`;
		expect((await twice(`${conversations}?pageSize=1&pageSize=2`)).message).toMatch(/pageSize/);
		await twice(`${conversations}?search=anna&search=anna`);
		await twice(`${anna}?pageSize=1&pageSize=1`);
		await twice(`${anna}/messages?pageSize=1&pageSize=1`);
	});

	test("R14 refuses a body that is not a JSON object, or that is declared as something else", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		const path = `/agencies/${box.agency.id}/messages`;
		const good = { to: ANNA, body: "Hi" };
		for (const body of ["", "{", "[]", '"text"', "null", "1", `{"to":"${ANNA}","body":"Hi"`]) {
			(await call(box, "POST", path, { body })).refused(400);
			(await call(box, "POST", `/agencies/${box.agency.id}/conversations/lookup`, { body })).refused(400);
		}
		(await call(box, "POST", path)).refused(400);
		for (const contentType of ["text/plain", "application/x-www-form-urlencoded", "text/html"]) {
			(await call(box, "POST", path, { body: good, contentType })).refused(400);
		}
		expect(box.agency.contact(ANNA).inbox()).toEqual([]);
		for (const contentType of [null, "application/json; charset=utf-8", "Application/JSON"]) {
			expect((await call(box, "POST", path, { body: good, contentType })).status).toBe(200);
		}
	});

	test("R14 refuses a body that is not UTF-8, or begins with a byte order mark", async () => {
		const box = await open();
		const path = `/agencies/${box.agency.id}/messages`;
		const text = JSON.stringify({ to: ANNA, body: "Größe ?" });
		const bytes = new TextEncoder().encode(text);
		const notUtf8 = bytes.map((byte) => (byte === 0x3f ? 0xff : byte));
		for (const body of [notUtf8, Uint8Array.from([0xef, 0xbb, 0xbf, ...bytes]), Uint8Array.of(0xff)]) {
			expect((await call(box, "POST", path, { body })).refused(400).message).toMatch(/request body/);
			(await call(box, "POST", path, { body, key: null })).refused(401);
		}
		expect(box.agency.contact(ANNA).inbox()).toEqual([]);
		expect(JSON.stringify(box.sandbox.requests()[0]?.body)).toContain("Größe");
		(await call(box, "POST", path, { body: bytes })).ok();
		box.agency.contact(ANNA).accepts();
		expect(box.agency.contact(ANNA).inbox().at(-1)?.body).toBe("Größe ?");
	});

	test("R15 checks the key, then the scope, then the agency, then the request, then what exists", async () => {
		const box = await open();
		const { apiKey: blind } = box.sandbox.keys.create({ scopes: [] });
		const wrong = { phone: "abc", query: { pageSize: 0 } };
		(await get(box, wrong.phone, wrong.query, { key: null, agencyId: "agy_0" })).refused(401);
		(await send(box, {}, { key: null, agencyId: "agy_0" })).refused(401);
		const mine = await get(box, wrong.phone, wrong.query, { key: blind });
		const foreign = await get(box, wrong.phone, wrong.query, { key: blind, agencyId: "agy_0" });
		mine.refused(403);
		foreign.refused(403);
		expect(foreign.text).toBe(mine.text);
		(await get(box, wrong.phone, wrong.query, { agencyId: "agy_0" })).refused(403);
		(await call(box, "POST", "/agencies/agy_0/messages", { body: "{", contentType: "text/plain" })).refused(403);
		(await get(box, ANNA, { pageSize: 0 })).refused(400);
		(await messages(box, ANNA, { pageSize: 0 })).refused(400);
		(await get(box, ANNA)).refused(404);
		box.agency.consent.set({ configured: false });
		expect((await send(box, { to: ANNA, body: "" })).refused(400).message).toMatch(/body/);
	});

	test("R16 changes nothing when it refuses", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		box.agency.startFlow(anna);
		const bram = box.agency.contact(BRAM);
		bram.writes("Hello");
		box.sandbox.clock.advance({ hours: 25 });
		anna.writes("Again");
		await send(box, { to: BRAM, body: "Held" });
		const look = async (): Promise<unknown> => [
			(await list(box)).text,
			(await get(box, ANNA)).text,
			(await get(box, BRAM)).text,
			anna.inbox(),
			bram.inbox(),
		];
		const before = await look();
		const { apiKey: readOnly } = box.sandbox.keys.create({ scopes: ["conversations:read"] });
		const operationId = "kept";
		const body = "Hi";
		(await send(box, { to: ANNA, body, operationId }, { key: null })).refused(401);
		(await send(box, { to: ANNA, body, operationId }, { key: readOnly })).refused(403);
		(await send(box, { to: ANNA, body, operationId }, { agencyId: "agy_0" })).refused(403);
		(await send(box, { to: ANNA, body: "", operationId })).refused(400);
		(await send(box, { to: ANNA, body, operationId, extra: 1 })).refused(400);
		(await send(box, { to: BRAM, body, operationId, consentLanguage: "xx" })).refused(400);
		box.agency.conversation(anna).takeOver({ times: 1 });
		(await send(box, { to: ANNA, body, operationId })).refused(409);
		box.agency.conversation(bram).takeOver({ times: 1 });
		(await send(box, { to: BRAM, body, operationId })).refused(409);
		expect(await look()).toEqual(before);
		expect((await send(box, { to: ANNA, body: "The id is free", operationId })).ok().status).not.toBeNull();
	});

	test("R17 has no limit of rate, of request size or of length", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		const burst = await Promise.all(Array.from({ length: 100 }, () => me(box)));
		expect(burst.every((answer) => answer.status === 200)).toBe(true);
		const long = "x".repeat(500_000);
		(await send(box, { to: ANNA, body: long })).ok();
		expect((await messages(box, ANNA)).ok().messages[0]?.body).toBe(long);
	});

	test("R18 calls no webhook and no other URL, whatever happens", async () => {
		const connect = vi.spyOn(net.Socket.prototype, "connect");
		try {
			const box = await open();
			const anna = box.agency.contact(ANNA);
			anna.writes({ body: "See", media: [{ url: "https://files.invalid/1.jpg", contentType: "image/jpeg" }] });
			await send(box, { to: ANNA, body: "Hi" });
			box.sandbox.clock.advance({ hours: 25 });
			await send(box, { to: ANNA, body: "Held" });
			anna.accepts();
			box.sandbox.clock.advance({ hours: 100 });
			await list(box);
			const own = new URL(box.baseUrl).port;
			const elsewhere = connect.mock.calls.filter((args) => !JSON.stringify(args).includes(`"${own}"`));
			if (entryPoint.name === "server") {
				expect(connect.mock.calls.length).toBeGreaterThan(0);
				expect(elsewhere).toEqual([]);
			} else {
				expect(connect.mock.calls).toEqual([]);
			}
		} finally {
			connect.mockRestore();
		}
	});

	test("R163 speaks HTTPS, and plain HTTP on loopback alone", async () => {
		const { protocol, hostname } = new URL((await open()).baseUrl);
		if (entryPoint.name === "server") expect([protocol, hostname]).toEqual(["http:", "127.0.0.1"]);
		else expect([protocol, hostname]).toEqual(["https:", "sandbox.invalid"]);
	});

	test("R164 changes nothing by reading", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		box.agency.startFlow(anna);
		box.sandbox.clock.advance({ hours: 30 });
		await send(box, { to: ANNA, body: "Held" });
		const reads = (each: Box) => {
			const { "messages.send": _, ...rest } = agencyCalls(each, ANNA);
			return Promise.all(Object.values(rest).map(async (run) => (await run()).text));
		};
		const before = [await reads(box), anna.inbox()];
		for (let round = 0; round < 3; round += 1) await reads(box);
		(await list(box, { search: "nobody" })).ok();
		(await get(box, BRAM)).refused(404);
		(await lookup(box, [BRAM])).ok();
		expect([await reads(box), anna.inbox()]).toEqual(before);
	});
});

test("the in-process entry point finds its origin in any spelling, and no other", async () => {
	const sandbox = createSandbox();
	const { apiKey } = sandbox.connection;
	const headers = { authorization: `Bearer ${apiKey}` };
	for (const url of [
		"https://SANDBOX.invalid:443/api/v1/me",
		"https://sandbox.invalid/api/v2/../v1/me?a#b",
		"https://sandbox.invalid/api/v1/x/%2E%2e/me",
		"https://sandbox.invalid/api/v1\\x\\..\\me",
		"https://sandbox.invalid/api/v1/m\te\n ",
	]) {
		expect((await sandbox.fetch(url, { headers })).status, url).toBe(200);
		expect((await sandbox.fetch(new Request(url, { headers }))).status, url).toBe(200);
	}
	for (const url of [
		"https://elsewhere.invalid/api/v1/me",
		"https://sandbox.invalid.elsewhere.invalid/api/v1/me",
		"http://sandbox.invalid/api/v1/me",
		"https://sandbox.invalid:8443/api/v1/me",
	]) {
		await expect(sandbox.fetch(url, { headers }), url).rejects.toMatchObject({ cause: { code: "ENOTFOUND" } });
	}
	expect(sandbox.requests().map(({ path }) => path)).toEqual(sandbox.requests().map(() => "/me"));
	await expect(sandbox.fetch("no url", { headers })).rejects.toBeInstanceOf(TypeError);
	expect(sandbox.violations()).toEqual([]);
});

test("the in-process entry point reads headers, and refuses a body that cannot be, as fetch does", async () => {
	const sandbox = createSandbox();
	const { baseUrl, apiKey } = sandbox.connection;
	const bearer = `Bearer ${apiKey}`;
	const asked: [HeadersInit, number][] = [
		[{ Authorization: ` ${bearer}\n` }, 200],
		[[["AUTHORIZATION", bearer]], 200],
		[{ Authorization: bearer, authorization: bearer }, 401],
		[
			[
				["authorization", bearer],
				["authorization", "Bearer another"],
			],
			401,
		],
		[{ Authorization: `${bearer}\u00a0` }, 401],
	];
	for (const [headers, status] of asked) {
		expect((await sandbox.fetch(`${baseUrl}/me`, { headers })).status, JSON.stringify(headers)).toBe(status);
		expect((await sandbox.fetch(new Request(`${baseUrl}/me`, { headers }))).status).toBe(status);
	}
	const { length } = sandbox.requests();
	for (const method of ["GET", "get", "HEAD"]) {
		await expect(sandbox.fetch(`${baseUrl}/me`, { method, body: "" })).rejects.toBeInstanceOf(TypeError);
	}
	expect(sandbox.requests()).toHaveLength(length);
});
