import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A service that keeps the connection of a read, and cuts that of a write without an answer. */
export interface Cutter {
	baseUrl: string;
	/** What is wrong with the writes that came in, if anything: each was made once. */
	wrong: () => string | undefined;
	close: () => void;
}

export async function startCutter(): Promise<Cutter> {
	const writes: (string | undefined)[] = [];
	const server = createServer(({ method, socket }, response) => {
		if (method === "GET") return void response.writeHead(200, { "content-type": "application/json" }).end("{}");
		writes.push(method);
		socket.destroy();
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;
	return {
		baseUrl: `http://127.0.0.1:${port}/api/v1`,
		wrong: () => (writes.join() === "POST,PUT,PATCH,DELETE" ? undefined : `the service got ${writes.join()}`),
		close() {
			server.close();
			server.closeAllConnections();
		},
	};
}
