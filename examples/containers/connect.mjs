// What tests in another container do first: ask the sandbox for its API key and agency.
const { MESSAGING_BASE_URL, MESSAGING_SANDBOX_CONTROL_URL, MESSAGING_SANDBOX_TOKEN } = process.env;
const control = { headers: { "X-Sandbox-Token": MESSAGING_SANDBOX_TOKEN ?? "" } };
const connection = await (await fetch(`${MESSAGING_SANDBOX_CONTROL_URL}/connection`, control)).json();
const headers = { Authorization: `Bearer ${connection.apiKey}` };
const me = await (await fetch(`${MESSAGING_BASE_URL}/me`, { headers })).json();
console.log(`${me.integration.name} reaches ${me.agencies.length} agency, ${connection.agencyId}`);
