import { randomBytes } from "node:crypto";
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { LongJson } from "../routes/route.ts";

export function json(response: ServerResponse, status: number, value: unknown): void {
	const body = JSON.stringify(value);
	response.writeHead(status, jsonHeaders(body));
	response.end(body);
}

/** How many characters leave at once. */
const longestPart = 2 ** 16;

/** Writes JSON that is in pieces as fast as it is read, and lets requests be answered meanwhile. */
export async function longJson(response: ServerResponse, { pieces }: LongJson): Promise<void> {
	response.writeHead(200, { "content-type": "application/json", "x-correlation-id": correlationId() });
	let part = "";
	for (const piece of pieces) {
		part += piece;
		if (part.length < longestPart) continue;
		const isRead = response.write(part);
		part = "";
		if (!isRead) await readOrClosed(response);
		// A fast reader has read it at once, before anything else has had a turn.
		await new Promise((resolve) => setImmediate(resolve));
		if (response.destroyed) return;
	}
	response.end(part);
}

/** A reader that goes away reads no more. */
const readOrClosed = (response: ServerResponse): Promise<void> =>
	new Promise((resolve) => {
		const end = (): void => {
			response.off("drain", end).off("close", end);
			resolve();
		};
		response.on("drain", end).on("close", end);
	});

/** The HTTP status of each error of the parser; all others are a 400. */
const unreadable: Readonly<Record<string, number>> = {
	HPE_HEADER_OVERFLOW: 431,
	HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
	ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** Refuses what could not be read as a request, and ends the connection. */
export function refuseUnreadable(socket: Duplex, { code = "" }: NodeJS.ErrnoException): void {
	if (!socket.writable) return void socket.destroy();
	const status = unreadable[code] ?? 400;
	const message = `The sandbox cannot read this as an HTTP request (${code}).`;
	const body = JSON.stringify({ _tag: "SandboxBadRequest", message });
	const headers = Object.entries({ ...jsonHeaders(body), connection: "close" });
	const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...headers.map(([name, value]) => `${name}: ${value}`)];
	socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

const jsonHeaders = (body: string) => ({
	"content-type": "application/json",
	"content-length": Buffer.byteLength(body),
	"x-correlation-id": correlationId(),
});

const correlationId = (): string => `sandbox-${randomBytes(4).toString("hex")}`;
