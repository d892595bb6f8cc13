import { createClient, isPartnerError } from "messaging-conversations";
import { sendUnlessHeld } from "../web/send.ts";

// Outside of the handler: a warm function reuses the client and its
// connections.
const client = createClient({
	baseUrl: process.env.MESSAGING_BASE_URL,
	apiKey: process.env.MESSAGING_API_KEY,
});

interface Event {
	pathParameters: { agencyId: string };
	body: string;
}

interface Context {
	getRemainingTimeInMillis: () => number;
}

/** Sends one text. For an HTTP API of API Gateway, or a function URL. */
export async function handler(
	{ pathParameters, body }: Event,
	context: Context,
) {
	// Without an id a double click would be two texts
	const { operationId = "", to, body: text } = JSON.parse(body);
	// The call ends two seconds before Lambda cuts the function off, so that its
	// outcome can be answered and logged.
	const deadline = Math.max(1, context.getRemainingTimeInMillis() - 2_000);
	try {
		const agency = client.agency(pathParameters.agencyId);
		const sent = await sendUnlessHeld(
			agency,
			{ operationId, to, body: text },
			{ deadline },
		);
		return answer(sent.status, sent.body);
	} catch (error) {
		if (!isPartnerError(error)) throw error;
		console.error(JSON.stringify(error));
		const { _tag, outcome, retryable } = error;
		const isInput =
			_tag === "PartnerInvalidInput" || _tag === "PartnerBadRequest";
		return answer(isInput ? 422 : retryable ? 503 : 502, {
			code: _tag,
			outcome,
			operationId,
		});
	}
}

function answer(statusCode: number, body: object) {
	return {
		statusCode,
		headers: { "content-type": "application/json" },
		body: JSON.stringify(body),
	};
}
