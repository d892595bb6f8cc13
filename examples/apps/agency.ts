// Which agency the examples speak for: the live one of the environment, or a sandbox when there is none.
import { type AgencyClient, type Client, createClient } from "messaging-conversations";
import { createSandbox, type Sandbox, sandboxFetch } from "messaging-conversations/sandbox";

export interface Agency {
	client: Client;
	agency: AgencyClient;
	/** Present only if no MESSAGING_BASE_URL is given. Then no send reaches a real person. */
	sandbox: Sandbox | undefined;
}

export async function openAgency(env: NodeJS.ProcessEnv = process.env): Promise<Agency> {
	const sandbox = env.MESSAGING_BASE_URL ? undefined : createSandbox({ now: new Date(), scenario: "busy" });
	const { MESSAGING_SANDBOX_CONTROL_URL: controlUrl, MESSAGING_SANDBOX_TOKEN: token } = env;
	// With the sandbox of the command, its page shows the texts of the outbox.
	const shown = controlUrl && token ? { fetch: sandboxFetch({ controlUrl, token }) } : {};
	const live = { baseUrl: env.MESSAGING_BASE_URL, apiKey: env.MESSAGING_API_KEY, ...shown };
	const client = createClient(sandbox ? { ...sandbox.connection } : live);
	// With an id nothing is asked, so that a worker starts during an outage of the service too.
	const id = (sandbox ? undefined : env.MESSAGING_AGENCY_ID) || (await onlyAgency(client));
	return { client, agency: client.agency(id), sandbox };
}

/** Contacts see the agency's name, so a text may only go out as an agency that somebody chose. */
async function onlyAgency(client: Client): Promise<string> {
	const { agencies } = await client.me.get();
	const [only] = agencies;
	if (!only) throw new Error("The key reaches no agency.");
	if (agencies.length === 1) return only.id;
	const choice = agencies.map(({ id, name }) => `${id} (${name ?? "no name"})`).join(", ");
	throw new Error(`The key reaches several agencies. Set MESSAGING_AGENCY_ID to one of them: ${choice}`);
}
