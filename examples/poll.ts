// Pick up what is new. There are no webhooks: list again from the top, and stop where all is known.
import { type ConversationSummary, createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";

const sandbox = createSandbox({ seed: "busy" });
const client = createClient({ ...sandbox.connection });
const agency = client.agency(sandbox.agency().id);

// What a CRM keeps between two looks, in its database.
let lastSeen = 0; // by the service's times alone, as no clock of yours agrees with them
const messagesOf = new Map<string, number>();
// Looked at twice: two messages may have one time, and a time may be told in whole seconds.
const overlapMs = 60_000;

async function look(): Promise<ConversationSummary[]> {
	const fresh: ConversationSummary[] = [];
	let newest = lastSeen;
	for await (const conversation of agency.conversations.list()) {
		const at = Date.parse(conversation.lastMessageAt ?? ""); // not as text: it may have more digits, or fewer
		if (!(at > lastSeen - overlapMs)) break; // newest first, and those without a message last
		newest = Math.max(newest, at);
		if (messagesOf.get(conversation.phoneNumber) !== conversation.totalMessages) fresh.push(conversation);
	}
	// Only now, in one transaction with what is done about them: a walk that fails half-way has seen nothing.
	lastSeen = newest;
	for (const { phoneNumber, totalMessages } of fresh) messagesOf.set(phoneNumber, totalMessages);
	return fresh;
}

console.log(`${(await look()).length} at the first look`);
sandbox.clock.advance({ minutes: 5 });
sandbox.agency().contact("+447700900101", { name: "Anna" }).writes("Hello?");
for (const { contactName, lastMessagePreview } of await look()) console.log(`${contactName}: ${lastMessagePreview}`);
