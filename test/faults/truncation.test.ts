import { createServer, type Socket } from "node:net";
import { afterAll, expect, test } from "vitest";
import { createClient } from "../../src/index.ts";
import { nodeHttp } from "../../src/node.ts";
import { apiKey, operations, readAnswer, sentNow } from "./answers.ts";
import { chunkOf, head, requestReader } from "./bytes.ts";
import { told } from "./caller.ts";
import { inParallel } from "./campaign.ts";
import { call } from "./conformance.ts";

const framings = {
	length: (socket: Socket, whole: string, kept: number) => {
		socket.end(head(200, { "Content-Length": String(whole.length) }) + whole.slice(0, kept));
	},
	chunks: (socket: Socket, whole: string, kept: number) => {
		socket.write(head(200, { "Transfer-Encoding": "chunked" }));
		socket.end(kept > 0 ? chunkOf(whole.slice(0, kept)) : "");
	},
	"end of stream": (socket: Socket, whole: string, kept: number) => {
		socket.end(head(200, { Connection: "close" }) + whole.slice(0, kept));
	},
} as const;

const overNode = nodeHttp();
afterAll(() => overNode.close());

const cases = operations.flatMap((operation) =>
	(["length", "chunks", "end of stream"] as const).flatMap((framing) => [
		[operation, framing, "fetch"] as const,
		[operation, framing, "nodeHttp"] as const,
	]),
);

test.for(cases)(
	"#10 #11 %s cut at any byte, framed by %s and read by %s, is a lost connection and never data",
	{
		timeout: 60_000,
	},
	async ([operation, framing, adapter]) => {
		const whole = JSON.stringify(operation === "messages.send" ? sentNow : readAnswer(operation));
		let kept = 0;
		const keptBy = new Map<string, number>();
		const server = createServer((socket) => {
			socket.on("error", () => socket.destroy());
			socket.on(
				"data",
				requestReader(({ headers }) => framings[framing](socket, whole, keptBy.get(headers["x-case"] ?? "") ?? 0)),
			);
		});
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		const address = server.address();
		const port = typeof address === "object" && address !== null ? address.port : 0;
		// Chunks without the last one are cut even when all bytes of the answer came.
		const last = framing === "chunks" ? whole.length : whole.length - 1;
		const outcomes = new Map<string, number>();
		await inParallel(32, last + 1, async () => {
			const mine = String(kept++);
			keptBy.set(mine, Number(mine));
			const client = createClient({
				baseUrl: `http://127.0.0.1:${port}/api/v1`,
				apiKey,
				retry: false,
				...(adapter === "fetch"
					? { fetch: (url, init) => fetch(url, { ...init, headers: { ...Object(init.headers), "x-case": mine } }) }
					: {
							http: (request, control) =>
								overNode({ ...request, headers: { ...request.headers, "x-case": mine } }, control),
						}),
			});
			const end = await call(client, operation).then(
				() => "data",
				(error: unknown) => {
					const { _tag, retryable, outcome } = told(error);
					return `${_tag} ${retryable} ${outcome}`;
				},
			);
			outcomes.set(end, (outcomes.get(end) ?? 0) + 1);
		});
		const outcome = operation === "messages.send" ? "unknown" : undefined;
		expect([...outcomes]).toEqual([[`PartnerConnectionError true ${outcome}`, last + 1]]);
		await new Promise((resolve) => server.close(resolve));
	},
);
