import { client } from "../../../lib/client";

export async function POST(request: Request) {
	// First check who is signed in, and that they may send for this agency.
	const { agencyId, ...message } = await request.json();
	const sent = await client.agency(agencyId).messages.send(message).result();
	if (sent.ok) return Response.json({ queued: sent.data.queued });
	const { _tag, outcome, operationId, retryable } = sent.error;
	return Response.json({ _tag, outcome, operationId }, { status: retryable ? 503 : 502 });
}
