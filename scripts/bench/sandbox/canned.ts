/** A plain node:http server that answers everything with the same bytes: the least that any mock server can cost. */
import { createServer } from "node:http";
import { createSandbox } from "../../../src/sandbox/index.ts";

const { connection, agency } = createSandbox({ scenario: "busy" });
const headers = { authorization: `Bearer ${connection.apiKey}` };
const page = await connection.fetch(`${connection.baseUrl}/agencies/${agency().id}/conversations`, { headers });
const bytes = Buffer.from(await page.arrayBuffer());

const server = createServer((_request, response) => {
	response.writeHead(200, {
		"content-type": "application/json",
		"content-length": bytes.length,
		"x-correlation-id": "1",
	});
	response.end(bytes);
}).listen(0, "127.0.0.1", () => {
	const address = server.address();
	process.send?.({ port: typeof address === "object" ? address?.port : undefined });
});
