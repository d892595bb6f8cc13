// What a program can say without the types of any runtime.
import { createClient, isPartnerError, PartnerNotFound, type Sent, toE164 } from "messaging-conversations";

const client = createClient({ baseUrl: "https://messaging.example/api/v1", apiKey: "key" });
const agency = client.agency("agy_1");

export const sent: Promise<Sent> = agency.messages.send({ to: toE164("+44 7700 900101"), body: "Hello" });

export async function names(): Promise<string[]> {
	const found: string[] = [];
	for await (const { contactName } of agency.conversations.list()) if (contactName !== null) found.push(contactName);
	return found;
}

export async function read(phone: string): Promise<number | undefined> {
	const result = await agency.conversations.get(phone).result();
	if (result.ok) return result.data.messagePage.messages.length;
	const { error } = result;
	const status: number | undefined = isPartnerError(error) ? error.status : undefined;
	return error instanceof PartnerNotFound ? 404 : status;
}
