// Find which contacts of a CRM have a conversation, however their numbers are written.
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";

const sandbox = createSandbox();
sandbox.agency().contact("+447700900101", { name: "Anna" }).writes("Is the flat still free?");
const client = createClient({ ...sandbox.connection });
const agency = client.agency(sandbox.agency().id);

// Any iterable or async iterable works, such as the rows of a database cursor.
const column = ["0044 7700/900.101", "+44 (0)7700 900101", "+44 7700 900199", "see notes", null];

for await (const { input, phoneNumber, conversation, reason } of agency.conversations.lookup(column)) {
	if (phoneNumber === null) console.log(`${input}: no phone number (${reason})`);
	else console.log(`${input}: ${conversation ? lastWord(conversation.lastInboundAt) : "no conversation"}`);
}

function lastWord(at: string | null): string {
	return at === null ? "never wrote" : `last wrote ${at}`;
}
