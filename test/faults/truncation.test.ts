import { createServer, type Server } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient, type Fetch } from "../../src/index.ts";
import { nodeHttp } from "../../src/node.ts";
import { adapters } from "../adapters.ts";
import { isLong } from "../length.ts";
import { apiKey, type Operation, operations, readAnswer, sentNow } from "./answers.ts";
import { chunkOf, head, requestReader } from "./bytes.ts";
import { factsOf } from "./caller.ts";
import { inParallel } from "./campaign.ts";
import { call } from "./conformance.ts";

/** A whole reply; each place where it can be cut is one of its bytes. */
const framings = {
	length: (body: Buffer) => [head(200, { "Content-Length": String(body.length) }), body],
	chunks: (body: Buffer) => {
		const size = isLong ? 10 : Math.ceil(body.length / 2);
		const count = Math.ceil(body.length / size);
		const parts = Array.from({ length: count }, (_, index) => body.subarray(index * size, (index + 1) * size));
		return [head(200, { "Transfer-Encoding": "chunked" }), ...parts.map(chunkOf), "0\r\n\r\n"];
	},
	"end of stream": (body: Buffer) => [head(200, { Connection: "close" }), body],
};
type Framing = keyof typeof framings;

function replyTo(operation: Operation, framing: Framing): Buffer {
	const answer = JSON.stringify(operation === "messages.send" ? sentNow : readAnswer(operation));
	// Letters of two and four bytes, so that a cut can also be inside a letter.
	const body = Buffer.from(answer.replace(/Anna|Agency/g, "Zo\u00eb \u{1f3e1}"));
	return Buffer.concat(framings[framing](body).map((part) => Buffer.from(part)));
}

/** How many bytes of a reply arrive before the connection ends: in a long run each number, otherwise those that matter. */
function placesToCut(reply: Buffer): number[] {
	const all = Array.from({ length: reply.length }, (_, kept) => kept);
	if (isLong) return all;
	const firstLine = reply.indexOf("\r\n");
	const headers = reply.indexOf("\r\n\r\n");
	const body = headers + 4;
	const places = [0, 1, reply.length - 2, reply.length - 1];
	places.push(firstLine, firstLine + 1, firstLine + 2, Math.floor((firstLine + headers) / 2));
	places.push(headers, headers + 1, headers + 2, headers + 3, body, body + 1);
	const letters = reply.indexOf("\u00eb \u{1f3e1}");
	if (letters > 0) places.push(letters + 1, letters + 4, letters + 5, letters + 6);
	// The lines around the chunks: their sizes, and the last chunk, which is empty.
	for (let end = reply.indexOf("\r\n", body); end >= 0; end = reply.indexOf("\r\n", end + 2))
		places.push(end, end + 1, end + 2);
	for (const share of [0.25, 0.5, 0.75]) places.push(body + Math.floor((reply.length - body) * share));
	const wanted = new Set(places);
	return all.filter((place) => wanted.has(place));
}

const overNode = nodeHttp();
afterAll(() => overNode.close());

const cutHeader = "x-cut";
const replies = new Map<string, Buffer>();
let server: Server;
let baseUrl = "";
beforeAll(async () => {
	server = createServer((socket) => {
		socket.on("error", () => socket.destroy());
		const read = requestReader(({ headers }) => {
			const [operation, framing, kept] = (headers[cutHeader] ?? "").split(", ");
			const reply = replies.get(`${operation}, ${framing}`);
			if (reply === undefined) throw new Error("no reply to cut");
			socket.end(reply.subarray(0, Number(kept)));
		});
		socket.on("data", read);
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const address = server.address();
	if (address === null || typeof address === "string") throw new Error("the server has no port");
	baseUrl = `http://127.0.0.1:${address.port}/api/v1`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

const cases = operations.flatMap((operation) =>
	(["length", "chunks", "end of stream"] as const).flatMap((framing) =>
		adapters.map((adapter) => [operation, framing, adapter] as const),
	),
);

test.for(cases)(
	"#10 #11 %s cut at any byte, framed by %s and read by %s, is a lost connection and never data",
	async ([operation, framing, adapter]) => {
		const reply = replyTo(operation, framing);
		replies.set(`${operation}, ${framing}`, reply);
		const places = placesToCut(reply);
		const ends = new Map<string, number[]>();
		await inParallel(32, places.length, async (index) => {
			const kept = places[index] ?? 0;
			const mark = { [cutHeader]: `${operation}, ${framing}, ${kept}` };
			const marked: Fetch = (url, init) => fetch(url, { ...init, headers: { ...Object(init.headers), ...mark } });
			const client = createClient({
				baseUrl,
				apiKey,
				retry: false,
				...(adapter === "fetch"
					? { fetch: marked }
					: {
							transport: (request, control) =>
								overNode({ ...request, headers: { ...request.headers, ...mark } }, control),
						}),
			});
			const end = await call(client, operation).then(
				() => "data",
				(error: unknown) => {
					const { _tag, retryable, outcome } = factsOf(error);
					return `${_tag} ${retryable} ${outcome}`;
				},
			);
			ends.set(
				end,
				[...(ends.get(end) ?? []), kept].sort((one, other) => one - other),
			);
		});
		const outcome = operation === "messages.send" ? "unknown" : undefined;
		expect(Object.fromEntries(ends)).toEqual({ [`PartnerConnectionError true ${outcome}`]: places });
	},
);
