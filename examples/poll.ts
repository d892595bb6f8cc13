// Find what is new. There are no webhooks: list again from the top, and stop at what is known.
import { type ConversationSummary, createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";

const sandbox = createSandbox({ seed: "busy" });
const client = createClient({ ...sandbox.connection });
const agency = client.agency(sandbox.agency().id);

// A CRM keeps these in its database between two looks.
let lastSeen = 0; // a time of the service, because your own clock differs from its clock
const messagesOf = new Map<string, number>();
// Read the last minute again: two messages can have the same time, and a time can be in whole seconds.
const overlapMs = 60_000;

async function look(): Promise<ConversationSummary[]> {
	const fresh: ConversationSummary[] = [];
	let newest = lastSeen;
	for await (const conversation of agency.conversations.list()) {
		const at = Date.parse(conversation.lastMessageAt ?? ""); // as a number: its text can have more digits or fewer
		if (!(at > lastSeen - overlapMs)) break; // newest first; conversations without a message come last
		newest = Math.max(newest, at);
		if (messagesOf.get(conversation.phoneNumber) !== conversation.totalMessages) fresh.push(conversation);
	}
	// Save the position last, in one transaction with the work: after a failure half-way nothing counts as seen.
	lastSeen = newest;
	for (const { phoneNumber, totalMessages } of fresh) messagesOf.set(phoneNumber, totalMessages);
	return fresh;
}

console.log(`${(await look()).length} at the first look`);
sandbox.clock.advance({ minutes: 5 });
sandbox.agency().contact("+447700900101", { name: "Anna" }).writes("Hello?");
for (const { contactName, lastMessagePreview } of await look()) console.log(`${contactName}: ${lastMessagePreview}`);
