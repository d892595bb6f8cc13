import http from "node:http";
import https from "node:https";
import type { Socket } from "node:net";

/** How long an idle connection is kept when the service announces nothing. Servers that close sooner are rare. */
const unannouncedMs = 4000;
/** A connection is closed this long before the service would close it, because a request could be on its way then. */
const marginMs = 1000;
/** The longest that an idle connection is kept, also when the service announces more. Node's own fetch has the same limit. */
const longestMs = 600_000;

/** The agents of one exchange. */
export interface Agents {
	/** The agent for `https:` or `http:`. */
	of: (protocol: string) => http.Agent;
	/** Notes the `Keep-Alive` of a response, by which the service announces how long it keeps the connection. */
	note: (socket: Socket, keepAlive: string | null | undefined) => void;
	/** Closes all connections, also those in use. */
	close: () => void;
}

/** @param keepAliveMs the most that an idle connection is kept. Undefined follows what the service announces */
export function createAgents(maxSockets: number, keepAliveMs: number | undefined): Agents {
	/** How long the service keeps a connection, in milliseconds, where it announces that. */
	const announced = new WeakMap<Socket, number>();
	const plain = new http.Agent({ keepAlive: true, maxSockets });
	const secure = new https.Agent({ keepAlive: true, maxSockets });

	// Node calls it when a response has ended. Node's own version does not follow an announcement of more than its limit.
	function keepSocketAlive(socket: Socket): boolean {
		const serviceMs = announced.get(socket);
		const ms =
			serviceMs === undefined
				? (keepAliveMs ?? unannouncedMs)
				: Math.min(keepAliveMs ?? longestMs, serviceMs - marginMs);
		if (ms <= 0) return false;
		socket.setKeepAlive(true, 1000);
		socket.unref();
		// The agent closes a connection whose timer runs out while no request uses it.
		socket.setTimeout(ms);
		return true;
	}
	plain.keepSocketAlive = keepSocketAlive;
	secure.keepSocketAlive = keepSocketAlive;

	return {
		of: (protocol) => (protocol === "https:" ? secure : plain),
		note(socket, keepAlive) {
			const [, seconds] = /\btimeout=(\d+)/i.exec(keepAlive ?? "") ?? [];
			if (seconds !== undefined) announced.set(socket, Number(seconds) * 1000);
		},
		close() {
			plain.destroy();
			secure.destroy();
		},
	};
}
