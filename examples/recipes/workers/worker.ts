import {
	type Client,
	createClient,
	isPartnerError,
} from "messaging-conversations";
import { sendUnlessHeld } from "../web/send.ts";

interface Env {
	MESSAGING_BASE_URL: string;
	MESSAGING_API_KEY: string; // npx wrangler secret put MESSAGING_API_KEY
}

let client: Client | undefined;

export default {
	async fetch(
		request: Request,
		env: Env,
		context: { waitUntil: (work: Promise<unknown>) => void },
	): Promise<Response> {
		// Check first who is signed in, and that they may send for this agency.
		if (request.method !== "POST")
			return new Response(null, { status: 405, headers: { allow: "POST" } });
		client ??= createClient({
			baseUrl: env.MESSAGING_BASE_URL,
			apiKey: env.MESSAGING_API_KEY,
		});
		const {
			agencyId,
			operationId = "",
			to,
			body,
		} = (await request.json()) as Text;
		// waitUntil lasts for 30 seconds after the visitor has left
		const deadline = 25_000;
		const sending = sendUnlessHeld(
			client.agency(agencyId),
			{ operationId, to, body },
			{ deadline },
		).then(
			(sent) => Response.json(sent.body, { status: sent.status }),
			(error) => failed(error, operationId),
		);
		// The send is finished even if the visitor leaves
		context.waitUntil(sending);
		return sending;
	},
};

function failed(error: unknown, operationId: string): Response {
	if (!isPartnerError(error)) throw error;
	console.error(JSON.stringify(error)); // holds no key, number or text
	const { _tag, outcome, retryable } = error;
	const isInput =
		_tag === "PartnerInvalidInput" || _tag === "PartnerBadRequest";
	return Response.json(
		{ code: _tag, outcome, operationId },
		{ status: isInput ? 422 : retryable ? 503 : 502 },
	);
}

interface Text {
	agencyId: string;
	operationId: string; // made by the form, so that a double click is one text
	to: string;
	body: string;
}
