import { type Client, createClient } from "messaging-conversations";

interface Env {
	MESSAGING_BASE_URL: string;
	MESSAGING_API_KEY: string; // npx wrangler secret put MESSAGING_API_KEY
}

let client: Client | undefined;

export default {
	async fetch(request: Request, env: Env, context: { waitUntil: (work: Promise<unknown>) => void }): Promise<Response> {
		// Check first who is signed in, and that they may send for this agency.
		if (request.method !== "POST") return new Response(null, { status: 405, headers: { allow: "POST" } });
		client ??= createClient({
			baseUrl: env.MESSAGING_BASE_URL,
			apiKey: env.MESSAGING_API_KEY,
			deadlineMs: 25_000, // waitUntil lasts for 30 seconds after the visitor has left
		});
		const { agencyId, operationId = "", to, body } = (await request.json()) as Text;
		const sending = client.agency(agencyId).messages.send({ operationId, to, body }).result();
		context.waitUntil(sending); // the send is finished even if the visitor leaves
		const sent = await sending;
		if (sent.ok) return Response.json({ queued: sent.data.queued });
		console.error(JSON.stringify(sent.error)); // holds no key, number or text
		const { _tag, outcome, retryable } = sent.error;
		const isInput = _tag === "PartnerInvalidInput" || _tag === "PartnerBadRequest";
		const status = isInput ? 422 : retryable ? 503 : 502;
		return Response.json({ code: _tag, outcome, operationId }, { status });
	},
};

interface Text {
	agencyId: string;
	operationId: string; // made by the form, so that a double click is one text
	to: string;
	body: string;
}
