// What HTTP/2 proves about a send without a response. The errors are those of Node's own http2, as undici passes them on.
import http2, { type ServerHttp2Stream } from "node:http2";
import type { ClientOptions, Fetch, Transport } from "messaging-conversations";
import { expect, onTestFinished, test } from "vitest";
import { clientOf, failure, wrong } from "../calls.ts";
import { agencyId, phone, sentNow, text } from "../canned.ts";
import { listening } from "../client/listening.ts";

type Answer = (stream: ServerHttp2Stream) => void;

const { NGHTTP2_REFUSED_STREAM, NGHTTP2_CANCEL, NGHTTP2_NO_ERROR, NGHTTP2_ENHANCE_YOUR_CALM } = http2.constants;

/** Ends the session with a GOAWAY that names the last stream that was processed, relative to that of the request. */
const goAway =
	(code: number, last: number): Answer =>
	(stream) => {
		const { session, id = 0 } = stream;
		session?.goaway(code, id + last);
		// The client hears it before the connection ends.
		session?.ping(() => session.destroy());
	};

/** A server whose second stream of a session is answered in a way, and a client with one session, over `fetch` or `transport`. */
async function open(answer: Answer) {
	const server = http2.createServer();
	let processed = 0;
	server.on("session", (session) => session.on("error", () => {}));
	server.on("stream", (stream) => {
		stream.on("error", () => {});
		stream.resume().on("end", () => {
			if (stream.id === 1) return stream.respond({ ":status": 204 }, { endStream: true });
			processed++;
			answer(stream);
		});
	});
	const { url } = await listening(server);
	const session = http2.connect(url);
	session.on("error", () => {});
	onTestFinished(() => session.destroy());
	const request = (method: string, path: string, body: string | undefined) =>
		new Promise<{ status: number; text: string }>((resolve, reject) => {
			const stream = session.request({ ":method": method, ":path": path });
			let text = "";
			let status = 0;
			stream.on("response", (headers) => (status = Number(headers[":status"])));
			stream.on("data", (chunk) => (text += chunk));
			stream.on("error", reject);
			stream.on("close", () => (status ? resolve({ status, text }) : reject(new Error("closed"))));
			stream.end(body);
		});
	// So that there is an earlier stream.
	await request("GET", "/", undefined);
	const fetch: Fetch = async (_url, { method, body }) => {
		const { status, text } = await request(method, "/", body).catch((cause: unknown) => {
			throw new TypeError("fetch failed", { cause });
		});
		return new Response(text, { status });
	};
	const transport: Transport = async ({ method, body }) => ({
		...(await request(method, "/", body)),
		headers: new Map(),
	});
	const send = (over: Partial<ClientOptions>) =>
		clientOf({ baseUrl: url }, { retry: false, ...over })
			.agency(agencyId)
			.messages.send({ to: phone, body: text });
	return { send, transports: { fetch: { fetch }, transport: { transport } }, processed: () => processed };
}

test.for([
	["REFUSED_STREAM", (stream: ServerHttp2Stream) => stream.close(NGHTTP2_REFUSED_STREAM), "not_sent"],
	["a GOAWAY with an earlier last stream", goAway(NGHTTP2_NO_ERROR, -2), "not_sent"],
	["a GOAWAY with the request as last stream, and code 0", goAway(NGHTTP2_NO_ERROR, 0), "unknown"],
	["a GOAWAY with a later last stream, and code 0", goAway(NGHTTP2_NO_ERROR, 2), "unknown"],
	["a GOAWAY with the request as last stream, and another code", goAway(NGHTTP2_ENHANCE_YOUR_CALM, 0), "unknown"],
	["a stream that is cancelled", (stream: ServerHttp2Stream) => stream.close(NGHTTP2_CANCEL), "unknown"],
	["a session that ends without a word", (stream: ServerHttp2Stream) => stream.session?.destroy(), "unknown"],
] as const)("#45 %s leaves a send as it should", async ([, answer, outcome]) => {
	for (const over of ["fetch", "transport"] as const) {
		const { send, transports, processed } = await open(answer);
		const error = await failure(() => send(transports[over]));
		expect(error).toMatchObject({ _tag: "PartnerConnectionError", outcome, retryable: true });
		expect(processed()).toBe(1);
	}
});

test("a refused stream is sent again", async () => {
	let count = 0;
	const { send, transports } = await open((stream) => {
		if (++count === 1) return stream.close(NGHTTP2_REFUSED_STREAM);
		stream.respond({ ":status": 200 });
		stream.end(JSON.stringify(sentNow));
	});
	await expect(send({ ...transports.fetch, retry: { baseDelayMs: 1 } })).resolves.toMatchObject({ queued: false });
});

test.for([
	["as Deno says it", "stream error received: refused stream before processing any application logic", "not_sent"],
	["as undici says of a GOAWAY", 'HTTP/2: "GOAWAY" frame received with code 0', "unknown"],
	["in a longer sentence", "proxy: stream error received: refused stream before processing", "unknown"],
] as const)("a fault of HTTP/2 %s", async ([, message, outcome]) => {
	const fetch: Fetch = async () => {
		throw new TypeError("fetch failed", { cause: new Error(message) });
	};
	const { send } = await open(() => {});
	expect(await failure(() => send({ fetch }))).toMatchObject({ _tag: "PartnerConnectionError", outcome });
	const bare: Fetch = async () => wrong(Promise.reject(new Error(message)));
	expect(await failure(() => send({ fetch: bare }))).toMatchObject({ outcome });
});
