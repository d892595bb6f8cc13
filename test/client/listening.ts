import type { AddressInfo, Server, Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A server of a test. */
export interface Listening {
	url: string;
	sockets: Socket[];
	/** Connections that are open now. */
	open: () => number;
}

/** Listens on the loopback until the test has finished. A concurrent test passes the `onTestFinished` of its context. */
export async function listening(
	server: Server,
	{ scheme = "http", onFinished = onTestFinished }: { scheme?: string; onFinished?: (end: () => void) => void } = {},
): Promise<Listening> {
	const sockets: Socket[] = [];
	server.on("connection", (socket: Socket) => sockets.push(socket.on("error", () => {})));
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	onFinished(() => {
		for (const socket of sockets) socket.destroy();
		server.close();
	});
	const { port } = server.address() as AddressInfo;
	return {
		url: `${scheme}://127.0.0.1:${port}`,
		sockets,
		open: () => sockets.filter((each) => !each.destroyed).length,
	};
}
