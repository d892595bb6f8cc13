import type { Agent, IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** How long an idle connection is kept when the service announces nothing. Servers that close sooner are rare. */
const unannouncedMs = 4000;
/** A connection is closed this long before the service would close it, because a request could be on its way then. */
const marginMs = 1000;
/** The longest that an idle connection is kept, also when the service announces more. Node's own fetch has the same limit. */
const longestMs = 600_000;

/** How long a connection may be idle, in milliseconds, where the service has announced it. */
const announcedMs = new WeakMap<Socket, number>();

/** Notes the `Keep-Alive` of a response, by which the service announces how long it keeps the connection. */
export function noteKeepAlive({ socket }: IncomingMessage, keepAlive: string | undefined): void {
	const seconds = /\btimeout=(\d+)/i.exec(keepAlive ?? "")?.[1];
	// The response of a mock can be without a socket.
	if (socket && seconds) announcedMs.set(socket, Number(seconds) * 1000 - marginMs);
}

/** Makes an agent keep an idle connection for `keepAliveMs`, or for as long as the service announces if that is less. */
export function limitIdle(agent: Agent, keepAliveMs: number | undefined): Agent {
	// Node calls it when a response has ended. Node's own version does not follow an announcement of more than its limit.
	agent.keepSocketAlive = (socket: Socket) => {
		const ms = Math.min(keepAliveMs ?? longestMs, announcedMs.get(socket) ?? keepAliveMs ?? unannouncedMs);
		if (ms <= 0) return false;
		// A firewall forgets a connection on which nothing is sent.
		socket.setKeepAlive(true, 1000);
		socket.unref();
		// The agent closes a connection whose timer runs out while no request uses it.
		socket.setTimeout(ms);
		return true;
	};
	return agent;
}
