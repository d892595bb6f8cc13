import type { IncomingMessage } from "node:http";

/** How many bytes of a body the server reads. The first is for callers without a good key; theirs are not kept. */
export const bodyLimits = { stranger: 1_000_000, known: 10_000_000, import: 100_000_000 } as const;

/** Reads a body. Resolves with undefined if it is longer than `most`. */
export async function readBody(request: IncomingMessage, most: number): Promise<Buffer | undefined> {
	let bytes = Buffer.alloc(0);
	let length = 0;
	const isWhole = await eachChunk(request, most, (chunk) => {
		// Copied, because a chunk of one byte otherwise keeps the 64 kB alive with which it was received.
		if (length + chunk.length > bytes.length) {
			const longer = Buffer.alloc(Math.min(most, Math.max(2 * bytes.length, length + chunk.length)));
			bytes.copy(longer);
			bytes = longer;
		}
		length += chunk.copy(bytes, length);
	});
	return isWhole ? bytes.subarray(0, length) : undefined;
}

/** Reads a body, at most `most` bytes of it. Resolves with an empty one if it is longer than `kept`. */
export async function readShortBody(request: IncomingMessage, most: number, kept: number): Promise<Buffer> {
	let bytes: Buffer = Buffer.alloc(0);
	let isShort = true;
	const isWhole = await eachChunk(request, most, (chunk) => {
		isShort &&= bytes.length + chunk.length <= kept;
		bytes = isShort ? Buffer.concat([bytes, chunk]) : Buffer.alloc(0);
	});
	return isWhole ? bytes : Buffer.alloc(0);
}

/** Resolves with false if there are more than `most` bytes. The rest is then read and dropped: see {@link endLate}. */
function eachChunk(request: IncomingMessage, most: number, act: (chunk: Buffer) => void): Promise<boolean> {
	const { "content-length": announced = "0", "transfer-encoding": encoding } = request.headers;
	if (announced === "0" && encoding === undefined) return Promise.resolve(true);
	if (Number(announced) > most) return Promise.resolve(false);
	return new Promise((resolve, reject) => {
		let seen = 0;
		request.on("data", (chunk: Buffer) => {
			seen += chunk.length;
			if (seen <= most) act(chunk);
			else resolve(false);
		});
		request.once("end", () => resolve(true));
		request.once("error", reject);
		request.once("close", () => reject(new Error("The request was cut off.")));
	});
}

const lateMs = 1_000;

/**
 * Ends the connection of a request that was answered before its body was complete. The caller has a second in which to
 * stop sending: an immediate end would reset the connection, and could take the answer with it.
 */
export function endLate(request: IncomingMessage): void {
	if (request.complete) return;
	const timer = setTimeout(() => request.complete || request.socket.destroy(), lateMs);
	request.once("close", () => clearTimeout(timer));
}
