import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { runInNewContext } from "node:vm";
import { createClient, type Fetch, isWindowOpen, type Logger } from "messaging-conversations";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { clientOf, failure, jsonResponse, recordingFetch, unhandledRejections } from "../calls.ts";
import { agencyId, apiKey, me, phone, sentNow, text } from "../canned.ts";
import { pause, scripted } from "../scripted.ts";

const baseUrl = "https://messaging.example/api/v1";

afterEach(() => {
	vi.useRealTimers();
	vi.unstubAllGlobals();
	vi.unstubAllEnvs();
});

const never = () => new Promise<Response>(() => {});

test("createClient makes no request and reads no environment", async () => {
	const { fetch, calls } = recordingFetch(() => jsonResponse(me));
	vi.stubGlobal("fetch", fetch);
	vi.stubEnv("MESSAGING_API_KEY", apiKey);
	vi.stubEnv("MESSAGING_BASE_URL", baseUrl);
	const client = createClient({ baseUrl: undefined, apiKey: undefined });
	client.agency(agencyId);
	const error = await failure(() => client.me.get());
	expect(error._tag).toBe("PartnerConfigurationError");
	expect(calls).toEqual([]);
});

test("the client and its groups can be destructured", async () => {
	const service = await scripted((seen) => ({ json: seen.method === "POST" ? sentNow : me }));
	const { me: group, agency } = clientOf(service);
	const { get } = group;
	const {
		messages: { send },
		conversations: { list },
		id,
	} = agency(agencyId);
	expect(id).toBe(agencyId);
	await expect(get()).resolves.toEqual(me);
	await expect(send({ to: phone, body: text })).resolves.toMatchObject({ messageId: "SM900" });
	expect(list).toBeTypeOf("function");
});

test("client.agency makes no request", async () => {
	const { fetch, calls } = recordingFetch(() => jsonResponse(me));
	createClient({ baseUrl, apiKey, fetch }).agency(agencyId);
	await Promise.resolve();
	expect(calls).toEqual([]);
});

test("a client shows its key in no form", async () => {
	const { inspect } = await import("node:util");
	const client = createClient({ baseUrl, apiKey, fetch: never });
	const forms = [inspect(client, { showHidden: true, depth: 10 }), JSON.stringify(client), String(client)];
	forms.push(inspect(client.agency(agencyId), { showHidden: true, depth: 10 }));
	expect(forms.join("\n")).not.toContain("CANARYKEY");
});

test("an abort in the same breath as the call makes no request", async () => {
	const { fetch, calls } = recordingFetch(never);
	const { messages } = createClient({ baseUrl, apiKey, fetch }).agency("agy_1");
	const controller = new AbortController();
	const call = messages.send({ to: phone, body: "Hello" }, { signal: controller.signal });
	controller.abort();
	await expect(call).rejects.toMatchObject({ _tag: "PartnerAbortError", attempts: 0, outcome: "not_sent" });
	expect(calls).toEqual([]);
});

test("S36 a fetch that returns a clone leaves no unhandled rejection when the body is cut", async () => {
	const unhandled = unhandledRejections();
	// Without a content-length the bytes are counted as they come.
	const server = createServer((_request, response) => response.writeHead(200).write('{"half":')).listen(0, "127.0.0.1");
	onTestFinished(() => void server.close().closeAllConnections());
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	const fetch: Fetch = async (url, init) => (await globalThis.fetch(url, init)).clone();
	const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey, fetch, retry: false });
	const error = await failure(() => client.me.get({ timeoutMs: 1_000 }));
	expect(error).toMatchObject({ _tag: "PartnerTimeoutError", status: 200 });
	await pause();
	await expect(unhandled()).resolves.toEqual([]);
});

test("a read is on its way when its call returns", async () => {
	const { fetch, calls } = recordingFetch(() => jsonResponse(me));
	const call = createClient({ baseUrl, apiKey, fetch }).me.get();
	expect(calls).toHaveLength(1);
	await call;
});

test("objects of another realm are taken, as under Jest: logger, signal, date, the error of a key function", async () => {
	const { fetch } = recordingFetch(() => jsonResponse(me));
	const logger: Logger = runInNewContext("({ debug() {}, info() {}, warn() {}, error() {} })");
	const signal: AbortSignal = runInNewContext("({ aborted: false, addEventListener() {}, removeEventListener() {} })");
	const client = clientOf({ baseUrl }, { fetch, logger });
	expect(await client.me.get({ signal })).toEqual(me);
	const closed = { windowExpiresAt: "2026-01-06T09:00:00.000Z" };
	expect(isWindowOpen(closed, runInNewContext("new Date('2026-01-06T08:59:59Z')"))).toBe(true);
	const failing: () => string = runInNewContext("() => { throw new RangeError('vault') }");
	const error = await failure(() => clientOf({ baseUrl }, { fetch, apiKey: failing }).me.get());
	expect(error).toMatchObject({ _tag: "PartnerConfigurationError", retryable: true, cause: { name: "RangeError" } });
});
