// What tests in another container do first: they ask the sandbox for its API key and agency, and connect a client.
import { createClient } from "messaging-conversations";

const { MESSAGING_BASE_URL, MESSAGING_SANDBOX_CONTROL_URL, MESSAGING_SANDBOX_TOKEN } = process.env;
const headers = { "X-Sandbox-Token": MESSAGING_SANDBOX_TOKEN ?? "" };
const control = async (path, body) => {
	const method = body ? "POST" : "GET";
	const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
	return (await fetch(`${MESSAGING_SANDBOX_CONTROL_URL}/${path}`, init)).json();
};
const { apiKey, agencyId } = await control("connection");

// The client takes plain http for loopback hosts only. allowInsecureHosts adds this name, for keys of a sandbox alone.
const client = createClient({ baseUrl: MESSAGING_BASE_URL, apiKey, allowInsecureHosts: ["sandbox"] });
const { integration, agencies } = await client.me.get();
console.log(`${integration.name} reaches ${agencies.length} agency, ${agencyId}`);

// A contact who has never written is asked for permission first. She declines, and never gets the text.
const anna = "contacts/+447700900999";
const { queued } = await client.agency(agencyId).messages.send({ to: "+447700900999", body: "See you at 14:00." });
await control(`${anna}/declines`, {});
const texts = (await control(`${anna}/inbox`)).filter(({ kind }) => kind === "text");
console.log(`queued: ${queued}, texts on her phone: ${texts.length}`);
