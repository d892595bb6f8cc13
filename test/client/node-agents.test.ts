import http from "node:http";
import type { NodeHttp } from "messaging-conversations/node";
import { expect, type TestContext, test } from "vitest";
import { controlOf, nodeTransport } from "../adapters.ts";
import { eventually } from "../eventually.ts";
import { type Listening, listening } from "./listening.ts";

// Each of these tests waits for connections to end, so they wait together.

/** A service that keeps its connections open, and announces this. */
function service({ onTestFinished }: TestContext, keepAlive?: string): Promise<Listening> {
	const server = http.createServer((_, answer) => {
		// Node announces its own limit unless it has none.
		if (keepAlive !== undefined) answer.setHeader("keep-alive", keepAlive);
		answer.end("{}");
	});
	server.keepAliveTimeout = 0;
	return listening(server, { onFinished: onTestFinished });
}

/** Makes a request, and reads its answer to the end. */
async function ask({ url }: Listening, transport: NodeHttp): Promise<void> {
	const request = { method: "GET", url, headers: {}, body: undefined, noStore: false, once: false };
	await transport(request, controlOf(1_000_000));
}

const closed = ({ open }: Listening) => eventually(() => expect(open()).toBe(0));

test.concurrent.for([
	["without an announcement", undefined],
	["that announces more", "timeout=60"],
] as const)("keepAliveMs ends an idle connection to a service %s", async ([, keepAlive], context) => {
	const server = await service(context, keepAlive);
	await ask(server, nodeTransport({ keepAliveMs: 30 }, context.onTestFinished));
	expect(server.open()).toBe(1);
	await closed(server);
});

test.concurrent.for([undefined, 600_000])(
	"an idle connection is closed before the service closes it, keepAliveMs %s",
	async (keepAliveMs, context) => {
		const server = await service(context, "timeout=2, max=100");
		await ask(server, nodeTransport({ keepAliveMs }, context.onTestFinished));
		expect(server.open()).toBe(1);
		await closed(server);
	},
);

test.concurrent("a connection that the service closes within a second is not used again", async (context) => {
	const server = await service(context, "timeout=1");
	const transport = nodeTransport({}, context.onTestFinished);
	await ask(server, transport);
	await ask(server, transport);
	expect(server.sockets).toHaveLength(2);
});

test.concurrent("an idle connection is kept for longer where the service announces that it keeps it", async (context) => {
	const [silent, announcing] = [await service(context), await service(context, "timeout=10")];
	const transport = nodeTransport({}, context.onTestFinished);
	await ask(announcing, transport);
	await ask(silent, transport);
	await closed(silent);
	await ask(announcing, transport);
	expect(announcing.sockets).toHaveLength(1);
});

test.concurrent("an answer that takes longer than an idle connection is kept arrives", async ({ onTestFinished }) => {
	const slow = http.createServer((_, answer) => void setTimeout(() => answer.end("{}"), 100));
	const server = await listening(slow, { onFinished: onTestFinished });
	const transport = nodeTransport({ keepAliveMs: 20 }, onTestFinished);
	await Promise.all([ask(server, transport), ask(server, transport)]);
	await Promise.all([ask(server, transport), ask(server, transport)]);
	await closed(server);
});
