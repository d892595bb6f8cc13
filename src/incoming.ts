import type { IncomingMessage } from "node:http";
import { finished, pipeline, type Readable } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import type { BoundedResponse } from "./attempt.ts";

export interface Exchange {
	url: string;
	method: string;
	/** The error of a body that breaks off. */
	interrupted: (cause: unknown) => unknown;
}

const bodyless = new Set([204, 205, 304]);
const empty = Buffer.alloc(0);

/** A body that nobody reads holds its connection until its response is forgotten. */
const unread = new FinalizationRegistry((incoming: IncomingMessage) => incoming.destroy());

/**
 * An answer of node:http as a Response. Its own methods read it without a WHATWG stream; what needs one (`body`, `blob`,
 * `clone`) makes a Response of the runtime's at that moment and goes on through it.
 */
export function createResponse(incoming: IncomingMessage, { url, method, interrupted }: Exchange): BoundedResponse {
	const { statusCode: status = 0, statusMessage: statusText = "" } = incoming;
	const headers = createHeaders(incoming);
	const hasBody = method !== "HEAD" && !bodyless.has(status);
	const codings = hasBody ? codingsOf(incoming.headers["content-encoding"]) : [];
	// What has come whole is taken at once: its connection is free for the next request before this answer is looked at.
	const whole = incoming.complete && codings.length === 0 ? bytesOf(incoming.read()) : undefined;
	let used = false;
	let full: Response | undefined;

	const open = (): Readable => {
		unread.unregister(incoming);
		return decoded(incoming, codings);
	};
	const asResponse = (): Response => {
		full ??= new Response(!hasBody ? null : whole ? new Uint8Array(whole) : streamOf(open(), interrupted));
		return full;
	};
	const read = async (limit: number): Promise<Buffer | undefined> => {
		if (used || full?.bodyUsed) throw new TypeError("the body has been read already");
		used = true;
		if (full) return Buffer.from(await full.arrayBuffer());
		if (whole) return whole.length > limit ? undefined : whole;
		if (Number(headers.get("content-length")) > limit) {
			incoming.destroy();
			return undefined;
		}
		return collect(open(), limit, interrupted);
	};
	const readText = async (): Promise<string> => textOf((await read(Number.POSITIVE_INFINITY)) ?? empty);
	const readBytes = async (): Promise<Uint8Array<ArrayBuffer>> =>
		new Uint8Array((await read(Number.POSITIVE_INFINITY)) ?? empty);

	const response: BoundedResponse = {
		status,
		statusText,
		ok: status >= 200 && status < 300,
		headers,
		url,
		redirected: false,
		type: "basic",
		get body() {
			return asResponse().body;
		},
		get bodyUsed() {
			return used || (full?.bodyUsed ?? false);
		},
		async textWithin(maxBytes) {
			const bytes = await read(maxBytes);
			return bytes && textOf(bytes);
		},
		text: readText,
		json: async () => JSON.parse(await readText()),
		arrayBuffer: async () => (await readBytes()).buffer,
		bytes: readBytes,
		blob: async () => new Blob([await readBytes()], { type: headers.get("content-type") ?? "" }),
		formData: async () => new Response(await readBytes(), { headers }).formData(),
		clone: () => new Response(asResponse().clone().body, { status, statusText, headers }),
	};
	if (!whole) {
		incoming.on("error", () => {});
		unread.register(response, incoming, incoming);
	}
	return response;
}

function bytesOf(read: unknown): Buffer {
	return Buffer.isBuffer(read) ? read : empty;
}

/** UTF-8 without a byte order mark, as fetch reads it. */
function textOf(bytes: Buffer): string {
	const marked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
	return bytes.toString("utf8", marked ? 3 : 0);
}

/** All bytes, or undefined, and the rest given up, when there are more than `limit`. */
function collect(readable: Readable, limit: number, interrupted: Exchange["interrupted"]): Promise<Buffer | undefined> {
	return new Promise((resolve, reject) => {
		const chunks: Buffer[] = [];
		let length = 0;
		readable.on("data", (chunk: Buffer) => {
			length += chunk.length;
			if (length <= limit) return chunks.push(chunk);
			resolve(undefined);
			return readable.destroy();
		});
		finished(readable, (error) => (error ? reject(interrupted(error)) : resolve(Buffer.concat(chunks, length))));
	});
}

/** Reads nothing before it is read. */
function streamOf(readable: Readable, interrupted: Exchange["interrupted"]): ReadableStream<Uint8Array<ArrayBuffer>> {
	const chunks = readable[Symbol.asyncIterator]();
	return new ReadableStream(
		{
			async pull(controller) {
				try {
					const { done, value } = await chunks.next();
					if (done) controller.close();
					else controller.enqueue(new Uint8Array(value));
				} catch (error) {
					controller.error(interrupted(error));
				}
			},
			cancel() {
				readable.destroy();
			},
		},
		{ highWaterMark: 0 },
	);
}

// A packed body that ends early gives what there is of it, as fetch does: it is then not JSON.
const zlib = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const brotli = { flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH };
const decoders = {
	gzip: () => createGunzip(zlib),
	"x-gzip": () => createGunzip(zlib),
	deflate: () => createInflate(zlib),
	br: () => createBrotliDecompress(brotli),
} as const;

type Coding = keyof typeof decoders;

/** What to undo, in order; nothing where a coding is unknown, or where there are more than anybody means. */
function codingsOf(header: string | undefined): Coding[] {
	if (!header) return [];
	const names = header.split(",").map((name) => name.trim().toLowerCase());
	const known = names.filter((name): name is Coding => Object.hasOwn(decoders, name));
	return known.length === names.length && names.length <= 5 ? known.reverse() : [];
}

function decoded(incoming: IncomingMessage, codings: readonly Coding[]): Readable {
	let last: Readable = incoming;
	for (const coding of codings) {
		last = pipeline(last, decoders[coding](), () => {});
		last.on("error", () => {});
	}
	return last;
}

/** The headers of an answer, of which mostly two or three are asked for: the runtime's own are made for the rest. */
function createHeaders(incoming: IncomingMessage): Headers {
	let full: Headers | undefined;
	const all = (): Headers => {
		if (full) return full;
		full = new Headers();
		const { rawHeaders } = incoming;
		for (let at = 0; at + 1 < rawHeaders.length; at += 2) full.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
		return full;
	};
	const immutable = (): never => {
		throw new TypeError("the headers of an answer are immutable");
	};
	const get = (name: string): string | null => {
		const value = incoming.headers[name.toLowerCase()];
		return Array.isArray(value) ? value.join(", ") : (value ?? null);
	};
	return {
		get,
		has: (name) => get(name) !== null,
		getSetCookie: () => incoming.headers["set-cookie"] ?? [],
		forEach: (...given) => all().forEach(...given),
		keys: () => all().keys(),
		values: () => all().values(),
		entries: () => all().entries(),
		[Symbol.iterator]: () => all()[Symbol.iterator](),
		append: immutable,
		delete: immutable,
		set: immutable,
	};
}
