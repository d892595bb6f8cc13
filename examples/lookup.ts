// Which contacts of a CRM have a conversation? The numbers may be as messy as they are.
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";

const sandbox = createSandbox();
sandbox.agency().contact("+32470123456", { name: "Anna" }).writes("Is the flat still free?");
const client = createClient({ ...sandbox.connection });
const agency = client.agency(sandbox.agency().id);

const contacts = ["0470/12.34.56", "+32 (0)470 12 34 56", "+44 7700 900199", "see notes"];
for (const { input, phoneNumber, conversation } of await agency.conversations.lookup(contacts)) {
	const last = conversation?.lastInboundAt; // null too when only the agency wrote
	if (phoneNumber === null) console.log(`${input}: no phone number`);
	else console.log(`${input}: ${last ? `last wrote ${last}` : "never wrote"}`);
}
