// A suite that uses msw: the application keeps the global fetch.
import { createSandbox } from "messaging-conversations/sandbox";
import { handlers } from "messaging-conversations/sandbox/msw";
import { setupServer } from "msw/node";
import { controlsOf } from "./controls.ts";
import { exercise } from "./exercise.ts";

async function main(): Promise<void> {
	const sandbox = createSandbox({ scenario: "busy" });
	const { baseUrl, apiKey } = sandbox.connection;
	const server = setupServer(...handlers(sandbox));
	server.listen();
	await exercise({ baseUrl, apiKey, controls: controlsOf(sandbox) }, console.log);
	server.close();
}

main().catch((error: unknown) => {
	console.error(error);
	process.exit(1);
});
