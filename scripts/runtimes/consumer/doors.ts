// With a sandbox of its own: in process, served over HTTP by this runtime, and the same through `nodeFetch`.
import { nodeFetch } from "messaging-conversations/node";
import * as entry from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { controlsOf } from "./controls.ts";
import { exercise } from "./exercise.ts";

const { createSandbox, scenarioNames, ...scenarios } = entry;

async function main(): Promise<void> {
	for (const name of scenarioNames) scenarios[name](createSandbox());
	const fetch = nodeFetch();
	for (const door of ["in process", "served", "nodeFetch"] as const) {
		const sandbox = createSandbox({ seed: "busy" });
		const server = await serve(sandbox, { port: 0 });
		const { baseUrl, apiKey } = server;
		const served = door === "served" ? { baseUrl, apiKey } : { baseUrl, apiKey, fetch };
		const connection = door === "in process" ? sandbox.connection : served;
		await exercise({ ...connection, controls: controlsOf(sandbox) }, (line) => console.log(`${line} (${door})`));
		await server.close();
	}
	fetch.close();
}

main().catch((error: unknown) => {
	console.error(error);
	process.exit(1);
});
