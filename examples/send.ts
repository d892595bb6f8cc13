// Send a text, and report what became of it.
import { createClient, operationIdFrom } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";

// The sandbox takes the place of the live service: { baseUrl: process.env.…, apiKey: process.env.… }
const sandbox = createSandbox();
sandbox.agency().contact("+447700900101", { name: "Anna" }).writes("Is the flat still free?");
const client = createClient({ ...sandbox.connection });

const note = { id: "note-2045", phone: "+44 (0)7700 900101", text: "It is! The visit is at 14:00." };
const result = await client
	.agency(sandbox.agency().id)
	.messages.send({
		to: note.phone,
		body: note.text,
		operationId: await operationIdFrom("crm", note.id), // the same after a crash, so the text is not sent twice
	})
	.result();

if (result.ok) console.log(result.data.queued ? "waits for consent" : `sent as ${result.data.messageId}`);
else if (result.error.outcome === "unknown")
	console.log(
		result.error.retryable ? "send again later with the same id and text" : "may have gone out: ask a person",
	);
else if (result.error.outcome === "sent") console.log("accepted, in an answer that is unusable otherwise");
else console.log("not sent:", result.error._tag);
