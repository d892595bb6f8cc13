import { openAgency } from "../../../lib/client";

export async function POST(request: Request) {
	// First check who is signed in, and that they may write to this contact.
	// Refuse forms of other sites.
	const form = await request.formData();
	const field = (name: string) =>
		String(form.get(name) ?? "").replaceAll("\r\n", "\n");
	const text = {
		operationId: field("operationId"),
		to: field("to"),
		body: field("body"),
	}; // an empty id is refused
	const sent = await openAgency()
		.messages.send({ ...text, ifHeld: "refuse" })
		.result();
	if (sent.ok) return Response.json({ queued: sent.data.queued });
	const { error } = sent;
	if (error._tag === "PartnerHeldText") {
		// The second click of a double click
		if (error.sameText) return Response.json({ queued: true });
		const message = "It was not sent, because it would replace a held text.";
		return Response.json({ message }, { status: 409 });
	}
	// "unknown": it may have gone out
	const { _tag, field: wrong, outcome, operationId, retryable } = error;
	const isInput =
		_tag === "PartnerInvalidInput" || _tag === "PartnerBadRequest";
	const status = isInput
		? 422
		: _tag === "PartnerConflict"
			? 409
			: retryable
				? 503
				: 502;
	return Response.json(
		{ _tag, field: wrong, outcome, operationId },
		{ status },
	);
}
