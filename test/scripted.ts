import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { onTestFinished } from "vitest";

/** One request as it came over the wire. */
export interface Seen {
	method: string;
	url: string;
	headers: IncomingHttpHeaders;
	body: string;
	/** Whether the caller hung up before its answer was complete. */
	cut: boolean;
}

interface Said {
	status?: number;
	/** A header that is undefined is left out, `x-correlation-id` too. */
	headers?: Record<string, string | undefined>;
	json?: unknown;
	text?: string;
}

/**
 * - `reset`: the connection is reset without an answer
 * - `hang`: never answers
 * - `stall`: status and headers, half a body, then nothing
 * - `cut`: status and headers, half a body, then a reset
 */
export type Answer = Said | "reset" | "hang" | "stall" | "cut";

export type Script = (seen: Seen, index: number) => Answer | Promise<Answer>;

export interface Scripted {
	baseUrl: string;
	origin: string;
	requests: Seen[];
}

/** A bare HTTP server that follows a script. Closed when the test is over. */
export async function scripted(script: Script): Promise<Scripted> {
	const requests: Seen[] = [];
	const server = createServer(async (request, response) => {
		const seen: Seen = {
			method: request.method ?? "",
			url: request.url ?? "",
			headers: request.headers,
			body: await bodyOf(request),
			cut: false,
		};
		response.on("close", () => (seen.cut = !response.writableFinished));
		requests.push(seen);
		const index = requests.length - 1;
		say(response, await script(seen, index), `cor-${index + 1}`);
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	onTestFinished(async () => {
		server.closeAllConnections();
		await new Promise((resolve) => server.close(resolve));
	});
	const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	return { baseUrl: `${origin}/api/v1`, origin, requests };
}

/** The answers one after the other; the last one stays. */
export function inTurn(...answers: Answer[]): Script {
	return (_seen, index) => answers[Math.min(index, answers.length - 1)] ?? "reset";
}

/** An error of the service, as spec §7 words it. */
export function refusal(status: number, message = "The reason."): Said {
	const tags: Record<number, string> = {
		400: "PartnerBadRequest",
		401: "PartnerUnauthorized",
		403: "PartnerForbidden",
		404: "PartnerNotFound",
		409: "PartnerConflict",
		500: "PartnerInternalError",
	};
	return { status, json: { _tag: tags[status] ?? "PartnerInternalError", message } };
}

/** A base URL that refuses: its port is taken for the test's length, by a socket that does not listen. */
export async function deadBaseUrl(): Promise<string> {
	const server = createTcpServer();
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
	await new Promise<void>((resolve) => socket.once("connect", resolve));
	onTestFinished(() => {
		socket.destroy();
		server.close();
	});
	return `http://127.0.0.1:${socket.localPort}/api/v1`;
}

/** Long enough for a request that should not be made to be seen. */
export function pause(ms = 25): Promise<void> {
	return new Promise((resolve) => setTimeout(resolve, ms));
}

function say(response: ServerResponse, answer: Answer, correlationId: string): void {
	if (answer === "hang") return;
	if (answer === "reset") return void response.socket?.resetAndDestroy();
	if (answer === "stall" || answer === "cut") {
		response.writeHead(200, {
			"content-type": "application/json",
			"content-length": "1000",
			"x-correlation-id": correlationId,
		});
		response.write('{"half":');
		if (answer === "cut") setTimeout(() => response.socket?.resetAndDestroy(), 10);
		return;
	}
	const { status = 200, json, text } = answer;
	const headers = { "content-type": "application/json", "x-correlation-id": correlationId, ...answer.headers };
	const given = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
	response.writeHead(status, Object.fromEntries(given));
	response.end(text ?? (json === undefined ? "" : JSON.stringify(json)));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
	let body = "";
	request.setEncoding("utf8");
	for await (const chunk of request) body += chunk;
	return body;
}
