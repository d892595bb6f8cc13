// What tests in another container do first: they ask the sandbox for its API key and agency, and connect a client.
import { createClient } from "messaging-conversations";

const { MESSAGING_BASE_URL, MESSAGING_SANDBOX_CONTROL_URL, MESSAGING_SANDBOX_TOKEN } = process.env;
const control = { headers: { "X-Sandbox-Token": MESSAGING_SANDBOX_TOKEN ?? "" } };
const { apiKey, agencyId } = await (await fetch(`${MESSAGING_SANDBOX_CONTROL_URL}/connection`, control)).json();

// The client takes plain http for loopback hosts only. allowInsecureHosts adds this name, for keys of a sandbox alone.
const client = createClient({ baseUrl: MESSAGING_BASE_URL, apiKey, allowInsecureHosts: ["sandbox"] });
const { integration, agencies } = await client.me.get();
console.log(`${integration.name} reaches ${agencies.length} agency, ${agencyId}`);
