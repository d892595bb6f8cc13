import { afterAll, beforeAll, describe } from "vitest";
import { createDatabase, noServer, type Server, startServer } from "./postgres.ts";
import { queueSuite } from "./queue-suite.ts";

if (noServer) console.warn(noServer);

describe.skipIf(noServer)("the send queue on a PostgreSQL server", () => {
	let server: Server | undefined;
	let url = "";
	beforeAll(async () => {
		server = await startServer();
		url = await createDatabase(server);
	});
	afterAll(() => server?.close());

	queueSuite(() => url);
});
