// Tell whether a text would go out now, wait for consent, or be refused.
import { createClient, isWindowOpen, PartnerNotFound } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";

const sandbox = createSandbox();
const anna = sandbox.agency().contact("+447700900101", { name: "Anna" });
const client = createClient({ ...sandbox.connection });
const agency = client.agency(sandbox.agency().id);

async function whatASendWouldDo(phone: string): Promise<string> {
	try {
		const { conversation } = await agency.conversations.get(phone, { pageSize: 1 });
		const isWaiting = conversation.queuedMessages.length > 0;
		if (isWindowOpen(conversation, sandbox.clock.now()))
			return isWaiting ? "goes out at once, and may drop the text that waits" : "goes out at once";
		if (!conversation.windowReopenReadiness.eligibleForManualSend)
			return "is refused: the agency has no approved consent template";
		return isWaiting ? "replaces the text that waits" : "waits for consent";
	} catch (error) {
		// Or the conversation is hidden from this agency.
		if (error instanceof PartnerNotFound) return "probably waits for consent: there is no conversation to read";
		throw error;
	}
}

console.log(await whatASendWouldDo(anna.phoneNumber));
anna.writes("Hello!");
console.log(await whatASendWouldDo(anna.phoneNumber));
sandbox.clock.advance({ hours: 25 });
console.log(await whatASendWouldDo(anna.phoneNumber));
await agency.messages.send({ to: anna.phoneNumber, body: "Would Friday suit you?" });
console.log(await whatASendWouldDo(anna.phoneNumber));
anna.writes("Who is this?"); // no consent, but it opens the window
console.log(await whatASendWouldDo(anna.phoneNumber));
