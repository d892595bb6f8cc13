// With a sandbox of its own: in process, served over HTTP by this runtime, and the same through `nodeHttp`.
import * as nodeEntry from "messaging-conversations/node";
import * as outboxEntry from "messaging-conversations/outbox";
import * as sandboxEntry from "messaging-conversations/sandbox";
import * as serverEntry from "messaging-conversations/sandbox/server";
import * as syncEntry from "messaging-conversations/sync";
import { controlsOf } from "./controls.ts";
import { exercise } from "./exercise.ts";
import { exactly } from "./exports.ts";

const { nodeHttp } = nodeEntry;
const { createSandbox, scenarioNames } = sandboxEntry;
const { serve } = serverEntry;

async function main(): Promise<void> {
	exactly(nodeEntry, ["nodeHttp"]);
	exactly(serverEntry, ["serve"]);
	exactly(syncEntry, ["changes", "fingerprintOf", "reconcile", "watch", "watchAgencies"]);
	exactly(outboxEntry, [
		"bullmqEngine",
		"checkDelivery",
		"createOutbox",
		"isOptIn",
		"isOptOut",
		"isRefusal",
		"isWrongNumber",
		"mysqlStore",
		"pgBossEngine",
		"postgresStore",
		"sqliteStore",
	]);
	exactly(sandboxEntry, ["createSandbox", "sandboxFetch", "scenarioNames"]);
	for (const name of scenarioNames) createSandbox().loadScenario(name);
	const transport = nodeHttp({ maxSockets: 8, keepAliveMs: 1000 });
	for (const entryPoint of ["in process", "served", "nodeHttp"] as const) {
		const sandbox = createSandbox({ scenario: "busy" });
		const server = await serve(sandbox, { port: 0 });
		const { baseUrl, apiKey } = server;
		const served = entryPoint === "served" ? { baseUrl, apiKey } : { baseUrl, apiKey, transport };
		const connection = entryPoint === "in process" ? sandbox.connection : served;
		await exercise({ ...connection, controls: controlsOf(sandbox) }, (line) => console.log(`${line} (${entryPoint})`));
		await server.close();
	}
	transport.close();
}

main().catch((error: unknown) => {
	console.error(error);
	process.exit(1);
});
