import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";

test("an application whose base URL is in the environment", async () => {
	const sandbox = createSandbox();
	const { baseUrl, apiKey, close } = await serve(sandbox, { port: 0 });
	process.env.MESSAGING_BASE_URL = baseUrl;
	process.env.MESSAGING_API_KEY = apiKey;
	const client = createClient({
		baseUrl: process.env.MESSAGING_BASE_URL,
		apiKey: process.env.MESSAGING_API_KEY,
	});
	expect((await client.me.get()).scopes).toContain("messages:write");
	await close();
});
