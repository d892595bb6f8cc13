import http from "node:http";
import type { NodeHttp } from "messaging-conversations/node";
import { expect, type TestContext, test } from "vitest";
import { controlOf, nodeExchange } from "../adapters.ts";
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
async function ask({ url }: Listening, exchange: NodeHttp): Promise<void> {
	const request = { method: "GET", url, headers: {}, body: undefined, noStore: false, once: false };
	await exchange(request, controlOf(1_000_000));
}

const closed = ({ open }: Listening) => eventually(() => expect(open()).toBe(0));

test.concurrent.for([
	["without an announcement", undefined],
	["that announces more", "timeout=60"],
] as const)("keepAliveMs ends an idle connection to a service %s", async ([, keepAlive], context) => {
	const server = await service(context, keepAlive);
	await ask(server, nodeExchange({ keepAliveMs: 30 }, context.onTestFinished));
	expect(server.open()).toBe(1);
	await closed(server);
});

test.concurrent.for([undefined, 600_000])(
	"an idle connection is closed before the service closes it, keepAliveMs %s",
	async (keepAliveMs, context) => {
		const server = await service(context, "timeout=2, max=100");
		await ask(server, nodeExchange({ keepAliveMs }, context.onTestFinished));
		expect(server.open()).toBe(1);
		await closed(server);
	},
);

test.concurrent("a connection that the service closes within a second is not used again", async (context) => {
	const server = await service(context, "timeout=1");
	const exchange = nodeExchange({}, context.onTestFinished);
	await ask(server, exchange);
	await ask(server, exchange);
	expect(server.sockets).toHaveLength(2);
});

test.concurrent("an idle connection is kept for longer where the service announces that it keeps it", async (context) => {
	const [silent, announcing] = [await service(context), await service(context, "timeout=10")];
	const exchange = nodeExchange({}, context.onTestFinished);
	await ask(announcing, exchange);
	await ask(silent, exchange);
	await closed(silent);
	await ask(announcing, exchange);
	expect(announcing.sockets).toHaveLength(1);
});

test.concurrent("an answer that takes longer than an idle connection is kept arrives", async ({ onTestFinished }) => {
	const slow = http.createServer((_, answer) => void setTimeout(() => answer.end("{}"), 100));
	const server = await listening(slow, { onFinished: onTestFinished });
	const exchange = nodeExchange({ keepAliveMs: 20 }, onTestFinished);
	await Promise.all([ask(server, exchange), ask(server, exchange)]);
	await Promise.all([ask(server, exchange), ask(server, exchange)]);
	await closed(server);
});
