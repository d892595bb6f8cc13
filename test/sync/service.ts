import { type AgencyClient, createClient } from "messaging-conversations";
import { type Change, type ChangeFeed, type ChangesOptions, changes } from "messaging-conversations/sync";
import { createModel, type Kind, type Model, type ModelConversation } from "./model.ts";

const minute = 60_000;

export interface Opened {
	model: Model;
	agency: AgencyClient;
	/** A contact by the order in which they were added. */
	contact: (index: number) => ModelConversation;
	/** Looks once from the last look's checkpoint, and gives what was handed over. */
	look: (options?: Partial<ChangesOptions>) => Promise<Looked>;
	/** Where the next look begins. */
	since: string;
}

export interface Looked {
	changes: Change[];
	requests: string[];
	error: unknown;
	feed: ChangeFeed;
}

/** A model of the service with some contacts, its client, and a CRM that stores what it is handed. */
export function openModel(kind: Kind = {}, count = 3): Opened {
	const model = createModel(kind, () => 0.5);
	model.troubled = true;
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
		async look(options) {
			const feed = changes(agency, { since: opened.since, ...options });
			const before = model.requests.length;
			const handed: Change[] = [];
			let error: unknown;
			try {
				for await (const change of feed) handed.push(change);
			} catch (thrown) {
				error = thrown;
			}
			opened.since = feed.checkpoint;
			return { changes: handed, requests: model.requests.slice(before), error, feed };
		},
	};
	return opened;
}

/** What was handed over, as numbers of contacts with the numbers of their messages. */
export function told({ model }: Opened, { changes }: Pick<Looked, "changes">): [number, string[]][] {
	return changes.map(({ phoneNumber, messages }) => [
		model.conversations.findIndex((contact) => contact.phoneNumber === phoneNumber),
		messages.map(({ body }) => body?.replace(/\D+/, "") ?? ""),
	]);
}

export const minutes = (count: number): number => count * minute;
