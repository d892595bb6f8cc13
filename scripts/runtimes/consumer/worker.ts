// A worker: against the sandbox that its bindings name, then against one of its own.
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { controlsOf, controlsOver } from "./controls.ts";
import { exercise } from "./exercise.ts";
import { tryOnce } from "./once.ts";

interface Bindings {
	baseUrl: string;
	apiKey: string;
	controlUrl: string;
	token: string;
	/** Base URL of a service that cuts the connection of each write. */
	cutUrl: string;
}

// Workers make their clients where no request is: there neither timers nor random numbers are allowed.
createClient({ baseUrl: "https://messaging.example/api/v1", apiKey: undefined });

export default {
	async test(_controller: unknown, { baseUrl, apiKey, controlUrl, token, cutUrl }: Bindings): Promise<void> {
		const controls = controlsOver(controlUrl, token);
		await controls.reset();
		await exercise({ baseUrl, apiKey, controls }, console.log);
		await tryOnce(cutUrl);
		const sandbox = createSandbox({ scenario: "busy" });
		await exercise({ ...sandbox.connection, controls: controlsOf(sandbox) }, (line) =>
			console.log(`${line} (in process)`),
		);
	},
};
