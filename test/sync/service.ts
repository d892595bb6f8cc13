import { type AgencyClient, createClient } from "messaging-conversations";
import { type Change, type ChangeFeed, type ChangesOptions, changes } from "messaging-conversations/sync";
import { createModel, type Kind, type Model, type ModelConversation } from "./model.ts";

const minute = 60_000;

export interface Opened {
	model: Model;
	agency: AgencyClient;
	/** A contact by the order in which they were added. */
	contact: (index: number) => ModelConversation;
	/** Looks once from the last poll's checkpoint, and gives what was delivered. */
	poll: (options?: Partial<ChangesOptions>) => Promise<Polled>;
	/** Polls once, and leaves the loop at a contact's change, once that is saved with its checkpoint. */
	pollUpTo: (index: number, options?: Partial<ChangesOptions>) => Promise<Pick<Polled, "changes">>;
	/** Where the next poll begins. */
	since: string;
}

export interface Polled {
	changes: Change[];
	requests: string[];
	error: unknown;
	feed: ChangeFeed;
}

/** A model of the service with some contacts, its client, and a CRM that stores what it is delivered. */
export function openModel(kind: Kind = {}, count = 3): Opened {
	const model = createModel(kind, () => 0.5);
	model.isFaulty = true;
	for (let i = 0; i < count; i++) model.add();
	const { fetch, agencyId } = model;
	const client = createClient({
		baseUrl: "https://model.invalid/api/v1",
		apiKey: "model_live.a.b",
		fetch,
		retry: false,
	});
	const agency = client.agency(agencyId);
	const opened: Opened = {
		model,
		agency,
		contact(index) {
			const contact = model.conversations[index];
			if (!contact) throw new Error(`There is no contact ${index}.`);
			return contact;
		},
		since: "beginning",
		async poll(options) {
			const feed = changes(agency, { since: opened.since, ...options });
			const before = model.requests.length;
			const delivered: Change[] = [];
			let error: unknown;
			try {
				for await (const change of feed) delivered.push(change);
			} catch (thrown) {
				error = thrown;
			}
			opened.since = feed.checkpoint;
			return { changes: delivered, requests: model.requests.slice(before), error, feed };
		},
		async pollUpTo(index, options) {
			const feed = changes(agency, { since: opened.since, ...options });
			const delivered: Change[] = [];
			for await (const change of feed) {
				delivered.push(change);
				opened.since = feed.checkpoint;
				if (change.phoneNumber === opened.contact(index).phoneNumber) break;
			}
			return { changes: delivered };
		},
	};
	return opened;
}

/** What was delivered, as numbers of contacts with the numbers of their messages. */
export function messagesOf({ model }: Opened, { changes }: Pick<Polled, "changes">): [number, string[]][] {
	return changes.map(({ phoneNumber, messages }) => [
		model.conversations.findIndex((contact) => contact.phoneNumber === phoneNumber),
		messages.map(({ body }) => body?.replace(/\D+/, "") ?? ""),
	]);
}

export const minutes = (count: number): number => count * minute;
