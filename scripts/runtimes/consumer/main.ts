// Against a sandbox that somebody else serves: the arguments are its base URL, key, control URL and token.
import { controlsOver } from "./controls.ts";
import { exercise } from "./exercise.ts";

const [baseUrl = "", apiKey = "", controlUrl = "", token = ""] = process.argv.slice(2);

async function main(): Promise<void> {
	const controls = controlsOver(controlUrl, token);
	await controls.reset();
	await exercise({ baseUrl, apiKey, controls }, console.log);
}

main().catch((error: unknown) => {
	console.error(error);
	process.exit(1);
});
