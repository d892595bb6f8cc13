import { openAgency } from "../../../lib/client";

export async function POST(request: Request) {
	// First check who is signed in, and that they may write to this contact. Refuse forms of other sites.
	const form = await request.formData();
	const field = (name: string) => String(form.get(name) ?? "").replaceAll("\r\n", "\n");
	const text = { operationId: field("operationId"), to: field("to"), body: field("body") }; // an empty id is refused
	const { conversations, messages } = openAgency();

	const read = await conversations.get(text.to, { pageSize: 1 }).result();
	const held = read.ok ? read.data.conversation.queuedMessages[0] : undefined;
	if (held?.body === text.body) return Response.json({ queued: true }); // the second click of a double click
	const message = "Another text waits for this contact's consent, and yours would replace it. It was not sent.";
	if (held) return Response.json({ message }, { status: 409 });

	// Without a conversation nothing is held. The send refuses a bad number.
	const maySend = read.ok || read.error._tag === "PartnerNotFound" || read.error._tag === "PartnerInvalidInput";
	const sent = maySend ? await messages.send(text).result() : read;
	if (sent.ok) return Response.json({ queued: sent.data.queued });
	const { _tag, field: wrong, outcome, operationId, retryable } = sent.error; // "unknown": it may have gone out
	const isInput = _tag === "PartnerInvalidInput" || _tag === "PartnerBadRequest";
	const status = isInput ? 422 : _tag === "PartnerConflict" ? 409 : retryable ? 503 : 502;
	return Response.json({ _tag, field: wrong, outcome, operationId }, { status });
}
