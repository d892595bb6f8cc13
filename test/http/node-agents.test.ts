import http from "node:http";
import { expect, test, vi } from "vitest";
import { nodeExchange } from "../adapters.ts";
import { type Listening, listening } from "./listening.ts";

/** A service that keeps its connections open, and announces this. */
function service(keepAlive?: string): Promise<Listening> {
	const server = http.createServer((_, answer) => {
		// Node announces its own limit unless it has none.
		if (keepAlive !== undefined) answer.setHeader("keep-alive", keepAlive);
		answer.end("{}");
	});
	server.keepAliveTimeout = 0;
	return listening(server);
}

/** Makes a request, and reads its answer to the end. */
async function ask({ url }: Listening, exchange = nodeExchange()): Promise<void> {
	const request = { method: "GET", url, headers: {}, body: undefined, noStore: false };
	await exchange(request, { maxBytes: 1_000_000 });
}

const closed = ({ open }: Listening) => vi.waitFor(() => expect(open()).toBe(0), { timeout: 10_000 });

test.each([
	["without an announcement", undefined],
	["that announces more", "timeout=60"],
])("keepAliveMs ends an idle connection to a service %s", async (_, keepAlive) => {
	const server = await service(keepAlive);
	await ask(server, nodeExchange({ keepAliveMs: 30 }));
	expect(server.open()).toBe(1);
	await closed(server);
});

test.each([undefined, 600_000])(
	"an idle connection is closed before the service closes it, keepAliveMs %s",
	async (keepAliveMs) => {
		const server = await service("timeout=2, max=100");
		await ask(server, nodeExchange({ keepAliveMs }));
		expect(server.open()).toBe(1);
		await closed(server);
	},
);

test("a connection that the service closes within a second is not used again", async () => {
	const server = await service("timeout=1");
	const exchange = nodeExchange();
	await ask(server, exchange);
	await ask(server, exchange);
	expect(server.sockets).toHaveLength(2);
});

test("an idle connection is kept for longer where the service announces that it keeps it", async () => {
	const [silent, announcing] = [await service(), await service("timeout=10")];
	const exchange = nodeExchange();
	await ask(announcing, exchange);
	await ask(silent, exchange);
	await closed(silent);
	await ask(announcing, exchange);
	expect(announcing.sockets).toHaveLength(1);
}, 15_000);

test("an answer that takes longer than an idle connection is kept arrives", async () => {
	const server = await listening(http.createServer((_, answer) => void setTimeout(() => answer.end("{}"), 100)));
	const exchange = nodeExchange({ keepAliveMs: 20 });
	await Promise.all([ask(server, exchange), ask(server, exchange)]);
	await Promise.all([ask(server, exchange), ask(server, exchange)]);
	await closed(server);
});
