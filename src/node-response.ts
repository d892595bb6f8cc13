import type { IncomingMessage } from "node:http";
import { finished, pipeline, Readable } from "node:stream";
import type { ReadableStream as WebStream } from "node:stream/web";
import { constants, createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import type { BoundedResponse } from "./attempt.ts";
import { IncomingHeaders } from "./node-headers.ts";
import { quietly } from "./quietly.ts";

export interface Exchange {
	url: URL;
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
export class IncomingResponse implements BoundedResponse {
	readonly status: number;
	readonly headers: Headers;
	readonly redirected = false;
	readonly type = "basic";
	readonly #incoming: IncomingMessage;
	readonly #exchange: Exchange;
	readonly #hasBody: boolean;
	readonly #codings: readonly Coding[];
	readonly #whole: Buffer | undefined;
	#used = false;
	#full: Response | undefined;

	constructor(incoming: IncomingMessage, exchange: Exchange) {
		this.status = incoming.statusCode ?? 0;
		this.headers = new IncomingHeaders(incoming.rawHeaders);
		this.#incoming = incoming;
		this.#exchange = exchange;
		this.#hasBody = exchange.method !== "HEAD" && !bodyless.has(this.status);
		this.#codings = this.#hasBody ? codingsOf(this.headers.get("content-encoding")) : [];
		// What has come whole is taken at once: its connection is free for the next request before this answer is looked at.
		this.#whole = incoming.complete && this.#codings.length === 0 ? bytesOf(incoming.read()) : undefined;
		if (this.#whole) return;
		incoming.on("error", () => {});
		unread.register(this, incoming, incoming);
	}

	get ok(): boolean {
		return this.status >= 200 && this.status < 300;
	}

	get statusText(): string {
		return this.#incoming.statusMessage ?? "";
	}

	get url(): string {
		return this.#exchange.url.href;
	}

	get body(): Response["body"] {
		return this.#asResponse().body;
	}

	get bodyUsed(): boolean {
		return this.#used || (this.#full?.bodyUsed ?? false);
	}

	async textWithin(maxBytes: number): Promise<string | undefined> {
		const bytes = await this.#read(maxBytes);
		return bytes && textOf(bytes);
	}

	async text(): Promise<string> {
		return textOf((await this.#read()) ?? empty);
	}

	async json(): Promise<unknown> {
		return JSON.parse(await this.text());
	}

	async bytes(): Promise<Uint8Array<ArrayBuffer>> {
		return new Uint8Array((await this.#read()) ?? empty);
	}

	async arrayBuffer(): Promise<ArrayBuffer> {
		return (await this.bytes()).buffer;
	}

	async blob(): Promise<Blob> {
		return new Blob([await this.bytes()], { type: this.headers.get("content-type") ?? "" });
	}

	async formData(): Promise<FormData> {
		return new Response(await this.bytes(), { headers: this.headers }).formData();
	}

	clone(): Response {
		if (this.bodyUsed) throw new TypeError("the body has been read already");
		const { status, statusText, headers } = this;
		return new Response(this.#asResponse().clone().body, { status, statusText, headers });
	}

	#asResponse(): Response {
		if (this.#full) return this.#full;
		if (this.#used) {
			// Its body is read, as this one's is.
			this.#full = new Response(this.#hasBody ? "" : null);
			quietly(() => this.#full?.text());
			return this.#full;
		}
		const body = this.#whole ? new Uint8Array(this.#whole) : streamOf(this.#open(), this.#exchange.interrupted);
		this.#full = new Response(this.#hasBody ? body : null);
		return this.#full;
	}

	#open(): Readable {
		unread.unregister(this.#incoming);
		return decoded(this.#incoming, this.#codings);
	}

	/** All bytes; undefined, and the rest given up, when there are more than `limit`. */
	#read(limit = Number.POSITIVE_INFINITY): Buffer | undefined | Promise<Buffer | undefined> {
		if (this.bodyUsed) throw new TypeError("the body has been read already");
		this.#used = true;
		const { interrupted } = this.#exchange;
		if (this.#full) return this.#full.body ? collect(readableOf(this.#full.body), limit, interrupted) : empty;
		if (this.#whole) return this.#whole.length > limit ? undefined : this.#whole;
		if (Number(this.headers.get("content-length")) > limit) {
			this.#incoming.destroy();
			return undefined;
		}
		return collect(this.#open(), limit, interrupted);
	}
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

/** Node and the DOM library each name the one class. */
function readableOf(stream: NonNullable<Response["body"]>): Readable {
	return Readable.fromWeb(stream as WebStream);
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
function codingsOf(header: string | null): Coding[] {
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
