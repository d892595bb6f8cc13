import type { Socket } from "node:net";

/** One request as its bytes said it. */
export interface RawRequest {
	readonly method: string;
	readonly path: string;
	readonly headers: Readonly<Record<string, string>>;
	readonly body: string;
}

export interface Reply {
	readonly status: number;
	readonly headers?: Readonly<Record<string, string>>;
	readonly body?: string | Buffer;
	/** How the end of the body is announced. @default "length" */
	readonly framing?: "length" | "chunked" | "end-of-stream";
}

/** Feeds on the bytes of one connection and calls back with each whole request. */
export function requestReader(onRequest: (request: RawRequest) => void): (chunk: Buffer) => void {
	let pending: Buffer = Buffer.alloc(0);
	return (chunk) => {
		pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
		for (;;) {
			const end = pending.indexOf("\r\n\r\n");
			if (end < 0) return;
			const [requestLine = "", ...lines] = pending.subarray(0, end).toString("latin1").split("\r\n");
			const [method = "", path = ""] = requestLine.split(" ");
			const headers: Record<string, string> = {};
			for (const line of lines) {
				const colon = line.indexOf(":");
				headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
			}
			const rest = pending.subarray(end + 4);
			const chunked = headers["transfer-encoding"]?.includes("chunked") ?? false;
			const whole = chunked ? unchunk(rest) : measured(rest, Number(headers["content-length"] ?? 0));
			if (whole === undefined) return;
			pending = Buffer.from(rest.subarray(whole.used));
			onRequest({ method, path, headers, body: whole.body.toString("utf8") });
		}
	};
}

function measured(rest: Buffer, length: number): { body: Buffer; used: number } | undefined {
	return rest.length < length ? undefined : { body: rest.subarray(0, length), used: length };
}

function unchunk(rest: Buffer): { body: Buffer; used: number } | undefined {
	const parts: Buffer[] = [];
	for (let at = 0; ; ) {
		const line = rest.indexOf("\r\n", at);
		if (line < 0) return undefined;
		const size = Number.parseInt(rest.subarray(at, line).toString("latin1"), 16);
		const start = line + 2;
		if (rest.length < start + size + 2) return undefined;
		if (size === 0) return { body: Buffer.concat(parts), used: start + 2 };
		parts.push(rest.subarray(start, start + size));
		at = start + size + 2;
	}
}

export function head(status: number, headers: Readonly<Record<string, string>>): string {
	const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
	return `HTTP/1.1 ${status} Status\r\n${lines.join("")}\r\n`;
}

export function chunkOf(bytes: Buffer | string): Buffer {
	const data = Buffer.from(bytes);
	return Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from("\r\n")]);
}

/** Writes a whole reply; an end-of-stream one ends the connection too. */
export function write(socket: Socket, { status, headers = {}, body = "", framing = "length" }: Reply): void {
	const bytes = Buffer.from(body);
	if (framing === "length") {
		const bare = status === 204 || status === 304 || status < 200;
		const length = bare ? headers : { ...headers, "Content-Length": String(bytes.length) };
		socket.write(Buffer.concat([Buffer.from(head(status, length), "latin1"), bytes]));
	} else if (framing === "chunked") {
		const start = Buffer.from(head(status, { ...headers, "Transfer-Encoding": "chunked" }), "latin1");
		socket.write(Buffer.concat([start, ...(bytes.length > 0 ? [chunkOf(bytes)] : []), Buffer.from("0\r\n\r\n")]));
	} else {
		const start = Buffer.from(head(status, { ...headers, Connection: "close" }), "latin1");
		socket.end(Buffer.concat([start, bytes]));
	}
}
