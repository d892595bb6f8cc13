// What tests in another container do first: they ask the sandbox for its API
// key and agency, and connect a client.
import { createClient } from "messaging-conversations";

const {
	MESSAGING_BASE_URL: baseUrl,
	MESSAGING_SANDBOX_CONTROL_URL: controlUrl,
	MESSAGING_SANDBOX_TOKEN: token = "",
} = process.env;
const headers = { "X-Sandbox-Token": token };
const control = async (path, body) => {
	const method = body ? "POST" : "GET";
	const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
	return (await fetch(`${controlUrl}/${path}`, init)).json();
};
const { apiKey, agencyId } = await control("connection");

// The client takes plain http for loopback hosts only. allowInsecureHosts adds
// this name, for keys of a sandbox alone.
const client = createClient({
	baseUrl,
	apiKey,
	allowInsecureHosts: ["sandbox"],
});
const { integration, agencies } = await client.me.get();
console.log(`${integration.name} reaches ${agencies.length} agency`);

// A contact who has never written is asked for permission first. She declines,
// and never gets the text.
const anna = "contacts/+447700900999";
const { queued } = await client.agency(agencyId).messages.send({
	to: "+447700900999",
	body: "See you at 14:00.",
});
await control(`${anna}/declines`, {});
const inbox = await control(`${anna}/inbox`);
const texts = inbox.filter(({ kind }) => kind === "text");
console.log(`queued: ${queued}, texts on her phone: ${texts.length}`);
