// A CRM that mirrors: what has changed, each message under its id, and each night what moved nothing to the top.
import { type ConversationDetail, createClient, type Message } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { changes, fingerprintOf, reconcile } from "messaging-conversations/sync";

const sandbox = createSandbox({ seed: "busy" });
const agency = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);

// The CRM's tables. In a database, what one call of `store` does is one transaction.
let checkpoint: string | undefined;
const conversations = new Map<string, ConversationDetail>();
const messages = new Map<number, { phoneNumber: string; message: Message }>();
/** For a conversation that is hidden or deleted. */
const remove = (phoneNumber: string) => {
	conversations.delete(phoneNumber);
	for (const [id, row] of messages) if (row.phoneNumber === phoneNumber) messages.delete(id);
};
const store = (conversation: ConversationDetail, fresh: Message[], next = checkpoint) => {
	const { phoneNumber } = conversation.summary;
	conversations.set(phoneNumber, conversation);
	for (const message of fresh) messages.set(message.id, { phoneNumber, message });
	checkpoint = next;
};

async function look() {
	const feed = changes(agency, { since: checkpoint ?? "beginning" });
	for await (const change of feed) store(change.conversation, change.messages, feed.checkpoint);
	checkpoint = feed.checkpoint;
}

async function nightly() {
	const stored = [...conversations].map(([phoneNumber, row]) => ({ phoneNumber, fingerprint: fingerprintOf(row) }));
	for await (const { phoneNumber, conversation, messages } of reconcile(agency, { stored })) {
		if (conversation) store(conversation, messages);
		else remove(phoneNumber);
	}
}

await look();
console.log(`${conversations.size} conversations, ${messages.size} messages`);
const anna = sandbox.agency().contact("+447700900101", { name: "Anna Claes" });
sandbox.agency().conversation("+447700900102").hide();
await nightly();
console.log(`${conversations.size} conversations, ${messages.size} messages`);
console.log(conversations.get(anna.phoneNumber)?.summary.contactName);
