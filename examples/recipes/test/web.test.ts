// Express and Fastify answer in the same way.
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import type { Client } from "messaging-conversations";
import { describe, expect, test, vi } from "vitest";
import { createExpressApp } from "../web/express.ts";
import { createFastifyApp } from "../web/fastify.ts";
import { createMessaging } from "../web/messaging.ts";
import { afterTest, startProgram, startService } from "./service.ts";

const servers = {
	express: async (client: Client) => {
		const server = createExpressApp(client).listen(0);
		afterTest(() => server.close());
		await once(server, "listening");
		return server.address() as AddressInfo;
	},
	fastify: async (client: Client) => {
		const app = createFastifyApp(client);
		afterTest(app.close);
		await app.listen({ port: 0, host: "127.0.0.1" });
		return app.server.address() as AddressInfo;
	},
};

describe.each(["express", "fastify"] as const)("%s", (name) => {
	async function open() {
		const service = await startService();
		for (const [key, value] of Object.entries(service.env)) vi.stubEnv(key, value);
		afterTest(vi.unstubAllEnvs);
		const log: object[] = [];
		const { port } = await servers[name](createMessaging((line) => log.push(line)));
		const url = `http://127.0.0.1:${port}/agencies/${service.agencyId}`;
		const send = (fields: object, headers: Record<string, string> = {}) =>
			fetch(`${url}/texts`, {
				method: "POST",
				headers: { "content-type": "application/json", ...headers },
				body: JSON.stringify({ operationId: "note-1", to: "+44 7700 900101", body: "It is.", ...fields }),
			});
		const contact = async () => (await fetch(`${url}/contacts/%2B447700900101`)).json();
		return { ...service, log, url, send, contact };
	}

	test("a double click is one text, and each log line has the id of the request", async () => {
		const { sandbox, anna, log, send } = await open();
		const clicks = await Promise.all([send({}, { "x-request-id": "r-1" }), send({}, { "x-request-id": "r-2" })]);
		expect(clicks.map(({ status, headers }) => [status, headers.get("x-request-id")])).toEqual([
			[200, "r-1"],
			[200, "r-2"],
		]);
		expect(anna.inbox().map(({ body }) => body)).toEqual(["It is."]);
		const operation = "messages.send";
		expect(log).toContainEqual(expect.objectContaining({ requestId: "r-1", operation, operationId: "note-1" }));
		expect(log).toContainEqual(expect.objectContaining({ requestId: "r-2", operation, operationId: "note-1" }));
		sandbox.check();
	});

	test("a form that is wrong is a 422, without the number in it", async () => {
		const { sandbox, send } = await open();
		const wrong = await send({ to: "0470 98 76" });
		expect([wrong.status, await wrong.json()]).toEqual([
			422,
			expect.objectContaining({
				code: "PartnerInvalidInput",
				field: "to",
				message: expect.not.stringContaining("98 76"),
			}),
		]);
		const withoutId = await send({ operationId: undefined });
		expect(withoutId.status).toBe(422);
		expect((await send({ to: undefined })).status).toBe(422);
		expect(sandbox.requests().filter(({ operation }) => operation === "messages.send")).toHaveLength(0);
	});

	test.each([
		["a key that was revoked", { status: 401 }, 502, null, "not_sent"],
		["a 429 with a long wait", { status: 429, retryAfter: 120 }, 503, "120", "unknown"],
		["a 500", { status: 500 }, 503, "5", "unknown"],
	] as const)("%s is not your visitor's fault", async (_, effect, status, retryAfter, outcome) => {
		const { sandbox, send } = await open();
		sandbox.faults.add({ operation: "messages.send", phase: "before", times: Number.POSITIVE_INFINITY, effect });
		const answer = await send({});
		expect([answer.status, answer.headers.get("retry-after")]).toEqual([status, retryAfter]);
		expect(await answer.json()).toMatchObject({ outcome, operationId: "note-1" });
	});

	test("a contact who is not there is a 404, and a bug of your own stays a 500", async () => {
		const { url } = await open();
		expect((await fetch(`${url}/contacts/%2B447700900199`)).status).toBe(404);
		expect((await fetch(`${url}/contacts/nobody`)).status).toBe(422);
		const badJson = { method: "POST", headers: { "content-type": "application/json" }, body: "{" };
		expect((await fetch(`${url}/texts`, badJson)).status).toBe(400);
	});

	test("the contact's page follows what the contact does", async () => {
		const { sandbox, anna, send, contact } = await open();
		sandbox.clock.advance({ hours: 25 });
		const held = async (operationId: string) => {
			expect(await (await send({ operationId })).json()).toEqual({ queued: true });
			expect(await contact()).toMatchObject({ waitingText: "It is." });
		};
		await held("declined");
		anna.declines();
		expect(await contact()).toMatchObject({ waitingText: null });
		sandbox.clock.advance({ hours: 25 });
		await held("never answered");
		sandbox.clock.advance({ hours: 49 });
		expect(await contact()).toMatchObject({ waitingText: null });
		await held("answered in words");
		anna.writes("Who is this?");
		expect((await contact()).messages[0]).toMatchObject({ direction: "inbound", body: "Who is this?" });
		anna.accepts();
		anna.setReachable(false);
		await send({ operationId: "not reached", body: "Hello?" });
		expect((await contact()).messages[0].status).toMatch(/^(failed|undelivered)$/);
	});

	test("a text does not replace one that is held, and a double click is not a second text", async () => {
		const { sandbox, anna, send } = await open();
		sandbox.clock.advance({ hours: 25 });
		expect(await (await send({})).json()).toEqual({ queued: true });
		expect(await (await send({})).json()).toEqual({ queued: true });
		const replacing = await send({ operationId: "note-2", body: "Would Friday suit you?" });
		expect([replacing.status, await replacing.json()]).toEqual([
			409,
			{ code: "TextHeld", message: expect.stringContaining("was not sent") },
		]);
		anna.writes("No thanks, leave me alone"); // the window is open now, and the first text still waits
		expect((await send({ operationId: "note-3", body: "Friday?" })).status).toBe(409);
		expect((await send({})).status).toBe(200);
		expect(anna.inbox().map(({ kind }) => kind)).toEqual(["template"]);
		sandbox.check();
	});

	test("a text to somebody without a conversation is the first one", async () => {
		const { send } = await open();
		expect(await (await send({ to: "+447700900177" })).json()).toEqual({ queued: true });
	});

	test("a text that may have gone out is never called unsent", async () => {
		const { sandbox, send } = await open();
		const effect = { status: 500 };
		sandbox.faults.add({ operation: "messages.send", phase: "after", times: Number.POSITIVE_INFINITY, effect });
		expect(await (await send({})).json()).toMatchObject({
			outcome: "unknown",
			message: expect.stringMatching(/may have been sent.*same form again/),
		});
	});

	test("a visitor who leaves ends a read, and never a send", async () => {
		const { sandbox, anna, log, url } = await open();
		const leave = async (method: string, path: string, body?: object) => {
			sandbox.faults.add({ effect: { latencyMs: 300 } });
			const before = sandbox.events().filter(({ type }) => type === "fault.hit").length;
			const request = httpRequest(url + path, { method, headers: { "content-type": "application/json" } });
			request.on("error", () => {});
			request.end(body && JSON.stringify(body));
			await expect.poll(() => sandbox.events().filter(({ type }) => type === "fault.hit").length).toBe(before + 1);
			request.destroy();
		};
		await leave("POST", "/texts", { operationId: "left", to: anna.phoneNumber, body: "Still sent." });
		await expect.poll(() => anna.inbox().map(({ body }) => body)).toEqual(["Still sent."]);
		await leave("GET", "/contacts/%2B447700900101");
		const ended = { operation: "conversations.get", errorTag: "PartnerAbortError" };
		await expect.poll(() => log).toContainEqual(expect.objectContaining(ended));
	});

	test("a shutdown finishes the send in the middle", async () => {
		const { sandbox, anna, agencyId, env } = await startService();
		const program = startProgram(`web/main-${name}`, { ...env, PORT: "0" });
		const port = await program.printed(/listening on .*"port":(\d+)/);
		const slow = sandbox.faults.add({ operation: "messages.send", effect: { latencyMs: 500 } });
		const sent = fetch(`http://localhost:${port}/agencies/${agencyId}/texts`, {
			method: "POST",
			headers: { "content-type": "application/json", connection: "close" },
			body: JSON.stringify({ operationId: "last", to: anna.phoneNumber, body: "Goodbye." }),
		});
		await expect.poll(() => slow.remaining).toBe(0);
		program.child.kill("SIGTERM");
		expect(await (await sent).json()).toEqual({ queued: false });
		expect(await program.ended).toBe(0);
		expect(anna.inbox().map(({ body }) => body)).toEqual(["Goodbye."]);
	});
});
