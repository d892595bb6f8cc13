import http from "node:http";
import https from "node:https";
import type { Socket } from "node:net";

/** How long an idle connection is kept when the service announces nothing. Servers that close sooner are rare. */
const unannouncedMs = 4000;
/** A connection is closed this long before the service would close it, because a request could be on its way then. */
const marginMs = 1000;
const longestMs = 600_000;

/** The agents of one exchange. */
export interface Agents {
	"http:": http.Agent;
	"https:": https.Agent;
	/** Notes the `Keep-Alive` of a response, by which the service announces how long it keeps the connection. */
	note: (socket: Socket, keepAlive: string | null | undefined) => void;
}

/** @param keepAliveMs the most that an idle connection is kept. Undefined follows what the service announces */
export function createAgents(maxSockets: number, keepAliveMs: number | undefined): Agents {
	/** `Keep-Alive` of the last response, where there was one. */
	const announced = new WeakMap<Socket, string>();
	const options = { keepAlive: true, maxSockets };
	const agents = { "http:": new http.Agent(options), "https:": new https.Agent(options) };

	// Node calls it when a response has ended. Node's own version knows one limit for all connections.
	function keepSocketAlive(socket: Socket): boolean {
		const [, seconds] = /\btimeout=(\d+)/i.exec(announced.get(socket) ?? "") ?? [];
		const ms =
			seconds === undefined
				? (keepAliveMs ?? unannouncedMs)
				: Math.min(keepAliveMs ?? longestMs, Number(seconds) * 1000 - marginMs);
		if (ms <= 0) return false;
		socket.setKeepAlive(true, 1000);
		socket.unref();
		// When it is over, the agent closes the connection if no request uses it. Each request begins it anew.
		if (socket.timeout !== ms) socket.setTimeout(ms);
		return true;
	}
	for (const agent of Object.values(agents)) Object.assign(agent, { keepSocketAlive });

	return {
		...agents,
		note(socket, keepAlive) {
			if (keepAlive) announced.set(socket, keepAlive);
		},
	};
}
