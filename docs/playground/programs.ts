import type { AgencyClient } from "messaging-conversations";
import type { Outbox } from "messaging-conversations/outbox";
import type { Contact, Sandbox } from "messaging-conversations/sandbox";
import { changes } from "messaging-conversations/sync";

/** What a step acts on. */
export interface Stage {
	readonly agency: AgencyClient;
	readonly sandbox: Sandbox;
	/** The contact of the story, as a test plays it. */
	readonly contact: Contact;
	/** The contact's number. */
	readonly to: string;
	/** The texts, which the reader may change. */
	readonly first: string;
	readonly second: string;
	/** An outbox that stores its texts in memory. */
	readonly outbox: Outbox;
	/** Stands for a table of the CRM. */
	readonly saved: { checkpoint?: string };
}

/** The texts of a story until the reader changes them. */
export const texts = { first: "Would Thursday at 14:00 suit you?", second: "Or would Friday at 10:00 be better?" };

/** A step of a story. */
interface Step {
	/** Who does it. */
	readonly by: "CRM" | "contact" | "time" | "network";
	/** The lines between its braces are shown beside the button that runs them. */
	run(stage: Stage): Promise<unknown>;
}

/** The stories that the sandbox's page does not have. */
export const own: ReadonlySet<string> = new Set(["outbox", "feed"]);

