// Pick up what is new. There are no webhooks: list again from the top, and stop where the last look began.
import { type ConversationSummary, createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";

const sandbox = createSandbox({ seed: "busy" });
const client = createClient({ ...sandbox.connection });
const agency = client.agency(sandbox.agency().id);

async function newSince(last: string): Promise<ConversationSummary[]> {
	const fresh: ConversationSummary[] = [];
	for await (const conversation of agency.conversations.list({ readAhead: false })) {
		if ((conversation.lastMessageAt ?? "") <= last) break; // newest first: all that follows is known
		fresh.push(conversation);
	}
	return fresh;
}

const lastLook = sandbox.clock.now().toISOString();
sandbox.clock.advance({ minutes: 5 });
sandbox.agency().contact("+447700900101", { name: "Anna" }).writes("Hello?");

for (const { contactName, lastMessagePreview } of await newSince(lastLook)) {
	console.log(`${contactName}: ${lastMessagePreview}`);
}
