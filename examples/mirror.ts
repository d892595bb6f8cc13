// A CRM that mirrors: what has changed, each message under its SID, and each night what moved nothing to the top.
import { type ConversationDetail, createClient, type Message } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { changes, fingerprintOf, reconcile } from "messaging-conversations/sync";

const sandbox = createSandbox({ scenario: "busy" });
const agency = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);

// The CRM's tables. In a database, what one call of `store` does is one transaction.
let checkpoint: string | undefined;
const rows = new Map<string, { conversation: ConversationDetail; messages: Map<string, Message> }>();
const store = (conversation: ConversationDetail, fresh: Message[], next = checkpoint) => {
	const { phoneNumber } = conversation.summary;
	const messages = rows.get(phoneNumber)?.messages ?? new Map<string, Message>();
	for (const message of fresh) messages.set(message.messageSid, message);
	rows.set(phoneNumber, { conversation, messages });
	checkpoint = next;
};

async function poll() {
	const feed = changes(agency, { since: checkpoint ?? "beginning" });
	for await (const change of feed) store(change.conversation, change.messages, feed.checkpoint);
	checkpoint = feed.checkpoint;
}

async function nightly() {
	const stored = [...rows].map(([phoneNumber, row]) => ({ phoneNumber, fingerprint: fingerprintOf(row.conversation) }));
	for await (const { phoneNumber, conversation, messages } of reconcile(agency, { stored })) {
		if (conversation) store(conversation, messages);
		else rows.delete(phoneNumber); // hidden or deleted, and its messages with it
	}
}

await poll();
const count = () => [...rows.values()].reduce((sum, { messages }) => sum + messages.size, 0);
console.log(`${rows.size} conversations, ${count()} messages`);
const anna = sandbox.agency().contact("+447700900101", { name: "Anna Claes" });
sandbox.agency().conversation("+447700900102").hide();
await nightly();
console.log(`${rows.size}, ${count()}: ${rows.get(anna.phoneNumber)?.conversation.summary.contactName}`);
