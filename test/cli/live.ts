import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { createSandbox, type Sandbox } from "messaging-conversations/sandbox";
import { privateKey } from "../certificate.ts";

/** A key of the live form. The sandbox's own would tell a command that it speaks to a sandbox. */
export const liveKey = "partner_live.k7f3a9.c4ab01de23f4561789";

export interface Live {
	readonly baseUrl: string;
	readonly sandbox: Sandbox;
	readonly stop: () => void;
}

export interface LiveOptions {
	/** @default a sandbox whose clock is this machine's */
	readonly sandbox?: Sandbox;
	/** Serves https with this certificate. */
	readonly certificate?: string;
	/** Changes an answer. */
	readonly edit?: (answer: LiveAnswer, asked: { path: string; key: string | undefined }) => void;
}

interface LiveAnswer {
	status: number;
	readonly headers: Record<string, string>;
	body: string;
}

/** Serves a sandbox on a port of this machine as if it were the live service. */
export async function startLive({ sandbox = world(), certificate, edit = () => {} }: LiveOptions = {}): Promise<Live> {
	const { baseUrl, apiKey } = sandbox.connection;
	const listener: RequestListener = async (request, response) => {
		const path = request.url?.replace(/^\/api\/v1/, "") ?? "";
		const authorization = request.headers.authorization?.replace(liveKey, apiKey);
		const answered = await sandbox.fetch(`${baseUrl}${path}`, {
			method: request.method ?? "GET",
			headers: authorization === undefined ? {} : { authorization },
		});
		// The sandbox's own ids would tell a command that it speaks to a sandbox.
		const correlationId = answered.headers.get("x-correlation-id")?.replace("sandbox-", "live-") ?? "";
		const answer: LiveAnswer = {
			status: answered.status,
			headers: { ...Object.fromEntries(answered.headers), "x-correlation-id": correlationId },
			body: await answered.text(),
		};
		edit(answer, { path, key: authorization });
		response.writeHead(answer.status, answer.headers);
		response.end(answer.body);
	};
	const server =
		certificate === undefined
			? createServer(listener)
			: createTlsServer({ cert: certificate, key: privateKey }, listener);
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const address = server.address();
	const port = typeof address === "object" ? address?.port : 0;
	return {
		baseUrl: `http${certificate === undefined ? "" : "s"}://127.0.0.1:${port}/api/v1`,
		sandbox,
		stop() {
			server.close();
			server.closeAllConnections();
		},
	};
}

/** A world at this moment, or so many milliseconds from it, with one contact who wrote 30 hours ago. */
export function world(aheadMs = 0, scenario: "closed" | "ineligible" | "readOnlyKey" = "closed"): Sandbox {
	return createSandbox({ now: new Date(Date.now() + aheadMs), scenario });
}
