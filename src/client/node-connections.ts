import http, { type Agent, type IncomingMessage } from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { createSecureContext, type SecureContext, type SecureContextOptions } from "node:tls";

/** How connections are kept, and by which certificates they are made. */
export interface ConnectionOptions {
	maxSockets: number;
	keepAliveMs: number | undefined;
	maxAgeMs: number;
	/** Certificates of the service and of the client, in place of Node's own. */
	tls: SecureContextOptions;
	/** An agent in place of our own. */
	proxy: Agent | undefined;
}

/** The connections of one transport. */
export interface Connections {
	/** The agent for a protocol, as `URL` names it. */
	agentFor: (protocol: string) => Agent;
	/** The certificates, read once. Given `ca`, an agent would read it for each connection. */
	secureContext: SecureContext | undefined;
	/** Whether idle connections may have been closed during a pause of this process, which it learns in {@link twoTurns}. */
	mayBeStale: () => boolean;
	/** Notes that a request uses a connection. */
	use: (socket: Socket) => void;
	/** Notes that a response has ended, so that what comes now belongs to none. */
	release: (socket: Socket) => void;
	/** Whether something has come on a connection since its last response ended. It is not the answer of the next request. */
	hasStray: (socket: Socket) => boolean;
	/** Whether a connection is too old for another request. */
	isOld: (socket: Socket | null) => boolean;
	/** Closes the connections that no request uses. */
	dropIdle: () => void;
	/** Closes all connections. */
	close: () => void;
}

/** After so long without a request, idle connections may be closed already. */
const pauseMs = 100;

/** @throws the error of Node.js for a certificate or a key that it cannot read */
export function createConnections({ maxSockets, keepAliveMs, maxAgeMs, tls, proxy }: ConnectionOptions): Connections {
	const plain = proxy ?? limitIdle(new http.Agent({ keepAlive: true, maxSockets }), keepAliveMs);
	const secure = proxy ?? limitIdle(new https.Agent({ keepAlive: true, maxSockets }), keepAliveMs);
	const idle = (): Socket[] =>
		[plain, secure].flatMap(({ freeSockets }) => Object.values(freeSockets)).flatMap((sockets) => sockets ?? []);
	const openedAt = new WeakMap<Socket, number>();
	/** Bytes that a connection had received when its last response ended. */
	const received = new WeakMap<Socket, number>();
	// By the wall clock, because the other one can stand still while a function or a container is frozen.
	let usedAt = Date.now();

	return {
		agentFor: (protocol) => (protocol === "https:" ? secure : plain),
		secureContext: Object.keys(tls).length > 0 ? createSecureContext(withThoseOf(proxy, tls)) : undefined,
		mayBeStale: () => Math.abs(Date.now() - usedAt) > pauseMs && idle().length > 0,
		use(socket) {
			usedAt = Date.now();
			if (!openedAt.has(socket)) openedAt.set(socket, performance.now());
		},
		release: (socket) => void received.set(socket, socket.bytesRead),
		hasStray: (socket) => socket.bytesRead > (received.get(socket) ?? Number.POSITIVE_INFINITY),
		isOld(socket) {
			const opened = socket ? openedAt.get(socket) : undefined;
			return opened !== undefined && performance.now() - opened > maxAgeMs;
		},
		dropIdle() {
			for (const socket of idle()) socket.destroy();
		},
		close() {
			plain.destroy();
			secure.destroy();
		},
	};
}

/** Waits until the event loop has read what came in during a pause. In its current turn it may have read before the pause. */
export async function twoTurns(): Promise<void> {
	await setImmediate();
	await setImmediate();
}

/** Adds the certificates of a proxy's agent, because Node ignores them when it is given a context. */
function withThoseOf(proxy: Agent | undefined, own: SecureContextOptions): SecureContextOptions {
	const { ca, cert, key, pfx, passphrase }: SecureContextOptions = Object(proxy && Reflect.get(proxy, "options"));
	const trusted = [ca, own.ca].flat().filter((each) => each !== undefined);
	const identity = own.cert || own.pfx ? {} : { cert, key, pfx, passphrase };
	return { ...identity, ...own, ...(trusted.length > 0 && { ca: trusted }) };
}

/** How long an idle connection is kept when the service announces nothing. Servers that close sooner are rare. */
const unannouncedMs = 4000;
/** A connection is closed this long before the service would close it, because a request could be on its way then. */
const marginMs = 1000;
/** The longest that an idle connection is kept, even if the service announces more. Node's own fetch has the same limit. */
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
function limitIdle(agent: Agent, keepAliveMs: number | undefined): Agent {
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
