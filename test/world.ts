import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { expect } from "vitest";

/** What the examples of the sandbox take as given: names that say themselves what they are. */
export async function createWorld() {
	const sandbox = createSandbox();
	const { baseUrl, apiKey } = sandbox.connection;
	const agency = sandbox.agency();
	const anna = agency.contact("+447700900101", { name: "Anna" });
	anna.writes("Is the flat still free?");
	const bert = agency.contact("+32470123456");
	bert.writes("Hello?");
	const client = createClient({ ...sandbox.connection });
	const sent = await client.agency(agency.id).messages.send({ to: bert.phoneNumber, body: "Hello Bert" });
	if (sent.queued) throw new Error("The window is closed.");
	const [key] = sandbox.keys.list();
	const before = sandbox.snapshot();
	const text = JSON.stringify(sandbox.bug());
	const fault = sandbox.faults.add({ operation: "me.get", effect: { status: 500 } });
	await client.me.get({ retry: false }).result();
	const flow = agency.startFlow(anna);
	return { sandbox, agency, anna, sent, id: key?.id ?? "", baseUrl, apiKey, before, text, flow, fault, expect };
}