/** The stories in code. All but the last two are those of the sandbox's page, by their names and with their steps. */
export const programs: Readonly<Record<string, readonly Step[]>> = {
	accepted: [
		{
			by: "CRM",
			async run({ agency, to, first }) {
				const sent = await agency.messages.send({
					to,
					body: first,
					operationId: `thursday-${to.slice(-3)}`, // your own id of this text
					consentLanguage: "en",
				});
				return sent; // queued: true, because the contact has never written
			},
		},
		{
			by: "contact",
			async run({ agency, contact, to }) {
				contact.accepts();
				const { conversation, messagePage } = await agency.conversations.get(to);
				return { held: conversation.queuedMessages, newest: messagePage.messages[0]?.body };
			},
		},
		{
			by: "CRM",
			async run({ agency, to, second }) {
				const sent = await agency.messages.send({
					to,
					body: second,
					operationId: `friday-${to.slice(-3)}`,
					consentLanguage: "en",
				});
				return sent; // queued: false, because the window is open
			},
		},
	],
	refused: [
		{
			by: "CRM",
			async run({ agency, to, first }) {
				const sent = await agency.messages.send({
					to,
					body: first,
					operationId: `thursday-${to.slice(-3)}`,
					consentLanguage: "en",
				});
				return sent; // queued: true
			},
		},
		{
			by: "contact",
			async run({ agency, contact, to }) {
				contact.declines();
				const { conversation } = await agency.conversations.get(to);
				return conversation.queuedMessages; // empty: the text is never sent
			},
		},
		{
			by: "CRM",
			async run({ agency, to, second }) {
				// Your CRM should not do this. The outbox cancels what waits after a no.
				const sent = await agency.messages.send({
					to,
					body: second,
					operationId: `friday-${to.slice(-3)}`,
					consentLanguage: "en",
				});
				return sent; // queued: false, because the tap on No opened the window
			},
		},
	],
	expired: [
		{
			by: "CRM",
			async run({ agency, to, first }) {
				const sent = await agency.messages.send({
					to,
					body: first,
					operationId: `thursday-${to.slice(-3)}`,
					consentLanguage: "en",
				});
				return sent; // queued: true
			},
		},
		{
			by: "time",
			async run({ agency, sandbox, to }) {
				sandbox.clock.advance({ hours: 48 });
				const { conversation } = await agency.conversations.get(to);
				return conversation.queuedMessages; // empty: the text is never sent
			},
		},
		{
			by: "contact",
			async run({ agency, contact, to }) {
				contact.accepts();
				const { conversation } = await agency.conversations.get(to);
				return conversation.summary.windowExpiresAt; // the window is open, but nothing was held any more
			},
		},
	],
	replaced: [
		{
			by: "CRM",
			async run({ agency, to, first }) {
				const sent = await agency.messages.send({
					to,
					body: first,
					operationId: `thursday-${to.slice(-3)}`,
					consentLanguage: "en",
				});
				return sent; // queued: true
			},
		},
		{
			by: "CRM",
			async run({ agency, to, second }) {
				const { conversation } = await agency.conversations.get(to);
				const [held] = conversation.queuedMessages; // the next send replaces this text
				const sent = await agency.messages.send({
					to,
					body: second,
					operationId: `friday-${to.slice(-3)}`,
					consentLanguage: "en",
				});
				return { replaced: held?.body, sent };
			},
		},
		{
			by: "contact",
			async run({ contact }) {
				contact.accepts();
				return contact.inbox().filter(({ kind }) => kind === "text"); // one text, the second
			},
		},
	],
	lost: [
		{
			by: "network",
			async run({ sandbox }) {
				sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "hang" });
				return sandbox.faults.unused().length; // one fault waits for the next send
			},
		},
		{
			by: "CRM",
			async run({ agency, contact, to, first }) {
				const sent = await agency.messages.send(
					{
						to,
						body: first,
						operationId: `thursday-${to.slice(-3)}`,
						consentLanguage: "en",
					},
					{ timeoutMs: 1_000 }, // no answer: the client sends again, with the same operationId
				);
				return { sent, texts: contact.inbox().filter(({ kind }) => kind === "text").length };
			},
		},
		{
			by: "CRM",
			async run({ agency, contact, to, first }) {
				// After a crash, your CRM can do the same with the id that it stored.
				const sent = await agency.messages.send({
					to,
					body: first,
					operationId: `thursday-${to.slice(-3)}`,
					consentLanguage: "en",
				});
				return { sent, texts: contact.inbox().filter(({ kind }) => kind === "text").length };
			},
		},
	],
	outbox: [
		{
			by: "CRM",
			async run({ agency, to, first, second, outbox }) {
				const ids = [`thursday-${to.slice(-3)}`, `friday-${to.slice(-3)}`];
				for (const [index, body] of [first, second].entries())
					await outbox.enqueue({ id: ids[index] ?? "", agencyId: agency.id, to, body, consentLanguage: "en" });
				await outbox.runOnce(); // a worker does this all the time
				const found = await Promise.all(ids.map((id) => outbox.status(id)));
				return found.map((text) => text?.description); // the second text waits for the first
			},
		},
		{
			by: "contact",
			async run({ contact, sandbox, to, outbox }) {
				contact.accepts();
				for (let minute = 0; minute < 15; minute++) {
					sandbox.clock.advance({ minutes: 1 });
					await outbox.runOnce();
				}
				const found = await Promise.all(["thursday", "friday"].map((id) => outbox.status(`${id}-${to.slice(-3)}`)));
				return found.map((text) => text?.description);
			},
		},
		{
			by: "CRM",
			async run({ contact }) {
				return contact.inbox().filter(({ kind }) => kind === "text"); // both, in order
			},
		},
	],
	feed: [
		{
			by: "CRM",
			async run({ agency, contact, first, saved }) {
				contact.writes(first);
				const seen: (string | null)[] = [];
				const feed = changes(agency, { since: saved.checkpoint ?? "beginning" });
				for await (const { messages } of feed) {
					seen.push(...messages.map(({ body }) => body)); // store them
					saved.checkpoint = feed.checkpoint; // in the same transaction
				}
				return seen;
			},
		},
		{
			by: "contact",
			async run({ contact, second }) {
				contact.writes(second);
				return contact.state().messages.length;
			},
		},
		{
			by: "CRM",
			async run({ agency, saved }) {
				const seen: (string | null)[] = [];
				const feed = changes(agency, { since: saved.checkpoint ?? "beginning" });
				for await (const { messages } of feed) {
					seen.push(...messages.map(({ body }) => body));
					saved.checkpoint = feed.checkpoint;
				}
				return seen; // the new message alone
			},
		},
	],
};
