import { readFileSync } from "node:fs";
import type { ClientOptions } from "messaging-conversations";
import { expect, test, vi } from "vitest";
import { adapters, over } from "../adapters.ts";
import { callOf, clientOf, sixCalls } from "../calls.ts";
import { agencyId, lookupAnswer, operationId, phone, sentNow, text } from "../canned.ts";
import { scripted } from "../scripted.ts";

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
const goods = Object.fromEntries(sixCalls.map(({ operation, good }) => [operation, good]));

/** A server that answers each operation well. */
const answering = () =>
	scripted(({ url, method, body }) => {
		if (url.endsWith("/me")) return { json: goods["me.get"] };
		if (url.endsWith("/lookup")) return { json: lookupAnswer(body) };
		if (method === "POST") return { json: sentNow };
		if (url.includes("/messages")) return { json: goods["conversations.listMessages"] };
		return { json: goods[url.includes("%2B") ? "conversations.get" : "conversations.list"] };
	});

/** The one request of a call. */
async function requestOf(run: (client: ReturnType<typeof clientOf>) => unknown, options: Partial<ClientOptions> = {}) {
	const server = await answering();
	await run(clientOf(server, { retry: false, ...options }));
	const [request] = server.requests;
	expect(server.requests).toHaveLength(1);
	return request ?? expect.unreachable("no request");
}

test.for(adapters)("a read has no body, and a send the JSON of its message (%s)", async (adapter) => {
	const read = await requestOf((client) => client.me.get(), over(adapter));
	expect([read.method, read.body]).toEqual(["GET", ""]);
	expect(read.headers).not.toHaveProperty("content-type");
	expect(read.headers.accept).toBe("application/json");
	const message = { body: text, operationId, to: phone, consentLanguage: "nl", subaccountId: null };
	const send = await requestOf((client) => client.agency(agencyId).messages.send(message), over(adapter));
	expect([send.method, send.headers["content-type"]]).toEqual(["POST", "application/json"]);
	// The order is part of an idempotency key: other bytes under the same id are refused for ever.
	expect(Object.keys(JSON.parse(send.body))).toEqual(["to", "body", "operationId", "subaccountId", "consentLanguage"]);
	expect(send.headers["content-length"]).toBe(`${Buffer.byteLength(send.body)}`);
});

test.for(adapters)("only what reads forbids a cache to answer (%s)", async (adapter) => {
	for (const { operation, run } of sixCalls) {
		const { headers } = await requestOf(run, over(adapter));
		expect([operation, headers["cache-control"] ?? "none"]).toEqual([
			operation,
			operation === "messages.send" ? "none" : "no-cache",
		]);
	}
});

test.for(adapters)(
	"a number in a path is escaped, and a query holds what was given and no more (%s)",
	async (adapter) => {
		const options = { search: "Peeters & Co", cursor: "a/b?c=d", pageSize: 7 };
		const list = await requestOf((client) => client.agency(agencyId).conversations.list(options).page(), over(adapter));
		const { pathname, searchParams } = new URL(list.url, "http://host");
		expect(pathname).toBe(`/api/v1/agencies/${agencyId}/conversations`);
		expect(Object.fromEntries(searchParams)).toEqual({ search: "Peeters & Co", cursor: "a/b?c=d", pageSize: "7" });
		const bare = await requestOf((client) => client.agency(agencyId).conversations.list().page(), over(adapter));
		expect(bare.url).not.toContain("?");
		const get = await requestOf(callOf("conversations.get").run, over(adapter));
		expect(get.url).toBe(`/api/v1/agencies/${agencyId}/conversations/%2B32470123456`);
	},
);

test("a slash at the end of the base URL is not a part of the path", async () => {
	const server = await answering();
	await clientOf({ baseUrl: `${server.baseUrl}//` }).me.get();
	expect(server.requests[0]?.url).toBe("/api/v1/me");
});

test.for(adapters)("the User-Agent names the package, the runtime and the application (%s)", async (adapter) => {
	const { headers } = await requestOf((client) => client.me.get(), over(adapter));
	expect(headers["user-agent"]).toBe(`messaging-conversations/${version} Node.js/${process.versions.node}`);
	const appInfo = { name: "crm (test)", version: "1.2 beta" };
	const named = await requestOf((client) => client.me.get(), { appInfo, ...over(adapter) });
	expect(named.headers["user-agent"]).toBe(
		`messaging-conversations/${version} Node.js/${process.versions.node} crm-test-/1.2-beta`,
	);
});

test("a page keeps the browser's User-Agent, and a runtime's own name is taken where a header can hold it", async () => {
	const agentWith = async (globals: Record<string, unknown>) => {
		for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
		const agents: (string | null)[] = [];
		const client = clientOf(
			{ baseUrl: "https://messaging.example" },
			{
				fetch: async (_url, { headers }) => {
					agents.push(new Headers(headers).get("user-agent"));
					return new Response(JSON.stringify(goods["me.get"]));
				},
			},
		);
		await client.me.get();
		vi.unstubAllGlobals();
		return agents[0];
	};
	const own = `messaging-conversations/${version}`;
	expect(await agentWith({ document: {} })).toBeNull();
	expect(await agentWith({ navigator: { userAgent: "Cloudflare-Workers" } })).toBe(`${own} Cloudflare-Workers`);
	const node = `${own} Node.js/${process.versions.node}`;
	expect(await agentWith({ navigator: { userAgent: "Node.js/20" } })).toBe(node);
	expect(await agentWith({ navigator: { userAgent: "Rüntime/1" } })).toBe(node);
	expect(await agentWith({ navigator: undefined, process: undefined })).toBe(own);
});
