/** A sandbox that has seen many requests, over HTTP in a process of its own. */
import { createSandbox } from "../../../src/sandbox/index.ts";
import { serve } from "../../../src/sandbox/server.ts";

const count = Number(process.argv[2]);
const sandbox = createSandbox();
sandbox.history.record();
const { baseUrl: base, apiKey: key, fetch: ask } = sandbox.connection;
const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
const agency = sandbox.agency();
const path = `/agencies/${agency.id}`;
const phones = Array.from({ length: 500 }, (_, at) => `+44770090${String(1_000 + at)}`);
for (const [at, phone] of phones.entries()) agency.contact(phone, { name: `Contact ${at} of many` }).writes("Hello");

/** One of ten requests is a list, two read a conversation, and seven send. Every fifth contact has a closed window by then. */
async function request(at: number): Promise<void> {
	const phone = phones[at % phones.length] ?? "";
	const conversations = `${base}${path}/conversations`;
	const body = JSON.stringify({ to: phone, body: `Text ${at} about the flat`, operationId: `note-${at}` });
	const response =
		at % 10 === 0
			? await ask(`${conversations}?pageSize=10`, { headers })
			: at % 10 < 3
				? await ask(`${conversations}/${encodeURIComponent(phone)}?pageSize=5`, { headers })
				: await ask(`${base}${path}/messages`, { method: "POST", headers, body });
	await response.text();
}
for (let at = 0; at < count; at++) {
	await request(at);
	if (at % 1_000 !== 0) continue;
	sandbox.clock.advance({ hours: 1 });
	for (const phone of phones) if (Number(phone.slice(-1)) % 5 > 0) agency.contact(phone).writes("Thanks");
}

const { controlUrl, baseUrl, apiKey, token } = await serve(sandbox, { port: 0 });
process.on("message", () => process.send?.({ maxRss: process.resourceUsage().maxRSS }));
process.send?.({
	controlUrl,
	token,
	apiKey,
	url: `${baseUrl}${path}/conversations/${encodeURIComponent(phones[7] ?? "")}?pageSize=5`,
});
