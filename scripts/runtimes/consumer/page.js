// A page, where everybody can read the key: no client for a live one; the sandbox answers through msw's service worker.
import { createClient, PartnerConfigurationError } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { handlers } from "messaging-conversations/sandbox/msw";
import { setupWorker } from "msw/browser";
import { controlsOf } from "./controls.ts";
import { exercise } from "./exercise.ts";

function refusal() {
	try {
		createClient({ baseUrl: "https://messaging.example/api/v1", apiKey: "acme_live.0123456789ab.secret" });
	} catch (error) {
		return error;
	}
}

async function main() {
	const error = refusal();
	const named = error instanceof PartnerConfigurationError && error.message.startsWith("dangerouslyAllowBrowser:");
	if (!named) throw new Error("not so: a live key is refused", { cause: error });
	console.log("ok a live key is refused");
	const sandbox = createSandbox({ scenario: "busy" });
	await setupWorker(...handlers(sandbox)).start({ quiet: true });
	const { baseUrl, apiKey } = sandbox.connection;
	await exercise({ baseUrl, apiKey, controls: controlsOf(sandbox), dangerouslyAllowBrowser: true }, console.log);
}

main().then(
	() => console.log("end"),
	(error) => console.log(`end: ${error.stack} ${error.cause ?? ""}`),
);
